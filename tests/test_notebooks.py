"""The lessons as files: twins, structure, links, exercises, and the numbers they must show."""

from __future__ import annotations

import ast
import re
import sys
from itertools import pairwise
from pathlib import Path

import jupytext
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from utils import geometry

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from lessons import lessons  # noqa: E402
from repo_url import current  # noqa: E402

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def outputs(notebook: nbformat.NotebookNode) -> str:
    parts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            parts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(parts)


def test_there_are_lessons_and_every_one_has_its_facts():
    assert len(lessons()) == len(NOTEBOOKS) >= 2


@EACH
def test_the_twin_holds_the_same_cells(path):
    twin = jupytext.read(path.with_suffix(".py"))
    cells = [(cell.cell_type, cell.source, tags(cell)) for cell in read(path).cells]
    assert cells == [(cell.cell_type, cell.source, tags(cell)) for cell in twin.cells], (
        "the .py and the .ipynb differ: run .venv/bin/jupytext --sync on the newer one, or make run"
    )


@EACH
def test_it_was_run_once_from_top_to_bottom_without_errors_or_noise(path):
    notebook = read(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.get("text")
    noise = re.compile(r"0x[0-9a-f]{6,}|\d+%\||/tmp/|/home/|site-packages|Warning")
    assert not noise.search(outputs(notebook))


@EACH
def test_pitfalls_f6_and_f12_no_widget_state_and_under_a_megabyte(path):
    assert set(read(path).metadata) == {"kernelspec", "language_info"}
    assert path.stat().st_size < 1_000_000


@EACH
def test_cells_are_short_and_prose_stands_between_them(path):
    cells = read(path).cells
    opening = [cell for cell in cells if cell.cell_type == "code"][:3]
    for before, cell in pairwise(cells):
        if cell.cell_type != "code" or cell in opening:
            continue
        assert len(cell.source.splitlines()) <= 25, cell.source
        if before.cell_type == "code":
            assert "check" in tags(cell), f"two code cells without a sentence:\n{cell.source}"


@EACH
def test_its_length_is_that_of_a_lesson(path):
    prose = " ".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    assert 1_500 <= len(prose.split()) <= 3_500


@EACH
def test_the_setup_cell_is_the_same_everywhere(path):
    first = [cell for cell in read(path).cells if "setup" in tags(cell)]
    other = [cell for cell in read(NOTEBOOKS[0]).cells if "setup" in tags(cell)]
    assert len(first) == 1
    assert first[0].source == other[0].source
    assert f"git+{current()}" in first[0].source


@EACH
def test_pitfall_f5_the_colab_link_opens_its_own_notebook_on_the_default_branch(path):
    place = current().removeprefix("https://")
    place = place.replace("github.com/", "https://colab.research.google.com/github/")
    wanted = f"{place}/blob/main/notebooks/{path.name}"
    found = re.findall(
        r"https://colab\.research\.google\.com[^)\s]*",
        "".join(cell.source for cell in read(path).cells),
    )
    assert found == [wanted]


@EACH
def test_every_figure_has_a_caption_and_an_alternative_text(path):
    for cell in read(path).cells:
        if any("image/png" in output.get("data", {}) for output in cell.get("outputs", [])):
            shown = cell.metadata.get("mystnb", {})
            assert len(shown.get("image", {}).get("alt", "")) > 60
            assert len(shown.get("figure", {}).get("caption", "")) > 40


@EACH
def test_three_depths_each_under_its_heading(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "markdown"]
    for depth, heading in [
        ("depth-beginner", "### In plain words"),
        ("depth-developer", "### In code"),
        ("depth-researcher", "### In theory"),
    ]:
        first = next(cell for cell in cells if depth in tags(cell))
        assert first.source.startswith(heading)


@EACH
def test_pitfall_f14_a_stub_defines_its_name_once(path):
    cells = read(path).cells
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    for cell in cells:
        if "exercise" not in tags(cell):
            continue
        (node,) = ast.parse(cell.source).body
        name = node.name if isinstance(node, ast.FunctionDef) else node.targets[0].id
        assert len(re.findall(rf"^(?:def {name}\(|{name} = )", source, re.MULTILINE)) == 1


def test_the_anchors_of_lesson_1():
    text = outputs(read(NOTEBOOKS[0]))
    for line in (
        "0.870  banks",
        "0.800  securities",
        "0.797  banking",
        "0.785  investment",
        "0.781  exchange",
        "0.767  financial",
    ):
        assert line in text


def test_the_anchors_of_lesson_2():
    text = outputs(read(NOTEBOOKS[1]))
    for line in (
        "0.733  river and deposit",
        "0.690  river and account",
        "0.812  deposit and account",
        "0              0.966          0.988            0.988",
    ):
        assert line in text


# Functions that a lesson writes by hand and then imports, with inputs to compare them on.
RNG = np.random.default_rng(0)
TAUGHT = {
    "cosine": (geometry.cosine, [tuple(RNG.normal(size=(2, n))) for n in (1, 2, 50, 384)]),
}


@EACH
def test_what_is_written_by_hand_is_what_is_imported(path):
    for cell in read(path).cells:
        if cell.cell_type != "code":
            continue
        for node in ast.parse(cell.source).body:
            if isinstance(node, ast.FunctionDef) and node.name in TAUGHT:
                helper, inputs = TAUGHT[node.name]
                space = {"np": np}
                exec(compile(ast.Module([node], []), path.name, "exec"), space)  # noqa: S102
                for arguments in inputs:
                    by_hand = space[node.name](*arguments)
                    np.testing.assert_allclose(by_hand, helper(*arguments), rtol=0, atol=1e-12)
                assert "Taught in: lesson" in helper.__doc__


def with_solutions(notebook: nbformat.NotebookNode) -> int:
    """Put each solution into the place of its stub; return how many there were."""
    stub, n = None, 0
    for cell in notebook.cells:
        if "exercise" in tags(cell):
            stub = cell
        solution = re.search(
            r"<summary>Solution</summary>\s+```python\n(.*?)```", cell.source, re.DOTALL
        )
        if solution and stub is not None:
            stub.source, stub, n = solution[1], None, n + 1
    assert stub is None, "an exercise has no solution"
    return n


@EACH
def test_every_solution_passes_its_check_and_every_stub_fails_kindly(path):
    notebook = read(path)
    checks = [cell for cell in notebook.cells if "check" in tags(cell)]
    for cell in checks:
        assert cell.outputs[0].text.startswith("Not started")
    assert with_solutions(notebook) == len(checks) >= 1
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    for cell in checks:
        assert cell.outputs[0].text.startswith("Right"), cell.outputs[0].text
