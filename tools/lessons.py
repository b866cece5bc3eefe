"""What the lessons say of themselves: one place that the book, the tests and the tools read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "book" / "results" / "lessons.json"

# The line of facts under every lesson's title.
FACTS = re.compile(
    r"^\*(?P<minutes>\d+) minutes · (?P<megabytes>\d+) MB · (?P<memory>[\d.]+) GB of memory · "
    r"(?P<device>CPU|GPU) · builds on (?P<builds_on>.+)\*$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Lesson:
    """One lesson, as its first cell describes it."""

    path: Path
    title: str
    minutes: int
    megabytes: int
    memory: float
    device: str
    builds_on: str
    question: str


def lesson(path: Path) -> Lesson:
    """Read the title, the facts and the question from a notebook's first cell."""
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
    text = "".join(first["source"])
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    facts = FACTS.search(text)
    question = re.search(r"^> (.+)$", text, re.MULTILINE)
    if first["cell_type"] != "markdown" or not (title and facts and question):
        raise ValueError(
            f"{path.name}: the first cell needs a title (# ...), a question (> ...), and "
            "a line of facts: *45 minutes · 76 MB · 1.2 GB of memory · CPU · builds on nothing*"
        )
    return Lesson(
        path,
        title[1],
        int(facts["minutes"]),
        int(facts["megabytes"]),
        float(facts["memory"]),
        facts["device"],
        facts["builds_on"],
        question[1],
    )


def lessons() -> list[Lesson]:
    """All lessons, in the order of their numbers."""
    return [lesson(path) for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]


def measured() -> dict[str, dict[str, float]]:
    """Running time and peak memory of each lesson, as `make measure` found them."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
