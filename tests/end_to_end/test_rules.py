"""Crawls that go on under other rules than before: in the end it is as if these had always held."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.store.reading import last_pages
from gossamer.urls import site_of
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer_simweb import WebServer

NO_LIMIT = "--max-depth=60"


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with simweb.serve(plain_web(sites=5, pages=8, links_across=0.5, redirect=0.1, away=0.1)) as running:
        yield running


class Begun:
    """A crawl from one seed, and what it asked for since it began."""

    def __init__(self, server: WebServer, folder: Path, *, frontier: str = "") -> None:
        self.crawl = Crawl(server, folder, delay_s=0.0, workers=1, frontier=frontier)
        self.crawl.seeds = server.seeds(1)
        (folder.parent / f"{folder.name}-seeds.txt").write_text("".join(self.crawl.seeds))
        self._skipped = len(server.log())

    def visited(self) -> set[str]:
        """All pages that were asked for."""
        return {request.url for request in self.crawl.server.log()[self._skipped :] if request.kind == "page"}

    def expected(self, scope: str, max_depth: int | None = None) -> set[str]:
        """All pages that a crawl asks for to which these rules always applied."""
        web, seeds = self.crawl.server.web, self.crawl.seeds
        return set(simweb.expected(web, seeds, scope=scope, token="Gossamer", max_depth=max_depth).visited)  # type: ignore[arg-type]


def test_rules_that_become_narrower_and_wider_hold_as_if_they_always_had(
    server: WebServer, tmp_path: Path, frontier: str
) -> None:
    begun = Begun(server, tmp_path / "data", frontier=frontier)
    begun.crawl.finish("--scope", "web", "--max-pages", "6")
    first = begun.visited()
    output = begun.crawl.finish("--scope", "site", "--max-depth", "2", "--exclude", "/people/", "--max-pages", "9999")
    assert "The rules admit less than before" in output
    narrow = {url for url in begun.expected("site", 2) if "/people/" not in url}
    assert begun.visited() == first | narrow
    output = begun.crawl.finish("--scope", "web", NO_LIMIT, "--set", "exclude=")
    assert "stored pages read again" in output
    assert begun.visited() == begun.expected("web")
    assert said("verify", "--data-dir", str(begun.crawl.folder))


@pytest.mark.parametrize("kept", [(), ("--no-warc", "--links")])
def test_a_greater_depth_brings_back_what_lies_there(server: WebServer, tmp_path: Path, kept: tuple[str, ...]) -> None:
    begun = Begun(server, tmp_path / "data")
    begun.crawl.finish("--scope", "web", "--max-depth", "1", *kept)
    assert begun.visited() == begun.expected("web", 1)
    begun.crawl.finish("--max-depth", "3")
    assert begun.visited() == begun.expected("web", 3)


def test_without_archives_and_links_a_start_says_what_it_cannot_know(server: WebServer, tmp_path: Path) -> None:
    begun = Begun(server, tmp_path / "data")
    begun.crawl.finish("--scope", "web", "--max-depth", "1", "--no-warc")
    before = begun.visited()
    assert "only new pages bring back what was refused" in begun.crawl.finish("--max-depth", "3")
    assert begun.visited() == before


def test_include_patterns_and_a_limit_per_site_hold_and_can_be_widened(server: WebServer, tmp_path: Path) -> None:
    begun = Begun(server, tmp_path / "data")
    begun.crawl.finish("--scope", "web", "--include", "*e*", "--max-pages-per-site", "2")
    assert begun.visited() > set(begun.crawl.seeds)
    assert max(Counter(site_of(page.url) for page in last_pages(begun.crawl.folder)).values()) == 2
    there = ("--data-dir", str(begun.crawl.folder))
    assert "gave all pages that --max-pages-per-site allows" in said("status", *there)
    begun.crawl.finish("--max-pages-per-site", "9999", "--set", "include=")
    assert begun.visited() == begun.expected("web")


def test_only_pages_in_the_languages_that_are_wanted_are_kept(server: WebServer, tmp_path: Path) -> None:
    begun = Begun(server, tmp_path / "data")
    with begun.crawl.start("--languages", "de,fr") as start:
        start.end(status=3)  # no seed has a page that is kept: all of this web is English
    assert begun.visited() == begun.expected("site", 1), "links are followed from seeds alone"
    assert list(last_pages(begun.crawl.folder)) == []
    assert "other_language" in said("status", "--data-dir", str(begun.crawl.folder))
