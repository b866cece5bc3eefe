"""Measure each lesson: how long it runs and how much memory it takes, for the status page.

Usage: python tools/measure_lessons.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from lessons import MEASURED, ROOT, lessons

# Runs the cells of a twin as one script, in a process of its own whose peak memory can be read.
SCRIPT = """
import os, resource, runpy, sys
import matplotlib
matplotlib.use("agg")
os.chdir(os.path.dirname(sys.argv[1]))
runpy.run_path(sys.argv[1])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print("PEAK", peak if sys.platform == "darwin" else peak * 1024)
"""


def measure(twin: str) -> dict[str, float]:
    """Run one lesson in a fresh process."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, twin], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    peak = int(done.stdout.rsplit("PEAK", 1)[1])
    return {"seconds": round(seconds), "peak_gb": round(peak / 1e9, 1)}


def main() -> None:
    """Measure all lessons and write the file that the status page reads."""
    found = {x.path.stem: measure(str(x.path.with_suffix(".py"))) for x in lessons()}
    MEASURED.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {MEASURED.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
