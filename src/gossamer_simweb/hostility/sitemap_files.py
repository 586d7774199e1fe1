"""Hostile sitemaps: bombs, loops, floods and entities. Pure."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING

from gossamer_simweb.hostility.bombs import gzip_bomb, gzip_page
from gossamer_simweb.hostility.kind import HostileAnswer, HostileKind, ordinary_page

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import HostileUrl

XML = b"Content-Type: application/xml\r\n"
GZIP = b"Content-Type: application/gzip\r\n"
_URLS = b'<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_INDEX = b'<?xml version="1.0"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
_ENTRY = b"<url><loc>x</loc></url>\n"
MAX_ENTRIES = 50_000


def _xml(data: bytes) -> HostileAnswer:
    return HostileAnswer(head=XML, body=data)


def _index(url: HostileUrl) -> HostileAnswer:
    entries = (f"<sitemap><loc>{url.origin}/sitemap.xml?{url.fresh(number)}</loc></sitemap>" for number in range(50))
    loops = f"<sitemap><loc>{url.origin}{url.target}</loc></sitemap>".replace("&", "&amp;")
    return _xml(_INDEX + loops.encode() + "".join(entries).encode() + b"</sitemapindex>")


def _entries(origin: str, fresh: str) -> bytes:
    locations = "".join(f"<url><loc>{origin}/invented/{fresh}/{n}</loc></url>" for n in range(MAX_ENTRIES))
    return _URLS + locations.encode() + b"</urlset>"


@lru_cache(maxsize=16)
def _zipped_entries(origin: str, fresh: str) -> bytes:
    return gzip_page(_entries(origin, fresh))


def _laughs(_: HostileUrl) -> HostileAnswer:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return _xml(
        f'<?xml version="1.0"?><!DOCTYPE z [<!ENTITY l0 "lol">{entities}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        "<urlset><url><loc>&l9;&f;</loc></url></urlset>".encode()
    )


def _endless(url: HostileUrl) -> HostileAnswer:
    entry = f"<url><loc>{url.origin}/p/1</loc></url>\n".encode()
    start = b"HTTP/1.1 200 OK\r\n" + XML + b"\r\n" + _URLS
    return HostileAnswer(script=lambda: chain((start,), repeat(entry * 1_000)))


def _deep(_: HostileUrl) -> HostileAnswer:
    return _xml(_URLS + b"<url>" * 300_000)


SITEMAP_KINDS = {
    "sitemap-bomb": HostileKind(
        sentence="It has a sitemap of less than 1 MB that inflates to 150 MB.",
        page=ordinary_page,
        sitemap=lambda _: HostileAnswer(head=GZIP, body=gzip_bomb(_ENTRY, 150_000_000, _URLS)),
    ),
    "sitemap-loop": HostileKind(
        sentence="Its sitemaps are indexes that name themselves and fifty further indexes.",
        page=ordinary_page,
        sitemap=_index,
    ),
    "sitemap-entities": HostileKind(
        sentence="It has a sitemap whose entities expand to a billion words and name a local file.",
        page=ordinary_page,
        sitemap=_laughs,
    ),
    "sitemap-victim": HostileKind(
        sentence="Its sitemap lists 50,000 pages of a good site that do not exist.",
        page=ordinary_page,
        sitemap=lambda url: HostileAnswer(
            head=GZIP, body=_zipped_entries(url.victims(url.number), str(url.number % 8))
        ),
    ),
    "sitemap-flood": HostileKind(
        sentence="Its sitemap lists 50,000 pages of the site that do not exist.",
        page=lambda _: HostileAnswer(404, XML, b"None.\n"),
        sitemap=lambda url: HostileAnswer(head=GZIP, body=_zipped_entries(url.origin, url.fresh())),
    ),
    "sitemap-endless": HostileKind(
        sentence="Its sitemap never ends.",
        page=ordinary_page,
        sitemap=_endless,
    ),
    "sitemap-deep": HostileKind(
        sentence="Its sitemap nests 300,000 elements.",
        page=ordinary_page,
        sitemap=_deep,
    ),
}
