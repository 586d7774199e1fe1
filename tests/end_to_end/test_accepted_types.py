"""Crawls for other types than HTML: pages lead to them and are read for that, but not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.records import Reason
from gossamer.store.reading import last_pages, requests
from gossamer.store.scanning import Record, scan
from gossamer.urls import identify
from gossamer_simweb import PlantedPage, WebSpec
from tests.end_to_end.crawls import Crawl, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer_simweb import WebServer

HOST = "papers.test"
HTML = (("Content-Type", "text/html; charset=utf-8"),)
PDF = (("Content-Type", "application/pdf"),)
CSS = (("Content-Type", "text/css"),)
PLANTED = (
    PlantedPage(
        host=HOST, headers=HTML, body=b'<a href="/list">papers</a> <a href="/1.pdf">1</a> <a href="/a.css">x</a>'
    ),
    PlantedPage(host=HOST, path="/list", headers=HTML, body=b'<a href="/2.pdf">2</a> <a href="/deeper">more</a>'),
    PlantedPage(host=HOST, path="/deeper", headers=HTML, body=b'<a href="/3.pdf">3</a>'),
    PlantedPage(host=HOST, path="/a.css", headers=CSS, body=b"p { color: red }"),
    *(PlantedPage(host=HOST, path=f"/{n}.pdf", headers=PDF, body=b"%%PDF-1.7 %d" % n) for n in (1, 2, 3)),
)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with simweb.serve(WebSpec(sites=1, pages=1, planted=PLANTED)) as running:
        yield running


class Papers:
    """A crawl for PDF files that has ended."""

    def __init__(self, server: WebServer, folder: Path, *flags: str) -> None:
        self._front = f"http://{HOST}:{server.port}"
        self.folder = folder
        crawl = Crawl(server, folder, delay_s=0.0, workers=1)
        (folder.parent / f"{folder.name}-seeds.txt").write_text(f"{self._front}/\n")
        crawl.finish("--accept-types", "application/pdf", *flags)

    def stored(self) -> set[str]:
        return {row.url.removeprefix(self._front) for row in last_pages(self.folder)}

    def archived(self) -> set[str]:
        """What is archived besides robots.txt."""
        records = (each for file in (self.folder / "warc").glob("gossamer-2*.warc.gz") for each in scan(file))
        urls = {each.headers.get("warc-target-uri", "") for each in records if isinstance(each, Record)}
        return {url.removeprefix(self._front) for url in urls if url}

    def received(self) -> dict[str, int]:
        """Bytes of each answer to a request for a page."""
        return {
            row.url.removeprefix(self._front): row.bytes
            for row in requests(self.folder)
            if row.kind == "page" and row.status == 200
        }

    def reason(self, path: str) -> Reason | None:
        """Why a URL was given up; None if it was not."""
        named = identify(self._front + path)
        with open_existing(self.folder) as frontier:
            state = frontier.find_url(named.site, named.url_hash)
        assert state is not None
        return state.reason


def test_html_that_is_not_accepted_is_read_for_its_links_and_not_stored(server: WebServer, tmp_path: Path) -> None:
    papers = Papers(server, tmp_path / "data")
    assert papers.stored() == papers.archived() == {"/1.pdf", "/2.pdf", "/3.pdf"}
    received = papers.received()
    assert received.keys() == {"/", "/list", "/deeper", "/a.css", "/1.pdf", "/2.pdf", "/3.pdf"}
    assert received["/list"] > 0
    assert received["/a.css"] == 0  # has no links: cut off behind its head
    for path in ("/", "/list", "/deeper", "/a.css"):
        assert papers.reason(path) is Reason.TYPE_REFUSED
    assert papers.reason("/1.pdf") is None
    assert said("verify", "--data-dir", str(papers.folder))


def test_html_whose_links_lie_too_deep_is_not_even_read(server: WebServer, tmp_path: Path) -> None:
    papers = Papers(server, tmp_path / "data", "--max-depth", "1")
    assert papers.stored() == {"/1.pdf"}
    received = papers.received()
    assert received["/"] > 0
    assert received["/list"] == 0
    assert papers.reason("/list") is Reason.TYPE_REFUSED
