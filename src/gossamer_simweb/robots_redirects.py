"""robots.txt files that redirect to other sites, as the access log shows it. Pure.

What another site's robots.txt redirects to may be asked for outside the turns of the site where it is: by each worker
once a day, and of each site once per delay. What is found there counts for the host that was asked: its rules have to
be known before a page of it is asked for, and from then on its Crawl-delay holds.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.urls import host_of, site_of
from gossamer_simweb.robots import ROBOTS_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer_simweb.log import LoggedRequest

MAX_HOPS = 5


class RobotsRedirects:
    """Where the robots.txt files of a log redirect; `requests` are all of it, by the time at which they arrived."""

    def __init__(self, requests: Sequence[LoggedRequest]) -> None:
        self._leads_to: dict[str, str] = {}
        self._delays_s: dict[str, float] = {}
        self._failed: set[str] = set()
        robots = [request for request in requests if request.kind == "robots"]
        for request in robots:
            if request.leads_to:
                self._leads_to[request.url] = request.leads_to
            elif request.status == 200:
                self._delays_s[request.url] = request.wait_s
            if request.retryable:
                self._failed.add(request.url)
        self._outside = set(_outside(robots))

    def may_be_outside(self, request: LoggedRequest) -> bool:
        """Say whether a request may have been made outside of turns, because of another site's robots.txt."""
        return id(request) in self._outside

    def way(self, url: str) -> list[str]:
        """Return where a robots.txt redirects, hop by hop, as far as it is to be followed."""
        found = [url]
        while len(found) <= MAX_HOPS and (target := self._leads_to.get(found[-1])) and target not in found:
            found.append(target)
        return found[1:]

    def leaves(self, url: str) -> bool:
        """Say whether a robots.txt redirects to another site, at once or in the end."""
        return any(site_of(target) != site_of(url) for target in self.way(url))

    def delay_s(self, host: str) -> float:
        """Return the Crawl-delay that a host asks for by a robots.txt on another site."""
        robots = host + ROBOTS_PATH
        return self._delays_s.get(self.way(robots)[-1], 0.0) if self.leaves(robots) else 0.0

    def without_waits(self, robots: Iterable[LoggedRequest], pages: Iterable[LoggedRequest]) -> list[LoggedRequest]:
        """Leave out what was asked for in vain: a robots.txt that leads to another site, or to one that failed.

        So it may be asked for any number of times, as its turns allow, until a page of its host is asked for.
        """
        asked = defaultdict(list)
        for page in pages:
            asked[host_of(page.url)].append(page.arrived)
        kept = []
        following: dict[str, float] = {}  # by URL: when it is asked for the next time
        for request in sorted(robots, key=lambda request: request.arrived, reverse=True):
            then = following.get(request.url)
            if (
                then is None
                or not (self.leaves(request.url) or self._failed.intersection(self.way(request.url)))
                or any(request.arrived < page < then for page in asked[host_of(request.url)])
            ):
                kept.append(request)
            following[request.url] = request.arrived
        return kept[::-1]

    def again(self, robots: Iterable[LoggedRequest], workers: int) -> dict[str, int]:
        """Return how many times more than once each robots.txt may be asked for."""
        outside = {request.url for request in robots if self.may_be_outside(request)}
        return {url: workers if url == host_of(url) + ROBOTS_PATH else workers - 1 for url in outside}


def _outside(robots: Iterable[LoggedRequest]) -> Iterable[int]:
    """Tell the ids of requests to which another site's robots.txt had redirected, and of their own hops."""
    led: dict[str, float] = {}  # by URL: since when that is known
    for request in robots:
        is_outside = led.get(request.url, request.arrived + 1) <= request.arrived
        if is_outside:
            yield id(request)
        if request.leads_to and (is_outside or site_of(request.leads_to) != site_of(request.url)):
            led[request.leads_to] = min(request.ended, led.get(request.leads_to, request.ended))
