"""Formulas as MathML, made while the book is built: no script, no font and no other host.

Browsers draw it themselves and screen readers read it. A command that the converter does not know
is a warning, and so an error in a strict build.
"""

from __future__ import annotations

import html
import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)

# What the converter leaves behind when it does not know a command.
UNKNOWN = re.compile(r"<m[ion][^>]*>(\\[A-Za-z]+|&)<")


def to_mathml(latex: str, *, display: bool) -> str:
    """Convert one formula; the LaTeX stays with it as alternative text."""
    mathml = convert(latex, display="block" if display else "inline")
    alternative = html.escape(" ".join(latex.split()), quote=True)
    return mathml.replace("<math ", f'<math alttext="{alternative}" ', 1)


def _render(node: nodes.Element, *, display: bool) -> str:
    latex = node.astext()
    try:
        mathml = to_mathml(latex, display=display)
    except Exception as error:
        logger.warning("no MathML for %r: %s", latex, error, location=node)
        return html.escape(latex)
    unknown = UNKNOWN.search(mathml)
    if unknown:
        logger.warning("no MathML for %s in %r", unknown.group(1), latex, location=node)
    return mathml


def visit_inline(translator, node: nodes.math) -> None:
    """Write an inline formula."""
    translator.body.append(f'<span class="math">{_render(node, display=False)}</span>')
    raise nodes.SkipNode


def visit_display(translator, node: nodes.math_block) -> None:
    """Write a formula on its own line, with its number if it has one.

    It takes the focus, so that a wide one can be scrolled by keyboard on a narrow screen.
    """
    translator.body.append(translator.starttag(node, "div", CLASS="math math-block", tabindex="0"))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(_render(node, display=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, object]:
    """Offer the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
