"""Build the site of the documentation from `docs/`, as HTML that loads nothing from elsewhere. Run by `make site`.

    python tools/site.py [FOLDER]        # default: build/site

Sphinx builds it, with warnings as errors, in an environment of its own. The order of the pages is that of the list in
the README; a page that it does not name fails the build. A link to a file of the repository that is no page becomes
text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if __package__ is None:  # run as a program
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.environments import MissingError, python_with

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
ELSEWHERE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
CONFIGURATION = """\
project = "Gossamer"
html_title = "Gossamer"
extensions = ["myst_parser"]
myst_heading_anchors = 4
highlight_language = "text"
html_theme = "furo"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
templates_path = []
"""


def build(folder: Path) -> None:
    """Build the site; raise `MissingError` if Sphinx cannot be installed, `CalledProcessError` after any warning."""
    python = python_with("site")
    with tempfile.TemporaryDirectory(prefix="site-") as scratch:
        source = Path(scratch)
        write_source(source)
        options = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(source / ".cache")]
        subprocess.run(
            [python, "-m", "sphinx", *options, source, folder],
            check=True,
            env=os.environ | {"PYTHONWARNINGS": "ignore"},
        )


def write_source(source: Path) -> None:
    """Write what Sphinx reads: every page with its links as they are within the site."""
    (source / "conf.py").write_text(CONFIGURATION)
    shutil.copytree(DOCS / "images", source / "images")
    pages = [*DOCS.rglob("*.md"), *(ROOT / name for name in ELSEWHERE if name != "README.md")]
    for page in pages:
        file = source / str(place_of(page))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(rewrite(page.read_text(), page))
    decisions = sorted(path.stem for path in (DOCS / "decisions").glob("*.md"))
    (source / "decisions" / "index.md").write_text("# Decisions\n\n" + tree("", decisions))
    with (source / "index.md").open("a") as index:
        for caption, names in contents():
            index.write("\n" + tree(caption, names))


def place_of(path: Path) -> Path | None:
    """Return where a file of the repository is within the site; None if it is not."""
    if not path.is_relative_to(ROOT):
        return None
    name = str(path.relative_to(ROOT))
    if name in ELSEWHERE:
        return Path(ELSEWHERE[name])
    if not path.is_relative_to(DOCS):
        return None
    return path.relative_to(DOCS) / "index.md" if path.is_dir() else path.relative_to(DOCS)


def rewrite(text: str, page: Path) -> str:
    """Return a page with its links as they are within the site."""
    here = place_of(page)
    assert here is not None

    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = found.groups()
        if "://" in target or not target:
            return found[0]
        place = place_of((page.parent / target).resolve())
        if place is None:
            return words
        return f"{picture}[{words}]({os.path.relpath(place, here.parent)}{anchor or ''})"

    return LINK.sub(link, text)


def contents() -> Iterator[tuple[str, list[str]]]:
    """Yield the groups of pages in the README's list, each with its title."""
    listed = (ROOT / "README.md").read_text().partition("## Documentation\n")[2].partition("\n## ")[0]
    for group in re.findall(r"(?m)^- ((?:.+\n?(?!- ))+)", listed):
        caption = re.split(r"[:,]", group.replace("[", "").replace("]", ""))[0].partition("(")[0]
        places = [place_of((ROOT / target).resolve()) for _, _, target, _ in LINK.findall(group)]
        yield caption, [str(place.with_suffix("")) for place in places if place is not None]


def tree(caption: str, names: list[str]) -> str:
    """Return a table of contents for Sphinx, which the menu shows and the page does not."""
    title = f":caption: {caption}\n" if caption else ":maxdepth: 1\n"
    hidden = ":hidden:\n" if caption else ""
    return f"```{{toctree}}\n{title}{hidden}\n" + "\n".join(names) + "\n```\n"


def main(arguments: list[str]) -> None:
    """Build the site and say where it is."""
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    try:
        build(folder)
    except MissingError as error:
        sys.exit(f"The site cannot be built: {error}.")
    except subprocess.CalledProcessError:
        sys.exit("The site has the problems above.")
    print(folder / "index.html")


if __name__ == "__main__":
    main(sys.argv[1:])
