"""Run the lessons in place, from their .py twins, so that a second run gives no git diff.

The twin is the source of every cell; the notebook adds the outputs. What changes from run to run or
from machine to machine (times, ids, widget states, versions) is not written.

Usage: python tools/run_notebooks.py [notebooks/01_static_vectors.py ...]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[1]
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
KEPT = ("tags", "mystnb")


def normalise(notebook: nbformat.NotebookNode, stem: str) -> nbformat.NotebookNode:
    """Keep what a reader needs and what is the same on every run."""
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    for i, cell in enumerate(notebook.cells):
        cell.id = f"{stem}-{i:03d}".replace("_", "-")
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in KEPT if key in cell.metadata}
        )
        for output in cell.get("outputs", []):
            output.pop("metadata", None) if output.output_type == "stream" else None
    nbformat.validate(notebook)
    return notebook


def run(twin: Path) -> bool:
    """Execute one lesson; return whether its notebook changed."""
    path = twin.with_suffix(".ipynb")
    notebook = jupytext.read(twin)
    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    text = nbformat.writes(normalise(notebook, path.stem)) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return True


def main(names: list[str]) -> int:
    """Run the lessons named, or all."""
    os.environ["PYTHONHASHSEED"] = "0"
    twins = [Path(name).with_suffix(".py") for name in names]
    for twin in twins or sorted((ROOT / "notebooks").glob("[0-9]*.py")):
        try:
            changed = run(twin)
        except CellExecutionError as error:
            print(f"{twin.name}: a cell failed\n{error}", file=sys.stderr)
            return 1
        print(f"{twin.stem}: {'new outputs' if changed else 'unchanged'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
