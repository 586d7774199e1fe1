"""What a worker and its page process say to each other: tuples of plain values, each behind its length.

`marshal` is the fastest way to pass such tuples, and safe between two processes of one Python.

    worker                                  page process
    settings, once                     ->
                                       <-   hello: ready
    a page                             ->
                                       <-   its reply; the replies keep the order of the pages
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, Final, cast

from gossamer.records import (
    Anchor,
    Fetched,
    ParsedPage,
    ParsedSitemap,
    ParseFailed,
    Reason,
    RequestKind,
    Truncation,
)
from gossamer.urls import Url

if TYPE_CHECKING:
    from gossamer.parse.page import Content
    from gossamer.parse.sitemaps import SitemapContent
    from gossamer.store.warc import EncodedExchange

LENGTH_BYTES: Final = 4
PAGE: Final = 0  # kinds of reply: the page
FAILED: Final = 1  # it cannot be read
BUG: Final = 2  # we cannot read it
SITEMAP: Final = 3

_LINKS: Final = ParsedPage.__slots__.index("links")
_ANCHORS: Final = ParsedPage.__slots__.index("anchors")
_FORMAT: Final = 2  # of marshal: later ones look for repeated values, which costs more than it saves here

Values = tuple[Any, ...]


def pack(values: Values) -> bytes:
    """Return values as a frame."""
    payload = marshal.dumps(values, _FORMAT)
    return len(payload).to_bytes(LENGTH_BYTES, "little") + payload


def unpack(payload: bytes | memoryview) -> Values:
    """Return the values of a frame, without its length; raises ValueError if it holds none."""
    try:
        values = marshal.loads(payload)  # noqa: S302  (from our own process)
    except (EOFError, TypeError) as error:
        raise ValueError("not a frame") from error
    return cast("Values", values)


def pack_page(fetched: Fetched, *, kind: RequestKind, archive: bool) -> bytes:
    """Return a page to be read, or a sitemap, and whether to make an archive record of it."""
    return pack(
        (
            kind.value,
            archive,
            fetched.url,
            fetched.status,
            fetched.head,
            fetched.body,
            fetched.truncated and fetched.truncated.value,
            fetched.type_refused,
            fetched.links_only,
            fetched.address,
            fetched.request_head,
            fetched.started_at,
            fetched.duration_s,
        )
    )


def unpack_page(payload: bytes) -> tuple[Fetched, RequestKind, bool]:
    """Return what `pack_page` packed."""
    kind, archive, *values = unpack(payload)
    url, status, head, body, cut, type_refused, links_only, address, request_head, started_at, duration_s = values
    fetched = Fetched(
        url=url,
        status=status,
        head=head,
        body=body,
        truncated=cut and Truncation(cut),
        type_refused=type_refused,
        links_only=links_only,
        address=address,
        request_head=request_head,
        started_at=started_at,
        duration_s=duration_s,
    )
    return fetched, RequestKind(kind), archive


def page_reply(content: Content, exchange: EncodedExchange | None) -> Values:
    """Return the reply for a page that was read."""
    links = [part for link in content.links for part in link]  # named tuples cannot be marshalled
    anchors = [part for anchor in content.anchors for part in anchor]
    found = (PAGE, *content[:_LINKS], links, *content[_LINKS + 1 : _ANCHORS], anchors)
    return (*found, *_records(exchange))


def sitemap_reply(sitemap: SitemapContent, exchange: EncodedExchange | None) -> Values:
    """Return the reply for a sitemap that was read."""
    urls, ranks = [entry.url for entry in sitemap.entries], [entry.rank for entry in sitemap.entries]
    found = (SITEMAP, sitemap.format.value, urls, ranks, sitemap.sitemaps, len(sitemap.refused), sitemap.cut)
    return (*found, *_records(exchange))


def _records(exchange: EncodedExchange | None) -> Values:
    if exchange is None:
        return (b"", 0, "")
    return (exchange.archive, exchange.response_offset, exchange.payload_digest)


def failed_reply(failed: ParseFailed) -> Values:
    """Return the reply for a page that could not be read."""
    return (FAILED, failed.reason.value, failed.detail)


def result_of(reply: Values) -> ParsedPage | ParseFailed:
    """Return what became of a page; raises RuntimeError with the traceback if it was a bug."""
    kind, *found = reply
    if kind == PAGE:
        values = dict(zip(ParsedPage.__slots__, found, strict=True))
        parts = iter(values["links"])
        values["links"] = [*map(Url, parts, parts, parts, parts)]
        parts = iter(values["anchors"])
        values["anchors"] = [*map(Anchor, parts, parts, parts)]
        return ParsedPage(**values)
    return _failure_of(reply)


def sitemap_of(reply: Values) -> ParsedSitemap | ParseFailed:
    """Return what became of a sitemap; raises like `result_of`."""
    kind, *found = reply
    if kind == SITEMAP:
        return ParsedSitemap(**dict(zip(ParsedSitemap.__slots__, found, strict=True)))
    return _failure_of(reply)


def _failure_of(reply: Values) -> ParseFailed:
    if reply[0] == FAILED:
        return ParseFailed(reason=Reason(reply[1]), detail=reply[2])
    raise RuntimeError(f"the page process failed:\n{reply[1]}")
