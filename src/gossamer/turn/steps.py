"""What a turn needs from the world, and what came of it. Values only.

A turn yields one step at a time and is sent its reply. The table says which reply belongs to which step.

| step | reply |
|---|---|
| `Wait` | `Moment` |
| `Ask` | `Asked` |
| `AskElsewhere` | `AskedElsewhere` |
| `LookUp` | `UrlState`, None (not known), or `UNAVAILABLE` |
| `LookUpHosts` | a sequence of `HostState`; empty if the frontier does not answer |
| `Parse` | `ParsedPage`, `ParsedSitemap`, `ParsedRobots`, `ParseFailed`, or `NO_ROOM` |
| `Commit` | None, when everything that was reported so far is durable |
| `Keep` | the stored `PageRow` |
| `KeepAnswer`, `Deliver` | None |

The steps that every page takes are named tuples: a frozen dataclass takes three times as long to make.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.records import SiteStanding
from gossamer.records.rows import NO_HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records import Failed, Fetched, LinkRow, PageRow, ParsedSitemap, QueuedUrl, RequestKind
    from gossamer.rules.scope import Exclusions
    from gossamer.turn.effects import Effects
    from gossamer.urls import Url


class Moment(NamedTuple):
    """A point in time, by the worker's monotonic clock and by the wall clock."""

    clock_s: float  # schedules
    wall_at: float  # Unix seconds; only describes


class Missing(Enum):
    """Replies that stand for something that did not happen."""

    NOT_SENT = "not sent"  # the worker is stopping, its lease is over, or the operator excluded the URL
    UNAVAILABLE = "unavailable"  # the frontier does not answer
    NO_ROOM = "no room"  # too many bytes wait for the page process
    NO_SLOT = "no slot"  # the site may not answer, and silent sites hold as many request slots as they may


NOT_SENT: Final = Missing.NOT_SENT
UNAVAILABLE: Final = Missing.UNAVAILABLE
NO_ROOM: Final = Missing.NO_ROOM
NO_SLOT: Final = Missing.NO_SLOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Let time pass until then."""

    until_s: float  # on the worker's monotonic clock


class Ask(NamedTuple):
    """Make one request to the site of this turn, and write it to the request log."""

    url: str
    host: str
    kind: RequestKind
    tries: int  # failures that the URL and its host have behind them
    url_hash: bytes | None = None  # if it is known
    standing: SiteStanding = SiteStanding.UNTRIED
    exclusions: Exclusions | None = None  # the ones that are known not to exclude it
    via: bytes = NO_HASH  # hash of the page that the URL was found on
    for_links: bool = False  # take HTML even if its type is not accepted
    finishing: bool = False  # without it, a request that was already made would be in vain: send it even at a stop


class Asked(NamedTuple):
    """What came of a request."""

    answer: Fetched | Failed | Missing
    moment: Moment  # when it ended


@dataclass(frozen=True, slots=True, kw_only=True)
class AskElsewhere:
    """Request a robots.txt of another site, outside that site's turns, or use a recent answer."""

    url: Url
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedElsewhere:
    """What another site answered, or how long to wait until it may be requested."""

    answer: Fetched | Failed | None  # None: the site is not due yet
    keep_s: float = 0.0  # how long the answer may still be used
    wait_s: float = 0.0  # until the site may be requested
    moment: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """Find out where a URL stands in the frontier."""

    url: Url


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpHosts:
    """Find out what the frontier knows about the hosts of a site."""

    site: str


class Parse(NamedTuple):
    """Read a page, a sitemap or a long robots.txt in the page process."""

    answer: Fetched
    kind: RequestKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Make these effects durable before the turn goes on, and everything that was reported before them."""

    effects: Effects
    urgent: bool = True  # False: with the next regular batch


class Keep(NamedTuple):
    """Store a page, its archive records and its links."""

    row: PageRow
    archive: bytes
    response_offset: int
    answer: Fetched
    links: Sequence[LinkRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAnswer:
    """Archive an answer that is no page: replaying an archive needs redirects, errors and sitemaps too."""

    url: QueuedUrl
    answer: Fetched
    parsed: ParsedSitemap | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """Give a stored page to the program that runs the crawl; return when the program has it."""

    row: PageRow
    answer: Fetched


Step = Wait | Ask | AskElsewhere | LookUp | LookUpHosts | Parse | Commit | Keep | KeepAnswer | Deliver


class StepInterruptedError(Exception):
    """Thrown into a turn whose step did not end: the turn was cancelled, or the step met a bug of ours."""

    def __init__(self, moment: Moment, bug: Exception | None = None) -> None:
        super().__init__(bug)
        self.moment = moment
        self.bug = bug  # None: the turn was cancelled
