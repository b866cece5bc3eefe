"""One place per fact: addresses, lists and versions agree, and a new address reaches every file."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import repo_url  # noqa: E402
from lessons import lessons, measured  # noqa: E402

REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")


def contents() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]


def test_the_table_of_contents_lists_every_lesson_and_every_page():
    pages = {p.relative_to(ROOT).with_suffix("").as_posix() for p in (ROOT / "book").glob("*.md")}
    notebooks = [x.path.relative_to(ROOT).with_suffix("").as_posix() for x in lessons()]
    assert pages | set(notebooks) == set(contents())
    assert [file for file in contents() if file.startswith("notebooks/")] == notebooks


def test_the_readme_lists_every_lesson_with_its_minutes():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[(.+?)\]\((.+?)\) \| (\d+) \|$", readme, re.MULTILINE)
    assert rows == [
        (str(i), x.title, x.path.relative_to(ROOT).as_posix(), str(x.minutes))
        for i, x in enumerate(lessons(), 1)
    ]


def test_every_lesson_was_measured_and_says_no_less_than_it_needs():
    for x in lessons():
        assert measured()[x.path.stem]["peak_gb"] <= x.memory


def test_addresses_agree():
    url = repo_url.current()
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    owner, name = url.removeprefix("https://github.com/").split("/")
    assert config["repository"]["url"] == url
    assert config["html"]["baseurl"] == f"https://{owner}.github.io/{name}/"
    assert config["repository"]["branch"] == "main"
    assert url in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert url in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_new_address_reaches_every_file(tmp_path):
    copy = tmp_path / "copy"
    files = repo_url.text_files(ROOT)
    for path in files:
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    old = repo_url.spellings(repo_url.current())
    changed = repo_url.rewrite("https://github.com/jane-doe/my.course/", copy)
    assert repo_url.current(copy) == "https://github.com/jane-doe/my.course"
    names = {path.relative_to(copy).as_posix() for path in changed}
    assert {"pyproject.toml", "_config.yml", "README.md", "CITATION.cff"} <= names
    for path in repo_url.text_files(copy):
        text = path.read_text(encoding="utf-8")
        assert not any(spelling in text for spelling in old), path
    # And back again: nothing else was touched.
    repo_url.rewrite(repo_url.current(), copy)
    for path in files:
        if path.relative_to(ROOT).as_posix() not in names and path.name != Path(__file__).name:
            assert path.read_bytes() == (copy / path.relative_to(ROOT)).read_bytes()


@pytest.mark.parametrize(
    "url", ["", "github.com/a/b", "https://example.org/a/b", "https://github.com/a"]
)
def test_an_address_of_another_form_is_refused(url, tmp_path):
    with pytest.raises(ValueError, match="expected an address like"):
        repo_url.rewrite(url, tmp_path)


def test_every_direct_package_is_pinned_and_held_by_the_constraints():
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", REQUIREMENTS, re.MULTILINE))
    assert pins["torch"] == "2.13.0"
    for name, version in pins.items():
        if name != "torch":  # without a hash, so that its CPU build is welcome
            assert f"\n{name}=={version} " in CONSTRAINTS, f"run make lock: {name}"
    assert not re.search(r"^torch==", CONSTRAINTS, re.MULTILINE)


def test_every_constraint_has_a_hash():
    blocks = re.split(r"\n(?=[a-z0-9])", CONSTRAINTS.split("\n", 2)[2])
    assert len(blocks) > 100
    for block in blocks:
        assert "--hash=sha256:" in block, block[:80]


def test_the_package_asks_for_lower_bounds_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        assert re.fullmatch(r"[a-z0-9-]+>=[\d.]+", requirement)


@pytest.mark.parametrize("folder", [ROOT, ROOT / "notebooks", Path("/")], ids=str)
def test_pitfall_f2_the_package_and_its_data_are_found_from_anywhere(folder):
    code = "from utils import corpora; print(len(corpora.homonyms()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.stdout.strip() == "672", done.stderr


def test_nothing_third_party_and_no_path_of_a_machine_is_in_the_repository():
    path_of_a_machine = re.compile(r"(?<![\w.])/(?:work|root|home/\w+)/\w")
    for path in repo_url.text_files(ROOT):
        if path.name not in ("test_repository.py", "test_notebooks.py"):
            assert not path_of_a_machine.search(path.read_text(encoding="utf-8")), path
    binary = {".woff", ".woff2", ".ttf", ".safetensors", ".bin", ".npy", ".min.js", ".gguf"}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not [name for name in listed.stdout.split() if Path(name).suffix in binary]
