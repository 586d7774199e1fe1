"""Gets more URLs of the operator's own sites before they run dry: many requests at once use up a claim in a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gossamer.frontier import WorkerFrontier
    from gossamer.records import Claim, HostState, QueuedUrl
    from gossamer.turn import Effects
    from gossamer.workbench import SiteInHand, Workbench

URLS_PER_LANE: Final = 50  # of a site in hand; more are fetched when half of them are left
MAX_URLS: Final = 2_000
MAX_SITES: Final = 20  # looked at in one exchange with the frontier, in turn


class Look(NamedTuple):
    """A site whose queue is to be read."""

    site: SiteInHand
    urls: int
    hosts: frozenset[str]  # of which the worker knows the robots rules


class Ahead(NamedTuple):
    """What was read of it."""

    site: SiteInHand
    urls: Sequence[QueuedUrl]
    hosts: Sequence[HostState]


class LookAhead:
    """Remembers which URLs of own sites are taken: claimed, and not yet settled in the frontier."""

    def __init__(self, sites: Collection[str], bench: Workbench) -> None:
        """`sites` may have several turns at once."""
        self._sites = frozenset(sites)
        self._bench = bench
        self._taken: dict[SiteInHand, set[bytes]] = {}  # the site that was looked at last is the last

    def take_in(self, claim: Claim) -> None:
        """Note a site that was claimed, and is on the workbench."""
        if claim.site in self._sites and (site := self._bench.find(claim.site)):
            self._taken[site] = {url.url_hash for url in claim.urls}

    def wanted(self) -> list[Look]:
        """Return the sites that need more URLs."""
        looks: list[Look] = []
        for site in list(self._taken):
            if self._bench.find(site.site) is not site:
                del self._taken[site]
                continue
            most = min(MAX_URLS, URLS_PER_LANE * site.lanes)
            if site.lanes > 1 and 2 * len(site.urls) < most and len(looks) < MAX_SITES:
                taken = self._taken[site] = self._taken.pop(site)
                looks.append(Look(site, len(taken) + most - len(site.urls), frozenset(site.hosts)))
        return looks

    def settle(self, turns: Iterable[tuple[SiteInHand, Effects]]) -> None:
        """Forget the URLs that the frontier has settled: if one is queued again, it may be taken again."""
        for site, effects in turns:
            if taken := self._taken.get(site):
                taken.difference_update(effects.outcomes)

    def fill(self, found: Iterable[Ahead], now_s: float) -> None:
        """Put what was read on the workbench, unless it is taken; call this before `settle`."""
        for site, urls, hosts in found:
            if self._bench.find(site.site) is not site:
                continue  # it was lost meanwhile, or has ended
            taken = self._taken[site]
            new = [url for url in urls if url.url_hash not in taken]
            if new:
                taken.update(url.url_hash for url in new)
                self._bench.refill(site, new, {state.host: state for state in hosts})
                self._bench.open_lane(site, now_s)


def look_ahead(frontier: WorkerFrontier, looks: Sequence[Look]) -> list[Ahead]:
    """Read the queues of sites; this may block."""
    found = []
    for site, count, hosts in looks:
        urls = frontier.look_ahead(site.site, site.epoch, count)
        has_new_hosts = any(url.host not in hosts for url in urls)
        found.append(Ahead(site, urls, frontier.find_hosts(site.site) if has_new_hosts else ()))
    return found
