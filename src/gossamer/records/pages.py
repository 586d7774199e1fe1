"""The values that pass between fetching, parsing and storing: a page on its way to the disk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records.reasons import Reason
    from gossamer.records.rows import PageRow
    from gossamer.urls import Url


class RequestKind(StrEnum):
    """What a request was for."""

    PAGE = "page"
    ROBOTS = "robots"
    ROBOTS_ELSEWHERE = "robots_elsewhere"  # on another site, to which a robots.txt redirects: outside that site's turns
    SITEMAP = "sitemap"
    TDMREP = "tdmrep"  # which pages of the host are reserved; a turn of its own


class SiteStanding(Enum):
    """What is known of a site before it is asked."""

    ANSWERED = "answered"  # its last request
    UNTRIED = "untried"
    FAILED = "failed"  # its last request


ROBOTS_KINDS: Final = frozenset({RequestKind.ROBOTS, RequestKind.ROBOTS_ELSEWHERE})


class Truncation(StrEnum):
    """Why a body is incomplete, in the words of WARC-Truncated."""

    LENGTH = "length"  # cut at our cap
    TIME = "time"  # cut at our time limit
    DISCONNECT = "disconnect"  # the server stopped short of what it announced


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A server's answer to one request, as received: nothing decoded, nothing guessed."""

    url: str
    status: int
    head: bytes  # status line and headers of the final answer, up to and with the empty line
    body: bytes  # as sent, still content-encoded; only chunking is undone
    truncated: Truncation | None = None
    type_refused: bool = False  # the content type is not accepted: cut off after the headers
    links_only: bool = False  # HTML that is not accepted: parsed for its links, not stored
    address: str  # the address that answered, without port
    request_head: bytes  # exactly what we sent
    started_at: float  # Unix seconds
    duration_s: float  # from start to last byte


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A request that got no usable answer."""

    url: str
    reason: Reason
    detail: str = ""  # one line for the log
    address: str = ""
    started_at: float  # Unix seconds
    duration_s: float


class Anchor(NamedTuple):
    """A link as written in a page."""

    url: str  # its target, normalised
    text: str  # its text, white space collapsed, cut at 200 characters
    rel: str  # as written, one blank between words


class ParsedPage(NamedTuple):
    """The content of a page, and its archive records, ready to append. A tuple, to cross processes cheaply."""

    row: PageRow  # the columns that the page itself fills; the worker and the store fill the others
    links: Sequence[Url]  # to follow, distinct, in order; empty if the page says nofollow
    anchors: Sequence[Anchor]  # all links, also those not to follow; empty unless asked for
    refresh: str  # target of a meta refresh, normalised; empty if none
    noindex: bool
    nofollow: bool
    noai: bool  # the page forbids its use for artificial intelligence
    blocked: str = ""  # the mark by which this is a challenge or block page, and not the page
    archive: bytes = b""  # the request and response records, one gzip member each; empty if not archived
    response_offset: int = 0  # where in `archive` the response record begins
    payload_digest: str = ""  # `sha1:…` in base 32, as in the record
    links_cut: bool = False  # it has more links than are read of a page


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSitemap:
    """What a sitemap lists, and its archive records, ready to append."""

    format: str  # urlset, index, rss, atom, text
    urls: Sequence[str]  # of pages: normalised, distinct, by rank, in the order in which to fetch them
    ranks: Sequence[int]  # of each
    sitemaps: Sequence[str]  # that an index names: normalised, distinct, in order
    refused: int  # entries that are no URLs to crawl
    cut: str  # why it was not read to its end; empty if it was
    archive: bytes  # as of a page
    response_offset: int
    payload_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRobots:
    """What a long robots.txt asks of us, as it is stored."""

    rules: str | None  # None: it cannot be read


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseFailed:
    """A page or sitemap that could not be parsed; its request is logged, the page is given up."""

    reason: Reason
    detail: str = ""
