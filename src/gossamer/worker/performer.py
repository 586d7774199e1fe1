"""Performs the steps of turns: everything in a turn that waits for the world."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from gossamer.records import ROBOTS_KINDS, Failed, Fetched, ParseFailed, Reason, RequestKind, SiteStanding
from gossamer.records.rows import NO_HASH
from gossamer.rules.shares import Resource
from gossamer.store.warc import encode_exchange
from gossamer.turn.rows import answer_row, request_row
from gossamer.turn.steps import (
    NO_ROOM,
    NO_SLOT,
    NOT_SENT,
    Ask,
    Asked,
    AskElsewhere,
    Commit,
    Deliver,
    Keep,
    KeepAnswer,
    LookUp,
    LookUpHosts,
    Missing,
    Moment,
    Parse,
    Wait,
)
from gossamer.worker.elsewhere import RobotsElsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.records import PageRow, ParsedPage, ParsedRobots, ParsedSitemap, RequestRow
    from gossamer.turn import Effects, TurnMemories
    from gossamer.turn.steps import Step
    from gossamer.workbench import SiteInHand
    from gossamer.worker.admission import Room, TurnSlots
    from gossamer.worker.client import FrontierClient
    from gossamer.worker.membership import Membership
    from gossamer.worker.parts import WorkerParts, WorkerTerms

    Parsed = ParsedPage | ParsedSitemap | ParsedRobots


# Requests that contacted no server, and what the turn hears of them.
_UNSENT: Final = {Reason.CANCELLED: NOT_SENT, Reason.CUT_SILENT: NO_SLOT}


class Performer:
    """Performs steps, one at a time for each turn."""

    def __init__(
        self,
        parts: WorkerParts,
        terms: WorkerTerms,
        *,
        membership: Membership,
        client: FrontierClient,
        memories: TurnMemories,
        room: Room,
        take: Callable[[Effects], None],
    ) -> None:
        self._parts = parts
        self._terms = terms
        self._membership = membership
        self._client = client
        self._outage = memories.outage
        self._room = room
        self._take = take  # counts effects
        self._is_finishing = False
        self._unlogged: dict[str, RequestRow] = {}  # by site: see log_last_request
        self._elsewhere = RobotsElsewhere(
            settings=terms.turn,
            orders=membership.orders,
            outage=memories.outage,
            now=self.now,
            request=self._request_elsewhere,
        )

    def finish(self) -> None:
        """From now on, send only requests without which another would be in vain."""
        self._is_finishing = True

    def now(self) -> Moment:
        """Return the present moment."""
        return Moment(self._parts.clock(), self._parts.wall_clock())

    async def perform(self, step: Step, site: SiteInHand, slots: TurnSlots) -> object:
        """Perform one step of a turn; return its reply."""
        if not isinstance(step, Parse):
            self.log_last_request(site)
        match step:
            case Ask():
                return await self._ask(step, site, slots)
            case AskElsewhere():
                slots.release()
                return await self._elsewhere.ask(step)
            case Wait():
                slots.release()
                return await self._wait(step.until_s)
            case Parse():
                return await self._parse(step, site, slots)
            case KeepAnswer(parsed=None):
                await self._keep(step, site)
                slots.release()  # the answer is no page: its body is done with, and the turn may look up its target
                return None
            case Keep() | KeepAnswer() | Deliver():
                return await self._keep(step, site)
            case Commit() | LookUp() | LookUpHosts():
                return await self._exchange(step, site)

    # ------------------------------------------------------------------ requests

    async def _ask(self, step: Ask, site: SiteInHand, slots: TurnSlots) -> Asked:
        if step.kind in ROBOTS_KINDS:
            slots.release()
        else:
            await slots.take_request()
        answer = await self._fetch(
            step.url,
            step.kind,
            site=site.site,
            standing=step.standing,
            for_links=step.for_links,
            may_send=lambda: self._may_send(step, site),
        )
        now = self.now()
        if isinstance(answer, Fetched):
            slots.hold_body(len(answer.body))
        else:
            slots.release()  # there is no body in hand
        if not isinstance(answer, Missing):
            row = self._record(
                answer, step.kind, site=site.site, tries=step.tries, delay_s=site.delay_s, now=now, via=step.via
            )
            self._unlogged[site.site] = row
            if not isinstance(answer, Fetched) or step.kind is not RequestKind.PAGE or row.blocked:
                self.log_last_request(site)
        return Asked(answer=answer, moment=now)

    def _may_send(self, step: Ask, site: SiteInHand) -> bool:
        """Return whether a request may still be sent: the lease holds, nothing stops us, the operator allows it."""
        # plant: request-without-lease
        if not self._membership.lease.may_start or (self._is_finishing and not step.finishing):
            return False
        orders = self._membership.orders
        if site.site in orders.sites:  # plant: excluded-site-sent
            return False
        return step.kind in ROBOTS_KINDS or not orders.exclusions.find(step.url, step.host)

    async def _request_elsewhere(self, step: AskElsewhere, delay_s: float) -> Fetched | Failed | Missing:
        url, kind = step.url, RequestKind.ROBOTS_ELSEWHERE
        answer = await self._fetch(
            url.url,
            kind,
            site=url.site,
            may_send=lambda: self._membership.lease.may_start and not self._elsewhere.is_excluded(url),
        )
        if isinstance(answer, Fetched):
            self._parts.fetcher.release(len(answer.body))  # it is small, and kept for long
        if not isinstance(answer, Missing):
            row = self._record(answer, kind, site=url.site, tries=step.tries, delay_s=delay_s, now=self.now())
            self._parts.store.keep_request(row)
        return answer

    async def _fetch(
        self,
        url: str,
        kind: RequestKind,
        *,
        site: str,
        standing: SiteStanding = SiteStanding.UNTRIED,
        for_links: bool = False,
        may_send: Callable[[], bool],
    ) -> Fetched | Failed | Missing:
        with self._parts.figures.under_way():
            answer = await self._parts.fetcher.fetch(
                url, kind=kind, for_links=for_links, before_send=may_send, site=site, standing=standing
            )
        if isinstance(answer, Failed) and not answer.address and answer.reason in _UNSENT:
            return _UNSENT[answer.reason]
        return answer

    def log_last_request(self, site: SiteInHand, blocked: str = "") -> None:
        """Write the last request to a site to the log, if it is not there yet.

        The request for a page waits until the page is parsed, or the turn goes on or ends without that: only then it is
        known whether it was a block page.
        """
        row = self._unlogged.pop(site.site, None)
        if row is not None:
            self._parts.store.keep_request(row._replace(blocked=blocked) if blocked else row)

    def _record(
        self,
        answer: Fetched | Failed,
        kind: RequestKind,
        *,
        site: str,
        tries: int,
        delay_s: float,
        now: Moment,
        via: bytes = NO_HASH,
    ) -> RequestRow:
        """Count a request, tell the outage guard how it ended, and return its line of the log."""
        row = request_row(
            answer, site=site, kind=kind, attempt=tries + 1, worker=self._terms.name, delay_s=delay_s, via=via
        )
        self._parts.figures.request(row)
        self._spend(answer, site, now.clock_s)
        # plant: outage-not-noticed
        self._outage.report(now.clock_s, site, answer.reason if isinstance(answer, Failed) else None, tries=tries)
        return row

    def _spend(self, answer: Fetched | Failed, site: str, now_s: float) -> None:
        """Charge a site for what a request took, if that is much, and note what others wait for."""
        shares = self._parts.shares
        if isinstance(answer, Fetched):
            size_bytes = len(answer.body)
            if size_bytes < Resource.BYTES.value.least:
                return
            if self._parts.fetcher.load.paused:
                shares.note_waiting(Resource.BYTES, now_s)
            shares.spend(site, Resource.BYTES, size_bytes, now_s)
        elif answer.address and answer.duration_s >= Resource.SILENCE.value.least:
            if self._parts.fetcher.load.slots_contended:
                shares.note_waiting(Resource.SILENCE, now_s)
            shares.spend(site, Resource.SILENCE, answer.duration_s, now_s)

    async def _wait(self, until_s: float) -> Moment:
        clock = self._parts.clock
        while (wait_s := until_s - clock()) > 0:  # noqa: ASYNC110 - a coarse loop clock may end it early
            await asyncio.sleep(wait_s)
        return self.now()

    # ------------------------------------------------------------------ pages

    async def _parse(self, step: Parse, site: SiteInHand, slots: TurnSlots) -> Parsed | ParseFailed | Missing:
        pages, archive = self._parts.pages, self._parts.store.archives
        is_sitemap = step.kind is RequestKind.SITEMAP
        if is_sitemap and not await slots.take_sitemap(len(step.answer.body)):
            return NO_ROOM
        with self._room.parsing():
            if step.kind in ROBOTS_KINDS:
                return await pages.read_robots(step.answer, site=site.site)
            if is_sitemap:
                return await pages.read_sitemap(step.answer, site=site.site, archive=archive)
            blocked = ""
            try:
                parsed = await pages.read(step.answer, site=site.site, archive=archive and not step.answer.links_only)
                blocked = "" if isinstance(parsed, ParseFailed) else parsed.blocked
                return parsed
            finally:
                self.log_last_request(site, blocked)

    async def _keep(self, step: Keep | KeepAnswer | Deliver, site: SiteInHand) -> PageRow | None:
        store, hooks = self._parts.store, self._parts.hooks
        if isinstance(step, Keep):
            row = store.keep_page(step.row, step.archive, step.response_offset, answer=step.answer)
            store.keep_links(step.links)
            return row
        if isinstance(step, Deliver):
            assert hooks.on_page is not None, "a turn delivers only what the program wants"
            await hooks.on_page(step.row, step.answer)
        elif store.archives and not step.answer.type_refused:
            encoded = step.parsed or encode_exchange(step.answer)
            row = answer_row(step.url, site.site, step.answer, encoded.payload_digest)
            store.keep_answer(row, encoded.archive, encoded.response_offset)
        return None

    # ------------------------------------------------------------------ the frontier

    async def _exchange(self, step: Commit | LookUp | LookUpHosts, site: SiteInHand) -> object:
        if isinstance(step, LookUp):
            return await self._client.look_up(step.url)
        if isinstance(step, LookUpHosts):
            return await self._client.look_up_hosts(step.site)
        self._take(step.effects)
        await self._client.commit(site, step.effects, urgent=step.urgent)
        return None
