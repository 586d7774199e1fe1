"""Exchanges batches with the frontier: reports go out, claims come in. Everything that blocks runs in one thread."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from gossamer import metrics
from gossamer.frontier import FrontierError
from gossamer.frontier.clock import backoff_s
from gossamer.records import GONE, Batch, Claimed, CrawlState, Release, Visit
from gossamer.story import tell
from gossamer.turn.steps import UNAVAILABLE
from gossamer.wording import count
from gossamer.worker.link_lane import HEAVY_LINKS, LinkLane
from gossamer.worker.look_ahead import LookAhead, look_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from concurrent.futures import Executor

    from gossamer.frontier import WorkerFrontier
    from gossamer.frontier.clock import Clock
    from gossamer.records import Gone, HostState, Link, Outcome, UrlState
    from gossamer.store.disk import DiskWatch
    from gossamer.store.store import PageStore
    from gossamer.turn import Effects
    from gossamer.turn.steps import Missing
    from gossamer.urls import Url
    from gossamer.workbench import SiteInHand, Workbench
    from gossamer.worker.look_ahead import Ahead, Look
    from gossamer.worker.membership import Membership

log = logging.getLogger(__name__)
T = TypeVar("T")

# A larger batch would hold the frontier for too long: it is handed in at once.
FULL_LINKS: Final = 5_000
FULL_OUTCOMES: Final = 500
LEAST_BATCH_S: Final = 0.05  # between two batches, also when one is urgent
MAX_BACKOFF_S: Final = 4.0  # between two attempts while the frontier or the disk fails
MAX_CLAIM_WAIT_S: Final = 2.0  # links of other workers can make a site due sooner than a claim was told
RELEASED_AT_ONCE: Final = 1_000  # sites, at a stop: other workers want to get through
LAST_ATTEMPTS: Final = 3  # at a stop; what is not reported then is repeated after the next start


class Due(NamedTuple):
    """When a site that is given back may have its next turn, and what it asks for."""

    due_s: float  # on the worker's clock
    own_delay_s: float
    failures: int


@dataclass(slots=True)
class _SiteReport:
    """What happened at one site since the last batch."""

    outcomes: list[tuple[bytes, Outcome]] = field(default_factory=list)
    hosts: list[HostState] = field(default_factory=list)
    own_delay_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class Report:
    """What turns reported between two batches. It is only collected as turns end, and put in order for the batch."""

    is_completed: bool = False  # the frontier has taken it in
    turns: list[tuple[SiteInHand, Effects]] = field(default_factory=list)
    lane_links: list[Link] = field(default_factory=list)  # portions of the many links that turns found
    releases: dict[tuple[str, int], Due] = field(default_factory=dict)  # sites that are given back, by epoch

    def first_due_s(self) -> float:
        """Return when the first of the sites that this report gives back is due; infinity if it gives none back."""
        return min((due.due_s for due in self.releases.values()), default=math.inf)

    def batch(self, now_s: float) -> Batch:
        """Return this report as a batch; waits are counted from now."""
        sites: dict[tuple[str, int], _SiteReport] = {}
        for site, effects in self.turns:
            if effects.outcomes or effects.hosts or effects.own_delay_s:
                report = sites.setdefault((site.site, site.epoch), _SiteReport())
                report.outcomes += effects.outcomes.items()
                report.hosts += effects.hosts
                report.own_delay_s = max(report.own_delay_s, effects.own_delay_s)
        for key in self.releases:
            sites.setdefault(key, _SiteReport())
        return Batch(
            links=[*self.lane_links, *(link for _, effects in self.turns for link in effects.links)],
            visits=[
                Visit(
                    site=site,
                    epoch=epoch,
                    outcomes=report.outcomes,
                    hosts=report.hosts,
                    own_delay_s=report.own_delay_s,
                    release=_release(self.releases.get((site, epoch)), now_s),
                )
                for (site, epoch), report in sites.items()
            ],
        )


def _release(due: Due | None, now_s: float) -> Release | None:
    if due is None:
        return None
    return Release(wait_s=max(0.0, due.due_s - now_s), own_delay_s=due.own_delay_s, failures=due.failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchanged:
    """What came back for a report."""

    lost: tuple[tuple[str, int], ...]  # sites, by epoch, that are not ours any more
    claimed: Claimed | Gone | None
    ahead: list[Ahead]  # more URLs of sites in hand
    disk_trouble: str  # empty if there is room
    joins: int  # of the member that handed it in


class FrontierClient:
    """Hands in what turns report and fills the workbench with claimed sites."""

    def __init__(
        self,
        *,
        frontier: WorkerFrontier,
        thread: Executor,  # with one thread, in which a worker talks to its frontier: one operation at a time
        membership: Membership,
        store: PageStore,
        bench: Workbench,
        disk: DiskWatch,
        batch_s: float,
        clock: Clock,
    ) -> None:
        self.trouble = ""  # what is wrong, in a few words; empty if all is well
        self.is_halted = False  # what would be fetched could not be kept
        self.links_waiting = 0  # for the next batch
        self.outcomes_waiting = 0
        self._frontier = frontier
        self._thread = thread
        self._membership = membership
        self._store = store
        self._bench = bench
        self._ahead: LookAhead | None = None  # for the operator's own sites
        self._disk = disk
        self._batch_s = batch_s
        self._clock = clock
        self._counts = metrics.WorkerCounts()
        self._totals = self._counts.totals
        self.lane = LinkLane()
        self._report = Report()
        self._committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._urgent = asyncio.Event()  # do not wait for the next regular batch
        self._closed = asyncio.Event()
        self._is_stopping = False
        self._is_unsure = False  # the result of the last operation is unknown
        self._claim_from_s = -float("inf")  # no claim before then is of use

    def look_ahead_for(self, sites: Collection[str]) -> None:
        """Get more URLs of these sites, which may have several turns at once, before they run dry."""
        self._ahead = LookAhead(sites, self._bench) if sites else None

    # ------------------------------------------------------------------ what turns need

    def note(self, site: SiteInHand, effects: Effects, *, urgent: bool = False) -> None:
        """Report what a turn changed, with the next batch or, if that is urgent, at once."""
        if effects.links or effects.outcomes or effects.hosts or effects.own_delay_s:
            self._report.turns.append((site, effects))
        self.links_waiting += len(effects.links)
        self.outcomes_waiting += len(effects.outcomes)
        if urgent or self.links_waiting >= FULL_LINKS or self.outcomes_waiting >= FULL_OUTCOMES:
            self._urgent.set()

    async def commit(self, site: SiteInHand, effects: Effects, *, urgent: bool) -> None:
        """Report what a turn changed, and wait until it is durable, with everything that was reported before."""
        try:
            await self.pass_links(effects)
        finally:  # cancelled: the rest goes at once
            self.note(site, effects, urgent=urgent)
        # plant: commit-not-awaited
        await asyncio.shield(self._committed)  # others wait for it too

    async def pass_links(self, effects: Effects) -> None:
        """If a turn found many links, make them durable in portions, until few are left: only this turn waits.

        They come before the outcome of their page, so a crash repeats the page and loses no link.
        """
        if len(effects.links) <= HEAVY_LINKS:
            return
        with self.lane.holding(len(effects.links)):
            while len(effects.links) > HEAVY_LINKS:
                taken = await self.lane.enter()
                portion, effects.links[:] = effects.links[:taken], effects.links[taken:]
                self._report.lane_links += portion
                self._urgent.set()
                await asyncio.shield(self._committed)

    def report_soon(self) -> None:
        """Do not wait for the next regular batch: a site could go on."""
        self._urgent.set()

    def release(self, site: SiteInHand, due_s: float, why: str) -> None:
        """Report that a site is given back; its next turn may begin at `due_s`."""
        wait_s = due_s - self._clock()
        if log.isEnabledFor(logging.DEBUG):
            tell(log, "release", site=site.site, epoch=site.epoch, why=why, used=site.is_used, wait_s=wait_s)
        self._totals[metrics.FRONTIER_RELEASES_TOTAL, ("used" if site.is_used else "unused",)] += 1
        self._report.releases[site.site, site.epoch] = Due(due_s, site.own_delay_s, site.failures)
        self._claim_from_s = min(self._claim_from_s, due_s)
        if wait_s < self._batch_s:
            self._urgent.set()  # it can be claimed again before the next batch is due

    async def look_up(self, url: Url) -> UrlState | Missing | None:
        """Return where a URL stands, None if the frontier does not know it, or that the frontier does not answer."""
        try:
            return await self._run(lambda: self._frontier.find_url(url.site, url.url_hash))
        except FrontierError:
            return UNAVAILABLE

    async def look_up_hosts(self, site: str) -> Sequence[HostState]:
        """Return what the frontier knows about the hosts of a site; nothing if it does not answer."""
        try:
            return await self._run(lambda: self._frontier.find_hosts(site))
        except FrontierError:
            return ()

    # ------------------------------------------------------------------ the rhythm

    async def serve(self, changed: Callable[[], None]) -> None:
        """Report and claim, twice a second or sooner, until closed; `changed` is called after each exchange."""
        while not self._closed.is_set():
            await self._exchange()
            changed()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), LEAST_BATCH_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), self._batch_s - LEAST_BATCH_S)

    def stop_claiming(self) -> None:
        """Take nothing more in hand; reports still go out."""
        self._is_stopping = True

    def close(self) -> None:
        """Let `serve` end."""
        self._closed.set()
        self._urgent.set()

    async def finish(self) -> None:
        """After all turns have ended: give every site back, hand in the last report, and finish the files."""
        self._is_stopping = True
        idle = self._bench.idle_sites()
        for start in range(0, len(idle) + 1, RELEASED_AT_ONCE):
            for site in idle[start : start + RELEASED_AT_ONCE]:
                self._bench.remove(site.site)
                self.release(site, site.due_s, "stop")
            await self._exchange()
        await self._run(self._store.close)

    def release_excluded(self) -> None:
        """Give back idle sites that the operator excludes."""
        for site in self._bench.idle_sites():
            if site.site in self._membership.orders.sites:
                self._bench.remove(site.site)
                self.release(site, site.due_s, "excluded")

    async def _exchange(self) -> None:
        """Hand in the report and take in new sites."""
        report, committed = self._report, self._committed
        has_links = self.links_waiting > 0 or bool(report.lane_links)
        self._report, self._committed = Report(), asyncio.get_running_loop().create_future()
        self.links_waiting = self.outcomes_waiting = 0
        self._urgent.clear()
        began_s = self._clock()
        if not self.lane.is_idle:
            self.lane.open(began_s)
        if has_links:  # they may have made sites due
            self._claim_from_s = self._clock()
        exchanged = await self._hand_in_until_taken(report)
        committed.set_result(None)
        if self._ahead:
            self._ahead.fill(exchanged.ahead, self._clock())
            self._ahead.settle(report.turns)
        if report.lane_links and (report.turns or report.releases):
            self.lane.rest(self._clock() - began_s, self._clock())
        self._note_disk(exchanged.disk_trouble)
        if exchanged.lost:
            self._drop(exchanged.lost)
        if exchanged.claimed is GONE:
            await self._membership.rejoin(exchanged.joins)
        elif isinstance(exchanged.claimed, Claimed):
            self._take_in(exchanged.claimed)

    async def _hand_in_until_taken(self, report: Report) -> _Exchanged:
        """Hand in a report; try again, with backoff, until that works."""
        attempts = 0
        while True:
            attempts += 1
            try:
                # What the thread needs to know of the workbench is told beforehand: it belongs to the event loop.
                wanted = self._wanted_sites()
                looks = self._ahead.wanted() if self._ahead else ()
                held = self._held(report) if self._is_unsure else {}  # plant: failed-report-not-held
                return await self._run(lambda: self._hand_in(report, held, wanted, looks))  # noqa: B023
            except (OSError, FrontierError) as error:
                if self._closed.is_set() and attempts >= LAST_ATTEMPTS:
                    raise
                self._note_failure(error)
                await asyncio.sleep(backoff_s(attempts, first_s=1.0, most_s=MAX_BACKOFF_S))

    def _wanted_sites(self) -> int:
        """Return how many sites to claim now."""
        now_s = self._clock()
        if self._is_stopping or self._membership.state is not CrawlState.RUNNING or now_s < self._claim_from_s:
            return 0
        return self._bench.wants(now_s)

    def _take_in(self, claimed: Claimed) -> None:
        now_s = self._clock()
        for claim in claimed.claims:
            self._bench.take_in(claim, now_s)
            if self._ahead:
                self._ahead.take_in(claim)
        wait_s = MAX_CLAIM_WAIT_S if claimed.wait_s is None else min(claimed.wait_s, MAX_CLAIM_WAIT_S)
        # A site that was released during the claim was not free yet: `wait_s` does not know it.
        self._claim_from_s = now_s if claimed.claims else min(now_s + wait_s, self._report.first_due_s())

    def _held(self, report: Report) -> Mapping[str, int]:
        """Return the epoch of every site that is ours, also of those whose release no other worker has heard of."""
        return {**dict(report.releases.keys()), **dict(self._report.releases.keys()), **self._bench.held()}

    # ------------------------------------------------------------------ in the thread

    async def _run(self, operation: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, operation)

    def _hand_in(self, report: Report, held: Mapping[str, int], wanted: int, looks: Sequence[Look]) -> _Exchanged:
        """Sync what was stored, then complete, then claim: a completed page is on the disk."""
        self._store.sync()  # plant: completed-page-not-synced
        lost: tuple[tuple[str, int], ...] = ()
        try:
            if self._is_unsure:
                lost = self._frontier.reconcile(held)
                self._is_unsure = False
            if (report.turns or report.releases or report.lane_links) and not report.is_completed:
                # plant: failed-report-taken-for-done
                lost += self._frontier.complete(report.batch(self._clock())).lost
                report.is_completed = True
            ahead = look_ahead(self._frontier, looks) if looks else []
            disk_trouble = self._disk.check()
            claimed = self._frontier.claim(wanted) if wanted and not disk_trouble else None
        except FrontierError:
            self._is_unsure = True  # plant: unknown-result-not-checked
            raise
        return _Exchanged(
            lost=lost, claimed=claimed, ahead=ahead, disk_trouble=disk_trouble, joins=self._membership.joins
        )

    # ------------------------------------------------------------------ trouble

    def _note_failure(self, error: Exception) -> None:
        # Without its database a worker continues with what it holds for half its lease; without its disk it stops.
        self.is_halted = self._frontier.lease_s is None or not isinstance(error, FrontierError)
        if (trouble := f"cannot write: {error}") != self.trouble:
            until = "until they can" if self.is_halted else "after half the lease"
            log.warning("Reports cannot be written (%s): nothing new is started %s.", error, until)
        self.trouble = trouble

    def _note_disk(self, trouble: str) -> None:
        if trouble and not self.trouble:
            log.warning("Nothing new is started until there is room: %s (--min-free-space).", trouble)
        self.trouble = trouble
        self.is_halted = bool(trouble)

    def _drop(self, lost: tuple[tuple[str, int], ...]) -> None:
        log.warning("A report named %s no longer this worker's: the waits stay.", count(len(lost), "site"))
        held = self._bench.held()
        for site, epoch in lost:
            if held.get(site) == epoch:  # it may be ours again, by a later claim  # plant: late-report-drops-claim
                self._bench.remove(site)
