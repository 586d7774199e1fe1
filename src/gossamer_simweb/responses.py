"""The responses of the simulated web: status, headers and exact bytes. Pure.

A response depends only on the URL, on the content codings that the client accepts and, for pages that fail at first,
on the attempt. So the plan alone tells what the server sent.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import brotli
import zstandard
from isal import isal_zlib

from gossamer_simweb.hostility.kind import Ending
from gossamer_simweb.hosts import split_url
from gossamer_simweb.plan import PageKind
from gossamer_simweb.render import render
from gossamer_simweb.robots import MOVED_PATH, NO_ROBOTS, ROBOTS_PATH, TDMREP_PATH, policy_name
from gossamer_simweb.seeded_random import unit_of
from gossamer_simweb.spec import Behaviour
from gossamer_simweb.traps import TRAPS, TrapUrl, trap_body

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import Script
    from gossamer_simweb.hostility.sites import HostileHost
    from gossamer_simweb.plan import PlannedPage, WebPlan
    from gossamer_simweb.robots import Robots

CACHE_BYTES = 64_000_000
_PLANTED_KINDS = {ROBOTS_PATH: "robots", TDMREP_PATH: "tdmrep"}  # by path
_CODINGS = ("gzip", "gzip", "gzip", "gzip", "gzip", "br", "br", "zstd", "zstd", "")


class PlannedResponse(NamedTuple):
    """One response, without its `Connection` and `Date` headers."""

    status: int
    head: bytes  # header lines, each with its line ending
    body: bytes
    kind: str = "page"  # page | robots | tdmrep | trap | hostile | other
    leads_to: str = ""  # the target of a redirect, by status or by HTML
    wait_s: float = 0.0  # Retry-After of a 429 or 503, Crawl-delay of a robots.txt
    retryable: bool = False  # 429, 5xx or incomplete: the client may request it again
    delay_s: float = 0.0  # before the server sends it
    chunked: bool = False  # sent in chunks to HTTP/1.1 clients
    behaviour: Behaviour = Behaviour.NORMAL
    script: Script | None = None  # of a hostile site: what is sent in place of a response
    ending: Ending = Ending.CLOSE  # after the script


class Responder:
    """Makes the responses of a web, and caches them up to `cache_bytes`."""

    def __init__(self, web: WebPlan, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._web = web
        self._cache: OrderedDict[tuple[str, str], PlannedResponse] = OrderedDict()
        self._free_bytes = cache_bytes
        self._spare_bytes = cache_bytes // 20

    def respond(
        self, scheme: str, name: str, target: str, *, accepts: str = "", attempt: int = 1
    ) -> PlannedResponse | None:
        """Return the response of a host; None if the host does not exist. `accepts` is the Accept-Encoding header."""
        web = self._web
        url = web.origin(name, scheme) + target
        if target == TDMREP_PATH and web.address(name) is not None and web.planted.find(name, target) is None:
            return PlannedResponse(404, b"Content-Type: text/plain\r\n", b"No tdmrep.json here.\n", kind="tdmrep")
        if trap := web.trap(name):
            return _trapped(web, trap, name, target)
        if target in (ROBOTS_PATH, MOVED_PATH) or policy_name(target):
            robots = self._robots(url, scheme, name, target)
            if robots is not None:
                return robots
        page = web.find(url)
        if page is None:
            return None
        if page.planted is not None:
            return _planted(page)
        if attempt == 1 and page.kind in _FAILS_AT_FIRST:
            status, wait_s = _FAILS_AT_FIRST[page.kind], 0.0
            head = b"Content-Type: text/plain\r\n"
            if page.kind is PageKind.BUSY:
                wait_s = float(web.spec.retry_after_s)
                head += b"Retry-After: %d\r\n" % web.spec.retry_after_s
            return PlannedResponse(status, head, b"Not now.\n", wait_s=wait_s, retryable=True)
        if page.leads_to is not None and page.status != 200:
            return _redirect(page.status, page.leads_to, page.url)
        return self._cached(page, coding_of(web, page, accepts))

    def warm(self) -> None:
        """Make the responses of all pages, for clients that accept every coding, until the cache is full."""
        for number in range(self._web.spec.sites):
            for page in self._web.site(number).by_url.values():
                if page.status == 200:
                    self._cached(page, coding_of(self._web, page, "*"))
                if self._free_bytes < self._spare_bytes:
                    return

    def _cached(self, page: PlannedPage, coding: str) -> PlannedResponse:
        key = (page.url, coding)
        answer = self._cache.get(key)
        if answer is None:
            answer = self._make(page, coding)
            size_bytes = len(answer.body) + 500
            while self._free_bytes < size_bytes and self._cache:
                self._free_bytes += len(self._cache.popitem(last=False)[1].body) + 500
            if size_bytes <= self._free_bytes:
                self._cache[key] = answer
                self._free_bytes -= size_bytes
        return answer

    def _make(self, page: PlannedPage, coding: str) -> PlannedResponse:
        spec = self._web.spec
        body = render(self._web, page)
        data = encode(coding, body.data) if coding else body.data
        coding_line = f"Content-Encoding: {coding}\r\nVary: Accept-Encoding\r\n" if coding else ""
        return PlannedResponse(
            page.status,
            f"Content-Type: {body.content_type}\r\n{coding_line}".encode(),
            data,
            leads_to=page.leads_to or "",
            retryable=page.status >= 500,
            delay_s=spec.slow_s if page.kind is PageKind.SLOW else 0.0,
            chunked=unit_of(spec.seed, "chunked", page.site, page.number) < spec.chunked,
        )

    def _robots(self, url: str, scheme: str, name: str, target: str) -> PlannedResponse | None:
        """Return robots.txt, or a redirect on the way to it; None if the URL is that of a page."""
        web = self._web
        if name in web.planted.names:
            if web.planted.find(name, target) is not None or target != ROBOTS_PATH:
                return None
            return _robots_file(web.planted.robots(name))
        number = web.site_number(name)
        if number is None or (scheme == "https" and not web.spec.tls):
            return None
        if policy_for := policy_name(target):
            return self._policy(url, policy_for)
        hosts = web.hosts(number)
        robots = web.robots(name)
        if target == MOVED_PATH and not robots.moved:
            return None
        if scheme != web.scheme:
            return _redirect(301, web.origin(name) + target, url, kind="robots")
        if name == hosts.alias:
            return _redirect(301, web.origin(hosts.main) + target, url, kind="robots")
        if robots.moved and target == ROBOTS_PATH:
            return _redirect(301, web.origin(name) + MOVED_PATH, url, kind="robots")
        if robots.elsewhere:
            return _redirect(301, robots.elsewhere[0], url, kind="robots")
        return _robots_file(robots)

    def _policy(self, url: str, name: str) -> PlannedResponse | None:
        """Return the robots.txt that this site serves for another site's host, or a redirect to the next such site."""
        robots = self._web.robots(name) if self._web.site_number(name) is not None else NO_ROBOTS
        if url not in robots.elsewhere:
            return None
        if url == robots.elsewhere[-1]:
            return _robots_file(robots)
        return _redirect(302, robots.elsewhere[robots.elsewhere.index(url) + 1], url, kind="robots")


def coding_of(web: WebPlan, page: PlannedPage, accepts: str) -> str:
    """Return the content coding of a page: the planned one if the client accepts it, else gzip, else none."""
    if page.kind is PageKind.IMAGE or page.status != 200:
        return ""
    accepted = _accepted(accepts)
    coding = _CODINGS[int(unit_of(web.spec.seed, "coding", page.site, page.number) * len(_CODINGS))]
    if not coding or coding in accepted:
        return coding
    return "gzip" if "gzip" in accepted else ""


@lru_cache(maxsize=256)
def _accepted(accepts: str) -> frozenset[str]:
    codings = set()
    for item in accepts.lower().split(","):
        coding, _, weight = item.partition(";")
        if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            codings.add(coding.strip())
    return frozenset({"gzip", "br", "zstd"} if "*" in codings else codings)


def encode(coding: str, data: bytes) -> bytes:
    """Compress `data` with a content coding."""
    if coding == "gzip":
        return isal_zlib.compress(data, 1, zlib.MAX_WBITS | 16)
    if coding == "br":
        return bytes(brotli.compress(data, quality=0))
    return _ZSTD.compress(data)


def _redirect(status: int, to: str, url: str, *, kind: str = "page") -> PlannedResponse:
    location = to
    if status in (302, 307) and to.startswith(url[: -len(split_url(url)[2])] + "/"):
        location = split_url(to)[2]  # a relative Location: common, and crawlers often resolve it wrongly
    body = b"<!DOCTYPE html>\n<html><head><title>Moved</title></head><body><h1>Moved</h1></body></html>\n"
    head = f"Content-Type: text/html; charset=utf-8\r\nLocation: {location}\r\n".encode()
    return PlannedResponse(status, head, body, kind=kind, leads_to=to)


def _robots_file(robots: Robots) -> PlannedResponse:
    if robots.status != 200:
        retryable = robots.status == 429 or robots.status >= 500
        head = b"Content-Type: text/plain\r\n"
        return PlannedResponse(robots.status, head, b"No robots.txt here.\n", kind="robots", retryable=retryable)
    head = b"Content-Type: text/plain; charset=utf-8\r\n"
    return PlannedResponse(200, head, robots.text(), kind="robots", wait_s=robots.crawl_delay_s or 0.0)


def _trapped(web: WebPlan, kind: str, name: str, target: str) -> PlannedResponse:
    if target == ROBOTS_PATH:
        return _robots_file(NO_ROBOTS)
    origin = web.origin(name)
    page = TRAPS[kind](TrapUrl(name, target, web.spec.year))
    if page.leads_to:
        return _redirect(302, origin + page.leads_to, origin + target, kind="trap")
    hosts = [web.origin(host) + "/" for host in page.hosts]
    head = b"Content-Type: text/html; charset=utf-8\r\n"
    return PlannedResponse(200, head, trap_body(page.words, [*page.links, *hosts]), kind="trap")


def hostile_response(web: WebPlan, host: HostileHost, target: str, scheme: str) -> PlannedResponse:
    """Return the answer of a hostile host to a request."""
    answer = web.hostile.answer(host, target, scheme, web.victim)
    is_robots = target.partition("?")[0] == ROBOTS_PATH
    return PlannedResponse(
        answer.status,
        answer.head,
        answer.body,
        kind="robots" if is_robots else "hostile",
        leads_to=answer.leads_to,
        wait_s=answer.wait_s,
        retryable=answer.script is not None or answer.status == 429 or answer.status >= 500,
        delay_s=answer.delay_s,
        script=answer.script,
        ending=answer.ending,
    )


def _planted(page: PlannedPage) -> PlannedResponse:
    planted = page.planted
    assert planted is not None
    wait_s = 0.0
    for name, value in planted.headers:
        if name.lower() == "retry-after" and planted.status in (429, 503) and value.isdigit():
            wait_s = float(value)
    return PlannedResponse(
        planted.status,
        "".join(f"{name}: {value}\r\n" for name, value in planted.headers).encode("latin-1"),
        planted.body,
        kind="robots" if planted.is_robots else _PLANTED_KINDS.get(planted.path, "page"),
        leads_to=planted.leads_to or "",
        wait_s=wait_s,
        retryable=planted.behaviour.retryable or planted.status == 429 or planted.status >= 500,
        delay_s=planted.delay_s,
        behaviour=planted.behaviour,
    )


_FAILS_AT_FIRST = {PageKind.FLAKY: 503, PageKind.BUSY: 429}
_ZSTD = zstandard.ZstdCompressor(level=1)
