"""The messages between a worker and its page process: tuples of plain values, each preceded by its length.

`marshal` is the fastest way to pass such tuples, and safe between two processes of one Python.

    worker                                  page process
    settings, once                     ->
                                       <-   hello: ready
    a page                             ->
                                       <-   its reply; the replies keep the order of the pages
"""

from __future__ import annotations

import marshal
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast

from gossamer.records import (
    Anchor,
    Fetched,
    PageRow,
    ParsedPage,
    ParsedRobots,
    ParsedSitemap,
    ParseFailed,
    Reason,
    RequestKind,
    Truncation,
)
from gossamer.urls import Url

if TYPE_CHECKING:
    from gossamer.parse.sitemaps import SitemapContent
    from gossamer.store.warc import EncodedExchange

LENGTH_BYTES: Final = 4
PAGE: Final = 0  # kinds of reply: the page
FAILED: Final = 1  # the page cannot be parsed
BUG: Final = 2  # our code failed
SITEMAP: Final = 3
ROBOTS: Final = 4

_RECORDS: Final = 3  # the last fields of a ParsedPage: its archive records
_FORMAT: Final = 2  # of marshal: later ones look for repeated values, which costs more than it saves here

Values = tuple[Any, ...]


def pack(values: Values) -> bytes:
    """Return values as a frame."""
    payload = marshal.dumps(values, _FORMAT)
    return len(payload).to_bytes(LENGTH_BYTES, "little") + payload


def unpack(payload: bytes | memoryview) -> Values:
    """Return the values of a frame, given without its length; raise ValueError if it is none."""
    try:
        values = marshal.loads(payload)  # noqa: S302  (from our own process)
    except (EOFError, TypeError) as error:
        raise ValueError("not a frame") from error
    return cast("Values", values)


def pack_page(fetched: Fetched, *, kind: RequestKind, archive: bool) -> bytes:
    """Return the frame of a page or sitemap to parse, with whether to make archive records of it."""
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


def page_reply(parsed: ParsedPage, exchange: EncodedExchange | None) -> Values:
    """Return the reply for a page that was parsed, with its archive records."""
    # Named tuples cannot be marshalled.
    nested = tuple(parsed.row), [*chain.from_iterable(parsed.links)], [*chain.from_iterable(parsed.anchors)]
    return (PAGE, *nested, *parsed[len(nested) : -_RECORDS], *_records(exchange))


def sitemap_reply(sitemap: SitemapContent, exchange: EncodedExchange | None) -> Values:
    """Return the reply for a sitemap that was parsed."""
    urls, ranks = [entry.url for entry in sitemap.entries], [entry.rank for entry in sitemap.entries]
    found = (SITEMAP, sitemap.format.value, urls, ranks, sitemap.sitemaps, len(sitemap.refused), sitemap.cut)
    return (*found, *_records(exchange))


def robots_reply(robots: ParsedRobots) -> Values:
    """Return the reply for a robots.txt."""
    return (ROBOTS, robots.rules)


def _records(exchange: EncodedExchange | None) -> Values:
    if exchange is None:
        return (b"", 0, "")
    return (exchange.archive, exchange.response_offset, exchange.payload_digest)


def failed_reply(failed: ParseFailed) -> Values:
    """Return the reply for a page that could not be parsed."""
    return (FAILED, failed.reason.value, failed.detail)


def result_of(reply: Values) -> ParsedPage | ParseFailed:
    """Return the parsed page, or why it could not be parsed; raise RuntimeError with the traceback after a bug."""
    if reply[0] != PAGE:
        return _failure_of(reply)
    _, row, links, anchors, *rest = reply
    parts = iter(links)
    words = iter(anchors)
    return ParsedPage(
        PageRow._make(row), [*map(Url, parts, parts, parts, parts)], [*map(Anchor, words, words, words)], *rest
    )


def sitemap_of(reply: Values) -> ParsedSitemap | ParseFailed:
    """Return the parsed sitemap, or why it could not be parsed; raise as `result_of` does."""
    kind, *found = reply
    if kind == SITEMAP:
        return ParsedSitemap(**dict(zip(ParsedSitemap.__slots__, found, strict=True)))
    return _failure_of(reply)


def robots_of(reply: Values) -> ParsedRobots | ParseFailed:
    """Return what a robots.txt says, or why it could not be read; raise as `result_of` does."""
    return ParsedRobots(rules=reply[1]) if reply[0] == ROBOTS else _failure_of(reply)


def _failure_of(reply: Values) -> ParseFailed:
    if reply[0] == FAILED:
        return ParseFailed(reason=Reason(reply[1]), detail=reply[2])
    raise RuntimeError(f"the page process failed:\n{reply[1]}")
