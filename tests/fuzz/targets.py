"""The targets of fuzzing: each is a function of bytes that must raise nothing, with seeds from the tests' data."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import brotli
import zstandard

from gossamer.crawl.folder import gather_settings
from gossamer.crawl.rules import RULES_FILE, _read_file
from gossamer.errors import GossamerError
from gossamer.inflate import inflate
from gossamer.inspect.delays import DELAYS_FILE, damaged_lines, delay_line, read_delays
from gossamer.page_process.frames import (
    LENGTH_BYTES,
    bug_reply,
    pack_page,
    pack_reply,
    parsed_reply,
    unpack_page,
    unpack_reply,
)
from gossamer.page_process.layouts import FrameError
from gossamer.parse.head import read_head
from gossamer.parse.page import read_page
from gossamer.parse.sitemaps import read_sitemap
from gossamer.records import PageRow, ParsedPage, RequestKind
from gossamer.rules.reservations import Reservations, find_reservation, parse_tdmrep
from gossamer.rules.robots import decide, parse_robots
from gossamer.store import reading
from gossamer.urls import Url, identify, normalise
from tests.inspect.crawls import Crawl
from tests.parse.pages import answer

if TYPE_CHECKING:
    from collections.abc import Callable

_URL = "https://example.org/dir/page.html?q=1"
_HTML = [
    b"<!doctype html><html lang=de><title>T</title><base href=/x/><a href='../y?z=1#f' rel=nofollow>text</a><p>Body",
    b"<table><tr><td><svg><title>no</title></svg><template><a href=1></template><meta charset=utf-16><b><p></b>",
    b"<meta http-equiv=refresh content='0; url=/next'><meta name=robots content=noindex><area href=//b.test/>",
    "\ufeff<title>Größe</title><a href='ä?ö=ü'>".encode("utf-16"),
    b"<?xml version='1.0' encoding='iso-8859-1'?><html xmlns='http://www.w3.org/1999/xhtml'><a href='x'/></html>",
]
_ROBOTS = [
    b"User-agent: *\nDisallow: /private/*$\nAllow: /*.html\nCrawl-delay: 2\nSitemap: https://a.test/s.xml\n",
    b"\xef\xbb\xbfuser-agent:gossamer\r\nuser-agent: b\r\rdisallow:/%7e%2F\nContent-Usage: train-ai=n\n",
]
_SITEMAPS = [
    b"<?xml version='1.0'?><urlset><url><loc>/a</loc><lastmod>2026-01-01</lastmod><priority>0.5</priority></url>",
    b"<sitemapindex><sitemap><loc>https://example.org/s.xml</loc></sitemap></sitemapindex>",
    b"<rss><channel><item><link>https://example.org/1</link></item></channel></rss>",
    b"<feed><entry><link href='https://example.org/2'/></entry></feed>",
    b"https://example.org/3\nhttps://example.org/4\n",
    gzip.compress(b"https://example.org/5\n"),
]
_TDMREP = [
    b'[{"location": "/a/*.jpg$", "tdm-reservation": 1, "tdm-policy": "https://a.test/p"}]',
    b'\xef\xbb\xbf[{"location": "/%7e\\u00e4", "tdm-reservation": "0"}, {"location": "x", "tdm-reservation": true}]',
]
_URLS = [
    b"HTTP://Ex\xc3\xa4mple.ORG:80/a/../%7eb?q=%zz#f",
    b"https://[::ffff:1.2.3.4]:443/",
    b"//a.test\\@b.test/",
    b"?",
]
_HEADS = [
    b'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset="utf-8"\r\nContent-Encoding: gzip, br\r\n\r\n',
    b"HTTP/2 301\r\nLocation: /x\r\n folded\r\nX-Robots-Tag: gossamer: noindex, nofollow\r\nRefresh: 0;url=/\r\n\r\n",
]
_TOML = [
    b'delay = 1\nemail = "a@b.test"\nscope = "web"\ninclude = ["/blog/"]\nmax_body = "2MB"\n',
    b"[section]\nx = 1\n",
]
_RULES = [b'{"rules": {"scope": "site", "max_depth": null, "include": []}, "tried": [], "reread": []}']
_ENCODINGS = ("gzip", "deflate", "br", "zstd", "gzip, br")


class Target(NamedTuple):
    """What is fuzzed."""

    run: Callable[[bytes], object]
    seeds: list[bytes]
    examples: int = 60  # in the tests


def _read_page(data: bytes) -> None:
    for kind in ("text/html", "text/html; charset=utf-8", "text/plain", "application/xhtml+xml"):
        read_page(answer(data, kind), agent="gossamer", max_bytes=100_000, anchors=True)


def _read_robots(data: bytes) -> None:
    rules = parse_robots(data, "Gossamer/1.0")
    for path in ("", "a.html", "private/" + "a" * 50, data[:100].decode("latin-1")):
        url = normalise(f"https://example.org/{path}")
        if isinstance(url, str):
            decide(rules, url)


def _read_tdmrep(data: bytes) -> None:
    found = Reservations(rules=parse_tdmrep(data))
    assert Reservations.from_lines(found.to_lines()) == found
    for path in ("", "a.html", "private/" + "a" * 50):
        find_reservation(found, f"https://example.org/{path}")


def _read_sitemap(data: bytes) -> None:
    for kind in ("application/xml", "text/plain", "text/html"):
        read_sitemap(answer(data, kind), agent="gossamer")


def _normalise(data: bytes) -> None:
    for text in (data.decode("utf-8", "surrogateescape"), data.decode("latin-1")):
        for base in (None, _URL):
            url = normalise(text, base)
            if isinstance(url, str):
                assert normalise(url) == url, "a normal form is its own"
                identify(url)


def _read_frames(data: bytes) -> None:
    for kind in (RequestKind.PAGE, RequestKind.SITEMAP, RequestKind.ROBOTS):
        with suppress(FrameError):
            unpack_reply(data, kind, b"")
    with suppress(ValueError):
        unpack_page(data)


def _inflate(data: bytes) -> None:
    for encodings in _ENCODINGS:
        inflate(data, encodings, max_bytes=100_000)


def _read_settings(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, suppress(GossamerError):
        file = Path(folder) / "crawl.toml"
        file.write_bytes(data)
        gather_settings(file, environment={}, flags={})


def _read_small_files(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / DELAYS_FILE).write_bytes(data)
        with suppress(GossamerError):
            read_delays(folder)
            damaged_lines(folder)
        (folder / RULES_FILE).write_bytes(data)
        with suppress(GossamerError):
            _read_file(folder / RULES_FILE)


def _read_journal(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, suppress(GossamerError, OSError):
        journal = Path(folder) / "journal"
        journal.mkdir()
        (journal / "pages-20260101000000000-w1-00001.arrows").write_bytes(data)
        list(reading.pages(Path(folder)))


def _journals() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        crawl = Crawl(Path(folder) / "crawl")
        for number in range(3):
            crawl.keep(f"https://a.test/{number}")
            crawl.store.sync()
        crawl.crash()
        return [path.read_bytes() for path in (crawl.folder / "journal").glob("pages-*")]


def _replies() -> list[bytes]:
    links = [Url(*identify("https://a.test/1"))]
    parsed = ParsedPage(PageRow(title="T", text="x"), links, [], "", False, False, False)
    replies = (parsed_reply(parsed, None), bug_reply("Traceback"))
    frames = [pack_reply(reply, retiring=False, cpu_s=1.0) for reply in replies]
    return [
        b"".join(frame)[LENGTH_BYTES:]
        for frame in (*frames, pack_page(answer("x"), kind=RequestKind.PAGE, archive=True))
    ]


def _encoded() -> list[bytes]:
    body = b"word " * 1_000
    return [gzip.compress(body), zlib.compress(body), brotli.compress(body), zstandard.compress(body)]


TARGETS: dict[str, Target] = {
    "page": Target(_read_page, _HTML),
    "robots": Target(_read_robots, _ROBOTS),
    "tdmrep": Target(_read_tdmrep, _TDMREP),
    "sitemap": Target(_read_sitemap, _SITEMAPS),
    "url": Target(_normalise, _URLS),
    "head": Target(read_head, _HEADS),
    "frames": Target(_read_frames, _replies()),
    "inflate": Target(_inflate, _encoded()),
    "settings": Target(_read_settings, _TOML),
    "small-files": Target(_read_small_files, [*_RULES, delay_line(1e9, 70.0).encode()]),
    "journal": Target(_read_journal, _journals(), examples=2),  # some are read in a process of their own
}
