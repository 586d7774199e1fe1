"""The requests of one turn: at a distance from each other, and each written down."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from gossamer.politeness.hosts import robots_redirect, robots_url
from gossamer.politeness.pace import step_gap_s
from gossamer.records import Failed, Reason, RequestKind
from gossamer.worker.rows import request_row

if TYPE_CHECKING:
    from gossamer.fetch import Fetcher
    from gossamer.frontier.clock import Clock
    from gossamer.politeness.outage import OutageGuard
    from gossamer.politeness.pace import PaceSettings
    from gossamer.records import Fetched, QueuedUrl
    from gossamer.store.store import Store
    from gossamer.workbench import SiteInHand
    from gossamer.worker.figures import Figures

MAX_HOPS = 5  # redirects within a site that one turn follows
HANG_UP_S = 0.2  # a server learns later than we do that we hung up: for it, the request ends then


class MayAsk(Protocol):
    """Tells whether something may be sent; asked until just before it is."""

    def __call__(self, *, finishing: bool) -> bool:
        """Tell that, of a request that does or does not finish what another has begun."""


class Turn:
    """One visit to a site: what it takes to get one page."""

    __slots__ = ("closes_circle", "ended_s", "queued", "response_s", "retry_after_s", "site")

    def __init__(self, site: SiteInHand) -> None:
        self.site = site
        self.queued: QueuedUrl | None = None  # what it is for
        self.ended_s: float | None = None  # when its last request ended; None: none was made
        self.closes_circle = False  # the page's canonical redirects back to it: it is kept after all
        self.response_s = 0.0  # how long its last request took
        self.retry_after_s: float | None = None  # what the server asked for


class Asker:
    """Asks servers. Whether and when a page may be asked for is the worker's to know."""

    def __init__(
        self,
        *,
        fetcher: Fetcher,
        store: Store,
        figures: Figures,
        outage: OutageGuard,
        pace: PaceSettings,
        name: str,
        clock: Clock,
        may_ask: MayAsk,
    ) -> None:
        self._fetcher = fetcher
        self._store = store
        self._figures = figures
        self._outage = outage
        self._pace = pace
        self._name = name
        self._clock = clock
        self._may_ask = may_ask

    async def pause(self, turn: Turn) -> None:
        """Let some time pass between two requests of one turn."""
        if turn.ended_s is not None:
            due_s = turn.ended_s + step_gap_s(self._pace, turn.site.delay_s)
            while (wait_s := due_s - self._clock()) > 0:  # noqa: ASYNC110 - a coarse loop clock may end it early
                await asyncio.sleep(wait_s)

    async def ask(
        self, turn: Turn, url: str, kind: RequestKind, *, tries: int, finishing: bool = False
    ) -> Fetched | Failed:
        """Make one request and write it down."""
        site = turn.site
        ended_before_s, turn.ended_s = turn.ended_s, self._clock()  # should it be cancelled, it counts as made
        try:
            with self._figures.under_way():
                answer = await self._fetcher.fetch(
                    url, kind=kind, before_send=lambda: self._may_ask(finishing=finishing)
                )
        finally:
            turn.ended_s = self._clock()
        if isinstance(answer, Failed) and answer.reason is Reason.CANCELLED and not answer.address:
            turn.ended_s = ended_before_s  # it was not made
            return answer
        turn.response_s = answer.duration_s
        if site.delay_s and (isinstance(answer, Failed) or answer.type_refused or answer.truncated):
            turn.ended_s += HANG_UP_S
        row = request_row(answer, site=site.site, kind=kind, attempt=tries + 1, worker=self._name, delay_s=site.delay_s)
        self._store.keep_request(row)
        self._figures.request(row)
        self._outage.report(turn.ended_s, site.site, answer.reason if isinstance(answer, Failed) else None, tries=tries)
        return answer

    async def ask_robots(self, turn: Turn, page: QueuedUrl) -> Fetched | Failed:
        """Fetch a robots.txt, behind redirects within the site: nobody else's site is asked in this one's turn."""
        url = robots_url(page.host)
        for hop in range(MAX_HOPS + 1):
            await self.pause(turn)
            answer = await self.ask(turn, url, RequestKind.ROBOTS, tries=page.tries, finishing=hop > 0)
            target = robots_redirect(answer, url)
            if target is None or target.site != turn.site.site or hop == MAX_HOPS:
                break
            url = target.url
        return answer
