"""Begins the turn of every site when it falls due, as many at once as there is room for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gossamer.records import CrawlState

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from gossamer.frontier.clock import Clock
    from gossamer.rules.outage import OutageGuard
    from gossamer.workbench import SiteInHand, Workbench
    from gossamer.worker.desk import Desk
    from gossamer.worker.figures import Figures

TURNS_PER_REQUEST = 3  # turns under way for each request in flight: many only wait for the pause behind robots.txt
IDLE_S = 60.0


class Rounds:
    """The turns that are under way, and when the next may begin. What happens in one is `visit`'s to know."""

    def __init__(
        self,
        *,
        desk: Desk,
        bench: Workbench,
        figures: Figures,
        outage: OutageGuard,
        in_flight: int,
        clock: Clock,
        visit: Callable[[SiteInHand], Coroutine[None, None, None]],
    ) -> None:
        self._desk = desk
        self._bench = bench
        self._figures = figures
        self._outage = outage
        self._max_turns = TURNS_PER_REQUEST * in_flight
        self._clock = clock
        self._visit = visit
        self._stopping = False
        self._turns: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopping = True
        self._desk.changed.set()

    async def run(self) -> None:
        """Begin turns until told to stop."""
        loop = asyncio.get_running_loop()
        changed = self._desk.changed
        while not self._stopping and self._desk.state is not CrawlState.STOPPING:
            changed.clear()
            now_s = self._clock()
            while self._until_start(now_s) == 0 and (site := self._bench.next_turn(now_s)):
                if self._outage.paused:
                    self._outage.probe(now_s)
                turn = loop.create_task(self._visit(site))
                self._turns.add(turn)
                turn.add_done_callback(self._forget)
            self._figures.in_hand(self._bench, len(self._turns), self._outage.paused)
            timer = loop.call_later(self._until_start(now_s), changed.set)
            await changed.wait()
            timer.cancel()

    async def finish(self, within_s: float) -> None:
        """Let what is under way end by itself for so long, and then by force."""
        if self._turns:
            await asyncio.wait(self._turns, timeout=within_s)
        self.abort()
        await asyncio.gather(*self._turns, return_exceptions=True)

    def abort(self) -> None:
        """Cancel what is under way."""
        for turn in self._turns:
            turn.cancel()

    def _until_start(self, now_s: float) -> float:
        """Return how long until a turn may begin; 0 if one may now."""
        if not self._desk.may_start or len(self._turns) >= self._max_turns:
            return IDLE_S
        until_s = self._outage.until_probe(now_s) or self._bench.until_due(now_s)
        return IDLE_S if until_s is None else min(until_s, IDLE_S)

    def _forget(self, turn: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        self._desk.changed.set()
