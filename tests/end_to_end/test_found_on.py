"""A crawl tells where each URL was found, where redirects lead, and which answers were not the page."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.store.reading import last_pages
from tests.end_to_end.crawls import Start, said
from tests.parse.block_pages import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHALLENGE = next(form.body for form in FORMS if form.service == "Anubis")
PAGES = {
    "/": "<a href=/a>A</a> <a href=/missing>M</a> <a href=/moved>R</a> <a href=/challenge>C</a>"
    "<a href=/off rel=nofollow>N</a>",
    "/a": "<title>A</title><meta property=article:published_time content=2024-05-01><p>Text",
    "/challenge": CHALLENGE,
}


class Site(BaseHTTPRequestHandler):
    """A few pages, a redirect, and a challenge in place of a page."""

    def do_GET(self) -> None:
        body = PAGES.get(self.path, "").encode()
        self.send_response(302 if self.path == "/moved" else 200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("ETag", '"1"')
        if self.path == "/moved":
            self.send_header("Location", "a?x")
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


def test_where_urls_were_found_and_what_came_in_place_of_pages(site: str, tmp_path: Path) -> None:
    where = ["--data-dir", str(tmp_path / "data")]
    flags = ["--email", "tests@example.org", "--delay", "0", "--workers", "1", "--allow-network", "127.0.0.0/8"]
    with Start(["crawl", site, *where, *flags, "--links", "--set", "max_tries=0"]) as start:
        start.end()

    def asked(sql: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in said("query", sql, *where, "--format", "jsonl").splitlines()]

    (a,) = asked("select via, etag, published, published_from from pages where title = 'A'")
    assert a == {"via": site, "etag": '"1"', "published": "2024-05-01", "published_from": "opengraph"}
    requests = {row["url"]: row for row in asked("select url, status, via, redirect_to, blocked from requests")}
    assert requests[site]["via"] == ""
    assert (requests[f"{site}missing"]["status"], requests[f"{site}missing"]["via"]) == (404, site)
    assert requests[f"{site}moved"]["redirect_to"] == f"{site}a?x"
    assert requests[f"{site}a?x"]["via"] == f"{site}moved"
    assert requests[f"{site}challenge"]["blocked"].startswith("Anubis: ")
    assert not any(page.url.endswith("challenge") for page in last_pages(tmp_path / "data"))
    assert "blocked" in said("status", *where)
    assert "Anubis: " in said("explain", f"{site}challenge", *where)
    assert f"found on {site}" in " ".join(said("explain", f"{site}missing", *where).split())
    assert {row["to_url"]: row["from_url"] for row in asked("select from_url, to_url from links")}[f"{site}off"] == site
