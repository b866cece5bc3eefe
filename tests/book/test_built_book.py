"""The built book as a whole: every page, its outputs, its links, and no other host.

Run by `make test` after `make book`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [TOC["root"], *(c["file"] for part in TOC["parts"] for c in part["chapters"])]
NOTEBOOKS = [page for page in PAGES if page.startswith("notebooks/")]
EACH = pytest.mark.parametrize("page", PAGES)

if not HTML.is_dir():
    pytest.exit("there is no built book: run make book first", returncode=1)


@lru_cache
def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser")


def article(page: str):
    return soup(page).select_one("article")


def test_exactly_the_pages_of_the_table_of_contents():
    extra = {"index", "genindex", "search", "py-modindex"}
    built = {p.relative_to(HTML).with_suffix("").as_posix() for p in HTML.rglob("*.html")}
    built = {page for page in built if not page.startswith(("_static/", "_modules/"))}
    assert built - extra == set(PAGES)


@EACH
def test_a_page_has_its_title_and_no_traces_of_failure(page):
    heading = article(page).select_one("h1")
    title = heading.get_text().removesuffix("#").strip().replace("’", "'")
    source = (ROOT / f"{page}.md") if (ROOT / f"{page}.md").exists() else (ROOT / f"{page}.py")
    assert re.search(rf"^(?:# )?# {re.escape(title)}$", source.read_text("utf-8"), re.MULTILINE)
    assert title in soup(page).title.get_text().replace("’", "'")
    text = article(page).get_text()
    for trace in ("Traceback (most recent call last)", "{cite}", "{term}", "{ref}", "@@"):
        assert trace not in text


def test_api_documents_every_public_name():
    import importlib

    ids = {tag.get("id") for tag in soup("book/api").select("[id]")}
    modules = ["static", "models", "contextual", "corpora", "geometry", "streaming", "download"]
    for module in [*modules, "plotting"]:
        for name in importlib.import_module(f"utils.{module}").__all__:
            assert f"utils.{module}.{name}" in ids


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_output_of_a_notebook_is_on_its_page(page):
    notebook = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)
    text = " ".join(article(page).get_text().split())
    images = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                assert " ".join(output.text.split()) in text
            elif "text/html" in output.data:
                table = BeautifulSoup(output.data["text/html"], "html.parser")
                for row in table.select("tbody tr"):
                    assert " ".join(row.get_text(" ").split()) in " ".join(
                        article(page).get_text(" ").split()
                    )
            images += "image/png" in output.get("data", {})
    assert len(article(page).select("figure img")) == images >= 3


@pytest.mark.parametrize(
    ("page", "anchor"),
    [
        *((NOTEBOOKS[0], anchor) for anchor in (
            "0.870 banks", "0.800 securities", "0.797 banking",
            "0.785 investment", "0.781 exchange", "0.767 financial")),
        *((NOTEBOOKS[1], anchor) for anchor in (
            "0.733 river and deposit", "0.690 river and account", "0.812 deposit and account")),
    ],
)  # fmt: skip
def test_the_nine_figures_stand_in_the_built_pages(page, anchor):
    assert anchor in " ".join(article(page).get_text().split())


@EACH
def test_nothing_is_fetched_from_another_host(page):
    fetched = [
        tag.get("src") or tag.get("href") or tag.get("srcset") or ""
        for tag in soup(page).select("script, img, iframe, source, video, audio, embed, object")
    ]
    fetched += [
        tag.get("href", "")
        for tag in soup(page).select("link")
        if not {"canonical", "search", "next", "prev", "author"} & set(tag.get("rel", []))
    ]
    for url in fetched:
        assert not urlsplit(url).netloc, url
    inline = " ".join(tag.get_text() for tag in soup(page).select("script, style"))
    assert not re.search(r"(?:import|url|fetch|src)\W{1,4}(?:https?:)?//", inline)


def test_no_style_sheet_fetches_from_another_host():
    for path in HTML.rglob("*.css"):
        text = path.read_text(encoding="utf-8", errors="replace")
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", text), path


@EACH
def test_links_and_anchors_inside_the_book_resolve(page):
    here = HTML / f"{page}.html"
    for tag in soup(page).select("a[href]"):
        url = urlsplit(tag["href"])
        if url.scheme or url.netloc:
            continue
        target = (here.parent / unquote(url.path)).resolve() if url.path else here
        assert target.exists(), tag["href"]
        if url.fragment and target.suffix == ".html":
            name = target.relative_to(HTML.resolve()).with_suffix("").as_posix()
            ids = {t.get("id") for t in soup(name).select("[id]")}
            assert url.fragment in ids or name in ("genindex", "search"), tag["href"]


@EACH
def test_every_picture_has_an_alternative_text(page):
    for image in article(page).select("img"):
        alternative = image.get("alt", "")
        assert len(alternative) > 60, image
        assert "_images" not in alternative


@EACH
def test_formulas_are_mathml_with_their_latex_as_text(page):
    html = str(article(page))
    assert "\\(" not in html
    assert "MathJax" not in str(soup(page))
    for formula in article(page).select("math"):
        assert formula.get("alttext")
    assert len(article(page).select(".math")) == len(article(page).select("math"))


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_the_colab_button_opens_the_pages_own_notebook(page):
    links = {a["href"] for a in soup(page).select("a[href*='colab.research.google.com']")}
    assert len(links) == 1
    assert links.pop().endswith(f"/blob/main/{page}.ipynb")
