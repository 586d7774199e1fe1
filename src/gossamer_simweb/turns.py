"""Turns of a site, and the gaps between them, as the access log shows them. Pure.

A turn is one visit to a site (registrable domain): what it takes to get one page. In the order of arrival, a
request begins a new turn unless it continues the one before it:

- after the robots.txt that begins a turn: a page of the host it was asked for, or where robots.txt redirects;
- after a page that redirects within the site: the target, or the robots.txt of the target's host, and after
  that the target. At most five redirects are followed in a turn, and five from a robots.txt.

Gaps run from the end of everything that the site was asked before. A continuation needs the inner gap or the
delay, whichever is smaller. A new turn needs the delay, or the largest Crawl-delay among the robots.txt files
that the site has served, and what a Retry-After asked for. Requests that overlap are always too early. What a site
asked for in its last words before the crawler was killed, nobody may have heard.

A robots.txt to which another site's redirects may be asked for outside of turns: see `elsewhere`. Such requests of one
worker need the delay from each other, and are no part of the gaps above. Once a page of a host is asked for, the
Crawl-delay that its robots.txt has elsewhere holds for its site.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gossamer.urls import host_of, site_of
from gossamer_simweb.robots import ROBOTS_PATH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer_simweb.log import LoggedRequest
    from gossamer_simweb.robots_redirects import RobotsRedirects

MAX_HOPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceLimits:
    """How fast a crawler may be."""

    delay_s: float
    inner_gap_s: float
    slack_s: float
    kills: tuple[float, ...] = ()  # when it was killed, on the server's clock
    unheard_s: float = 0.0  # of what was said so long before a kill, nothing may be remembered
    workers: int = 1  # that know nothing of each other's requests outside of turns

    @property
    def step_s(self) -> float:
        """The gap between two requests of one turn."""
        return min(self.inner_gap_s, self.delay_s)

    def hears(self, said: float) -> bool:
        """Say whether what was said at an instant must be heeded."""
        return not any(said <= kill <= said + self.unheard_s for kill in self.kills)

    def forgets(self, said: float, now: float) -> bool:
        """Say whether it was killed in between."""
        return any(said <= kill <= now for kill in self.kills)

    def allows(self, gap_s: float, needed_s: float) -> bool:
        """Say whether a gap is long enough; requests that overlap never are."""
        return gap_s >= max(0.0, needed_s - self.slack_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyRequest:
    """A request that came too soon after the one before it on the same site."""

    url: str
    site: str
    arrived: float  # seconds of the server's monotonic clock
    gap_s: float  # since everything before it had ended; negative if they overlapped
    needed_s: float
    new_turn: bool  # or a continuation of the one before

    def __str__(self) -> str:
        what = "new turn" if self.new_turn else "same turn"
        return f"{self.url} ({what} after {self.gap_s:.3f} s instead of {self.needed_s:.3f} s)"


class _Turn(NamedTuple):
    """What may continue the turn that is under way."""

    robots_of: str | None = None  # the host whose robots.txt was asked for: its pages continue
    robots_at: str | None = None  # where that robots.txt redirected
    page: str | None = None  # the target of a redirect: the only page that continues
    hops: int = 0  # page redirects followed
    robots_hops: int = 0

    def admits(self, request: LoggedRequest) -> bool:
        """Say whether a request continues this turn."""
        if request.kind == "other":
            return False
        if request.kind == "robots":
            if request.url == self.robots_at:
                return self.robots_hops < MAX_HOPS
            return self.page is not None and self.robots_of is None and request.url == robots_of(self.page)
        if self.page is not None:
            return request.url == self.page and self.hops < MAX_HOPS
        return self.robots_of is not None and host_of(request.url) == self.robots_of

    def after(self, request: LoggedRequest, site: str) -> _Turn:
        """Return the turn as it is after a request that it admits, or with which it begins."""
        within = request.leads_to if request.leads_to and site_of(request.leads_to) == site else None
        if request.kind != "robots":
            return _Turn(page=within, hops=self.hops + 1 if self.page is not None else 0)
        if request.retryable:
            return _Turn()  # no rules, no page
        if request.url == self.robots_at:
            return self._replace(robots_at=within, robots_hops=self.robots_hops + 1)
        return self._replace(robots_of=host_of(request.url), robots_at=within, robots_hops=0)


def robots_of(url: str) -> str:
    """Return the URL of the robots.txt that governs a URL."""
    return host_of(url) + ROBOTS_PATH


class _Outside(NamedTuple):
    """A request outside of turns."""

    ended: float
    until: float  # the worker that made it may not make another before


class _Reading(NamedTuple):
    """How the requests of a site so far may be understood."""

    turn: _Turn
    delay_s: float
    ended: float = float("-inf")  # everything that is part of a turn
    not_before: float = float("-inf")
    outside: tuple[_Outside, ...] = ()  # the recent ones

    def gap_s(self, request: LoggedRequest) -> float:
        """Return how long after all turns a request comes."""
        return request.arrived - self.ended

    def full_gap_s(self) -> float:
        """Return how long that has to be for a new turn."""
        return max(self.delay_s, self.not_before - self.ended)

    def next(self, request: LoggedRequest, site: str, pace: PaceLimits, elsewhere: RobotsRedirects) -> list[_Reading]:
        """Return all ways to understand one more request that let it come now."""
        gap_s = self.gap_s(request)
        turns = []
        if self.turn.admits(request) and pace.allows(gap_s, pace.step_s):
            turns.append(self.turn)
        if pace.allows(gap_s, self.full_gap_s()):
            turns.append(_Turn())
        found = [self.after(request, turn, site, pace, elsewhere) for turn in turns]
        if elsewhere.may_be_outside(request):
            found += self._outside_of_turns(request, pace)
        return found

    def after(
        self, request: LoggedRequest, turn: _Turn, site: str, pace: PaceLimits, elsewhere: RobotsRedirects
    ) -> _Reading:
        """Return the reading after a request of a turn."""
        delay_s, not_before = self.delay_s, self.not_before
        if request.wait_s and pace.hears(request.ended):
            if request.kind == "robots" and request.status == 200:
                delay_s = max(delay_s, request.wait_s)
            else:
                not_before = max(not_before, request.ended + request.wait_s)
        if request.kind == "page":
            delay_s = max(delay_s, elsewhere.delay_s(host_of(request.url)))
        ended = max(self.ended, request.ended)
        return self._replace(turn=turn.after(request, site), delay_s=delay_s, ended=ended, not_before=not_before)

    def _outside_of_turns(self, request: LoggedRequest, pace: PaceLimits) -> list[_Reading]:
        resting = tuple(
            one
            for one in self.outside
            if one.until > request.arrived + pace.slack_s and not pace.forgets(one.ended, request.arrived)
        )
        if len(resting) >= pace.workers:
            return []
        asked_s = 0.0 if request.status == 200 else request.wait_s
        made = _Outside(request.ended, request.ended + max(pace.delay_s, asked_s))
        return [self._replace(outside=(*resting, made))]


def early_requests(
    site: str, requests: Sequence[LoggedRequest], pace: PaceLimits, elsewhere: RobotsRedirects
) -> tuple[list[EarlyRequest], set[int]]:
    """Return what came too early among a site's requests (in order), and the ids of robots.txt's hops.

    A request with a long gap before it may continue a turn or begin one, and only what follows tells which. One to
    which another site's robots.txt redirects may be part of no turn. All readings are carried along; a request is too
    early if it is so in every one of them.
    """
    early: list[EarlyRequest] = []
    hops: set[int] = set()
    readings = {_Reading(_Turn(), pace.delay_s)}
    for request in requests:
        continued = [reading for reading in readings if reading.turn.admits(request)]
        following = {one for reading in readings for one in reading.next(request, site, pace, elsewhere)}
        if not following:
            likely = max(continued or readings, key=lambda reading: reading.gap_s(request))
            early.append(
                EarlyRequest(
                    url=request.url,
                    site=site,
                    arrived=request.arrived,
                    gap_s=likely.gap_s(request),
                    needed_s=pace.step_s if continued else likely.full_gap_s(),
                    new_turn=not continued,
                )
            )
            following = {
                reading.after(request, reading.turn if continued else _Turn(), site, pace, elsewhere)
                for reading in continued or readings
            }
        if any(reading.turn.robots_at == request.url for reading in continued):
            hops.add(id(request))
        readings = following
    return early, hops
