"""Turns of a site, and the gaps between them, as the access log shows them. Pure.

A turn is one visit to a site (registrable domain): what it takes to get one page. In the order of arrival, a
request begins a new turn unless it continues the one before it:

- after the robots.txt that begins a turn: a page of the host it was asked for, or where robots.txt redirects;
- after a page that redirects within the site: the target, or the robots.txt of the target's host, and after
  that the target. At most five redirects are followed in a turn, and five from a robots.txt.

Gaps run from the end of everything that the site was asked before. A continuation needs the inner gap or the
delay, whichever is smaller. A new turn needs the delay, or the largest Crawl-delay among the robots.txt files
that the site has served, and what a Retry-After asked for. Requests that overlap are always too early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.simweb.robots import ROBOTS_PATH
from gossamer.urls import host_of, site_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.simweb.log import Request

MAX_HOPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a crawler may be."""

    delay_s: float
    inner_gap_s: float
    slack_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
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


class _Turn:
    """What may continue the turn that is under way."""

    def __init__(self) -> None:
        self._robots_of: str | None = None  # host whose robots.txt the turn waits for
        self._robots_at: str | None = None  # where a robots.txt redirected
        self._page: str | None = None  # the target of a redirect: the only page that continues
        self._hops = 0  # page redirects followed
        self._robots_hops = 0

    def admits(self, request: Request) -> bool:
        """Say whether a request continues this turn."""
        if request.kind == "robots":
            if request.url == self._robots_at:
                return self._robots_hops < MAX_HOPS
            return self._page is not None and self._robots_of is None and request.url == robots_of(self._page)
        if self._page is not None:
            return request.url == self._page and self._hops < MAX_HOPS
        return self._robots_of is not None and host_of(request.url) == self._robots_of

    def take(self, request: Request, site: str) -> bool:
        """Go on with a request that was admitted or begins the turn; say whether it is a robots.txt's hop."""
        within = request.leads_to if request.leads_to and site_of(request.leads_to) == site else None
        if request.kind == "robots":
            is_hop = request.url == self._robots_at
            self._robots_hops = self._robots_hops + 1 if is_hop else 0
            if not is_hop:
                self._robots_of = host_of(request.url)
            self._robots_at = within
            if request.retryable:  # no rules, no page
                self._robots_of = self._page = None
            return is_hop
        if self._page is not None:
            self._hops += 1
        self._robots_of = self._robots_at = None
        self._page = within
        return False


def robots_of(url: str) -> str:
    """Return the URL of the robots.txt that governs a URL."""
    return host_of(url) + ROBOTS_PATH


def early_requests(site: str, requests: Sequence[Request], pace: Pace) -> tuple[list[Early], set[int]]:
    """Return what came too early among a site's requests (in order), and the ids of robots.txt's hops."""
    early: list[Early] = []
    hops: set[int] = set()
    turn = _Turn()
    ended = not_before = float("-inf")
    delay_s = pace.delay_s
    for request in requests:
        continues = request.kind != "other" and turn.admits(request)
        gap_s = request.arrived - ended
        needed_s = min(pace.inner_gap_s, pace.delay_s) if continues else max(delay_s, not_before - ended)
        if gap_s < max(0.0, needed_s - pace.slack_s):
            early.append(
                Early(
                    url=request.url,
                    site=site,
                    arrived=request.arrived,
                    gap_s=gap_s,
                    needed_s=needed_s,
                    new_turn=not continues,
                )
            )
        if not continues:
            turn = _Turn()
        if turn.take(request, site):
            hops.add(id(request))
        ended = max(ended, request.ended)
        if request.kind == "robots":
            delay_s = max(delay_s, request.wait_s)
        elif request.wait_s:
            not_before = max(not_before, request.ended + request.wait_s)
    return early, hops
