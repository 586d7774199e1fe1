"""The frontier: every URL that the crawl has accepted, kept durably and shared by all workers.

What belongs here: the contract of an engine, and the engines. What does not: decisions about politeness (the worker
makes those), and knowledge about pages. The frontier drops links outside the scope because only it knows which sites
are seeded.

The contract is split by caller. An engine implements all of `Frontier`; a caller names the part that it needs:

- `WorkerFrontier`: the lease, the recent links and the nine operations of a worker.
- `FrontierReader`: reads that change nothing.
- `OperatorFrontier`: the reads, and what a start, a command or the supervisor changes.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the type of a constant
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, Self

from gossamer.errors import GossamerError
from gossamer.frontier.shares import UNCHANGED
from gossamer.records import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from types import TracebackType

    from gossamer.frontier.batches import RecentLinks
    from gossamer.records import (
        AddressShare,
        Batch,
        Claimed,
        Completion,
        CrawlState,
        Gone,
        HostState,
        Link,
        Orders,
        QueuedUrl,
        QueueEntry,
        Reason,
        SeedOutcome,
        SharedFigures,
        SiteState,
        Stats,
        Upkeep,
        UrlState,
        Waiting,
        WorkerState,
    )


NO_TERMS: Final[Mapping[str, str]] = MappingProxyType({})


class UnreachableError(GossamerError):
    """The database cannot be opened now. A command reports this as an error; a restarted worker waits and retries."""


class FrontierError(Exception):
    """The database failed, and it is unknown whether the operation took effect: call `reconcile` first."""


class FrontierLookups(Protocol):
    """The reads that workers and readers share."""

    @property
    def lease_s(self) -> float | None:
        """How long after its last heartbeat other workers may declare a worker dead; None: never."""

    def known(self, site: str, url_hash: bytes) -> bool:
        """Return whether this URL was ever accepted."""

    def find_url(self, site: str, url_hash: bytes) -> UrlState | None:
        """Return the state of a URL, or None if it was never accepted."""

    def find_hosts(self, site: str) -> list[HostState]:
        """Return the hosts of a site whose robots.txt was requested, by name."""


class WorkerFrontier(FrontierLookups, Protocol):
    """What a worker needs: `lease_s`, `recent`, and nine operations, four of them lookups.

    Each operation is one transaction: it happens completely or not at all. All operations are synchronous: a worker
    calls them from one thread of its own. The contract passes waits, never times.
    """

    @property
    def recent(self) -> RecentLinks:
        """The links that this worker has committed lately; any thread may read them."""

    def join(self, label: str, terms: Mapping[str, str] = NO_TERMS) -> int:
        """Become a worker; return its id, which was never used before and never will be again.

        A worker that passes its terms is refused, as by `resume`, if they differ from those of the last start.
        """

    def heartbeat(
        self, figures: Mapping[str, float], exclusions_version: int = 0, share: AddressShare = UNCHANGED
    ) -> Orders | Gone:
        """Show that this worker lives; return what the operator changed, and this worker's share of each address.

        `share` is the share that the worker uses from now on: that of the last answer. The shares of all workers that
        are not declared dead never add up to more than the whole (`gossamer.frontier.shares`).

        On an engine that several machines share, a heartbeat also finds workers that were silent for their lease, ends
        their ids for good, and recovers their sites.
        """

    def claim(self, sites: int) -> Claimed | Gone:
        """Own at most `sites` due sites, the most overdue first, each with its next URLs by (rank, depth, arrival).

        (A frontier with many shards keeps this order exactly within a few shards, and picks among many at random.)

        Never returns a site that is not ready, owned, excluded or empty, nor a URL that waits for a retry or
        whose host is blocked. Never returns more than this worker's fair share of the sites with work, nor more
        URLs than the page limit leaves. If nothing is due, says how long another claim would return nothing.
        """

    def complete(self, batch: Batch) -> Completion:
        """Record results: add links, settle or requeue URLs, keep robots rules, release sites.

        One transaction. A visit whose epoch no longer matches still delivers its facts (links, settled
        URLs, robots rules) but changes no schedule. A barred URL leaves the queue and the known URLs, so that
        links and `admit` can bring it back; it counts as given up.
        """

    def look_ahead(self, site: str, epoch: int, urls: int) -> list[QueuedUrl]:
        """Return the first URLs in the queue of a site that this worker owns by this claim, those in hand included.

        So a worker gets more URLs of a site before it runs dry. Nothing changes: the worker knows which of them it has
        in hand. There are none if the site is not this worker's any more, and none if a limit of pages is set: only a
        claim reserves pages. URLs that wait for a retry, or whose host is blocked, are left out.
        """

    def reconcile(self, held: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """After an unknown result, release what this worker owns but does not hold, with a full delay.

        `held` maps site to epoch. Returns the items of it that this worker no longer owns: the worker drops those.
        """


class FrontierReader(FrontierLookups, Protocol):
    """What a reader needs: the state of a crawl. Nothing here changes anything."""

    @property
    def identity(self) -> str:
        """The id of this crawl, which differs from every other crawl's and survives a move."""

    def exclusions(self) -> frozenset[str]:
        """Return all exclusions."""

    def seed_ports(self) -> frozenset[int]:
        """Return the ports that seeds have, besides 80 and 443; the target of a seed's redirect is no seed."""

    def readmissions(self) -> int:
        """Return how often exclusions were removed."""

    def seeds_loaded(self, digest: str) -> bool:
        """Return whether a seed file with this digest was loaded completely."""

    def find_site(self, site: str) -> SiteState | None:
        """Return the state of a site, or None if it is not known."""

    def queued(self, site: str) -> Iterator[tuple[str, bytes]]:
        """Yield URL and hash of every queued URL of a site, claimed or not. Many short reads, as in `settled`."""

    def all_queued(self) -> Iterator[Link]:
        """Yield every queued URL, claimed or not. Many short reads, as in `settled`."""

    def list_queue(self, site: str | None = None) -> Iterator[QueueEntry]:
        """Yield every queued URL, or those of a site, claimed or not, with its state. Many short reads."""

    def list_sites(self, *, with_queued: bool) -> Iterator[SiteState]:
        """Yield the state of every site. Many short reads. Without `with_queued`, `queued` is 0: counting costs."""

    def barred(self) -> Iterator[tuple[Link, Reason]]:
        """Yield every URL that a `Barred` outcome keeps from being requested, and the reason. Many short reads."""

    def in_scope(self, links: Sequence[Link]) -> list[Link]:
        """Return those of these links that the crawl's scope admits."""

    def settled(self) -> Iterator[tuple[str, bytes, Reason | None]]:
        """Yield site, hash and reason (None: done) of every URL that was settled when this began.

        Many short reads, so that a crawl continues meanwhile. A URL that is settled during the walk may appear or not.
        """

    def workers(self) -> list[WorkerState]:
        """Return all workers that ever joined, oldest first."""

    def stats(self) -> Stats:
        """Return the frontier's figures, without a scan of any table that grows with the crawl."""

    def seed_outcomes(self) -> list[SeedOutcome]:
        """Return how many seeds gave a page, and how many were given up, by reason.

        The target of a seed's redirect counts in its place. Queued and barred seeds are not included.
        """

    def shared_span(self) -> tuple[float, float] | None:
        """Return the first and the last moment (Unix seconds) of which machines shared figures; None if none did."""

    def shared_figures(
        self, *, since_at: float, until_at: float, without: Collection[str] = ()
    ) -> Iterator[SharedFigures]:
        """Yield the figures of a period that machines shared, each machine's by time. Many short reads.

        `without` names crawl folders (by their file `home`) whose figures are left out: the folders themselves have
        them. On an engine of a single machine there are none.
        """

    def upkeep(self) -> Upkeep | None:
        """Return how well the database cleans up; None if the engine has nothing to tell. For a look each minute."""

    def drained(self) -> bool:
        """Return whether, in one snapshot, no URL is left to settle: none queued, deferred or claimed.

        The queued URLs of a site that is excluded, or has reached its page limit, do not count: they rest.
        """

    def audit(self) -> list[str]:
        """Return every contradiction in the frontier, one sentence each; none if every accepted URL will be settled.

        Counters equal what they count; every URL is settled or queued; claims find every site with queued URLs. Many
        short reads, exact also while a crawl runs.
        """


class OperatorFrontier(FrontierReader, Protocol):
    """What a start, a command or the supervisor needs: to read a crawl, and to change it without being a worker."""

    def resume(
        self,
        *,
        delay_s: float,
        page_limit: int | None = None,
        site_limit: int | None = None,
        scope: Scope = Scope.WEB,
        terms: Mapping[str, str] = NO_TERMS,
        show_wait: Callable[[Waiting], None] | None = None,
    ) -> None:
        """Begin or resume the crawl under these terms. Only while no worker of an earlier start *here* can live.

        Every listed worker of an earlier start here is declared dead and recovered; the crawl is `RUNNING`, unless the
        operator has paused it. If no other worker lives, the crawl clock continues from its saved value.

        On an engine that several machines share, "here" is what the caller can vouch for, such as the crawl folder that
        it has locked. All machines call this, in any order. It leaves workers of other machines alone if one of them
        shows life, which may take as long as a heartbeat; workers that are silent for their whole lease are ended.
        Meanwhile `show_wait` is called about once a second, and a restart of the database does not end the wait.
        `terms` are the settings that all machines have to share. If workers live elsewhere under other terms, this
        raises GossamerError, which names the first setting that differs, and changes nothing.

        A site that has given `site_limit` pages rests, even if URLs of it are queued; a start with a larger limit
        wakes it.
        """

    def order(self, state: CrawlState) -> None:
        """Tell all workers, with their next heartbeat, to run, pause or stop."""

    def exclude(self, entries: Iterable[str]) -> None:
        """Send no more requests to these sites, known or not yet known; their queued URLs stay queued.

        An entry that is not the name of a site (a host, the beginning of URLs) is only stored and sent to every worker.
        """

    def readmit(self, entries: Iterable[str]) -> None:
        """Remove exclusions; the queued URLs of these sites may be claimed again."""

    def add(self, links: Sequence[Link]) -> int:
        """Accept URLs within the crawl's scope, creating their sites; return how many were new.

        Idempotent. A link that the scope refuses leaves no trace, so that a wider scope can bring it back. A queued
        URL that comes again with a smaller depth takes that depth. A free site that had no work becomes due
        when its pace allows. Large batches are split into several transactions, so that other workers are not
        blocked for long.
        """

    def add_each(self, batches: Iterable[Sequence[Link]]) -> Iterator[int]:
        """Add batch after batch as fast as possible; yield for each batch how many links were new.

        An engine may add several batches at once, and then reads as many ahead.
        """

    def mark_seeds_loaded(self, digest: str) -> None:
        """Record that a seed file with this digest was loaded completely."""

    def complete(self, batch: Batch) -> Completion:
        """Settle URLs without a claim: under an epoch that no claim has, as in `WorkerFrontier.complete`."""

    def admit(self, barred: Sequence[tuple[Link, Reason]]) -> int:
        """Queue barred URLs again if the scope admits them; return how many were not known otherwise."""

    def forget(self, barred: Sequence[tuple[Link, Reason]]) -> None:
        """Delete barred URLs for good: only a link brings them back."""

    def reopen(self, done: Sequence[Link], *, pages: int) -> int:
        """Queue URLs again that are done, because rows of them are lost; return how many were done.

        `pages` of them count as stored pages: the others, such as redirects, never had a row.
        """

    def share_figures(self, figures: Sequence[SharedFigures], *, days: float) -> None:
        """Let other machines read figures of this one, and delete what any machine shared more than `days` ago.

        Idempotent. On an engine of a single machine nothing is kept: its folder has the figures.
        """

    def recover(self, worker: int) -> int:
        """Declare a worker dead, for good, and free its sites with one full delay from now; return how many.

        On an engine that several machines share, a worker of another machine is left alone: only its lease ends it.
        """


class Frontier(WorkerFrontier, OperatorFrontier, Protocol):
    """An open frontier: what an engine implements. `with` closes it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def urls_per_claim(delay_s: float) -> int:
    """Return how many URLs of a site one claim delivers: a minute's worth, so that no worker holds a site long."""
    if delay_s < 0.1:
        return 50
    return min(10, 1 + int(60 / delay_s))


def fair_pages(pages_left: int, sites: int) -> int:
    """Return how many of the last pages of a limited crawl one claim may take of a site.

    If a few sites held all of them, the crawl would end at the pace of those sites while the others wait.
    """
    return max(1, -(-pages_left // max(1, sites)))
