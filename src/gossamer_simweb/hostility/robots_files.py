"""Hostile robots.txt files: long, slow, endless, expensive to match, or a way to bother others. Pure."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING

from gossamer_simweb.hostility.bombs import gzip_bomb
from gossamer_simweb.hostility.kind import (
    TEXT,
    VARIANTS,
    Ending,
    HostileAnswer,
    HostileKind,
    anchors,
    drip,
    ordinary_page,
    page,
    scripted,
)

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import HostileUrl

RULES_BYTES = 500_000  # what the standard says that a crawler must read, at least
_HEAD = b"HTTP/1.1 200 OK\r\n" + TEXT
_SLOW_PATH = "/" + "a" * 180  # tries every way to match a rule of many wildcards


def _rules(data: bytes, **facts: float) -> HostileAnswer:
    return HostileAnswer(200, TEXT, data, wait_s=facts.get("wait_s", 0.0))


@lru_cache(maxsize=VARIANTS)
def _wildcards(variant: int) -> bytes:
    stars = "*a" * (3 + variant)
    rules = (f"Disallow: /{stars}*{number}*aaa\n" for number in range(RULES_BYTES // (24 + 2 * variant)))
    return b"User-agent: *\n" + "".join(rules).encode()[:RULES_BYTES]


@lru_cache(maxsize=1)
def _literals() -> bytes:
    rules = "".join(f"Disallow: /private/{number}/\nAllow: /public/{number}$\n" for number in range(11_000))
    return b"User-agent: *\n" + rules.encode()[:RULES_BYTES]


@lru_cache(maxsize=1)
def _groups() -> bytes:
    groups = "".join(f"User-agent: bot{number}\nDisallow: /{number}\n\n" for number in range(14_000))
    return groups.encode() + b"User-agent: *\nDisallow: /private\n"


def _slow_links(url: HostileUrl) -> HostileAnswer:
    links = [f"{_SLOW_PATH}/{url.fresh(number)}/{'a' * 40}" for number in range(10)]
    return page(b"<p>%s</p>" % url.fresh().encode(), anchors(links))


def _redirected(url: HostileUrl) -> HostileAnswer:
    hop = int(url.target.partition("?")[2] or "0")
    if hop >= 100:
        return _rules(b"User-agent: *\nDisallow: /private\n")
    to = f"{url.origin}/robots.txt?{hop + 1}"
    return HostileAnswer(302, TEXT + f"Location: {to}\r\n".encode(), leads_to=to)


def _elsewhere(url: HostileUrl) -> HostileAnswer:
    to = f"{url.victims(url.number)}/robots.txt"
    return HostileAnswer(302, TEXT + f"Location: {to}\r\n".encode(), leads_to=to)


def _sitemaps(url: HostileUrl) -> HostileAnswer:
    return _rules("".join(f"Sitemap: {url.origin}/s/{url.fresh(n)}.xml\n" for n in range(8_000)).encode())


def _busy(_: HostileUrl) -> HostileAnswer:
    later = b"Retry-After: 86400000000\r\n"
    return HostileAnswer(503, TEXT + later, b"Later.\n", wait_s=86_400_000_000.0)


ROBOTS_KINDS = {
    "robots-wildcards": HostileKind(
        sentence="It has a robots.txt of 500 KB, all with wildcards, and links with long paths of a's.",
        page=_slow_links,
        front=_slow_links,
        robots=lambda url: _rules(_wildcards(url.variant)),
    ),
    "robots-literals": HostileKind(
        sentence="It has a robots.txt of 500 KB with 20,000 different rules without wildcards.",
        page=ordinary_page,
        robots=lambda _: _rules(_literals()),
    ),
    "robots-groups": HostileKind(
        sentence="It has a robots.txt with 14,000 groups for other crawlers before the group for all.",
        page=ordinary_page,
        robots=lambda _: _rules(_groups()),
    ),
    "robots-line": HostileKind(
        sentence="It has a robots.txt with a single rule of 500 KB.",
        page=ordinary_page,
        robots=lambda _: _rules(b"User-agent: *\nDisallow: /" + b"*a" * (RULES_BYTES // 2)),
    ),
    "robots-endless": HostileKind(
        sentence="It sends a robots.txt that never ends.",
        page=ordinary_page,
        robots=lambda _: HostileAnswer(
            script=lambda: chain((_HEAD + b"\r\n",), repeat(b"Disallow: /private/*a*b*c\n" * 2_500))
        ),
    ),
    "robots-drip": HostileKind(
        sentence="It sends its robots.txt one byte a second.",
        page=ordinary_page,
        robots=lambda _: HostileAnswer(
            script=lambda: chain((_HEAD + b"Content-Length: 50000\r\n\r\n",), drip(b"# slow\n" * 7_142, 1.0))
        ),
    ),
    "robots-redirects": HostileKind(
        sentence="It redirects its robots.txt a hundred times before it sends the file.",
        page=ordinary_page,
        robots=_redirected,
    ),
    "robots-elsewhere": HostileKind(
        sentence="It redirects its robots.txt to that of a good site.",
        page=ordinary_page,
        robots=_elsewhere,
    ),
    "robots-crawl-delay": HostileKind(
        sentence="It asks for a Crawl-delay of 1e300 seconds.",
        page=ordinary_page,
        robots=lambda _: _rules(b"User-agent: *\nCrawl-delay: 1e300\nDisallow:\n", wait_s=1e300),
    ),
    "robots-gzip-bomb": HostileKind(
        sentence="It sends a robots.txt of 60 KB that inflates to 64 MB.",
        page=ordinary_page,
        robots=lambda _: HostileAnswer(200, TEXT + b"Content-Encoding: gzip\r\n", gzip_bomb(b"Disallow: /*a*b\n")),
    ),
    "robots-page": HostileKind(
        sentence="It sends 2 MB of HTML as its robots.txt.",
        page=ordinary_page,
        robots=lambda _: HostileAnswer(body=b"<p>Disallow: /</p>\n" * 105_000),
    ),
    "robots-tarpit": HostileKind(
        sentence="It never answers requests for its robots.txt.",
        page=ordinary_page,
        robots=lambda _: scripted(ending=Ending.HOLD, status=0),
    ),
    "robots-busy": HostileKind(
        sentence="It answers 503 for its robots.txt, with a Retry-After of 2,700 years.",
        page=ordinary_page,
        robots=_busy,
    ),
    "robots-sitemaps": HostileKind(
        sentence="It names 8,000 sitemaps in its robots.txt, none of which exists.",
        page=ordinary_page,
        robots=_sitemaps,
    ),
    "robots-binary": HostileKind(
        sentence="It sends a robots.txt with NUL bytes, escape sequences, invalid UTF-8 and bare carriage returns.",
        page=ordinary_page,
        robots=lambda _: _rules(b"\xff\xfeUser-agent: *\rDisallow: /\x00\x1b]0;x\x07\xc3\x28\rAllow: /\n" * 3_000),
    ),
}
