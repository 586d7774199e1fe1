"""The frontier: durable, shared, and the only thing workers have in common.

What belongs here: the contract every engine keeps, and the engines. What does not: any decision about
politeness (the worker's), and any knowledge of pages. That links beyond the scope are dropped here has one
reason: only the frontier knows which sites are seeded.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - of a constant
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, Self

from gossamer.errors import GossamerError
from gossamer.records import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from gossamer.records import (
        Batch,
        Claimed,
        Completion,
        CrawlState,
        Gone,
        HostState,
        Link,
        Orders,
        Reason,
        SeedOutcome,
        SiteState,
        Stats,
        UrlState,
        Waiting,
        WorkerState,
    )


NO_TERMS: Final[Mapping[str, str]] = MappingProxyType({})


class UnreachableError(GossamerError):
    """The database cannot be opened now: when a command starts, a mistake; for a worker that is replaced, a wait."""


class FrontierError(Exception):
    """The database failed, and what became of the operation is unknown: `reconcile` before anything else."""


class Frontier(Protocol):
    """An open frontier. Each operation is one transaction: it happens whole or not at all.

    Synchronous: a worker calls it from one thread of its own. The contract passes waits, never times.
    """

    @property
    def lease_s(self) -> float | None:
        """How long after its last heartbeat a worker may be declared dead by others; None: never."""

    @property
    def identity(self) -> str:
        """What tells this crawl from all others, wherever its frontier is moved."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    # ------------------------------------------------------------------ the crawl

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
        """Begin or go on with the crawl under these terms. Only while no worker of an earlier start *here* can live.

        Every worker of an earlier start here that is still listed is declared dead and recovered; the crawl is
        `RUNNING`. If nobody else lives, the crawl clock goes on from where it stood.

        On an engine that many machines share, "here" is what the caller can vouch for, such as the crawl folder that it
        has locked; all machines call this, in any order. Workers of other machines are left alone if one of them shows
        life, which may take as long as a heartbeat; those that are silent for their whole lease are ended. Meanwhile
        `show_wait` is called about once a second, and a database that restarts does not end the wait.
        `terms` are the settings that all machines have to share: while workers live elsewhere that go by others, this
        raises GossamerError, which names the first that differs, and changes nothing.

        A site that has given `site_limit` pages rests, whatever is queued of it; a start with a larger limit wakes it.
        """

    def order(self, state: CrawlState) -> None:
        """Tell all workers, with their next heartbeat, to run, pause or stop."""

    def exclude(self, entries: Iterable[str]) -> None:
        """Ask these sites for nothing more, known or not yet known; what is queued stays queued.

        An entry that is no site's name (a host, the beginning of URLs) is only kept, and told to every worker.
        """

    def readmit(self, entries: Iterable[str]) -> None:
        """Take exclusions back; what was queued goes on."""

    def exclusions(self) -> frozenset[str]:
        """Return all that is excluded."""

    def readmissions(self) -> int:
        """Return how often exclusions were taken back."""

    def seeds_loaded(self, digest: str) -> bool:
        """Tell whether a seed file with this digest was loaded completely before."""

    def mark_seeds_loaded(self, digest: str) -> None:
        """Remember that a seed file with this digest was loaded completely."""

    # ------------------------------------------------------------------ rules that changed

    def all_queued(self) -> Iterator[Link]:
        """Yield everything that is queued, in hand or not. Many short reads, as in `settled`."""

    def in_scope(self, links: Sequence[Link]) -> list[Link]:
        """Return those of these links that the crawl's scope admits."""

    def barred(self) -> Iterator[tuple[Link, Reason]]:
        """Yield everything that a `Barred` outcome keeps from being asked for, and why. Many short reads."""

    def admit(self, barred: Sequence[tuple[Link, Reason]]) -> int:
        """Accept barred URLs again, as far as the scope admits them; return how many were not known otherwise."""

    def forget(self, barred: Sequence[tuple[Link, Reason]]) -> None:
        """Forget barred URLs for good: nothing brings them back but a link."""

    # ------------------------------------------------------------------ a worker

    def join(self, label: str, terms: Mapping[str, str] = NO_TERMS) -> int:
        """Become a worker with an id that was never used before and never will be again.

        Who names the terms that it goes by is refused, as by `resume`, if those of the last start were others.
        """

    def heartbeat(self, figures: Mapping[str, float], exclusions_version: int = 0) -> Orders | Gone:
        """Show that this worker lives; hear what the operator changed.

        On an engine that many machines share, this is also when a worker notices others that were silent for their
        lease, ends their ids for good, and recovers their sites.
        """

    def add(self, links: Sequence[Link]) -> int:
        """Accept URLs within the crawl's scope, creating their sites; return how many were new.

        Idempotent. What the scope refuses leaves no trace, so that a wider one can bring it back. A queued URL
        that comes again with a smaller depth takes that depth. A free site that had nothing to do becomes due
        when its pace allows. Large batches are split into several transactions, so that other workers get
        through.
        """

    def add_each(self, batches: Iterable[Sequence[Link]]) -> Iterator[int]:
        """Add batch after batch, as fast as may be, and return of each how many were new.

        An engine that can adds several at once, and takes in as many ahead.
        """

    def claim(self, sites: int) -> Claimed | Gone:
        """Own up to so many due sites, most overdue first, each with its next URLs by (rank, depth, arrival).

        (A frontier in many shards orders exactly what is due in a few of them, and takes many shards by chance.)

        Never yields a site that is unready, owned, excluded or empty, nor a URL that waits for a retry or
        whose host is blocked; never more than this worker's fair share of the sites with work, nor more
        URLs than the page limit leaves. If nothing is due, says how long it is no use to ask again.
        """

    def complete(self, batch: Batch) -> Completion:
        """Record what happened: links in, URLs settled or put back, robots rules kept, sites given back.

        One transaction. A visit whose epoch no longer matches still delivers its facts (links, settled
        URLs, robots rules) but changes no schedule. A URL that is barred leaves the queue and what is known, so that
        links and `admit` can bring it back; it counts as given up.
        """

    def reconcile(self, held: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """After an unknown result: give back what this worker owns but does not hold, at a full delay.

        `held` maps site to epoch. Returns those of its items that are no longer owned, to be dropped.
        """

    def recover(self, worker: int) -> int:
        """Declare a worker dead, for good, and free its sites with one full delay from now; return how many.

        On an engine that many machines share, one that lives elsewhere is left alone: only its lease may end it.
        """

    # ------------------------------------------------------------------ reads

    def known(self, site: str, url_hash: bytes) -> bool:
        """Tell whether this URL was ever accepted."""

    def find_url(self, site: str, url_hash: bytes) -> UrlState | None:
        """Return where a URL stands, or None if it was never accepted."""

    def find_site(self, site: str) -> SiteState | None:
        """Return where a site stands, or None if it is not known."""

    def find_hosts(self, site: str) -> list[HostState]:
        """Return those hosts of a site whose robots.txt was asked for, by name."""

    def queued(self, site: str) -> Iterator[tuple[str, bytes]]:
        """Yield URL and hash of what is queued of a site, in hand or not. Many short reads, as in `settled`."""

    def workers(self) -> list[WorkerState]:
        """Return all workers that ever joined, oldest first."""

    def stats(self) -> Stats:
        """Return the frontier's figures, without scanning anything that grows with the crawl."""

    def seed_outcomes(self) -> list[SeedOutcome]:
        """Return how many seeds ended how: those that gave a page, and those that were given up, by reason.

        What a seed redirected to counts in its place. Seeds that are queued or barred are not among them.
        """

    def drained(self) -> bool:
        """Tell whether, in one snapshot, no URL is left to settle: nothing queued, deferred or in hand.

        What is queued of a site that is excluded, or has given all its pages, rests: it does not count.
        """

    def settled(self) -> Iterator[tuple[str, bytes, Reason | None]]:
        """Yield site, hash and reason (None: done) of every URL that was settled when this began.

        Many short reads, so that a crawl goes on meanwhile; what is settled during the walk may come or not.
        """

    def audit(self) -> list[str]:
        """Return what contradicts itself in here, a sentence each; nothing if every accepted URL will be settled.

        Counters agree with what they count; what is not settled is queued; a site with queued URLs is found by
        claims. Many short reads, exact also while a crawl goes on.
        """


def urls_per_claim(delay_s: float) -> int:
    """Return how many URLs of a site one claim delivers: about a minute's worth, so that nobody sits on a site."""
    if delay_s < 0.1:
        return 50
    return min(10, 1 + int(60 / delay_s))
