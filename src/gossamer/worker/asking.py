"""The requests of one turn: at a distance from each other, and each written down."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from gossamer.records import Failed, Reason, RequestKind
from gossamer.rules.hosts import is_silence
from gossamer.rules.pace import step_gap_s
from gossamer.worker.rows import request_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.fetch import Fetcher
    from gossamer.frontier.clock import Clock
    from gossamer.records import Fetched, QueuedUrl
    from gossamer.rules.outage import OutageGuard
    from gossamer.rules.pace import PaceSettings
    from gossamer.store.store import Store
    from gossamer.urls import Url
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

    __slots__ = (
        "closes_circle", "ended_s", "guess", "queued", "response_s", "retry_after_s", "silence", "site",
        "troubled_host",
    )  # fmt: skip

    def __init__(self, site: SiteInHand) -> None:
        self.site = site
        self.queued: QueuedUrl | None = None  # what it is for
        self.ended_s: float | None = None  # when its last request ended; None: none was made
        self.closes_circle = False  # the page's canonical redirects back to it: it is kept after all
        self.response_s = 0.0  # how long its last answer took
        self.retry_after_s: float | None = None  # what the server asked for
        self.silence: Reason | None = None  # why the last host that did not answer did not
        self.guess: QueuedUrl | None = None  # a URL under https that does not answer, while http is tried
        self.troubled_host = ""  # that answered last, as one in trouble does

    def tries(self, url: QueuedUrl) -> int:
        """Return the failures that a URL and its host have behind them."""
        state = self.site.hosts.get(url.host)
        return url.tries + (state.silent if state else 0)


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
        self, turn: Turn, url: str, kind: RequestKind, *, tries: int, for_links: bool = False, finishing: bool = False
    ) -> Fetched | Failed:
        """Make one request and write it down."""
        site = turn.site
        ended_before_s, turn.ended_s = turn.ended_s, self._clock()  # should it be cancelled, it counts as made
        try:
            with self._figures.under_way():
                answer = await self._fetcher.fetch(
                    url, kind=kind, for_links=for_links, before_send=lambda: self._may_ask(finishing=finishing)
                )
        finally:
            turn.ended_s = self._clock()  # plant: delay-from-begin-of-request
        if not was_made(answer):
            turn.ended_s = ended_before_s
            return answer
        turn.response_s = 0.0 if is_silence(answer) else answer.duration_s
        turn.ended_s += hang_up_s(answer, site.delay_s)
        self._write_down(answer, kind, site=site.site, tries=tries, delay_s=site.delay_s, ended_s=turn.ended_s)
        return answer

    async def ask_elsewhere(
        self, url: Url, *, tries: int, delay_s: float, may_ask: Callable[[], bool]
    ) -> Fetched | Failed:
        """Request a robots.txt of another site, which is no part of any turn, and write it down."""
        kind = RequestKind.ROBOTS_ELSEWHERE
        with self._figures.under_way():
            answer = await self._fetcher.fetch(
                url.url, kind=kind, before_send=lambda: may_ask() and self._may_ask(finishing=True)
            )
        if was_made(answer):
            self._write_down(answer, kind, site=url.site, tries=tries, delay_s=delay_s, ended_s=self._clock())
        return answer

    def _write_down(
        self, answer: Fetched | Failed, kind: RequestKind, *, site: str, tries: int, delay_s: float, ended_s: float
    ) -> None:
        row = request_row(answer, site=site, kind=kind, attempt=tries + 1, worker=self._name, delay_s=delay_s)
        self._store.keep_request(row)
        self._figures.request(row)
        self._outage.report(ended_s, site, answer.reason if isinstance(answer, Failed) else None, tries=tries)


def was_made(answer: Fetched | Failed) -> bool:
    """Tell whether a request was made, or cancelled before anything was sent."""
    return not isinstance(answer, Failed) or answer.reason is not Reason.CANCELLED or bool(answer.address)


def hang_up_s(answer: Fetched | Failed, delay_s: float) -> float:
    """Return how much later than for us a request may have ended for its server."""
    is_cut = isinstance(answer, Failed) or answer.type_refused or answer.truncated
    return HANG_UP_S if delay_s and is_cut else 0.0
