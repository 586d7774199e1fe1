"""A worker's membership in the crawl: heartbeat, lease, the operator's orders, and joining again after a death."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from gossamer.frontier import FrontierError
from gossamer.frontier.shares import NO_SHARE
from gossamer.records import GONE, CrawlState
from gossamer.rules.scope import Exclusions
from gossamer.story import tell
from gossamer.turn import OperatorOrders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from gossamer.frontier import WorkerFrontier
    from gossamer.frontier.clock import Clock
    from gossamer.records import Gone, Orders

log = logging.getLogger(__name__)

BEATS_PER_LEASE: Final = 8  # at least
SHARE_BEAT_S: Final = 0.5  # between two heartbeats while this worker's share of each address changes
LEASE_CHECK_S: Final = 0.2  # a sleep to the lease's very end would go on after one of the whole machine


class Lease:
    """How long a worker may work without hearing from the frontier: afterwards its sites may belong to another.

    It counts from the sending of the last heartbeat that was acknowledged. Before the first one there is none.
    """

    def __init__(self, length_s: float | None) -> None:
        self._length_s = math.inf if length_s is None else length_s  # None: no other worker ever takes a site away
        # Requests begin before `starts_until_s`; at `ends_s` another worker may have what was ours. The time between
        # the two is for what is under way, and for slow networks.
        self.starts_until_s = self.ends_s = math.inf if length_s is None else -math.inf

    def renew(self, sent_s: float) -> None:
        """Note that a heartbeat sent then was acknowledged."""
        self.starts_until_s = sent_s + self._length_s / 2  # plant: lease-ignored
        self.ends_s = sent_s + self._length_s

    def lose(self) -> None:
        """Note that this worker was declared dead."""
        if self._length_s < math.inf:
            self.renew(-math.inf)


class Membership:
    """Keeps a worker a member of its crawl, and tells it what the operator wants."""

    def __init__(
        self,
        *,
        frontier: WorkerFrontier,
        thread: Executor,
        label: str,
        heartbeat_s: float,
        own_exclusions: Exclusions,
        clock: Clock,
        figures: Callable[[], Mapping[str, float]],
        died: Callable[[], None],
    ) -> None:
        """`died` is called when the worker was declared dead: nothing that it held is its own any more."""
        self.state = CrawlState.RUNNING
        self.orders = OperatorOrders(own_exclusions)
        self.has_orders = False  # until the first answer to a heartbeat
        self.lease = Lease(frontier.lease_s)
        self.joins = 0  # how often this worker has become another since it started
        self.share = NO_SHARE  # of the requests that each address may get
        self._frontier = frontier
        self._thread = thread
        self._label = label
        self._beat_every_s = min(heartbeat_s, (frontier.lease_s or math.inf) / BEATS_PER_LEASE)
        self._own_exclusions = own_exclusions
        self.exclusions_version = 0  # counts the operator's changes, as far as heard
        self._clock = clock
        self._figures = figures
        self._died = died
        self._deaths = 0  # how often this worker was declared dead
        self._is_settled = False  # the share did not change with the last heartbeat
        self._closed = asyncio.Event()

    async def beat(self, changed: Callable[[], None]) -> None:
        """Show that this worker lives, and hear what the operator wants, until closed.

        `changed` is called after each answer.
        """
        failure = ""
        loop = asyncio.get_running_loop()
        while not self._closed.is_set():
            try:
                sent_s, joins, orders = await loop.run_in_executor(self._thread, partial(self._beat, self._figures()))
            except FrontierError as error:
                if str(error) != failure:
                    log.warning("The heartbeat failed: %s", error)
                failure = str(error)
            else:
                if failure:
                    log.info("The frontier answers again.")
                failure = ""
                if orders is GONE:
                    if await self.rejoin(joins):
                        continue  # beat at once: there is no lease before that
                else:
                    self.lease.renew(sent_s)
                    tell(
                        log, "lease", took_s=self._clock() - sent_s, state=orders.state.value, share=orders.share.parts
                    )
                    self._take_orders(orders, joins)
                    changed()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), self._until_beat())

    async def guard(self, abort: Callable[[], None]) -> None:
        """Abort what is under way when the lease is over, until closed: its sites may belong to others now."""
        if self._frontier.lease_s is None:
            return
        while not self._closed.is_set():
            if self._clock() >= self.lease.ends_s:
                tell(log, "lease_over", late_s=self._clock() - self.lease.ends_s)
                abort()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), LEASE_CHECK_S)

    async def rejoin(self, joins: int) -> bool:
        """Join again after this worker was declared dead; return whether that worked.

        `joins` is what `self.joins` was when the operation was sent that heard of it: a heartbeat and a report may
        both hear of one death.
        """
        if self._deaths == joins:
            self._deaths += 1
            log.warning("This worker was declared dead; it drops what it held and joins again.")
            self.lease.lose()
            self.share = NO_SHARE
            self._died()  # plant: dead-worker-keeps-sites
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._join, joins)
        except FrontierError as error:
            log.warning("Joining again failed: %s", error)
            return False
        return True

    def close(self) -> None:
        """Let `beat` and `guard` end."""
        self._closed.set()

    # ------------------------------------------------------------------ steps of the above

    def _beat(self, figures: Mapping[str, float]) -> tuple[float, int, Orders | Gone]:
        """In the thread: return when a heartbeat was sent, by which member, and what was answered."""
        sent_s = self._clock()
        return sent_s, self.joins, self._frontier.heartbeat(figures, self.exclusions_version, self.share)

    def _until_beat(self) -> float:
        """Return the time to the next heartbeat: others wait until this worker says that it uses a smaller share."""
        return self._beat_every_s if self._is_settled else min(self._beat_every_s, SHARE_BEAT_S)

    def _join(self, joins: int) -> None:
        """In the thread: join again, unless that has happened since."""
        if self.joins == joins:
            number = self._frontier.join(self._label)
            self.joins += 1
            tell(log, "rejoin", label=self._label, number=number)

    def _take_orders(self, orders: Orders, joins: int) -> None:
        self.state = orders.state
        if joins == self.joins:  # else this is the share of a worker that is dead
            self._is_settled = orders.share == self.share and orders.share.parts > 0
            self.share = orders.share
        self.exclusions_version = orders.exclusions_version
        self.orders.seed_ports = orders.seed_ports
        self.has_orders = True
        if orders.excluded is not None:
            heard, _ = Exclusions.parse(orders.excluded)
            self.orders.sites = heard.names
            self.orders.exclusions = self._own_exclusions | heard
