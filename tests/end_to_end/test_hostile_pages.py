"""Fifty servers that mean harm, beside a web that does not: each costs only itself."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest
import zstandard

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.records import Reason, UrlStatus
from gossamer.urls import identify, normalise
from gossamer_simweb import Behaviour, PlantedPage, WebSpec
from tests.end_to_end.crawls import Crawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.records import UrlState

HTML = ("Content-Type", "text/html; charset=utf-8")
ZEROS = b"\0" * 50_000_000
WORST_LAG_S = 8.0  # a page that got at the event loop would hold it for as long as the page takes


def _page(body: bytes | str, *headers: tuple[str, str]) -> PlantedPage:
    content = body if isinstance(body, bytes) else body.encode()
    return PlantedPage(host="", body=content, headers=(HTML, *headers))


def _encoded(coding: str, body: bytes) -> PlantedPage:
    return _page(body, ("Content-Encoding", coding))


def _server(behaviour: Behaviour, body: bytes = b"<p>text " * 100, **more: float) -> PlantedPage:
    return PlantedPage(host="", body=body, behaviour=behaviour, **more)  # type: ignore[arg-type]


def _redirect(location: str, status: int = 302) -> PlantedPage:
    return PlantedPage(host="", status=status, headers=(("Location", location),))


PAGES = {
    # What parsers choke on
    "nested-div": _page("<div>" * 100_000),
    "nested-b-p": _page("<b><p>" * 30_000),
    "nested-table": _page("<table><tr><td>" * 20_000),
    "nested-svg": _page("<svg><g>" * 50_000),
    "nested-template": _page("<template>" * 50_000),
    "nested-select": _page("<select><option>" * 30_000),
    "nested-a": _page("<a href=/x><b>" * 20_000),
    "nested-formatting": _page("<a><b><i><u><s><em><strong>" * 5_000),
    "misnested": _page("<b><i></b></i>" * 40_000),
    "unclosed-comment": _page("<!--" * 200_000),
    "unclosed-script": _page("<script>" + "<!--<script>" * 50_000),
    "attribute-flood": _page("<p " + " ".join(f"a{n}=1" for n in range(150_000)) + ">"),
    "attribute-long": _page('<a href="' + "x" * 1_500_000 + '">'),
    "element-flood": _page("<i>x</i>" * 200_000),
    "entity-flood": _page("&amp;&lt;&nosuch;&#x10FFFF;&#xD800;" * 50_000),
    "link-flood": _page("".join(f"<a href=http://10.0.0.{n % 250}/{n}>" for n in range(40_000))),
    "meta-flood": _page("<meta http-equiv=refresh content='0;url=/x'>" * 20_000),
    "base-flood": _page("<base href=//[>" * 20_000 + "<a href=/y>"),
    "nul-bytes": _page(b"<p>\0</p>" * 100_000),
    "not-utf-8": _page(b"<p>\xff\xfe\xfa</p>" * 100_000),
    "utf-16-unmarked": _page("<p>hello</p>".encode("utf-16-le") * 5_000),
    "xml-entities": _page("<!DOCTYPE x [" + "".join(f'<!ENTITY e{n} "&e{n - 1};">' for n in range(1, 60)) + "]>&e59;"),
    "no-markup": _page("a" * 1_900_000),
    "empty": _page(b""),
    # What inflates
    "bomb-gzip": _encoded("gzip", gzip.compress(ZEROS, 9)),
    "bomb-deflate": _encoded("deflate", zlib.compress(ZEROS, 9)),
    "bomb-brotli": _encoded("br", brotli.compress(ZEROS)),
    "bomb-zstd": _encoded("zstd", zstandard.compress(ZEROS)),
    "bomb-twice": _encoded("gzip, gzip", gzip.compress(gzip.compress(ZEROS, 9), 9)),
    "bomb-chain": _encoded(", ".join(["gzip"] * 50), gzip.compress(b"x")),
    "encoding-lie": _encoded("gzip", b"<p>this is not gzip</p>" * 100),
    "encoding-unknown": _encoded("rot13", b"<p>uryyb</p>" * 100),
    "encoding-cut": _encoded("gzip", gzip.compress(b"<p>hello</p>" * 10_000)[:-50]),
    # What never ends, or ends badly
    "infinite-body": _server(Behaviour.INFINITE),
    "infinite-head": _server(Behaviour.ENDLESS_HEAD),
    "drip": _server(Behaviour.DRIP, delay_s=0.2),
    "hang": _server(Behaviour.HANG),
    "stall": _server(Behaviour.STALL),
    "close": _server(Behaviour.CLOSE),
    "reset": _server(Behaviour.RESET),
    "short": _server(Behaviour.SHORT),
    "long": _server(Behaviour.LONG),
    "not-http": _server(Behaviour.RAW, b"SSH-2.0-OpenSSH_9.2\r\n"),
    "http-0.9": _server(Behaviour.RAW, b"<html>hello</html>"),
    "head-garbage": _server(Behaviour.RAW, b"HTTP/1.1 200 OK\r\nX: \xff\0\x01\r\nno colon here\r\n\r\n<p>hi"),
    # Redirects to nowhere
    "to-itself": _redirect("/"),
    "to-file": _redirect("file:///etc/passwd"),
    "to-garbage": _redirect("http://[::bad"),
    "to-inside": _redirect("http://127.0.0.1:1/", 301),
    "to-metadata": _redirect("http://169.254.169.254/latest/meta-data/"),
}  # fmt: skip

# What must have been found out about some of them; the others may count as pages, each cut to size.
REASONS = {
    "hang": {Reason.TIMEOUT, Reason.TOO_SLOW},
    "close": {Reason.CONNECTION_LOST},
    "reset": {Reason.CONNECTION_LOST},
    "infinite-head": {Reason.HEADERS_TOO_LARGE, Reason.TIMEOUT},
    "not-http": {Reason.BAD_RESPONSE},
    "http-0.9": {Reason.BAD_RESPONSE},
    "encoding-lie": {Reason.BAD_ENCODING},
    "encoding-unknown": {Reason.BAD_ENCODING},
    "to-file": {Reason.BAD_REDIRECT},
    "to-garbage": {Reason.BAD_REDIRECT},
    "to-inside": {Reason.PORT_REFUSED},
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Crawl, dict[str, str]]]:
    """A finished crawl of a good web and of all hostile pages, each on a site of its own."""
    planted = tuple(
        PlantedPage(
            host=f"{name.replace('.', '')}.test", status=page.status, headers=page.headers, body=page.body,
            behaviour=page.behaviour, delay_s=page.delay_s,
        )
        for name, page in PAGES.items()
    )  # fmt: skip
    with simweb.serve(WebSpec(sites=8, pages=12, slow_s=0.1, crawl_delay_s=0.2, planted=planted)) as server:
        hostile = {name: f"http://{name.replace('.', '')}.test:{server.port}/" for name in PAGES}
        # No good page may take this long on a busy machine: it would be given up at once.
        limits = ("total_timeout=12", "connect_timeout=8", "max_tries=1")
        folder = tmp_path_factory.mktemp("hostile") / "data"
        finished = Crawl(server, folder, delay_s=0.1, workers=1)
        said = finished.finish(
            "--allow-ip-hosts", *hostile.values(), *(word for limit in limits for word in ("--set", limit))
        )
        assert "Nothing is left to fetch" in said
        yield finished, hostile


def _state(crawl: Crawl, url: str) -> UrlState:
    normalised = normalise(url)
    assert isinstance(normalised, str)
    named = identify(normalised)
    with open_existing(crawl.folder) as frontier:
        found = frontier.find_url(named.site, named.url_hash)
    assert found is not None
    return found


def test_there_are_fifty_of_them() -> None:
    assert len(PAGES) == 50


@pytest.mark.parametrize("name", PAGES)
def test_each_is_settled(crawl: tuple[Crawl, dict[str, str]], name: str) -> None:
    finished, hostile = crawl
    state = _state(finished, hostile[name])
    assert state.status in (UrlStatus.DONE, UrlStatus.GIVEN_UP)
    if name in REASONS:
        assert state.reason in REASONS[name]


def test_every_good_page_was_visited_all_the_same(crawl: tuple[Crawl, dict[str, str]]) -> None:
    finished, hostile = crawl
    good = [request for request in finished.server.log() if request.url not in hostile.values()]
    expected = simweb.expected(finished.server.web, finished.server.seeds(), token="Gossamer")
    verdict = simweb.judge(good, delay_s=finished.delay_s, expected=expected, robots_first=False)
    assert not verdict.missed
    assert not verdict.disallowed
    assert not verdict.early


def test_no_request_went_inside(crawl: tuple[Crawl, dict[str, str]]) -> None:
    finished, _ = crawl
    found = _state(finished, "http://169.254.169.254/latest/meta-data/")  # a seed's redirect counts as a seed
    assert found.status is UrlStatus.GIVEN_UP
    assert found.reason is Reason.ADDRESS_REFUSED


def test_the_event_loop_went_on_meanwhile(crawl: tuple[Crawl, dict[str, str]]) -> None:
    finished, _ = crawl
    with open_existing(finished.folder) as frontier:
        lags_s = [worker.figures["max_loop_lag_s"] for worker in frontier.workers()]
    print(f"longest event-loop lag: {max(lags_s):.3f} s")
    assert max(lags_s) < WORST_LAG_S
