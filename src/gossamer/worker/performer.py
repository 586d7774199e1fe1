"""Performs the steps of turns: everything in a turn that waits for the world."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from gossamer.parse.blocks import block_in_head
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
from gossamer.urls import host_of, name_of_host
from gossamer.worker.addresses import Crowded, Permit
from gossamer.worker.elsewhere import RobotsElsewhere
from gossamer.worker.link_lane import HEAVY_LINKS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gossamer.records import PageRow, ParsedPage, ParsedRobots, ParsedSitemap, RequestRow
    from gossamer.turn import Effects, TurnMemories
    from gossamer.turn.steps import Step
    from gossamer.workbench import SiteInHand
    from gossamer.worker.addresses import AddressGate
    from gossamer.worker.admission import Room, TurnSlots
    from gossamer.worker.client import FrontierClient
    from gossamer.worker.membership import Membership
    from gossamer.worker.parts import WorkerParts, WorkerTerms

    Parsed = ParsedPage | ParsedSitemap | ParsedRobots


_LEAST_BYTES: Final = Resource.BYTES.value.least
_LEAST_SILENCE_S: Final = Resource.SILENCE.value.least
# Requests that contacted no server, and what the turn hears of them.
_UNSENT: Final = {Reason.CANCELLED: NOT_SENT, Reason.CUT_SILENT: NO_SLOT}


def _send(permit: Permit, may_send: Callable[[], bool]) -> bool:
    """Return whether a request may be sent; if so, note that it is."""
    is_free = may_send()
    if is_free and not permit.is_sent:
        permit.send()
    return is_free


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
        gate: AddressGate,
        take: Callable[[Effects], None],
    ) -> None:
        self._parts = parts
        self._terms = terms
        self._membership = membership
        self._client = client
        self._outage = memories.outage
        self._room = room
        self._gate = gate
        self._take = take  # counts effects
        self._is_finishing = False
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
        self._gate.dismiss()

    def now(self) -> Moment:
        """Return the present moment."""
        return Moment(self._parts.clock(), self._parts.wall_clock())

    async def perform(self, step: Step, site: SiteInHand, slots: TurnSlots) -> object:
        """Perform one step of a turn; return its reply."""
        if slots.unlogged is not None and not isinstance(step, Parse | Keep):
            self.log_last_request(slots)
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
            case Keep():
                return self._keep_page(step, slots)
            case KeepAnswer() | Deliver():
                await self._keep(step, site, slots)
                return None
            case Commit() | LookUp() | LookUpHosts():
                return await self._exchange(step, site, slots)

    # ------------------------------------------------------------------ requests

    async def _ask(self, step: Ask, site: SiteInHand, slots: TurnSlots) -> Asked:
        if slots.holds:
            slots.release()
        permit: Permit | Crowded | Failed | None
        permit, slots.permit = slots.permit, None
        if permit is None or not step.url.startswith(f"{permit.host}/"):
            permit = await self._obtain_permit(step.url, permit, is_own=site.site in self._terms.own.names)
        answer: Fetched | Failed | Missing = NOT_SENT
        if isinstance(permit, Failed):
            answer = permit
        elif isinstance(permit, Permit):
            answer = await self._fetch(
                step.url,
                step.kind,
                permit,
                site=site.site,
                standing=step.standing,
                for_links=step.for_links,
                may_send=partial(self._may_send, step, site),
                wait=None if step.kind in ROBOTS_KINDS else slots.take_request,
            )
        now = self.now()
        if isinstance(answer, Fetched):
            slots.body_bytes, slots.holds = len(answer.body), True
        elif slots.holds:
            slots.release()  # there is no body in hand
        if not isinstance(answer, Missing):
            row = self._record(answer, step, site=site.site, delay_s=site.delay_s, now_s=now.clock_s)
            if isinstance(answer, Fetched) and step.kind is RequestKind.PAGE and 200 <= answer.status < 300:
                slots.unlogged = row, answer
            else:
                self._log(answer, row)
        return Asked(answer=answer, moment=now)

    async def _obtain_permit(self, url: str, former: Permit | None, *, is_own: bool) -> Permit | Crowded | Failed:
        """Wait until an address of a URL is due; the turn may have begun with a permit for the same name."""
        host = host_of(url)
        if former is not None:
            if name_of_host(former.host) == name_of_host(host):
                return former
            former.end()
        found = await self._parts.fetcher.locate(url)
        if isinstance(found, Failed):
            return found
        return await self._gate.enter(found, host, is_own=is_own)

    def _has_lease(self) -> bool:
        return self._parts.clock() < self._membership.lease.starts_until_s

    def _may_send(self, step: Ask, site: SiteInHand) -> bool:
        """Return whether a request may still be sent: the lease holds, nothing stops us, the operator allows it."""
        member, now_s = self._membership, self._parts.clock()
        # plant: request-without-lease
        if now_s >= member.lease.starts_until_s or (self._is_finishing and not step.finishing):
            return False
        if site.due_s > now_s:  # plant: wait-of-other-turn-ignored
            return False  # an answer to another turn, which was under way at once, asked for a wait
        orders = member.orders
        if site.site in orders.sites:  # plant: excluded-site-sent
            return False
        if orders.exclusions is step.exclusions or step.kind in ROBOTS_KINDS:
            return True
        return not orders.exclusions.find(step.url, step.host)

    async def _request_elsewhere(self, step: AskElsewhere, delay_s: float) -> Fetched | Failed | Missing | Crowded:
        url, kind = step.url, RequestKind.ROBOTS_ELSEWHERE
        found = await self._parts.fetcher.locate(url.url)
        if isinstance(found, Failed):
            answer: Fetched | Failed | Missing = found
        else:
            permit = await self._gate.enter(found, url.host)
            if isinstance(permit, Crowded):
                return permit
            answer = await self._fetch(
                url.url,
                kind,
                permit,
                site=url.site,
                may_send=lambda: self._has_lease() and not self._elsewhere.is_excluded(url),
            )
        if isinstance(answer, Fetched):
            self._parts.fetcher.release(len(answer.body))  # it is small, and kept for long
        if not isinstance(answer, Missing):
            self._log(answer, self._record(answer, step, site=url.site, delay_s=delay_s, now_s=self._parts.clock()))
        return answer

    async def _fetch(
        self,
        url: str,
        kind: RequestKind,
        permit: Permit,
        *,
        site: str,
        standing: SiteStanding = SiteStanding.UNTRIED,
        for_links: bool = False,
        may_send: Callable[[], bool],
        wait: Callable[[], Awaitable[None]] | None = None,
    ) -> Fetched | Failed | Missing:
        """Make the request that a permit allows, after waiting for whatever else it needs."""
        answer: Fetched | Failed | None = None
        try:
            if wait is not None:
                await wait()
            self._parts.figures.in_flight += 1
            try:
                answer = await self._parts.fetcher.fetch(
                    url,
                    address=permit.address,
                    kind=kind,
                    for_links=for_links,
                    before_send=partial(_send, permit, may_send),
                    site=site,
                    standing=standing,
                )
            finally:
                self._parts.figures.in_flight -= 1
        finally:
            if permit.is_paced:
                permit.end(answer)
        return _UNSENT.get(answer.reason, answer) if isinstance(answer, Failed) and not answer.address else answer

    def _log(self, answer: Fetched | Failed, row: RequestRow) -> None:
        """Write a request to the log, and archive a robots.txt or a tdmrep.json."""
        if isinstance(answer, Fetched) and (row.kind in ROBOTS_KINDS or row.kind == RequestKind.TDMREP):
            self._parts.store.keep_robots(answer, row)
        self._parts.store.keep_request(row)

    def log_last_request(self, slots: TurnSlots) -> None:
        """Write the last request of a turn, which waits in its slots, to the log.

        The request for a page waits until the page is parsed, or the turn goes on or ends without that: only then it is
        known whether it was a block page. An answer that is still beside its line was not parsed.
        """
        assert slots.unlogged is not None, "there is a request to log"
        row, answer = slots.unlogged
        slots.unlogged = None
        if answer is not None and (mark := block_in_head(answer.head, answer.status)):
            row = row._replace(blocked=mark)
        self._parts.store.keep_request(row)

    def _record(
        self, answer: Fetched | Failed, step: Ask | AskElsewhere, *, site: str, delay_s: float, now_s: float
    ) -> RequestRow:
        """Count a request, charge its site if it took much, tell the outage guard, and return its line of the log."""
        own, tries = step if isinstance(step, Ask) else None, step.tries
        row = request_row(
            answer,
            site=site,
            kind=own.kind if own else RequestKind.ROBOTS_ELSEWHERE,
            attempt=tries + 1,
            worker=self._terms.name,
            delay_s=delay_s,
            via=own.via if own else NO_HASH,
            url_hash=own.url_hash if own else None,
            parallel=self._parallel(site, delay_s) if own else 0,
        )
        self._parts.figures.request(row)
        if row.bytes >= _LEAST_BYTES or (row.reason and answer.duration_s >= _LEAST_SILENCE_S):
            self._spend(answer, site, now_s)
        # plant: outage-not-noticed
        if isinstance(answer, Failed) or self._outage.is_alert:
            self._outage.report(now_s, site, answer.reason if isinstance(answer, Failed) else None, tries=tries)
        else:
            self._outage.answered_s = now_s
        return row

    def _parallel(self, site: str, delay_s: float) -> int:
        """Return how many requests at once a site may get if it belongs to the operator; 0 if it does not."""
        own = self._terms.own
        return 0 if site not in own.names else 1 if delay_s else own.parallel

    def _spend(self, answer: Fetched | Failed, site: str, now_s: float) -> None:
        """Charge a site for a request that took much, and note what others wait for."""
        shares = self._parts.shares
        if isinstance(answer, Fetched):
            if self._parts.fetcher.load.paused:
                shares.note_waiting(Resource.BYTES, now_s)
            shares.spend(site, Resource.BYTES, len(answer.body), now_s)
        elif answer.address:
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
        if is_sitemap and not slots.take_sitemap(len(step.answer.body)):
            return NO_ROOM
        self._room.pages_waiting += 1
        try:
            if step.kind in ROBOTS_KINDS:
                return await pages.read_robots(step.answer, site=site.site)
            if is_sitemap:
                sitemap = await pages.read_sitemap(step.answer, site=site.site, archive=archive)
                has_room = isinstance(sitemap, ParseFailed) or slots.hold_links(self._client.lane, len(sitemap.urls))
                return sitemap if has_room else NO_ROOM
            parsed = await pages.read(step.answer, site=site.site, archive=archive and not step.answer.links_only)
        finally:
            self._room.pages_waiting -= 1
        if isinstance(parsed, ParseFailed):
            return parsed
        if slots.unlogged is not None:
            row, _ = slots.unlogged
            slots.unlogged = row._replace(blocked=parsed.blocked) if parsed.blocked else row, None
        if len(parsed.links) > HEAVY_LINKS and not self._client.lane.has_room(len(parsed.links)):
            return ParseFailed(reason=Reason.LINKS_BUSY, detail="too many links wait for the frontier")
        return parsed

    def _keep_page(self, step: Keep, slots: TurnSlots) -> PageRow:
        store = self._parts.store
        if slots.unlogged is not None:
            self.log_last_request(slots)
        row = store.keep_page(step.row, step.archive, step.response_offset, answer=step.answer)
        if step.links:
            store.keep_links(step.links)
        return row

    async def _keep(self, step: KeepAnswer | Deliver, site: SiteInHand, slots: TurnSlots) -> None:
        store, hooks = self._parts.store, self._parts.hooks
        if isinstance(step, Deliver):
            assert hooks.on_page is not None, "a turn delivers only what the program wants"
            await hooks.on_page(step.row, step.answer)
            return
        if store.archives and not step.answer.type_refused:
            encoded = step.parsed or encode_exchange(step.answer)
            row = answer_row(step.url, site.site, step.answer, encoded.payload_digest)
            store.keep_answer(row, encoded.archive, encoded.response_offset)
        if step.parsed is None:
            slots.release()  # the answer is no page: its body is done with, and the turn may look up its target

    # ------------------------------------------------------------------ the frontier

    async def _exchange(self, step: Commit | LookUp | LookUpHosts, site: SiteInHand, slots: TurnSlots) -> object:
        if isinstance(step, LookUp):
            return await self._client.look_up(step.url)
        if isinstance(step, LookUpHosts):
            return await self._client.look_up_hosts(step.site)
        slots.release_request()  # what it brought is read; many links take their time
        self._take(step.effects)
        await self._client.commit(site, step.effects, urgent=step.urgent)
        return None
