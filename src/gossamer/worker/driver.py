"""Drives turns: begins each when its site is due, performs the steps that it yields, and hands on its result.

What a turn decides is in `gossamer.turn`; here is everything that waits for the world. The loop is `Worker.run`.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from gossamer.records import CrawlState
from gossamer.rules.outage import OutageGuard
from gossamer.rules.shares import SHARE_CAUSES
from gossamer.rules.sitemaps import SitemapQuota
from gossamer.rules.traps import TrapGuard
from gossamer.store.disk import DiskWatch
from gossamer.turn import TurnMemories, take_turn
from gossamer.turn.steps import StepInterruptedError
from gossamer.worker.admission import TURNS_PER_REQUEST, Load, Room, TurnSlots, admit
from gossamer.worker.client import FrontierClient
from gossamer.worker.membership import FrontierThread, Membership
from gossamer.worker.performer import Performer

if TYPE_CHECKING:
    from collections.abc import Generator

    from gossamer.turn import Effects, HookFailure, Hooks, OperatorOrders, TurnResult
    from gossamer.turn.steps import Step
    from gossamer.workbench import SiteInHand
    from gossamer.worker.admission import Admission
    from gossamer.worker.parts import WorkerParts, WorkerTerms

log = logging.getLogger(__name__)


def report_hook_failure(hooks: Hooks, failure: HookFailure) -> None:
    """Log a mistake of a program's hook with its URL, and count it."""
    hooks.errors += failure.times
    message = "The hook %s failed at %s; the crawl goes on without its answer."
    log.error(message, failure.hook, failure.url, exc_info=failure.error)


def _memories(parts: WorkerParts, terms: WorkerTerms, orders: OperatorOrders) -> TurnMemories:
    """Return the memories that all turns of a worker share."""
    return TurnMemories(
        traps=TrapGuard(terms.turn.traps),
        sitemap_quota=SitemapQuota(terms.turn.sitemaps),
        shares=parts.shares,
        outage=OutageGuard(terms.outage),
        orders=orders,
        hooks=parts.hooks,
    )


class Worker:
    """Visits the sites on its workbench. All it works with are arguments; it installs no signal handlers."""

    def __init__(self, parts: WorkerParts, terms: WorkerTerms) -> None:
        self._parts = parts
        self._terms = terms
        self._bench = parts.bench
        self._figures = parts.figures
        self._clock = parts.clock
        self._is_stopping = False
        self._changed = asyncio.Event()  # there may be something to begin, or to stop
        self._turns: set[asyncio.Task[None]] = set()
        self._room = Room(terms.in_flight, release_body=parts.fetcher.release)
        self._thread = FrontierThread()
        self._membership = Membership(
            frontier=parts.frontier,
            thread=self._thread,
            label=terms.label,
            heartbeat_s=terms.worker.heartbeat_s,
            own_exclusions=terms.exclusions,
            clock=parts.clock,
            figures=parts.figures.snapshot,
        )
        self._client = FrontierClient(
            frontier=parts.frontier,
            thread=self._thread,
            membership=self._membership,
            store=parts.store,
            bench=parts.bench,
            disk=DiskWatch(terms.folder, terms.min_free_bytes),
            batch_s=terms.worker.batch_s,
            clock=parts.clock,
        )
        self._memories = _memories(parts, terms, self._membership.orders)
        self._performer = Performer(
            parts,
            terms,
            membership=self._membership,
            client=self._client,
            memories=self._memories,
            room=self._room,
            take=self._take,
        )

    @property
    def trouble(self) -> str:
        """What is wrong, in a few words; empty if all is well."""
        outage = "no site can be reached: is this machine offline?" if self._memories.outage.paused else ""
        return self._client.trouble or outage

    def stop(self) -> None:
        """Begin nothing more; `run` returns when what is under way has ended."""
        self._is_stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Crawl until told to stop; what is under way then is finished, within bounds."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._client.serve(self._changed.set))
            group.create_task(self._membership.beat(changed=self._take_orders, died=self._bench.clear))
            group.create_task(self._membership.guard(self._abort_turns))
            watch = group.create_task(self._figures.watch_loop())
            await self._begin_turns()
            self._performer.finish()
            self._client.stop_claiming()
            await self._finish_turns()
            self._client.close()
            self._membership.close()
            watch.cancel()
        try:
            await self._client.finish()
        finally:
            self._thread.close()

    # ------------------------------------------------------------------ which turns begin

    async def _begin_turns(self) -> None:
        """Begin turns as sites fall due, until told to stop."""
        loop = asyncio.get_running_loop()
        while not self._is_stopping and self._membership.state is not CrawlState.STOPPING:
            self._changed.clear()
            now_s = self._clock()
            while (admission := self._admit(now_s)).hold is None and (site := self._bench.next_turn(now_s)):
                if self._memories.outage.paused:
                    self._memories.outage.probe(now_s)
                turn = loop.create_task(self._visit(site))
                self._turns.add(turn)
                turn.add_done_callback(partial(self._forget, site))
            self._show_load()
            timer = loop.call_later(admission.wait_s, self._changed.set)
            await self._changed.wait()
            timer.cancel()

    def _admit(self, now_s: float) -> Admission:
        return admit(
            Load(
                state=self._membership.state,
                is_stopping=self._is_stopping,
                is_halted=self._client.is_halted,
                has_lease=self._membership.lease.may_start,
                turns=len(self._turns),
                max_turns=TURNS_PER_REQUEST * self._terms.in_flight,
                links_waiting=self._client.links_waiting,
                outcomes_waiting=self._client.outcomes_waiting,
                until_probe_s=self._memories.outage.until_probe(now_s),
                until_due_s=self._bench.until_due(now_s),
            )
        )

    def _show_load(self) -> None:
        fetching = self._parts.fetcher.load
        self._figures.show_load(
            self._bench,
            silent_requests=fetching.silent,
            held_bytes=fetching.held_bytes,
            paused_transfers=fetching.paused,
            wasteful_networks=fetching.wasteful_networks,
            slow_lookups=fetching.slow_lookups,
            turns=len(self._turns),
            outage=self._memories.outage.paused,
            links_waiting=self._client.links_waiting,
            outcomes_waiting=self._client.outcomes_waiting,
            pages_waiting=self._room.pages_waiting,
            costly_pages=self._parts.pages.costly_pages,
            sitemap_bytes_waiting=self._room.sitemap_bytes,
        )

    def _take_orders(self) -> None:
        self._client.release_excluded()
        self._changed.set()

    def _forget(self, site: SiteInHand, turn: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        if turn.cancelled():  # before it began: a turn that has begun ends with a result
            self._end(site, self._clock())
        self._changed.set()

    def _abort_turns(self) -> None:
        for turn in self._turns:
            turn.cancel()

    async def _finish_turns(self) -> None:
        """Let turns end by themselves for `stop_s`, then cancel them."""
        if self._turns:
            await asyncio.wait(self._turns, timeout=self._terms.worker.stop_s)
        self._abort_turns()
        await asyncio.gather(*self._turns, return_exceptions=True)

    # ------------------------------------------------------------------ one turn

    async def _visit(self, site: SiteInHand) -> None:
        """Give a site its turn, and hand on what came of it."""
        slots, due_s = TurnSlots(self._room), 0.0
        turn = take_turn(site, settings=self._terms.turn, memories=self._memories, now=self._performer.now())
        try:
            result = await self._drive(turn, site, slots)
            # plant: wait-of-turn-ignored
            due_s = self._clock() if result.ended_s is None else result.ended_s + result.wait.wait_s
            if result.wait.cause in SHARE_CAUSES:
                self._figures.note_over_share(site.site, result.wait.cause, due_s)
            self._client.note(site, result.effects, urgent=result.urgent)  # plant: result-not-reported
            if result.bug is not None:
                log.error("A bug of ours, in a turn of %s", site.site, exc_info=result.bug)
            self._take(result.effects)
        except Exception:  # the turn itself could not end: give the site back at its full delay
            log.exception("A bug of ours, at the end of a turn of %s", site.site)
            site.urls.clear()
            due_s = max(due_s, self._clock() + site.delay_s)
        finally:
            self._performer.log_last_request(site)
            slots.release()
        self._end(site, due_s)

    async def _drive(self, turn: Generator[Step, Any, TurnResult], site: SiteInHand, slots: TurnSlots) -> TurnResult:
        """Perform the steps of a turn until it returns. A cancelled or failed step is thrown into it."""
        try:
            step = next(turn)
            while True:
                try:
                    reply = await self._performer.perform(step, site, slots)
                except asyncio.CancelledError:
                    step = turn.throw(StepInterruptedError(self._performer.now()))
                except Exception as bug:  # ours: the turn decides what it costs
                    step = turn.throw(StepInterruptedError(self._performer.now(), bug))
                else:
                    step = turn.send(reply)
        except StopIteration as end:
            result: TurnResult = end.value
            return result

    def _end(self, site: SiteInHand, due_s: float) -> None:
        """End a turn: the site keeps its place on the workbench, or is given back if nothing of it is in hand."""
        if not self._bench.finish(site, due_s):
            self._client.release(site, due_s)

    def _take(self, effects: Effects) -> None:
        """Count what happened, and log the mistakes of the program's hooks."""
        self._figures.count(effects)
        for failure in effects.hook_failures:
            report_hook_failure(self._parts.hooks, failure)
