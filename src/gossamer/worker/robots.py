"""Looks for the robots.txt of a host behind redirects: within the site in its turn, on other sites outside of turns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gossamer.records import Failed, Reason, RequestKind
from gossamer.rules.answers import retry_after_of
from gossamer.rules.elsewhere import MAX_HOPS, Elsewhere, FoundRobots, Kept
from gossamer.rules.hosts import robots_redirect, robots_url
from gossamer.urls import identify
from gossamer.worker.asking import hang_up_s, was_made

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier.clock import Clock
    from gossamer.records import Fetched, QueuedUrl
    from gossamer.urls import Url
    from gossamer.worker.asking import Asker, Turn
    from gossamer.worker.desk import Desk
    from gossamer.worker.manners import Manners
    from gossamer.worker.settling import Settler


class RobotsFinder:
    """Follows the redirects of robots.txt files. What other sites answered is kept and shared by all turns."""

    def __init__(
        self,
        *,
        manners: Manners,
        desk: Desk,
        asker: Asker,
        settler: Settler,
        clock: Clock,
        wall_clock: Callable[[], float],
    ) -> None:
        self._manners = manners
        self._desk = desk
        self._asker = asker
        self._settler = settler
        self._clock = clock
        self._wall_clock = wall_clock
        self._elsewhere = Elsewhere(manners.robots.robots_retry_waits_s)
        self._under_way: dict[str, asyncio.Future[Kept]] = {}  # requests to other sites, by URL

    async def find(self, turn: Turn, page: QueuedUrl) -> FoundRobots:
        """Return the answer for the robots.txt of a page's host, behind at most `MAX_HOPS` redirects."""
        url = identify(robots_url(page.host))
        own_url = url.url
        seen = [own_url]
        while True:
            keep_s = None
            if url.site == turn.site.site:
                own_url = url.url
                await self._asker.pause(turn)
                answer = await self._asker.ask(
                    turn, url.url, RequestKind.ROBOTS, tries=turn.tries(page), finishing=len(seen) > 1
                )
            else:
                kept = await self._look_elsewhere(url, turn.tries(page))
                if not isinstance(kept, Kept):
                    return FoundRobots(own_url=own_url, moved_to=tuple(seen[1:]), wait_s=kept)
                answer, keep_s = kept.answer, kept.until_s - self._clock()
            target = robots_redirect(answer, url.url)  # plant: page-before-foreign-robots
            is_last = target is None or target.url in seen or len(seen) > MAX_HOPS
            if target is not None:
                seen.append(target.url)
                url = target
            if is_last:
                return FoundRobots(own_url=own_url, answer=answer, moved_to=tuple(seen[1:]), keep_s=keep_s)

    async def _look_elsewhere(self, url: Url, tries: int) -> Kept | float:
        """Return what another site answers, or how long to wait until it may be requested."""
        if self._is_excluded(url):
            return Kept(self._failed(url, Reason.EXCLUDED), self._clock())
        if kept := self._elsewhere.find(url.url, self._clock()):
            return kept
        if under_way := self._under_way.get(url.url):
            return await asyncio.shield(under_way)
        delay_s = max(self._manners.pace.delay_s, self._manners.site_delays_s.get(url.site, 0.0))
        wait_s = self._elsewhere.reserve(url, delay_s=delay_s, now_s=self._clock())
        return wait_s or await self._request(url, tries, delay_s)

    async def _request(self, url: Url, tries: int, delay_s: float) -> Kept:
        """Request a robots.txt of another site; all turns that want it meanwhile get the same answer."""
        under_way = self._under_way[url.url] = asyncio.get_running_loop().create_future()
        answer: Fetched | Failed | None = None
        try:
            answer = await self._asker.ask_elsewhere(
                url, tries=tries, delay_s=delay_s, may_ask=lambda: not self._is_excluded(url)
            )
        finally:
            del self._under_way[url.url]
            kept = self._settle(url, answer, delay_s)
            under_way.set_result(kept)
        return kept

    def _settle(self, url: Url, answer: Fetched | Failed | None, delay_s: float) -> Kept:
        now_s = self._clock()
        if answer is None or not was_made(answer):  # if it was cancelled, it may have been made
            self._elsewhere.cancel(url, rest_s=delay_s if answer is None else 0.0, now_s=now_s)
            return Kept(answer or self._failed(url, Reason.CANCELLED), now_s)
        rest_s = max(delay_s, retry_after_of(answer, self._wall_clock()) or 0.0)
        rest_s += hang_up_s(answer, delay_s)
        return self._elsewhere.settle(url, answer, rest_s=rest_s, now_s=now_s, keep=not self._settler.excuses(answer))

    def _is_excluded(self, url: Url) -> bool:
        """Tell whether the operator wants a URL of another site left alone."""
        return url.site in self._desk.excluded_sites or bool(self._desk.exclusions.find(url.url, url.host))

    def _failed(self, url: Url, reason: Reason) -> Failed:
        return Failed(url=url.url, reason=reason, started_at=self._wall_clock(), duration_s=0.0)
