"""The messages between a worker and its page process: each has a fixed layout, and is preceded by its length.

    worker                                  page process
    settings, once                     ->
                                       <-   hello: ready; empty
    a page                             ->
                                       <-   its reply; the replies keep the order of the pages

The worker does not trust a reply: a page may have taken over the process. It bounds the length of a reply before it
takes its bytes, and a reply without its layout costs the process and the page (`layouts.FrameError`). What the fields
say, such as a page's links, is believed: the process could have read a page wrongly in any case.

The body goes one way: if it came compressed, the reply has the archive records around it, and the worker puts the body
in, as it received it.
"""

from __future__ import annotations

import struct
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args, get_type_hints

from gossamer.page_process.layouts import (
    BYTES,
    FLAG,
    FLOAT,
    INT32,
    INT64,
    LONG_TEXT,
    MAX_ITEMS,
    OF_COLUMNS,
    TEXT,
    TEXTS,
    FrameError,
    Layout,
)
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
from gossamer.records.rows import HASH_BYTES
from gossamer.store.warc import put_together
from gossamer.urls import MAX_URL_CHARS, Url

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Sequence

    from gossamer.parse.sitemaps import SitemapContent
    from gossamer.store.warc import ExchangeAroundBody

LENGTH_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 1 << 30  # no frame is this long
HELLO: Final = b"\0" * LENGTH_BYTES

MAX_DETAIL_CHARS: Final = 20_000  # of a traceback
_JOINED_BYTES: Final = 1 << 15  # a frame shorter than this is cheaper to join than to send in pieces
_MAX_CHAR_BYTES: Final = 4  # in UTF-8
_OTHER_REPLY_BYTES: Final = 64_000_000  # links and their texts, where each is as long as it may be
_SITEMAP_REPLY_BYTES: Final = MAX_ITEMS * (2 * MAX_URL_CHARS + 100)

_ROW: Final = tuple(
    LONG_TEXT if name == "text" else OF_COLUMNS[get_args(hint)[1].type]
    for name, hint in get_type_hints(PageRow, include_extras=True).items()
)
_RECORDS: Final = (BYTES, BYTES, INT64, TEXT)  # archive records around the body, the response's place, the digest
_LISTS: Final = (TEXTS, BYTES, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS)  # the fields of all links, of all anchors

_TERMS: Final = Layout(FLOAT, INT64, INT64, INT64, TEXT, TEXT, FLAG, FLAG)
_PAGE: Final = Layout(*(TEXT, FLAG, TEXT, INT32, BYTES, BYTES, TEXT, FLAG, FLAG, TEXT, BYTES, FLOAT, FLOAT))
_OPENING: Final = struct.Struct("<??Bd")  # before a reply's own layout: retiring, large, its kind, processor time
_REPLIES: Final = {
    "page": (0, Layout(*_ROW, *_LISTS, TEXT, FLAG, FLAG, FLAG, TEXT, *_RECORDS, FLAG)),
    "failed": (1, Layout(TEXT, TEXT)),
    "bug": (2, Layout(TEXT)),  # our code failed
    "robots": (4, Layout(FLAG, TEXT)),  # whether there are rules
    "sitemap": (3, Layout(TEXT, TEXTS, BYTES, TEXTS, INT32, TEXT, *_RECORDS)),
}
_KINDS: Final[dict[int, tuple[str, Layout | None]]] = {
    code: (kind, layout) for kind, (code, layout) in _REPLIES.items()
}

Frame = list[bytes]  # in pieces: the kernel joins them when they are sent
Result = ParsedPage | ParsedSitemap | ParsedRobots | ParseFailed


class Reply(NamedTuple):
    """What the page process says about a page."""

    retiring: bool  # the process ends after this reply
    large: bool  # the page took more memory than pages usually may
    cpu_s: float  # processor time that the process has used since it started; a process that was taken over may lie
    result: Result | RuntimeError  # the error is a bug of ours


class Payload(NamedTuple):
    """A reply without its opening."""

    code: int  # what it is
    pieces: list[bytes]


class PageTerms(NamedTuple):
    """What a page process is told before the first page."""

    deadline_s: float
    memory_bytes: int  # that reading a page may take
    usual_bytes: int  # after a page that took more, the process is replaced; 0: such a page is left to another process
    max_bytes: int  # of an inflated body
    agent: str  # our name in robots directives of pages
    text: str
    markdown: bool
    anchors: bool


def max_reply_bytes(terms: PageTerms, request: Frame, kind: RequestKind) -> int:
    """Return the most bytes that the reply to a frame may have: more would not be what the process is for."""
    other = _SITEMAP_REPLY_BYTES if kind is RequestKind.SITEMAP else _OTHER_REPLY_BYTES
    return min(MAX_FRAME_BYTES, 2 * sum(map(len, request)) + _MAX_CHAR_BYTES * terms.max_bytes + other)


def pack_terms(terms: PageTerms) -> Frame:
    """Return the first frame."""
    return _frame(_TERMS.pack(terms))


def unpack_terms(payload: bytes) -> PageTerms:
    """Return what `pack_terms` packed."""
    return PageTerms(*_TERMS.unpack(memoryview(payload)))


def pack_page(fetched: Fetched, *, kind: RequestKind, archive: bool) -> Frame:
    """Return the frame of a page or sitemap to parse, with whether to make archive records of it."""
    return _frame(
        _PAGE.pack(
            (
                kind.value,
                archive,
                fetched.url,
                fetched.status,
                fetched.head,
                fetched.body,
                fetched.truncated.value if fetched.truncated else "",
                fetched.type_refused,
                fetched.links_only,
                fetched.address,
                fetched.request_head,
                fetched.started_at,
                fetched.duration_s,
            )
        )
    )


def unpack_page(payload: bytes) -> tuple[Fetched, RequestKind, bool]:
    """Return what `pack_page` packed."""
    kind, archive, *values = _PAGE.unpack(memoryview(payload))
    url, status, head, body, cut, type_refused, links_only, address, request_head, started_at, duration_s = values
    fetched = Fetched(
        url=url,
        status=status,
        head=head,
        body=body,
        truncated=Truncation(cut) if cut else None,
        type_refused=type_refused,
        links_only=links_only,
        address=address,
        request_head=request_head,
        started_at=started_at,
        duration_s=duration_s,
    )
    return fetched, RequestKind(kind), archive


def pack_reply(payload: Payload, *, retiring: bool, large: bool = False, cpu_s: float) -> Frame:
    """Return the frame of a reply."""
    return _frame([_OPENING.pack(retiring, large, payload.code, cpu_s), *payload.pieces])


def drop_sent(unsent: deque[memoryview], sent_bytes: int) -> None:
    """Remove what was sent from the front of pieces that are to be sent."""
    while unsent and sent_bytes >= len(unsent[0]):
        sent_bytes -= len(unsent.popleft())
    if sent_bytes:
        unsent[0] = unsent[0][sent_bytes:]


def parsed_reply(parsed: ParsedPage, exchange: ExchangeAroundBody | None) -> Payload:
    """Return the reply for a page that was parsed, with its archive records, but not the body that the worker has."""
    urls, hashes, sites, hosts = zip(*parsed.links, strict=True) if parsed.links else ((), (), (), ())
    targets, texts, rels = zip(*parsed.anchors, strict=True) if parsed.anchors else ((), (), ())
    lists = (urls, b"".join(hashes), sites, hosts, targets, texts, rels)
    flags = (parsed.refresh, parsed.noindex, parsed.nofollow, parsed.noai, parsed.blocked)
    return _reply("page", (*parsed.row, *lists, *flags, *_records(exchange), parsed.links_cut))


def sitemap_reply(sitemap: SitemapContent, exchange: ExchangeAroundBody | None) -> Payload:
    """Return the reply for a sitemap that was parsed."""
    urls, ranks = [entry.url for entry in sitemap.entries], bytes(entry.rank for entry in sitemap.entries)
    found = (sitemap.format.value, urls, ranks, sitemap.sitemaps, len(sitemap.refused), sitemap.cut)
    return _reply("sitemap", (*found, *_records(exchange)))


def robots_reply(robots: ParsedRobots) -> Payload:
    """Return the reply for a robots.txt."""
    return _reply("robots", (robots.rules is not None, robots.rules or ""))


def failed_reply(failed: ParseFailed) -> Payload:
    """Return the reply for a page that could not be parsed."""
    return _reply("failed", (failed.reason.value, failed.detail[:MAX_DETAIL_CHARS]))


def bug_reply(trace: str) -> Payload:
    """Return the reply for a page on which our code failed."""
    return _reply("bug", (trace[-MAX_DETAIL_CHARS:],))


def unpack_reply(payload: bytes | memoryview, asked: RequestKind, body: bytes) -> Reply:
    """Return the reply to a page, a sitemap or a robots.txt with this body; raise FrameError if it is none."""
    message = memoryview(payload)
    if len(message) < _OPENING.size:
        raise FrameError("too short")
    retiring, large, code, cpu_s = _OPENING.unpack_from(message)
    kind, layout = _KINDS.get(code, ("", None))
    if layout is None or kind not in (asked.value, "failed", "bug"):
        raise FrameError("another kind of reply")
    if not 0 <= cpu_s < inf:
        raise FrameError("no processor time")
    values = layout.unpack(message[_OPENING.size :])
    result: Result | RuntimeError
    match kind:
        case "page":
            result = _page_of(values, body)
        case "sitemap":
            result = _sitemap_of(values, body)
        case "robots":
            result = ParsedRobots(rules=values[1] if values[0] else None)
        case "failed":
            result = ParseFailed(reason=_reason_of(values[0]), detail=values[1][:MAX_DETAIL_CHARS])
        case _:
            result = RuntimeError(f"the page process failed:\n{values[0][:MAX_DETAIL_CHARS]}")
    return Reply(retiring, large, cpu_s, result)


def _page_of(values: Sequence[Any], body: bytes) -> ParsedPage:
    row, rest = PageRow._make(values[: len(_ROW)]), values[len(_ROW) :]
    urls, hashes, sites, hosts, targets, texts, rels = rest[: len(_LISTS)]
    parts = [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]
    if {len(urls), len(sites), len(hosts)} != {len(parts)} or len(hashes) % HASH_BYTES:
        raise FrameError("links without all of their parts")
    if {len(targets), len(texts), len(rels)} != {len(targets)}:
        raise FrameError("link texts without all of their parts")
    if max(map(len, urls), default=0) > MAX_URL_CHARS or max(map(len, targets), default=0) > MAX_URL_CHARS:
        raise FrameError("a URL that is too long")
    links, anchors = [*map(Url, urls, parts, sites, hosts)], [*map(Anchor, targets, texts, rels)]
    refresh, noindex, nofollow, noai, blocked, before, behind, *last = rest[len(_LISTS) :]
    archive = put_together(before, body, behind)
    return ParsedPage(row, links, anchors, refresh, noindex, nofollow, noai, blocked, archive, *last)


def _sitemap_of(values: Sequence[Any], body: bytes) -> ParsedSitemap:
    *found, before, behind, offset, digest = values
    archive = put_together(before, body, behind)
    fields = (*found, archive, offset, digest)
    sitemap = ParsedSitemap(**dict(zip(ParsedSitemap.__slots__, fields, strict=True)))
    if len(sitemap.urls) != len(sitemap.ranks):
        raise FrameError("URLs without ranks")
    if max(map(len, (*sitemap.urls, *sitemap.sitemaps)), default=0) > MAX_URL_CHARS:
        raise FrameError("a URL that is too long")
    return sitemap


def _reason_of(value: str) -> Reason:
    try:
        return Reason(value)
    except ValueError:
        raise FrameError("no reason") from None


def _records(exchange: ExchangeAroundBody | None) -> tuple[bytes, bytes, int, str]:
    return (b"", b"", 0, "") if exchange is None else exchange


def _reply(kind: str, values: Sequence[object]) -> Payload:
    code, layout = _REPLIES[kind]
    return Payload(code, layout.pack(values))


def _frame(pieces: list[bytes]) -> Frame:
    size = sum(map(len, pieces))
    pieces.insert(0, size.to_bytes(LENGTH_BYTES, "little"))
    return pieces if size >= _JOINED_BYTES else [b"".join(pieces)]
