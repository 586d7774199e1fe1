"""The values that workers and the frontier exchange: links, claims, outcomes, figures.

Times are Unix seconds (`…_at`) and serve only as information. Everything that schedules is a *wait* in seconds
(`…_s`), because the clocks of two machines never agree.
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
    """What a queued URL is expected to be."""

    PAGE = 0
    SITEMAP = 1
    BARE = 2  # a page that the operator named without a scheme: https, or http if nothing answers there


class Scope(StrEnum):
    """How far a crawl may go from its seeds."""

    HOST = "host"  # the seeds' own hosts, by name: http and https of a name are one
    SITE = "site"  # all hosts of the seeds' sites
    WEB = "web"  # any host


class Link(NamedTuple):
    """A URL offered to the frontier. A named tuple, since a page yields dozens: 0.4 µs against 3 for a dataclass."""

    url: str  # normalised
    url_hash: bytes
    site: str
    host: str
    depth: int  # links from the nearest seed
    rank: int = 0  # a smaller rank is fetched earlier; within a rank, a smaller depth
    seeded: bool = False  # a seed, or the target of a seed's redirect: its site belongs to the crawl
    hops: int = 0  # redirects that led here
    via: bytes | None = None  # hash of the page that linked here
    kind: int = Kind.PAGE


class QueuedUrl(NamedTuple):
    """A URL of a claimed site, to be fetched."""

    url: str
    url_hash: bytes
    host: str
    depth: int
    rank: int
    hops: int
    tries: int  # counted failures so far
    kind: int
    via: bytes | None = None  # hash of the page that linked here


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """The rules of a host's robots.txt, or how long it has failed; and whether the host answers at all."""

    host: str
    rules: str = ""  # reduced to our group; opaque to the frontier
    expires_at: float = 0.0  # Unix seconds; robots.txt is requested again after this time
    failures: int = 0  # robots.txt requests in a row that failed
    failing_since: float | None = None  # Unix seconds
    blocked_s: float = 0.0  # no request goes to this host for this long; its URLs wait, or are given up
    silent: int = 0  # tries in a row without any answer: no name, no connection, no TLS
    given_up: Reason | None = None  # while it is blocked, its URLs are given up for this reason, without a request


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A site that this worker owns until it releases it, with the URLs to fetch."""

    site: str
    epoch: int  # identifies this ownership; completions repeat it
    delay_s: float  # between two turns: the crawl's, or the site's own if longer
    own_delay_s: float = 0.0  # what the site itself asked for
    failures: int = 0  # of the site, in a row
    pages: int = 0  # of the site, stored so far
    urls: tuple[QueuedUrl, ...]  # never empty; in the order in which to fetch them
    hosts: Mapping[str, HostState]  # the known ones of the URLs, and some more of the site


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The answer to a claim: sites, or the time until the next site is due."""

    claims: tuple[Claim, ...] = ()
    wait_s: float | None = None  # until a site is due; None: no site waits


class Gone(Enum):
    """The answer to a worker that was declared dead: it must drop all sites and join again."""

    GONE = "gone"


GONE: Final = Gone.GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The URL is settled: its page is stored, or its answer leaves nothing to do."""

    page: bool = True  # whether it counts against the page limit; a redirect, for example, does not


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The page goes back to the queue, and is not requested again for a while."""

    wait_s: float
    counted: bool = True  # whether it uses up a try; False if the failure was ours: an outage uses up no tries


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp:
    """The page will not be fetched; the frontier stores the reason."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Barred:
    """The operator's rules forbid to request the URL; changed rules can admit it again."""

    reason: Reason


Outcome = Done | Retry | GivenUp | Barred


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Give a site back."""

    wait_s: float  # until its next turn may begin
    own_delay_s: float = 0.0  # what the site itself asks for (Crawl-delay); the crawl's delay holds if longer
    failures: int = 0  # of the site, in a row: stored for the next owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What happened at an owned site: outcomes by URL hash, robots rules, and whether the site is released."""

    site: str
    epoch: int
    outcomes: Sequence[tuple[bytes, Outcome]] = ()
    hosts: Sequence[HostState] = ()
    own_delay_s: float = 0.0  # what the site is known to ask for; survives the death of its owner
    release: Release | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Everything that a worker reports at once; the frontier commits all of it or nothing."""

    links: Sequence[Link] = ()
    visits: Sequence[Visit] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The result of reporting a batch."""

    lost: tuple[tuple[str, int], ...] = ()  # site and epoch of visits to sites that the worker no longer owned


class CrawlState(StrEnum):
    """What the operator wants the workers to do."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"


class AddressShare(NamedTuple):
    """How much of the requests that one address may get one worker may send, in millionths, whatever the address."""

    parts: int
    version: int  # counts the changes that the frontier has made; a late heartbeat with an older one changes nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What the operator changed; the answer to a heartbeat."""

    state: CrawlState
    exclusions_version: int
    excluded: frozenset[str] | None  # all excluded sites; None if unchanged since this worker's last heartbeat
    share: AddressShare
    seed_ports: frozenset[int] = frozenset()  # ports of the seeds besides 80 and 443: links to them are followed


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
class SharedFigures:
    """The figures of one process that have changed, as of a full minute or its end, for other machines."""

    at: float  # Unix seconds
    worker: str  # as in the table `figures`
    figures: Mapping[tuple[str, str], float]  # by name and labels, as there; all of them in the first row of an hour
    home: str = ""  # names the crawl folder that they come from; the engine fills it in


class OpenTransaction(NamedTuple):
    """A transaction that is open in a database: no row that died since it began can be vacuumed."""

    pid: int  # of the server's process
    application: str
    state: str
    age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How well a database cleans up behind a crawl."""

    oldest: OpenTransaction | None  # of any program
    dead_rows: Mapping[str, int]  # by table, as the database's statistics estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A start waits to learn whether workers on other machines are alive."""

    workers: tuple[str, ...]  # their labels
    left_s: float  # at most; begins again if the database was unreachable
    trouble: str = ""  # why the database cannot be read now


class UrlStatus(StrEnum):
    """The status of an accepted URL."""

    QUEUED = "queued"
    DONE = "done"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlState:
    """All the frontier knows about a URL."""

    status: UrlStatus
    depth: int
    reason: Reason | None = None  # why it was given up
    rank: int | None = None  # this and all below only of a queued URL
    tries: int | None = None
    via: bytes | None = None
    wait_s: float | None = None  # until the URL itself may be fetched, whatever its site waits for; 0 if it may
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
    failures: int = 0  # in a row, when it was last released
    pages: int = 0  # stored
    spent: bool = False  # it has reached max_pages_per_site


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A queued URL, as the frontier lists it for the operator."""

    site: str
    url: str
    depth: int
    rank: int
    tries: int  # failed ones so far
    wait_s: float  # until the URL itself may be fetched, whatever its site waits for; 0 if it may
    via: bytes | None
    queued_at: float | None  # Unix seconds; None if an older version queued it


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOutcome:
    """The number of seeds, or targets of their redirects, with the same outcome."""

    reason: Reason | None  # why they were given up; None: their pages are stored
    seeds: int
    example: str  # the URL of one of them

    @classmethod
    def of(cls, outcome: str, seeds: int, example: str) -> SeedOutcome:
        """Return the value of a row of the frontier's query."""
        return cls(reason=Reason(outcome) if outcome else None, seeds=seeds, example=example)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The frontier's figures; cheap to read at any size."""

    sites: int
    sites_with_work: int  # with queued URLs, or in hand
    sites_in_hand: int
    known: int  # accepted URLs
    queued: int  # of the known, those not settled, in hand included
    done: int
    pages: int  # of those done, the stored pages: a redirect, for example, is none
    given_up: Mapping[Reason, int] = field(default_factory=lambda: MappingProxyType({}))
    page_limit: int | None = None  # None: no limit
    pages_left: int | None = None  # of the page limit, minus the URLs in hand; None: no limit
    wait_s: float | None = None  # until the next site is due; None: no site waits
    sites_spent: int = 0  # that have reached max_pages_per_site
    sites_in_trouble: int = 0  # with work, but backing off or suspended after several failures in a row
    hosts_in_trouble: int = 0  # of other sites, single hosts that back off; not counted beyond 100,000
    state: CrawlState = CrawlState.RUNNING

    @property
    def in_trouble(self) -> int:
        """How many sites and single hosts wait longer than their delay because they fail."""
        return self.sites_in_trouble + self.hosts_in_trouble

    @property
    def is_paused(self) -> bool:
        """Whether the operator has paused the crawl, on all machines."""
        return self.state is CrawlState.PAUSED

    @property
    def is_full(self) -> bool:
        """Whether the page limit is reached, and no site is in hand any more."""
        return self.pages_left == 0 and not self.sites_in_hand
