"""A simple, correct crawler for testing the simulated web and its judge, and faults that a test can switch on.

It shares no code with the real crawler but the normalisation of URLs: asyncio's own streams, the standard library's
HTML parser, protego for robots.txt, and the simulated web's name server through aiodns.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import ssl
import time
from collections import deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple

import aiodns
import brotli
import pycares
import zstandard
from protego import Protego

from gossamer.urls import host_of, name_of_host, normalise, site_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer_simweb import WebServer

MISDEEDS = frozenset({
    "hurry", "hurry within turns", "overlap", "ignore Retry-After", "ignore Crawl-delay", "ignore robots.txt",
    "skip robots.txt", "ask robots.txt again", "forget a page", "repeat a page", "insist", "follow nofollow",
    "leave the scope", "use a wrong address",
})  # fmt: skip


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Site:
    queue: deque[tuple[str, bool, int]] = field(default_factory=deque)  # URL, seeded, tries so far
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    last_end: float = 0.0
    not_before: float = 0.0
    delay_s: float = 0.0
    turns: int = 0


class Links(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.base, self.nofollow, self.refresh = url, False, ""
        self.found: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("a", "area") and "href" in given:
            self.found.append((given["href"], "nofollow" not in given.get("rel", "")))
        elif tag == "base" and "href" in given:
            self.base = given["href"]
        elif tag == "meta" and given.get("name") == "robots":
            self.nofollow = "nofollow" in given["content"]
        elif tag == "meta" and given.get("http-equiv") == "refresh":
            self.refresh = given["content"].partition("url=")[2]


class NaiveCrawler:
    """Crawls until nothing is left, and keeps the bodies by URL."""

    def __init__(
        self,
        server: WebServer,
        seeds: Iterable[str],
        *,
        scope: str = "site",
        delay_s: float,
        token: str = "gossamer",
        misdeed: str = "",
    ) -> None:
        assert misdeed in MISDEEDS | {""}
        self._server, self._scope, self._token, self._misdeed = server, scope, token, misdeed
        self._delay_s, self._inner_gap_s = delay_s, min(delay_s, 1.0)
        self._seeds = list(seeds)
        self._in_scope: set[str] = set()
        self._seen: set[str] = set()
        self._sites: dict[str, Site] = {}
        self._rules: dict[str, Protego] = {}
        self._open = 0
        self._done = asyncio.Event()
        self._context = ssl.create_default_context(cafile=server.ca_file) if server.ca_file else None
        self.bodies: dict[str, bytes] = {}  # as received, by URL

    async def run(self) -> None:
        self._names = aiodns.DNSResolver(nameservers=[self._server.dns])
        async with asyncio.TaskGroup() as self._tasks:
            for seed in self._seeds:
                self._meet(seed, seeded=True)
            await self._done.wait()
            for site in self._sites.values():
                site.wakeup.set()
        await self._names.close()

    def _meet(self, href: str, *, seeded: bool = False, base: str | None = None) -> None:
        url = normalise(href, base)
        if not isinstance(url, str) or url in self._seen or not self._admits(url, seeded):
            return
        self._seen.add(url)
        if self._misdeed == "forget a page" and len(self._seen) == 8:
            return
        name = site_of(url)
        if name not in self._sites:
            self._sites[name] = Site(delay_s=self._delay_s)
            self._tasks.create_task(self._visit(name, self._sites[name]))
        self._put(self._sites[name], url, seeded, 0)

    def _put(self, site: Site, url: str, seeded: bool, tries: int) -> None:
        self._open += 1
        site.queue.append((url, seeded, tries))
        site.wakeup.set()

    def _admits(self, url: str, seeded: bool) -> bool:
        place = "" if self._scope == "web" else site_of(url) if self._scope == "site" else host_of(url)
        if seeded:
            self._in_scope.add(place)
        return place in self._in_scope or self._misdeed == "leave the scope"

    async def _visit(self, name: str, site: Site) -> None:
        while not self._done.is_set():
            while site.queue:
                hurry = self._misdeed == "hurry" and site.turns == 2
                wait_until = max(site.last_end + site.delay_s, site.not_before)
                await self._sleep_until(wait_until if not hurry else site.last_end + self._delay_s / 2)
                site.turns += 1
                turns = [self._turn(name, site, *site.queue.popleft())]
                if self._misdeed == "overlap" and site.queue and site.turns == 3:
                    turns.append(self._turn(name, site, *site.queue.popleft()))
                await asyncio.gather(*turns)
                self._open -= len(turns)
                if not self._open:
                    self._done.set()
            site.wakeup.clear()
            if not self._done.is_set():
                await site.wakeup.wait()

    async def _turn(self, name: str, site: Site, url: str, seeded: bool, tries: int) -> None:
        while True:
            if not await self._allowed(site, url):
                return
            try:
                response = await self._ask(site, url)
            except aiodns.error.DNSError:
                return
            if response.status == 429 or response.status >= 500:
                if tries + 1 < (9 if self._misdeed == "insist" else 4):
                    self._put(site, url, seeded, tries + 1)
                return
            self.bodies[url] = response.body
            if self._misdeed == "repeat a page" and site.turns == 3:
                self._put(site, url, seeded, tries)
                site.turns += 1
            target = self._read(url, response)
            if target is None or target in self._seen or not self._admits(target, seeded):
                return
            if site_of(target) != name:
                self._meet(target, seeded=seeded)
                return
            self._seen.add(target)
            url, tries = target, 0
            await self._gap(site)

    async def _allowed(self, site: Site, url: str) -> bool:
        host = host_of(url)
        if self._misdeed == "skip robots.txt":
            return True
        if host not in self._rules or (self._misdeed == "ask robots.txt again" and site.turns == 4):
            at: str | None = f"{host}/robots.txt"
            while at is not None:
                try:
                    response = await self._ask(site, at)
                except aiodns.error.DNSError:
                    return False
                await self._gap(site)
                at = self._location(at, response)
            text = response.body.decode() if response.status == 200 else ""
            rules = self._rules[host] = Protego.parse(text)
            if self._misdeed != "ignore Crawl-delay":
                site.delay_s = max(site.delay_s, rules.crawl_delay(self._token) or 0.0)
        return self._rules[host].can_fetch(url, self._token) or self._misdeed == "ignore robots.txt"

    def _location(self, url: str, response: Response) -> str | None:
        if not 300 <= response.status < 400:
            return None
        target = normalise(response.headers["location"], url)
        assert isinstance(target, str)
        return target

    def _read(self, url: str, response: Response) -> str | None:
        """Return the target of a redirect; for other responses, queue the links and return None."""
        if (target := self._location(url, response)) is not None:
            return target
        kind = response.headers.get("content-type", "")
        if response.status != 200 or not kind.startswith("text/html"):
            return None
        body = decode(response)
        charset = re.search(r"charset=([\w-]+)", kind) or re.search(r'charset="([\w-]+)"', body[:500].decode("latin-1"))
        links = Links(url)
        links.feed(body.decode(charset[1] if charset else "utf-8"))
        if links.refresh:
            target_url = normalise(links.refresh, url)
            assert isinstance(target_url, str)
            return target_url
        for href, follow in links.found:
            if (follow and not links.nofollow) or self._misdeed == "follow nofollow":
                self._meet(href, base=links.base)
        return None

    async def _gap(self, site: Site) -> None:
        if self._misdeed != "hurry within turns":
            await self._sleep_until(site.last_end + self._inner_gap_s)

    async def _sleep_until(self, moment: float) -> None:
        while (left_s := moment - time.monotonic()) > 0:  # noqa: ASYNC110  (a sleep may end early)
            await asyncio.sleep(left_s)

    async def _ask(self, site: Site, url: str) -> Response:
        response = await fetch(self._server, self._names, self._context, url, misdirect=self._misdirect(site))
        site.last_end = time.monotonic()
        if "retry-after" in response.headers and self._misdeed != "ignore Retry-After":
            site.not_before = site.last_end + int(response.headers["retry-after"])
        return response

    def _misdirect(self, site: Site) -> bool:
        return self._misdeed == "use a wrong address" and site.turns == 4


async def fetch(
    server: WebServer,
    names: aiodns.DNSResolver,
    context: ssl.SSLContext | None,
    url: str,
    *,
    misdirect: bool = False,
) -> Response:
    """Request one URL on a connection of its own."""
    host = host_of(url)
    name = name_of_host(host)
    record = (await names.query_dns(name, "A")).answer[0].data
    assert isinstance(record, pycares.ARecordData)
    address = "127.200.1.1" if misdirect else record.addr
    secure = url.startswith("https:")
    reader, writer = await asyncio.open_connection(
        address,
        server.tls_port if secure else server.port,
        ssl=context if secure else None,
        server_hostname=name if secure else None,
    )
    target = url[len(host) :]
    lines = (f"GET {target} HTTP/1.1", f"Host: {host.partition('://')[2]}", "User-Agent: naive/1 gossamer",
             "Accept-Encoding: gzip, br, zstd", "Connection: close", "", "")  # fmt: skip
    writer.write("\r\n".join(lines).encode())
    data = await reader.read(-1)
    writer.close()
    return parse_response(data)


def parse_response(data: bytes) -> Response:
    head, _, body = data.partition(b"\r\n\r\n")
    status_line, *fields = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in fields)}
    if headers.get("transfer-encoding") == "chunked":
        pieces = []
        while True:
            size, _, body = body.partition(b"\r\n")
            if size == b"0":
                break
            pieces.append(body[: int(size, 16)])
            body = body[int(size, 16) + 2 :]
        body = b"".join(pieces)
    else:
        assert len(body) == int(headers["content-length"])
    return Response(int(status_line.split(" ")[1]), headers, body)


def decode(response: Response) -> bytes:
    match response.headers.get("content-encoding"):
        case "gzip":
            return gzip.decompress(response.body)
        case "br":
            return bytes(brotli.decompress(response.body))
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(response.body)
    return response.body
