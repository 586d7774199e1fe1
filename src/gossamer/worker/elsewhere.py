"""Requests robots.txt files of other sites, outside their turns. Turns that want the same file share one request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gossamer.records import Failed, Reason
from gossamer.rules.answers import hang_up_s, retry_after_of
from gossamer.rules.elsewhere import Elsewhere, KeptAnswer
from gossamer.turn.steps import AskedElsewhere, Missing
from gossamer.worker.addresses import Crowded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from gossamer.records import Fetched
    from gossamer.rules.outage import OutageGuard
    from gossamer.turn import OperatorOrders, TurnSettings
    from gossamer.turn.steps import AskElsewhere, Moment
    from gossamer.urls import Url

    # Makes the request, with this delay of the other site, and writes it to the request log.
    Request = Callable[[AskElsewhere, float], Coroutine[None, None, Fetched | Failed | Missing | Crowded]]


class RobotsElsewhere:
    """Answers of other sites for their robots.txt: kept, shared, or requested when the other site is due."""

    def __init__(
        self,
        *,
        settings: TurnSettings,
        orders: OperatorOrders,
        outage: OutageGuard,
        now: Callable[[], Moment],
        request: Request,
    ) -> None:
        self._settings = settings
        self._orders = orders
        self._outage = outage
        self._now = now
        self._request = request
        self._memory = Elsewhere(settings.robots.robots_retry_waits_s)
        self._under_way: dict[str, asyncio.Future[KeptAnswer | float]] = {}  # by URL

    async def ask(self, step: AskElsewhere) -> AskedElsewhere:
        """Return what another site answers, or how long to wait until it may be requested."""
        kept = await self._find(step)
        now = self._now()
        if isinstance(kept, KeptAnswer):
            return AskedElsewhere(answer=kept.answer, keep_s=kept.until_s - now.clock_s, moment=now)
        return AskedElsewhere(answer=None, wait_s=kept, moment=now)

    def is_excluded(self, url: Url) -> bool:
        """Return whether the operator wants no request for a URL of another site."""
        return url.site in self._orders.sites or bool(self._orders.exclusions.find(url.url, url.host))

    async def _find(self, step: AskElsewhere) -> KeptAnswer | float:
        url, now_s = step.url, self._now().clock_s
        if self.is_excluded(url):
            return KeptAnswer(self._failed(url, Reason.EXCLUDED), now_s)
        if kept := self._memory.find(url.url, now_s):
            return kept
        if under_way := self._under_way.get(url.url):
            return await asyncio.shield(under_way)
        delay_s = max(self._settings.pace.delay_s, self._settings.site_delays_s.get(url.site, 0.0))
        return self._memory.reserve(url, delay_s=delay_s, now_s=now_s) or await self._share(step, delay_s)

    async def _share(self, step: AskElsewhere, delay_s: float) -> KeptAnswer | float:
        """Request a robots.txt; all turns that want it meanwhile get the same answer, or wait as long."""
        url = step.url
        under_way = self._under_way[url.url] = asyncio.get_running_loop().create_future()
        answer: Fetched | Failed | Missing | Crowded | None = None
        try:
            answer = await self._request(step, delay_s)
        finally:
            del self._under_way[url.url]
            kept = self._remember(url, answer, delay_s)
            under_way.set_result(kept)
        return kept

    def _remember(
        self, url: Url, answer: Fetched | Failed | Missing | Crowded | None, delay_s: float
    ) -> KeptAnswer | float:
        now = self._now()
        if isinstance(answer, Crowded):
            self._memory.cancel(url, rest_s=0.0, now_s=now.clock_s)
            return answer.wait_s
        if answer is None or isinstance(answer, Missing):  # if it was cancelled, it may have been made
            self._memory.cancel(url, rest_s=delay_s if answer is None else 0.0, now_s=now.clock_s)
            return KeptAnswer(self._failed(url, Reason.CANCELLED), now.clock_s)
        rest_s = max(delay_s, retry_after_of(answer, now.wall_at) or 0.0) + hang_up_s(answer, delay_s)
        is_excused = isinstance(answer, Failed) and self._outage.excuses(answer.reason)
        return self._memory.settle(url, answer, rest_s=rest_s, now_s=now.clock_s, keep=not is_excused)

    def _failed(self, url: Url, reason: Reason) -> Failed:
        return Failed(url=url.url, reason=reason, started_at=self._now().wall_at, duration_s=0.0)
