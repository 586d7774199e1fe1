"""Drives turns: begins each when its site is due, performs the steps that it yields, and hands on its result.

What a turn decides is in `gossamer.turn`; here is everything that waits for the world. The loop is `Worker.run`.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from gossamer import metrics
from gossamer.frontier.shares import WHOLE
from gossamer.records import CrawlState, Failed
from gossamer.rules.address_pace import AddressPace, address_delay_s
from gossamer.rules.outage import OutageGuard
from gossamer.rules.shares import SHARE_CAUSES
from gossamer.rules.sitemaps import SitemapQuota
from gossamer.rules.traps import TrapGuard
from gossamer.store.disk import DiskWatch
from gossamer.story import tell
from gossamer.turn import TurnMemories, take_turn
from gossamer.turn.steps import Moment, StepInterruptedError
from gossamer.worker.addresses import AddressGate
from gossamer.worker.admission import TURNS_PER_REQUEST, Load, Room, TurnSlots, admit
from gossamer.worker.client import FrontierClient
from gossamer.worker.link_lane import HEAVY_LINKS
from gossamer.worker.membership import Membership
from gossamer.worker.own_sites import OwnSiteLanes
from gossamer.worker.performer import Performer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from gossamer.turn import Effects, HookFailure, Hooks, OperatorOrders, TurnResult
    from gossamer.workbench import SiteInHand
    from gossamer.worker.addresses import Permit
    from gossamer.worker.admission import Admission
    from gossamer.worker.parts import WorkerParts, WorkerTerms

log = logging.getLogger(__name__)

_observe_lateness = metrics.TURN_LATENESS_SECONDS.observe


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
        recent=parts.frontier.recent,
    )


def _membership(parts: WorkerParts, terms: WorkerTerms, thread: Executor, *, died: Callable[[], None]) -> Membership:
    """Return the membership of a worker that has joined."""
    return Membership(
        frontier=parts.frontier,
        thread=thread,
        label=terms.label,
        heartbeat_s=terms.worker.heartbeat_s,
        own_exclusions=terms.exclusions,
        clock=parts.clock,
        figures=parts.figures.snapshot,
        died=died,
    )


def _address_gate(parts: WorkerParts, terms: WorkerTerms, *, announce: Callable[[], None]) -> AddressGate:
    """Return the gate that lets requests through to their addresses."""
    pace = terms.turn.pace
    is_own = parts.fetcher.is_own
    applies_to_all = pace.address_delay_s is not None
    return AddressGate(
        AddressPace(delay_s=address_delay_s(pace), most_s=pace.delay_s, at_once=terms.per_address, is_own=is_own),
        bench=parts.bench,
        clock=parts.clock,
        is_exempt=(lambda _: False) if applies_to_all else is_own,
        announce=announce,
        note_wait=parts.figures.address_wait,
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
        self._lanes = OwnSiteLanes(
            terms.own, parts.bench, parts.wall_clock, reservations=terms.turn.keeping.respect_ai_optout
        )
        self._room = Room(terms.in_flight, release_body=parts.fetcher.release)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")
        self._membership = _membership(parts, terms, self._thread, died=self._drop_all)
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
        self._client.look_ahead_for(self._lanes.sites)
        self._memories = _memories(parts, terms, self._membership.orders)
        self._gate = _address_gate(parts, terms, announce=self._changed.set)
        self._performer = Performer(
            parts,
            terms,
            membership=self._membership,
            client=self._client,
            memories=self._memories,
            room=self._room,
            gate=self._gate,
            take=self._take,
        )
        self._figures.watch_load(self._load)

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
            group.create_task(self._membership.beat(self._take_orders))
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
            self._thread.shutdown()

    # ------------------------------------------------------------------ which turns begin

    async def _begin_turns(self) -> None:
        """Begin turns as sites and their addresses fall due, until told to stop."""
        loop, until_due = asyncio.get_running_loop(), self._bench.until_due
        while not self._is_stopping and self._membership.state is not CrawlState.STOPPING:
            self._changed.clear()
            now_s = self._clock()
            while (admission := self._admit(now_s, until_due(now_s))).hold is None:
                if not self._begin_some(admission.turns, now_s):
                    break
            timer = loop.call_later(admission.wait_s, self._changed.set)
            await self._changed.wait()
            timer.cancel()

    def _begin_some(self, turns: int, now_s: float) -> int:
        """Begin at most this many turns; return how many there were sites for."""
        loop = asyncio.get_running_loop()
        for begun in range(turns):
            site, permit = self._next_site(now_s)
            if site is None:
                return begun
            if self._memories.outage.paused:
                self._memories.outage.probe(now_s)
            turn = loop.create_task(self._visit(site, permit) if permit else self._locate(site))
            self._turns.add(turn)
            turn.add_done_callback(partial(self._forget, site))
        return turns

    def _next_site(self, now_s: float) -> tuple[SiteInHand | None, Permit | None]:
        """Return the site whose turn begins now, with leave for its first request if its address is known.

        Sites whose address is not due are parked.
        """
        while self._gate.ready and (address := self._gate.next_ready()):
            if parked := self._bench.next_parked(address, now_s):
                return parked, self._gate.enter_parked(address, parked.urls[0].host)
        while site := self._bench.next_turn(now_s):
            _observe_lateness(now_s - site.due_s)
            url = site.urls[0]
            found = self._parts.fetcher.recall(url.host)
            if found is None:
                return site, None  # its turn looks it up
            if permit := self._gate.try_enter(found, url.host, is_own=site.site in self._terms.own.names):
                return site, permit
            self._park(site, found)
        return None, None

    def _park(self, site: SiteInHand, addresses: Sequence[str]) -> None:
        """Let a site wait for an address, or give it back if that takes long: there may be any number of such sites."""
        address = self._gate.pick(addresses)
        due_s = self._gate.book(address)
        if due_s is None:
            self._bench.park(site, address)
            self._gate.watch(address)
        else:
            self._bench.remove(site.site)
            self._end(site, due_s, "its address is not due for long")

    def _admit(self, now_s: float, until_due_s: float | None) -> Admission:
        outage = self._memories.outage
        return admit(
            Load(
                state=self._membership.state,
                is_stopping=self._is_stopping,
                is_halted=self._client.is_halted,
                has_lease=self._membership.has_orders and now_s < self._membership.lease.starts_until_s,
                turns=len(self._turns),
                max_turns=TURNS_PER_REQUEST * self._terms.in_flight,
                links_waiting=self._client.links_waiting,
                outcomes_waiting=self._client.outcomes_waiting,
                until_probe_s=outage.until_probe(now_s) if outage.paused else None,
                until_due_s=0.0 if self._gate.ready else until_due_s,
            )
        )

    def _load(self) -> Mapping[str, float]:
        """Return what is in hand and under way now. Figures ask for it: nothing is counted for them meanwhile."""
        fetching, bench = self._parts.fetcher.load, self._bench
        due_s = bench.next_due_s
        return {
            "sites_in_hand": len(bench),
            "sites_due": bench.due,
            "urls_in_hand": bench.urls,
            "silent_requests": fetching.silent,
            "held_bytes": fetching.held_bytes,
            "paused_transfers": fetching.paused,
            "wasteful_networks": fetching.wasteful_networks,
            "slow_lookups": fetching.slow_lookups,
            "turns": len(self._turns),
            "address_waits": bench.parked + self._gate.waiting,
            "outage": self._memories.outage.paused,
            "paused_by_operator": self._membership.state is CrawlState.PAUSED,
            "paused_by_trouble": bool(self._client.trouble),
            "exclusion_changes": self._membership.exclusions_version,
            "links_waiting": self._client.links_waiting,
            "links_in_lane": self._client.lane.held,
            "outcomes_waiting": self._client.outcomes_waiting,
            "pages_waiting": self._room.pages_waiting,
            "costly_pages": self._parts.pages.costly_pages,
            "sitemap_bytes_waiting": self._room.sitemap_bytes,
            **({} if due_s is None else {"next_due_s": round(max(0.0, due_s - self._clock()), 1)}),
        }

    def _drop_all(self) -> None:
        """Drop everything: this worker was declared dead."""
        self._gate.restart()
        self._bench.clear()

    def _take_orders(self) -> None:
        self._gate.set_share(self._membership.share.parts / WHOLE)
        self._client.release_excluded()
        self._changed.set()

    def _forget(self, site: SiteInHand, turn: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        if turn.cancelled():  # before it began: a turn that has begun ends with a result
            self._end(site, self._clock(), "cancelled before its turn")
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

    async def _locate(self, site: SiteInHand) -> None:
        """Look up the address of a site, and give the site its turn, unless the address is not due."""
        url, permit = site.urls[0], None
        found = await self._parts.fetcher.locate(url.url)
        if not isinstance(found, Failed):
            permit = self._gate.try_enter(found, url.host, is_own=site.site in self._terms.own.names)
            if permit is None:
                self._park(site, found)
                return
        await self._visit(site, permit)

    async def _visit(self, site: SiteInHand, permit: Permit | None) -> None:
        """Give a site its turn, and hand on what came of it."""
        slots, due_s = TurnSlots(room=self._room, permit=permit), 0.0
        site.is_used = True
        try:
            result = await self._drive(site, slots)
            # plant: wait-of-turn-ignored
            due_s = self._clock() if result.ended_s is None else result.ended_s + result.wait.wait_s
            if log.isEnabledFor(logging.DEBUG):
                tell(log, "wait", site=site.site, wait_s=result.wait.wait_s, cause=result.wait.cause.value)
            if slots.holds:
                slots.release()
            if len(result.effects.links) > HEAVY_LINKS:
                await self._pass_links(result.effects)
            self._client.note(site, result.effects, urgent=result.urgent)  # plant: result-not-reported
            self._figures.count(result.effects)
            if self._lanes.sites:
                self._lanes.note(site, result)
            if result.bug or result.effects.hook_failures or result.wait.cause in SHARE_CAUSES:
                self._note_surprises(site, result, due_s)
        except Exception:  # the turn itself could not end: give the site back at its full delay
            log.exception("A bug of ours, at the end of a turn of %s", site.site)
            site.urls.clear()
            due_s = max(due_s, self._clock() + site.delay_s)
        finally:
            if slots.unlogged is not None:
                self._performer.log_last_request(slots)
            if slots.holds:
                slots.release()
            if slots.permit is not None:
                slots.permit.end()  # the turn needed no request
        self._end(site, due_s, "nothing left in hand")

    async def _drive(self, site: SiteInHand, slots: TurnSlots) -> TurnResult:
        """Perform the steps of a turn until it returns. A cancelled or failed step is thrown into it."""
        perform = self._performer.perform
        now = Moment(self._clock(), self._parts.wall_clock())
        if self._lanes.sites:
            self._lanes.begin(site)
        turn = take_turn(site, settings=self._terms.turn, memories=self._memories, now=now)
        try:
            step = next(turn)
            if self._lanes.sites:
                self._lanes.widen(site, now.clock_s)
                self._changed.set()
            while True:
                try:
                    reply = await perform(step, site, slots)
                except asyncio.CancelledError:
                    step = turn.throw(StepInterruptedError(self._performer.now()))
                except Exception as bug:  # ours: the turn decides what it costs
                    step = turn.throw(StepInterruptedError(self._performer.now(), bug))
                else:
                    step = turn.send(reply)
        except StopIteration as end:
            result: TurnResult = end.value
            return result

    def _end(self, site: SiteInHand, due_s: float, why: str) -> None:
        """End a turn: the site keeps its place on the workbench, or is given back if nothing of it is in hand."""
        if not self._bench.finish(site, due_s):
            self._client.release(site, site.due_s, why)
        elif site.lanes > 1 and not site.urls:
            self._client.report_soon()  # its other turns go on, and there may be more URLs

    async def _pass_links(self, effects: Effects) -> None:
        with suppress(asyncio.CancelledError):  # then the links that are left go with the last reports
            await self._client.pass_links(effects)

    def _note_surprises(self, site: SiteInHand, result: TurnResult, due_s: float) -> None:
        """Log what went wrong in a turn, and remember a site that took more than its share."""
        if result.wait.cause in SHARE_CAUSES:
            self._figures.note_over_share(site.site, result.wait.cause, due_s)
        if result.bug is not None:
            log.error("A bug of ours, in a turn of %s", site.site, exc_info=result.bug)
        for failure in result.effects.hook_failures:
            report_hook_failure(self._parts.hooks, failure)

    def _take(self, effects: Effects) -> None:
        """Count what a turn commits before its end, and log the mistakes of the program's hooks."""
        self._figures.count(effects)
        for failure in effects.hook_failures:
            report_hook_failure(self._parts.hooks, failure)
