"""A worker's dealings with the frontier and the disk: claims come in, reports go out, all off the event loop."""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gossamer.frontier import FrontierError
from gossamer.frontier.patience import growing_wait_s
from gossamer.records import GONE, Claimed, CrawlState
from gossamer.rules.scope import Exclusions
from gossamer.store.disk import DiskGuard, free_space, mount_point
from gossamer.wording import count
from gossamer.worker.lease import Lease
from gossamer.worker.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gossamer.frontier import WorkerFrontier
    from gossamer.frontier.clock import Clock
    from gossamer.records import Gone, HostState, Orders, UrlState
    from gossamer.store.store import Store
    from gossamer.urls import Url
    from gossamer.workbench import SiteInHand, Workbench
    from gossamer.worker.ledger import Page
    from gossamer.worker.settings import WorkerSettings

log = logging.getLogger(__name__)
T = TypeVar("T")

LEAST_BATCH_S = 0.05  # also when reports are brought forward
MOST_PATIENCE_S = 4.0  # between two attempts while frontier or disk fail
GIVE_BACK_SITES = 1_000  # at once, at a stop: others want to get through
BEATS_PER_LEASE = 8  # at least
LOOK_AT_LEASE_S = 0.2  # a sleep to its very end would go on after one of the whole machine
LAST_ATTEMPTS = 3  # at a stop; what is not reported then is repeated after the next start


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What came back for a report."""

    lost: tuple[tuple[str, int], ...]  # sites, by epoch, that are not ours any more
    claimed: Claimed | Gone | None
    disk_trouble: str  # empty if there is room
    joins: int  # by whom it was handed in


class Desk:
    """Owns the ledger and fills the workbench; whatever blocks runs in one thread of its own."""

    def __init__(
        self,
        *,
        frontier: WorkerFrontier,
        store: Store,
        bench: Workbench,
        exclusions: Exclusions,
        label: str,
        folder: Path,
        min_free_bytes: int,
        settings: WorkerSettings,
        clock: Clock,
        figures: Callable[[], dict[str, float]],
    ) -> None:
        self.ledger = Ledger()
        self.exclusions = exclusions
        self.excluded_sites: frozenset[str] = frozenset()
        self.state = CrawlState.RUNNING
        self.trouble = ""  # what is wrong, in a few words; empty if all is well
        self.changed = asyncio.Event()  # there may be something to start, or to stop
        self._frontier = frontier
        self._store = store
        self._bench = bench
        self._label = label
        self._folder = folder
        self._disk = DiskGuard(min_free_bytes)
        self._settings = settings
        self._clock = clock
        self._figures = figures
        self._lease = Lease(frontier.lease_s, clock)
        self._beat_every_s = min(settings.heartbeat_s, (frontier.lease_s or math.inf) / BEATS_PER_LEASE)
        self._own_exclusions = exclusions
        self._exclusions_version = 0
        self._unsure = False  # the last operation's result is unknown
        self._deaths = 0  # how often this worker was declared dead
        self._joins = 0  # how often it has become another since
        self._halted = False  # there is no use in fetching what cannot be kept
        self._stopping = False
        self._closed = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")

    @property
    def may_start(self) -> bool:
        """Whether new turns may begin."""
        if self._halted or self._stopping or self.ledger.is_overfull:
            return False
        return self.state is CrawlState.RUNNING and self._lease.may_start

    def may_ask(self, *, finishing: bool) -> bool:
        """Tell whether a request of a turn may still be sent: at a stop, only one without which another was in vain."""
        return self._lease.may_start and (finishing or not self._stopping)  # plant: request-without-lease

    def stop_asking(self) -> None:
        """Take nothing more in hand, and send hardly anything more; reports still go out."""
        self._stopping = True

    # ------------------------------------------------------------------ what a turn needs

    async def known(self, site: str, url_hash: bytes) -> bool:
        """Tell whether a URL is known to the frontier; if it cannot tell, act as if it were."""
        try:
            return await self._in_thread(lambda: self._frontier.known(site, url_hash))
        except FrontierError:
            return True

    async def find_url(self, url: Url) -> UrlState | None:
        """Return where a URL stands, or None if the frontier never heard of it; raises FrontierError."""
        return await self._in_thread(lambda: self._frontier.find_url(url.site, url.url_hash))

    async def find_hosts(self, site: str) -> list[HostState]:
        """Return those hosts of a site whose robots.txt was asked for; raises FrontierError."""
        return await self._in_thread(lambda: self._frontier.find_hosts(site))

    def give_back(self, site: SiteInHand, due_s: float) -> None:
        """Report that a site is free again from `due_s` on."""
        self.ledger.note_release(
            site.site, site.epoch, due_s=due_s, own_delay_s=site.own_delay_s, failures=site.failures
        )
        if due_s - self._clock() < self._settings.batch_s:
            self.ledger.full.set()  # it could be had again before the next batch is due

    # ------------------------------------------------------------------ the rhythm

    async def serve(self) -> None:
        """Report and claim, twice a second or sooner, until closed."""
        while not self._closed.is_set():
            await self._exchange()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), LEAST_BATCH_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ledger.full.wait(), self._settings.batch_s - LEAST_BATCH_S)

    async def beat(self) -> None:
        """Show that this worker lives, and hear what the operator wants, until closed."""
        failure = ""
        while not self._closed.is_set():
            try:
                sent_s, joins, orders = await self._in_thread(self._beat)
            except FrontierError as error:
                if str(error) != failure:
                    log.warning("The heartbeat failed: %s", error)
                failure = str(error)
            else:
                if failure:
                    log.info("The frontier answers again.")
                failure = ""
                if orders is GONE:
                    if await self._join_anew(joins):
                        continue  # to beat at once: there is no lease before that
                else:
                    self._lease.renew(sent_s)
                    self.state = orders.state
                    self._exclusions_version = orders.exclusions_version
                    if orders.excluded is not None:
                        self._take_exclusions(orders.excluded)
                    self.changed.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), self._beat_every_s)

    async def guard(self, abort: Callable[[], None]) -> None:
        """Abort what is under way when the lease is over, until closed: its sites may be others' now."""
        if self._frontier.lease_s is None:
            return  # nobody ever takes anything away
        while not self._closed.is_set():
            if self._lease.is_over:
                abort()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), LOOK_AT_LEASE_S)

    def close(self) -> None:
        """Let `serve`, `beat` and `guard` end."""
        self._closed.set()
        self.ledger.full.set()

    async def finish(self) -> None:
        """After all else has ended: give everything back, hand in the last report, and finish the files."""
        self._stopping = True
        idle = self._bench.idle_sites()
        with self._thread:
            for start in range(0, len(idle) + 1, GIVE_BACK_SITES):
                for site in idle[start : start + GIVE_BACK_SITES]:
                    self._bench.remove(site.site)
                    self.give_back(site, site.due_s)
                await self._exchange()
            await self._in_thread(self._store.close)

    async def _exchange(self) -> None:
        """Hand in what has happened and take in new sites; try again, patiently, until that works."""
        page = self.ledger.turn_page()
        attempts = 0
        while True:
            try:
                # What the thread needs to know of the workbench is told beforehand: it belongs to the event loop.
                wanted = (
                    0 if self._stopping or self.state is not CrawlState.RUNNING else self._bench.wants(self._clock())
                )
                held = self._held(page) if self._unsure else {}  # plant: failed-report-not-held
                answer = await self._in_thread(lambda: self._hand_in(page, held, wanted))  # noqa: B023
                break
            except (OSError, FrontierError) as error:
                attempts += 1
                if self._closed.is_set() and attempts >= LAST_ATTEMPTS:
                    raise
                # Without its database a worker goes on with what it holds, for half its lease; without its disk, not.
                self._halted = self._frontier.lease_s is None or not isinstance(error, FrontierError)
                if (trouble := f"cannot write: {error}") != self.trouble:
                    until = "until they can" if self._halted else "after half the lease"
                    log.warning("Reports cannot be written (%s): nothing new is started %s.", error, until)
                self.trouble = trouble
                await asyncio.sleep(growing_wait_s(attempts, first_s=1.0, most_s=MOST_PATIENCE_S))
        page.committed.set_result(None)
        self._heed_disk(answer.disk_trouble)
        if answer.lost:
            self._drop(answer.lost)
        if answer.claimed is GONE:
            await self._join_anew(answer.joins)
        elif isinstance(answer.claimed, Claimed):
            for claim in answer.claimed.claims:
                self._bench.take_in(claim, self._clock())
        self.changed.set()

    def _held(self, page: Page) -> dict[str, int]:
        """Return the epoch of every site that is ours: also of those whose waits nobody else has heard of yet."""
        return {**page.given_back, **self.ledger.given_back, **self._bench.held()}

    # ------------------------------------------------------------------ in the thread

    def _beat(self) -> tuple[float, int, Orders | Gone]:
        """Return when a heartbeat was sent and by whom, and what was answered."""
        sent_s = self._clock()
        return sent_s, self._joins, self._frontier.heartbeat(self._figures(), self._exclusions_version)

    def _hand_in(self, page: Page, held: Mapping[str, int], wanted: int) -> _Answer:
        """Sync what was stored, then complete, then claim: a completed page is on the disk."""
        self._store.sync()  # plant: completed-page-not-synced
        lost: tuple[tuple[str, int], ...] = ()
        try:
            if self._unsure:
                lost = self._frontier.reconcile(held)
                self._unsure = False
            if page and not page.is_handed_in:
                lost += self._frontier.complete(page.batch(self._clock())).lost  # plant: failed-report-taken-for-done
                page.is_handed_in = True
            disk_trouble = self._look_at_disk()
            claimed = self._frontier.claim(wanted) if wanted and not disk_trouble else None
        except FrontierError:
            self._unsure = True  # plant: unknown-result-not-checked
            raise
        return _Answer(lost=lost, claimed=claimed, disk_trouble=disk_trouble, joins=self._joins)

    def _look_at_disk(self) -> str:
        """Return what is wrong with the room on the disk, if anything."""
        free_bytes = free_space(self._folder)
        if not self._disk.look(free_bytes):
            return ""
        return self._disk.complaint(mount_point(self._folder), free_bytes)

    def _join(self, joins: int) -> None:
        """Join again, unless that has happened since."""
        if self._joins == joins:
            self._frontier.join(self._label)
            self._joins += 1

    # ------------------------------------------------------------------ steps of the above

    def _heed_disk(self, trouble: str) -> None:
        if trouble and not self.trouble:
            log.warning("Nothing new is started until there is room: %s (--min-free-space).", trouble)
        self.trouble = trouble
        self._halted = bool(trouble)

    def _drop(self, lost: tuple[tuple[str, int], ...]) -> None:
        log.warning("A report named %s no longer this worker's: the waits stay.", count(len(lost), "site"))
        held = self._bench.held()
        for site, epoch in lost:
            if held.get(site) == epoch:  # it may be ours again, by a later claim  # plant: late-report-drops-claim
                self._bench.remove(site)

    def _take_exclusions(self, entries: frozenset[str]) -> None:
        heard, _ = Exclusions.parse(entries)
        self.excluded_sites = heard.names
        self.exclusions = self._own_exclusions | heard
        for site in self._bench.idle_sites():
            if site.site in heard.names:
                self._bench.remove(site.site)
                self.give_back(site, site.due_s)

    async def _join_anew(self, joins: int) -> bool:
        """Someone declared this worker dead: nothing that it held is its own any more. Tell whether it is back."""
        if self._deaths == joins:  # else a heartbeat and a report have both heard of it
            self._deaths += 1
            log.warning("This worker was declared dead; it drops what it held and joins again.")
            self._lease.lose()
            self._bench.clear()  # plant: dead-worker-keeps-sites
        try:
            await self._in_thread(lambda: self._join(joins))
        except FrontierError as error:
            log.warning("Joining again failed: %s", error)
            return False
        return True

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)
