"""robots.txt files that redirect to other sites, as the access log shows them. Pure.

If the robots.txt of site A redirects to site B, a worker may request the target outside of B's turns: each worker once
a day, and at most once per delay on each site. The file found there governs the host on A: the crawler must know it
before it requests a page of that host, and from then on must obey its Crawl-delay.
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
    """Where the robots.txt files of a log redirect. `requests` is the whole log, sorted by arrival."""

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
        """Return whether a request may be outside of turns, because another site's robots.txt redirects to it."""
        return id(request) in self._outside

    def redirect_chain(self, url: str) -> list[str]:
        """Return the URLs to which a robots.txt redirects, hop by hop, up to `MAX_HOPS`."""
        found = [url]
        while len(found) <= MAX_HOPS and (target := self._leads_to.get(found[-1])) and target not in found:
            found.append(target)
        return found[1:]

    def leaves_site(self, url: str) -> bool:
        """Return whether any hop of a robots.txt is on another site."""
        return any(site_of(target) != site_of(url) for target in self.redirect_chain(url))

    def delay_s(self, host: str) -> float:
        """Return the Crawl-delay that a host sets by a robots.txt on another site; 0 if there is none."""
        robots = host + ROBOTS_PATH
        return self._delays_s.get(self.redirect_chain(robots)[-1], 0.0) if self.leaves_site(robots) else 0.0

    def without_retries(self, robots: Iterable[LoggedRequest], pages: Iterable[LoggedRequest]) -> list[LoggedRequest]:
        """Drop requests for a robots.txt that had to be repeated: its redirect leaves the site, or leads to a failure.

        A crawler may repeat such a request in any turn until it requests a page of the host.
        """
        asked = defaultdict(list)
        for page in pages:
            asked[host_of(page.url)].append(page.arrived)
        kept = []
        following: dict[str, float] = {}  # by URL: when its next request arrives
        for request in sorted(robots, key=lambda request: request.arrived, reverse=True):
            then = following.get(request.url)
            if (
                then is None
                or not (self.leaves_site(request.url) or self._failed.intersection(self.redirect_chain(request.url)))
                or any(request.arrived < page < then for page in asked[host_of(request.url)])
            ):
                kept.append(request)
            following[request.url] = request.arrived
        return kept[::-1]

    def extra_requests(self, robots: Iterable[LoggedRequest], workers: int) -> dict[str, int]:
        """Return how many requests beyond the first each robots.txt may get, by URL."""
        outside = {request.url for request in robots if self.may_be_outside(request)}
        return {url: workers if url == host_of(url) + ROBOTS_PATH else workers - 1 for url in outside}


def _outside(robots: Iterable[LoggedRequest]) -> Iterable[int]:
    """Yield the ids of requests to which another site's robots.txt had redirected, and of their own hops."""
    led: dict[str, float] = {}  # by URL: when the crawler learned of the redirect
    for request in robots:
        is_outside = led.get(request.url, request.arrived + 1) <= request.arrived
        if is_outside:
            yield id(request)
        if request.leads_to and (is_outside or site_of(request.leads_to) != site_of(request.url)):
            led[request.leads_to] = min(request.ended, led.get(request.leads_to, request.ended))
