"""Pages that cost a reader much: time to parse, memory, or links without end. Pure.

Where the time grows with the size, the size depends on the site, so that on any machine some pages take just less than
the longest time that a crawler allows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gossamer_simweb.hostility.bombs import gzip_page
from gossamer_simweb.hostility.kind import HTML, VARIANTS, HostileAnswer, HostileKind, anchors, own_links, page

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer_simweb.hostility.kind import Answering, HostileUrl

PAGE_BYTES = 2_000_000
_START = b"<!DOCTYPE html>\n<title>%s</title>\n"


@lru_cache(maxsize=64)
def _repeated(piece: bytes, size_bytes: int) -> bytes:
    return piece * (size_bytes // len(piece))


@lru_cache(maxsize=64)
def _zipped(piece: bytes, size_bytes: int) -> bytes:
    return gzip_page(_repeated(piece, size_bytes))


def _filled_with(piece: bytes, size_bytes: int = PAGE_BYTES) -> Answering:
    """Return pages of one piece of HTML, over and over, behind a few links."""

    def answer(url: HostileUrl) -> HostileAnswer:
        return page(b"<p>%s</p>" % url.fresh().encode(), own_links(url), _repeated(piece, size_bytes))

    return answer


def _growing(make: Callable[[int], bytes]) -> Answering:
    """Return pages whose costly part depends on the size of the site's attack."""

    def answer(url: HostileUrl) -> HostileAnswer:
        return page(b"<p>%s</p>" % url.fresh().encode(), own_links(url), make(url.variant))

    return answer


def _tables(url: HostileUrl) -> HostileAnswer:
    """Return nested tables: a few KB on the wire, up to 3 MB once inflated."""
    start = _START % url.fresh().encode() + own_links(url)
    tables = _zipped(b"<table><tr><td>", (url.variant + 1) * 3_200_000 // VARIANTS)
    return HostileAnswer(head=HTML + b"Content-Encoding: gzip\r\n", body=gzip_page(start) + tables)


@lru_cache(maxsize=VARIANTS)
def _fonts(variant: int) -> bytes:
    return b"".join(b"<font size=%d><p>" % number for number in range((variant + 1) * 1_000))


@lru_cache(maxsize=VARIANTS)
def _formatting(variant: int) -> bytes:
    return b"".join(b"<p><b class=%d><i id=%d>" % (number, number) for number in range((variant + 1) * 450))


@lru_cache(maxsize=1)
def _attributes(_: int) -> bytes:
    return b"<p %s>" % b" ".join(b"a%d=%d" % (number, number) for number in range(130_000))


@lru_cache(maxsize=1)
def _relative_links() -> bytes:
    return anchors([str(number) for number in range(40_000)])


def _many_links(url: HostileUrl) -> HostileAnswer:
    return page(b'<base href="/%s/">' % url.fresh().encode(), _relative_links())


def _based(url: HostileUrl) -> HostileAnswer:
    bases = (url.victim(), "data:text/html,", "javascript:alert(1)//", "http://[::1", "//169.254.169.254", "file:///")
    base = bases[int(url.fresh()[:2], 16) % len(bases)]
    tags = f'<base href="{base}/x/"><base href="{url.victim(1)}/">'
    return page(tags.encode(), anchors([f"{url.fresh(number)}/more" for number in range(20)]), own_links(url))


PAGE_KINDS = {
    "nested-tables": HostileKind(
        sentence="Its pages are a few KB that inflate to up to 3 MB of nested tables.",
        page=_tables,
        front=_tables,
    ),
    "font-tower": HostileKind(
        sentence="Its pages open up to 8,000 different fonts and close none, so that every paragraph reopens them.",
        page=_growing(_fonts),
        front=_growing(_fonts),
    ),
    "unclosed-formatting": HostileKind(
        sentence="Its pages have thousands of unclosed formatting elements, each with its own attribute.",
        page=_growing(_formatting),
        front=_growing(_formatting),
    ),
    "deep-nesting": HostileKind(
        sentence="Its pages nest 400,000 elements.",
        page=_filled_with(b"<div>"),
    ),
    "many-attributes": HostileKind(
        sentence="Its pages have an element with 130,000 attributes.",
        page=_growing(_attributes),
    ),
    "giant-attribute": HostileKind(
        sentence="Its pages have an attribute of 2 MB.",
        page=lambda url: page(own_links(url), b'<p title="' + _repeated(b"x", PAGE_BYTES) + b'">'),
    ),
    "entity-flood": HostileKind(
        sentence="Its pages are 2 MB of character references.",
        page=_filled_with(b"&CounterClockwiseContourIntegral;&notit"),
    ),
    "inline-script": HostileKind(
        sentence="Its pages have 2 MB of script that almost ends again and again.",
        page=lambda url: page(own_links(url), b"<script>" + _repeated(b"<!--<script></scrip -->", PAGE_BYTES)),
    ),
    "link-flood": HostileKind(
        sentence="Each of its pages links to 40,000 further pages of the site.",
        page=_many_links,
        front=_many_links,
    ),
    "empty-elements": HostileKind(
        sentence="Its pages have 600,000 empty paragraphs.",
        page=_filled_with(b"<p>"),
    ),
    "foreign-content": HostileKind(
        sentence="Its pages switch between HTML, SVG and MathML a hundred thousand times.",
        page=_filled_with(b"<svg><desc><math><mi>", 2_000_000),
    ),
    "comment-flood": HostileKind(
        sentence="Its pages are comments that almost end.",
        page=_filled_with(b"<!-- -- - -!-> --"),
    ),
    "meta-flood": HostileKind(
        sentence="Its pages have 40,000 meta elements that ask crawlers for something.",
        page=_filled_with(b'<meta name=robots content="noai, max-snippet:1">'),
    ),
    "giant-title": HostileKind(
        sentence="Its pages have a title of 2 MB.",
        page=lambda url: page(own_links(url), title=url.fresh().encode() + _repeated(b"title ", PAGE_BYTES)),
    ),
    "giant-word": HostileKind(
        sentence="Its pages have one word of 2 MB.",
        page=lambda url: page(own_links(url), b"<p>" + url.fresh().encode() + _repeated(b"word", PAGE_BYTES)),
    ),
    "large-pages": HostileKind(
        sentence="Each of its pages is 2 MB of ordinary text.",
        page=_filled_with(b"<p>Ordinary words in an ordinary paragraph, one after the other.</p>\n"),
        front=_filled_with(b"<p>Ordinary words in an ordinary paragraph, one after the other.</p>\n"),
    ),
    "templates": HostileKind(
        sentence="Its pages nest 100,000 templates and select elements.",
        page=_filled_with(b"<template><select><option>", 2_000_000),
    ),
    "base-tricks": HostileKind(
        sentence="Its pages name bases that make their links point to other sites or to other schemes.",
        page=_based,
    ),
}
