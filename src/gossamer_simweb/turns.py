"""The turns of a site and the gaps between them, as the access log shows them. Pure.

A turn is one visit to a site (registrable domain): the requests that it takes to get one page. In the order of arrival,
a request begins a new turn unless it continues the turn before it:

- after the robots.txt that begins a turn: a page of its host, or the target of the robots.txt's redirect;
- after a page that redirects within the site: the target, or the robots.txt of the target's host and then the target.
  A turn has at most five redirects of pages, and at most five of each robots.txt.

A tdmrep.json is a turn of its own.

A gap begins when all earlier requests to the site have ended. A continuation needs the inner gap or the delay,
whichever is smaller. A new turn needs the delay, or the largest Crawl-delay among the robots.txt files that the site
has served, and the time that a Retry-After asked for. Overlapping requests are always too early. The crawler may have
lost what the site answered shortly before the crawler was killed.

If the robots.txt of another site redirects to a robots.txt, a worker may request it outside of turns: see
`robots_redirects`. Such requests of one worker need the delay between each other and do not count for the gaps above.
When the crawler requests a page of a host whose robots.txt is on another site, that file's Crawl-delay applies from
then on.
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
    """How fast a crawler may make requests."""

    delay_s: float
    inner_gap_s: float
    slack_s: float
    kills: tuple[float, ...] = ()  # when the crawler was killed, on the server's clock
    unheard_s: float = 0.0  # the crawler may forget what it was sent this long before a kill
    workers: int = 1  # they do not know each other's requests outside of turns

    @property
    def step_s(self) -> float:
        """The gap needed between two requests of one turn."""
        return min(self.inner_gap_s, self.delay_s)

    def must_obey(self, said: float) -> bool:
        """Return whether the crawler must obey what it was sent at `said`."""
        return not any(said <= kill <= said + self.unheard_s for kill in self.kills)

    def was_killed_between(self, said: float, now: float) -> bool:
        """Return whether the crawler was killed between two instants."""
        return any(said <= kill <= now for kill in self.kills)

    def allows(self, gap_s: float, needed_s: float) -> bool:
        """Return whether a gap is long enough; that of overlapping requests never is."""
        return gap_s >= max(0.0, needed_s - self.slack_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyRequest:
    """A request that came too soon after the one before it on the same site."""

    url: str
    site: str
    arrived: float  # seconds of the server's monotonic clock
    gap_s: float  # since all earlier requests ended; negative if they overlap
    needed_s: float
    new_turn: bool  # False: it continues the turn before

    def __str__(self) -> str:
        what = "new turn" if self.new_turn else "same turn"
        return f"{self.url} ({what} after {self.gap_s:.3f} s instead of {self.needed_s:.3f} s)"


class _Turn(NamedTuple):
    """The current turn: which requests may continue it."""

    robots_of: str | None = None  # the host whose robots.txt was requested: its pages continue the turn
    robots_at: str | None = None  # the target of that robots.txt's redirect
    page: str | None = None  # the target of a page's redirect: the only page that continues the turn
    hops: int = 0  # page redirects followed
    robots_hops: int = 0

    def continues_with(self, request: LoggedRequest) -> bool:
        """Return whether a request can continue this turn."""
        if request.kind in ("other", "tdmrep"):
            return False
        if request.kind == "robots":
            if request.url == self.robots_at:
                return self.robots_hops < MAX_HOPS
            return self.page is not None and self.robots_of is None and request.url == robots_of(self.page)
        if self.page is not None:
            return request.url == self.page and self.hops < MAX_HOPS
        return self.robots_of is not None and host_of(request.url) == self.robots_of

    def after(self, request: LoggedRequest, site: str) -> _Turn:
        """Return the turn after a request that continues or begins it."""
        if request.kind == "tdmrep":
            return _Turn()
        within = request.leads_to if request.leads_to and site_of(request.leads_to) == site else None
        if request.kind != "robots":
            return _Turn(page=within, hops=self.hops + 1 if self.page is not None else 0)
        if request.retryable:
            return _Turn()  # without rules, no page may follow
        if request.url == self.robots_at:
            return self._replace(robots_at=within, robots_hops=self.robots_hops + 1)
        return self._replace(robots_of=host_of(request.url), robots_at=within, robots_hops=0)


def robots_of(url: str) -> str:
    """Return the URL of the robots.txt that governs a URL."""
    return host_of(url) + ROBOTS_PATH


class _Outside(NamedTuple):
    """A request outside of turns."""

    ended: float
    until: float  # its worker may not make another such request earlier


class _Reading(NamedTuple):
    """One interpretation of a site's requests so far."""

    turn: _Turn
    delay_s: float
    ended: float = float("-inf")  # all requests that belong to turns
    not_before: float = float("-inf")
    outside: tuple[_Outside, ...] = ()  # recent requests outside of turns

    def gap_s(self, request: LoggedRequest) -> float:
        """Return the gap between all turns so far and a request."""
        return request.arrived - self.ended

    def full_gap_s(self) -> float:
        """Return the gap that a new turn needs."""
        return max(self.delay_s, self.not_before - self.ended)

    def next(self, request: LoggedRequest, site: str, pace: PaceLimits, redirects: RobotsRedirects) -> list[_Reading]:
        """Return all interpretations of one more request in which it is not too early."""
        gap_s = self.gap_s(request)
        turns = []
        if self.turn.continues_with(request) and pace.allows(gap_s, pace.step_s):
            turns.append(self.turn)
        if pace.allows(gap_s, self.full_gap_s()):
            turns.append(_Turn())
        found = [self.after(request, turn, site, pace, redirects) for turn in turns]
        if redirects.may_be_outside(request):
            found += self._outside_of_turns(request, pace)
        return found

    def after(
        self, request: LoggedRequest, turn: _Turn, site: str, pace: PaceLimits, redirects: RobotsRedirects
    ) -> _Reading:
        """Return the interpretation after a request that belongs to `turn`."""
        delay_s, not_before = self.delay_s, self.not_before
        if request.wait_s and pace.must_obey(request.ended):
            if request.kind == "robots" and request.status == 200:
                delay_s = max(delay_s, request.wait_s)
            else:
                not_before = max(not_before, request.ended + request.wait_s)
        if request.kind == "page":
            delay_s = max(delay_s, redirects.delay_s(host_of(request.url)))
        ended = max(self.ended, request.ended)
        return self._replace(turn=turn.after(request, site), delay_s=delay_s, ended=ended, not_before=not_before)

    def _outside_of_turns(self, request: LoggedRequest, pace: PaceLimits) -> list[_Reading]:
        resting = tuple(
            one
            for one in self.outside
            if one.until > request.arrived + pace.slack_s and not pace.was_killed_between(one.ended, request.arrived)
        )
        if len(resting) >= pace.workers:
            return []
        asked_s = 0.0 if request.status == 200 else request.wait_s
        made = _Outside(request.ended, request.ended + max(pace.delay_s, asked_s))
        return [self._replace(outside=(*resting, made))]


def early_requests(
    site: str, requests: Sequence[LoggedRequest], pace: PaceLimits, redirects: RobotsRedirects
) -> tuple[list[EarlyRequest], set[int]]:
    """Return the early requests of a site (sorted by arrival), and the ids of requests that are hops of a robots.txt.

    After a long gap, a request may continue a turn or begin one, and only later requests show which. A request to which
    another site's robots.txt redirects may be outside of turns. So all interpretations are tracked, and a request is
    too early only if it is too early in each of them.
    """
    early: list[EarlyRequest] = []
    hops: set[int] = set()
    readings = {_Reading(_Turn(), pace.delay_s)}
    for request in requests:
        continued = [reading for reading in readings if reading.turn.continues_with(request)]
        following = {one for reading in readings for one in reading.next(request, site, pace, redirects)}
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
                reading.after(request, reading.turn if continued else _Turn(), site, pace, redirects)
                for reading in continued or readings
            }
        if any(reading.turn.robots_at == request.url for reading in continued):
            hops.add(id(request))
        readings = following
    return early, hops
