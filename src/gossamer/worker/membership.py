"""A worker's membership in the crawl: heartbeat, lease, the operator's orders, and joining again after a death."""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from gossamer.frontier import FrontierError
from gossamer.records import GONE, CrawlState
from gossamer.rules.scope import Exclusions
from gossamer.turn import OperatorOrders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.frontier import WorkerFrontier
    from gossamer.frontier.clock import Clock
    from gossamer.records import Gone, Orders

log = logging.getLogger(__name__)
T = TypeVar("T")

BEATS_PER_LEASE: Final = 8  # at least
LEASE_CHECK_S: Final = 0.2  # a sleep to the lease's very end would go on after one of the whole machine


class FrontierThread:
    """The one thread in which a worker talks to its frontier: one operation at a time."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="frontier")

    async def run(self, operation: Callable[[], T]) -> T:
        """Run an operation in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, operation)

    def close(self) -> None:
        """End the thread when its last operation has ended."""
        self._executor.shutdown()


class Lease:
    """How long a worker may work without hearing from the frontier: afterwards its sites may belong to another.

    It counts from the sending of the last heartbeat that was acknowledged. Before the first one there is none.
    """

    def __init__(self, length_s: float | None, clock: Clock) -> None:
        self._length_s = math.inf if length_s is None else length_s  # None: no other worker ever takes a site away
        self._clock = clock
        self._renewed_s = -math.inf

    def renew(self, sent_s: float) -> None:
        """Note that a heartbeat sent then was acknowledged."""
        self._renewed_s = sent_s

    def lose(self) -> None:
        """Note that this worker was declared dead."""
        self._renewed_s = -math.inf

    @property
    def may_start(self) -> bool:
        """Whether requests may begin. The other half of the lease is for what is under way, and for slow networks."""
        # plant: lease-ignored
        return self._length_s == math.inf or self._clock() - self._renewed_s < self._length_s / 2

    @property
    def is_over(self) -> bool:
        """Whether another worker may have what was ours."""
        return self._length_s < math.inf and self._clock() - self._renewed_s >= self._length_s


class Membership:
    """Keeps a worker a member of its crawl, and tells it what the operator wants."""

    def __init__(
        self,
        *,
        frontier: WorkerFrontier,
        thread: FrontierThread,
        label: str,
        heartbeat_s: float,
        own_exclusions: Exclusions,
        clock: Clock,
        figures: Callable[[], Mapping[str, float]],
    ) -> None:
        self.state = CrawlState.RUNNING
        self.orders = OperatorOrders(own_exclusions)
        self.lease = Lease(frontier.lease_s, clock)
        self.joins = 0  # how often this worker has become another since it started
        self._frontier = frontier
        self._thread = thread
        self._label = label
        self._beat_every_s = min(heartbeat_s, (frontier.lease_s or math.inf) / BEATS_PER_LEASE)
        self._own_exclusions = own_exclusions
        self._exclusions_version = 0
        self._clock = clock
        self._figures = figures
        self._deaths = 0  # how often this worker was declared dead
        self._closed = asyncio.Event()

    async def beat(self, *, changed: Callable[[], None], died: Callable[[], None]) -> None:
        """Show that this worker lives, and hear what the operator wants, until closed.

        `changed` is called after each answer, and `died` when the worker was declared dead: nothing that it held is its
        own any more.
        """
        failure = ""
        while not self._closed.is_set():
            try:
                sent_s, joins, orders = await self._thread.run(self._beat)
            except FrontierError as error:
                if str(error) != failure:
                    log.warning("The heartbeat failed: %s", error)
                failure = str(error)
            else:
                if failure:
                    log.info("The frontier answers again.")
                failure = ""
                if orders is GONE:
                    if await self.rejoin(joins, died):
                        continue  # beat at once: there is no lease before that
                else:
                    self.lease.renew(sent_s)
                    self._take_orders(orders)
                    changed()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), self._beat_every_s)

    async def guard(self, abort: Callable[[], None]) -> None:
        """Abort what is under way when the lease is over, until closed: its sites may belong to others now."""
        if self._frontier.lease_s is None:
            return
        while not self._closed.is_set():
            if self.lease.is_over:
                abort()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), LEASE_CHECK_S)

    async def rejoin(self, joins: int, died: Callable[[], None]) -> bool:
        """Join again after this worker was declared dead; return whether that worked.

        `joins` is what `self.joins` was when the operation was sent that heard of it: a heartbeat and a report may
        both hear of one death.
        """
        if self._deaths == joins:
            self._deaths += 1
            log.warning("This worker was declared dead; it drops what it held and joins again.")
            self.lease.lose()
            died()  # plant: dead-worker-keeps-sites
        try:
            await self._thread.run(lambda: self._join(joins))
        except FrontierError as error:
            log.warning("Joining again failed: %s", error)
            return False
        return True

    def close(self) -> None:
        """Let `beat` and `guard` end."""
        self._closed.set()

    # ------------------------------------------------------------------ steps of the above

    def _beat(self) -> tuple[float, int, Orders | Gone]:
        """In the thread: return when a heartbeat was sent, by which member, and what was answered."""
        sent_s = self._clock()
        return sent_s, self.joins, self._frontier.heartbeat(self._figures(), self._exclusions_version)

    def _join(self, joins: int) -> None:
        """In the thread: join again, unless that has happened since."""
        if self.joins == joins:
            self._frontier.join(self._label)
            self.joins += 1

    def _take_orders(self, orders: Orders) -> None:
        self.state = orders.state
        self._exclusions_version = orders.exclusions_version
        if orders.excluded is not None:
            heard, _ = Exclusions.parse(orders.excluded)
            self.orders.sites = heard.names
            self.orders.exclusions = self._own_exclusions | heard
