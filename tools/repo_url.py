"""Write the repository's address into every file that names it.

pyproject.toml holds the address; badges, set-up cells, the book's settings and README follow it.

Usage: python tools/repo_url.py https://github.com/you/your-course
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORM = re.compile(r"https://github\.com/([A-Za-z0-9-]+)/([A-Za-z0-9._-]+?)(?:\.git)?/?")


def current(root: Path = ROOT) -> str:
    """Return the address that pyproject.toml holds."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["urls"]["Repository"]


def spellings(url: str) -> list[str]:
    """All the ways in which files name a repository: its address, its pages, its place in Colab."""
    owner, name = FORM.fullmatch(url).groups()
    return [
        f"github.com/{owner}/{name}",
        f"{owner}.github.io/{name}",
        f"github/{owner}/{name}/blob",
    ]


def text_files(root: Path) -> list[Path]:
    """The files that git knows, or would add, and that hold text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [root / name for name in listed.stdout.split("\0") if name]
    endings = {".cff", ".ipynb", ".md", ".py", ".toml", ".yml"}
    return [path for path in paths if path.suffix in endings and path.is_file()]


def rewrite(url: str, root: Path = ROOT) -> list[Path]:
    """Replace the current address by another one, everywhere; return the files that changed."""
    match = FORM.fullmatch(url)
    if match is None:
        raise ValueError(f"expected an address like https://github.com/you/name, got {url!r}")
    url = "https://github.com/{}/{}".format(*match.groups())
    pairs = list(zip(spellings(current(root)), spellings(url), strict=True))
    changed = []
    for path in text_files(root):
        text = new = path.read_text(encoding="utf-8")
        for old, other in pairs:
            new = re.sub(re.escape(old) + r"(?![\w-])", other, new)
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    try:
        for path in rewrite(sys.argv[1] if len(sys.argv) == 2 else ""):
            print("wrote", path.relative_to(ROOT))
    except ValueError as error:
        sys.exit(str(error))
