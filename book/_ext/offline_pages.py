"""Pages that need no other host, and whose buttons and lists have right names."""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.config import Config


def drop_thebe(app: Sphinx, config: Config) -> None:
    """Unload sphinx-thebe, which Jupyter Book 1 always loads.

    The book has no live kernel, and the extension writes ``const THEBE_JS_URL`` twice into every
    page, which the browser reports as a SyntaxError.
    """
    for name in ("builder-inited", "env-before-read-docs", "doctree-resolved"):
        for listener in list(app.events.listeners.get(name, [])):
            if listener.handler.__module__.startswith("sphinx_thebe"):
                app.disconnect(listener.id)
    app.registry.css_files[:] = [item for item in app.registry.css_files if "thebe" not in item[0]]


# What the theme and docutils write, and what assistive technology needs instead.
CORRECTIONS = (
    ('<div role="list" class="citation-list">', '<div class="citation-list">'),
    (' role="doc-biblioentry"', ""),
    ('<summary aria-label="Toggle hidden content">', "<summary>"),
)


def correct_body(
    app: Sphinx, pagename: str, templatename: str, context: dict, doctree: object
) -> None:
    """Mend roles in a page's body that checkers reject."""
    for wrong, right in CORRECTIONS:
        if "body" in context:
            context["body"] = context["body"].replace(wrong, right)


def setup(app: Sphinx) -> dict[str, object]:
    """Register the corrections."""
    app.connect("config-inited", drop_thebe)
    app.connect("html-page-context", correct_body)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
