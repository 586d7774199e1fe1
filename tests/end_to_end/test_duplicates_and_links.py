"""A crawl of a site that repeats itself: what is the same is archived once, and where everything leads is kept."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from gossamer.store.checking import check
from gossamer.store.reading import find_record, last_pages, links
from gossamer.urls import hash_url
from tests.end_to_end.crawls import Start, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ARTICLE = f"<title>Same</title><article><h1>Same</h1><p>{'Words, and more words. ' * 30}</p></article>"
PAGES = {
    "/": '<a href="/a">One  way</a> <a href="/b" rel="nofollow">Not this</a> <a href="/c">Another</a>',
    "/a": ARTICLE,
    "/b": "never asked for",
    "/c": ARTICLE,
}


class Site(BaseHTTPRequestHandler):
    """Two of its pages are the same."""

    def do_GET(self) -> None:
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("X-Path", self.path)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    """The front page of a site on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_site_that_repeats_itself(site: str, tmp_path: Path) -> None:
    where = ["--data-dir", str(tmp_path / "data")]
    flags = ["--email", "tests@example.org", "--delay", "0", "--workers", "1", "--allow-network", "127.0.0.0/8"]
    with Start(["crawl", site, *where, *flags, "--links", "--markdown"]) as start:
        start.end()
    folder = tmp_path / "data"
    first, second = (row for row in sorted(last_pages(folder), key=lambda row: row.fetched_at) if row.title == "Same")
    assert {first.url, second.url} == {f"{site}a", f"{site}c"}
    assert (first.duplicate_of, second.duplicate_of) == ("", first.url)
    assert first.text == second.text
    assert first.text.startswith("# Same\n\nWords")
    assert first.simhash == second.simhash != 0
    assert find_record(folder, second.warc_file, second.warc_offset).headers["warc-type"] == "revisit"
    raw = said("show", second.url, "--raw", *where)
    assert raw.endswith(f"\r\n\r\n{ARTICLE}")
    assert f"X-Path: /{second.url[-1]}\r\n" in raw
    assert [(row.from_hash, row.to_url, row.text, row.rel) for row in links(folder)] == [
        (hash_url(site), f"{site}a", "One way", ""),
        (hash_url(site), f"{site}b", "Not this", "nofollow"),
        (hash_url(site), f"{site}c", "Another", ""),
    ]
    assert check(folder).problems == []
    said("verify", *where)
    asked = said("query", "select to_url, rel from links where rel <> ''", "--format", "csv", *where)
    assert asked.splitlines()[1:] == [f"{site}b,nofollow"]
