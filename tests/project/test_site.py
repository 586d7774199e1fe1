"""The site of the documentation builds without a warning, has every page, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tools import site
from tools.environments import MissingError

ROOT = Path(__file__).resolve().parents[2]


class Loads(HTMLParser):
    """Collects the addresses that a browser loads when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        names = ("src", "srcset", "data", "poster") if tag != "link" else ("href",)
        self.found += [value for name in names if (value := given.get(name))]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    try:
        site.build(folder)  # raises after any warning
    except MissingError as error:
        pytest.skip(f"Sphinx: {error}")
    return folder


def test_every_page_of_the_documentation_is_in_the_site(built: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path for path in pages if not (built / path).exists()} == set()
    assert len(pages) > 50


def test_no_page_loads_anything_from_elsewhere(built: Path) -> None:
    for page in built.rglob("*.html"):
        loads = Loads()
        loads.feed(page.read_text())
        assert loads.found
        assert [address for address in loads.found if re.match(r"(?:[a-z]+:)?//", address)] == [], page
    for sheet in built.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text()) == [], sheet


def test_the_front_page_begins_with_what_the_tests_show(built: Path) -> None:
    front = (built / "index.html").read_text()
    assert front.index("survives kill -9") < front.index("gossamer demo") < front.index("report.png")
    assert front.index("report.png") < front.index("StormCrawler")


def test_readme_and_front_page_show_the_same_figures() -> None:
    tables = [re.findall(r"(?m)^\| by the server's log.*\n(?:\|.*\n)+", (ROOT / name).read_text())
              for name in ("README.md", "docs/index.md")]  # fmt: skip
    assert len(tables[0]) == 1
    assert tables[0] == tables[1]


def test_a_link_stays_within_the_site_or_becomes_text() -> None:
    page = ROOT / "docs" / "howto" / "replay.md"
    said = site.rewrite(
        "[a](../data.md#top) [b](../../CHANGELOG.md) [c](../../deploy/Dockerfile) [d](https://e.org/)", page
    )
    assert said == "[a](../data.md#top) [b](../changelog.md) c [d](https://e.org/)"
    assert site.rewrite("[a](docs/decisions)", ROOT / "CHANGELOG.md") == "[a](decisions/index.md)"


def test_a_broken_link_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    assert built.exists()  # else Sphinx is missing, and this is skipped
    write = site.write_source

    def write_with_a_mistake(source: Path) -> None:
        write(source)
        with (source / "index.md").open("a") as index:
            index.write("\n[nothing](nothing.md#here)\n")

    monkeypatch.setattr(site, "write_source", write_with_a_mistake)
    with pytest.raises(subprocess.CalledProcessError):
        site.build(tmp_path)
