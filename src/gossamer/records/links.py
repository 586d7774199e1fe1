"""What crosses between workers and the frontier: links, claims, outcomes, figures.

Times are Unix seconds (`…_at`) and only ever describe; whatever schedules is a *wait* in seconds (`…_s`),
because no two machines agree on what time it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Kind(IntEnum):
    """What a queued URL is expected to hold."""

    PAGE = 0
    SITEMAP = 1
    BARE = 2  # a page that the operator named without a scheme: https, or http if nothing answers there


class Scope(StrEnum):
    """How far a crawl may go from its seeds."""

    HOST = "host"  # the seeds' own hosts
    SITE = "site"  # the seeds' sites, all hosts of them
    WEB = "web"  # wherever links lead


class Link(NamedTuple):
    """A URL offered to the frontier. A named tuple, since a page yields dozens: 0.4 µs against 3 for a dataclass."""

    url: str  # normalised
    url_hash: bytes
    site: str
    host: str
    depth: int  # links from the nearest seed
    rank: int = 0  # smaller is fetched earlier, before depth is looked at
    seeded: bool = False  # a seed, or where a seed redirected to: its site belongs to the crawl
    hops: int = 0  # redirects that led here
    via: bytes | None = None  # hash of the page that linked here
    kind: int = Kind.PAGE


class QueuedUrl(NamedTuple):
    """A URL in hand, as a claim delivers it."""

    url: str
    url_hash: bytes
    host: str
    depth: int
    rank: int
    hops: int
    tries: int  # counted failures so far
    kind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """What a host's robots.txt last said, or how long it has failed to; and whether the host answers at all."""

    host: str
    rules: str = ""  # reduced to our group; opaque to the frontier
    expires_at: float = 0.0  # Unix seconds; ask again after
    failures: int = 0  # robots.txt requests in a row that failed
    failing_since: float | None = None  # Unix seconds
    blocked_s: float = 0.0  # no request goes to this host for this long; its URLs wait, or are given up
    silent: int = 0  # tries in a row without any answer: no name, no connection, no TLS
    given_up: Reason | None = None  # while it is blocked, its URLs are given up for this reason, without a request


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A site that this worker owns until it completes it, with what to fetch from it."""

    site: str
    epoch: int  # names this ownership; completions repeat it
    delay_s: float  # between two turns: the crawl's, or the site's own if longer
    own_delay_s: float = 0.0  # what the site itself asked for
    failures: int = 0  # of the site, in a row
    pages: int = 0  # kept of the site so far
    urls: tuple[QueuedUrl, ...]  # never empty; in the order in which to fetch them
    hosts: Mapping[str, HostState]  # as far as known: those of the URLs, and some more of the site


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The answer to a claim: sites, or how long until it is worth asking again."""

    claims: tuple[Claim, ...] = ()
    wait_s: float | None = None  # nothing is due sooner; None: nothing waits at all


class Gone(Enum):
    """The answer to a worker that was declared dead: drop everything, join anew."""

    GONE = "gone"


GONE: Final = Gone.GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The URL is settled: fetched and kept, or answered in a way that leaves nothing to do."""

    page: bool = True  # counts against the page limit; a redirect, say, does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The page goes back to the queue and is left alone for a while."""

    wait_s: float
    counted: bool = True  # False when it was our own fault: an outage burns no tries


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """The page will not be fetched; the reason is kept."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Barred:
    """The operator's rules keep the URL from being asked for, until others let it in again."""

    reason: Reason


Outcome = Done | Retry | GivenUp | Barred


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Give a site back."""

    wait_s: float  # until its next turn may begin
    own_delay_s: float = 0.0  # what the site itself asks for (Crawl-delay); the crawl's delay holds if longer
    failures: int = 0  # of the site, in a row: kept for whoever claims it next


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What happened at a site in hand: outcomes by URL hash, robots rules, and whether it is given back."""

    site: str
    epoch: int
    outcomes: Sequence[tuple[bytes, Outcome]] = ()
    hosts: Sequence[HostState] = ()
    own_delay_s: float = 0.0  # what the site is known to ask for by now; holds even if its owner dies
    release: Release | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Everything a worker reports at once; it enters the frontier whole or not at all."""

    links: Sequence[Link] = ()
    visits: Sequence[Visit] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What became of a batch."""

    lost: tuple[tuple[str, int], ...] = ()  # site and epoch of visits to what the worker no longer owned


class CrawlState(StrEnum):
    """What the operator wants the workers to do."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What the operator changed, as a heartbeat brings it back."""

    state: CrawlState
    exclusions_version: int
    excluded: frozenset[str] | None  # all excluded sites, if that changed since this worker last heard


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker as the frontier knows it."""

    worker: int
    label: str
    beats: int
    gone: bool
    sites: int  # owned now
    figures: Mapping[str, float]  # of its last heartbeat
    silent_s: float | None = None  # since its last heartbeat, by the clock of the database; None: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A start waits to see whether workers of other machines are alive."""

    workers: tuple[str, ...]  # their labels
    left_s: float  # at most; counted anew if the database was away
    trouble: str = ""  # why the database cannot be read now


class UrlStatus(StrEnum):
    """Where an accepted URL stands."""

    QUEUED = "queued"
    DONE = "done"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlState:
    """All the frontier knows about a URL."""

    status: UrlStatus
    depth: int
    reason: Reason | None = None  # given up
    rank: int | None = None  # of a queued URL, like all below
    tries: int | None = None
    via: bytes | None = None
    wait_s: float | None = None  # until it may be fetched as far as it alone is concerned; 0 if eligible
    queued_at: float | None = None  # Unix seconds; None also if an older version queued it


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """All the frontier knows about a site."""

    site: str
    wait_s: float | None  # until its next turn; 0 if due; None if nothing is queued or it is excluded
    owner: int | None
    epoch: int
    own_delay_s: float
    seeded: bool
    excluded: bool
    queued: int
    failures: int = 0  # in a row, when it was last given back
    pages: int = 0  # kept of it
    spent: bool = False  # it has given all pages that the limit of a site allows, and rests


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOutcome:
    """How many seeds, or what they redirected to, ended alike."""

    reason: Reason | None  # why they were given up; None: they gave a page
    seeds: int
    example: str  # the URL of one of them

    @classmethod
    def of(cls, outcome: str, seeds: int, example: str) -> SeedOutcome:
        """Return a row of a frontier as a value."""
        return cls(reason=Reason(outcome) if outcome else None, seeds=seeds, example=example)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The frontier's figures, cheap at any size."""

    sites: int
    sites_with_work: int  # queued or in hand
    sites_in_hand: int
    known: int  # accepted URLs
    queued: int  # of those not settled, in hand included
    done: int
    pages: int  # of those done, what was kept as a page: a redirect, say, was not
    given_up: Mapping[Reason, int] = field(default_factory=lambda: MappingProxyType({}))
    page_limit: int | None = None  # None: no limit
    pages_left: int | None = None  # of the page limit, less what is in hand; None: no limit
    wait_s: float | None = None  # until the next site is due; None: nothing waits
    sites_spent: int = 0  # that have given all pages that the limit of a site allows, and rest
    sites_in_trouble: int = 0  # with work, but they failed so often in a row that they back off or are suspended
    hosts_in_trouble: int = 0  # of other sites, that back off by themselves; not counted beyond 100,000

    @property
    def in_trouble(self) -> int:
        """How many sites and single hosts are left alone for longer than their delay because they fail."""
        return self.sites_in_trouble + self.hosts_in_trouble

    @property
    def is_full(self) -> bool:
        """Whether the page limit is reached, and nothing is in hand any more."""
        return self.pages_left == 0 and not self.sites_in_hand
