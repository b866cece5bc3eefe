"""Tables in the book that come from where the facts stand, so that no page repeats a fact.

``{lesson-list}``: the lessons with their questions and minutes. ``{lesson-status}``: the same with
what was measured. ``{model-cards}``: the cards of ``utils.models``. ``{versions}``: the pinned
packages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """Write a Markdown table."""
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|" + " --- |" * len(list(header)))
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return lines


class FactsDirective(SphinxDirective):
    """A directive without content that is replaced by Markdown made from the sources."""

    def lines(self) -> list[str]:
        """Return the Markdown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown in place."""
        node = nodes.Element()
        lines = StringList(self.lines(), source=self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, node)
        return node.children


class LessonList(FactsDirective):
    """The lessons, each with its question and its minutes."""

    def lines(self) -> list[str]:
        """Return one row per lesson."""
        from lessons import lessons

        return table(
            ["", "Lesson", "Its question", "Minutes"],
            (
                [i, f"[{x.title}](../notebooks/{x.path.name})", x.question, x.minutes]
                for i, x in enumerate(lessons(), 1)
            ),
        )


class LessonStatus(FactsDirective):
    """The lessons, each with what it needs and what was measured."""

    def lines(self) -> list[str]:
        """Return one row per lesson."""
        from lessons import lessons, measured

        found = measured()
        rows = []
        for x in lessons():
            run = found.get(x.path.stem)
            seconds, peak = (
                (f"{run['seconds']} s", f"{run['peak_gb']} GB") if run else ("not measured",) * 2
            )
            rows.append(
                [
                    f"[{x.title}](../notebooks/{x.path.name})",
                    x.minutes,
                    f"{x.megabytes} MB",
                    seconds,
                    peak,
                    x.device,
                ]
            )
        return table(
            ["Lesson", "Minutes to work through", "Data", "Runs in", "Peak memory", "Runs on"], rows
        )


class ModelCards(FactsDirective):
    """The models and vectors that come with the course."""

    def lines(self) -> list[str]:
        """Return one section of a definition list per card."""
        from utils.models import CARDS

        lines = []
        for card in CARDS.values():
            layers = (
                "no layers: a table"
                if card.family == "static"
                else f"{card.n_layers} blocks, so {card.n_layers + 1} hidden states"
            )
            lines += [
                f"**{card.title}** (`{card.name}`)",
                f": For {card.purpose}.",
                "",
                f"  {card.n_dims} dimensions; {layers}; {card.megabytes} MB; licence "
                f"{card.licence}. From the package `{card.package}`; published as "
                f"`{card.source}`. SHA-256 of the weights: `{card.sha256[:16]}…`, checked when "
                "the model is loaded."
                if card.family != "static"
                else f"  {card.n_dims} dimensions; {layers}; {card.megabytes} MB; licence "
                f"{card.licence}. From the package `{card.package}`; published at "
                f"<{card.source}>.",
                "",
            ]
        return lines


class Versions(FactsDirective):
    """The directly pinned packages."""

    def lines(self) -> list[str]:
        """Return one row per pin in requirements.txt."""
        text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
        pins = re.findall(r"^([A-Za-z0-9._-]+)((?:==|>=).+)$", text, re.MULTILINE)
        return table(["Package", "Version"], ([f"`{a}`", b.removeprefix("==")] for a, b in pins))


def setup(app: Sphinx) -> dict[str, object]:
    """Register the directives."""
    app.add_directive("lesson-list", LessonList)
    app.add_directive("lesson-status", LessonStatus)
    app.add_directive("model-cards", ModelCards)
    app.add_directive("versions", Versions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
