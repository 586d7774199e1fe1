"""Lets several turns of a site be under way at once, if the site belongs to the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.rules.hosts import knows_wishes
from gossamer.rules.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gossamer.rules.lanes import OwnSites
    from gossamer.turn import TurnResult
    from gossamer.workbench import SiteInHand, Workbench


class OwnSiteLanes:
    """The lanes of the operator's own sites; there are none unless they may get several requests at once."""

    def __init__(self, own: OwnSites, bench: Workbench, wall_clock: Callable[[], float], *, reservations: bool) -> None:
        self._lanes = {name: Lanes(own.parallel) for name in own.names} if own.parallel > 1 else {}
        self.sites: Collection[str] = self._lanes.keys()  # that may have several turns at once
        self._bench = bench
        self._wall_clock = wall_clock
        self._reservations = reservations  # whether what hosts reserve has to be known, too
        # A turn of these asks for a robots.txt: no other may go by it until it is durable.
        self._learning: set[SiteInHand] = set()

    def begin(self, site: SiteInHand) -> None:
        """Take in that a turn begins, before it takes its URL."""
        if site.site in self._lanes and not self._knows_rules(site):
            self._learning.add(site)  # plant: rules-shared-too-early

    def widen(self, site: SiteInHand, now_s: float) -> None:
        """Let another turn of a site begin, now that this one has taken its URL."""
        if lanes := self._lanes.get(site.site):
            self._set(site, lanes)
            self._bench.open_lane(site, now_s)

    def note(self, site: SiteInHand, result: TurnResult) -> None:
        """Take in the end of a turn, before the workbench does."""
        if lanes := self._lanes.get(site.site):
            self._learning.discard(site)
            if result.ended_s is not None:
                lanes.note(response_s=result.response_s, failed=result.failed, waits=result.wait.wait_s > 0)
            self._set(site, lanes)

    def _set(self, site: SiteInHand, lanes: Lanes) -> None:
        """Give a site as many lanes as it can use. A turn that has to ask for robots.txt is alone."""
        is_alone = site.delay_s or site in self._learning or (site.urls and not self._knows_rules(site))
        site.lanes = 1 if is_alone else lanes.now

    def _knows_rules(self, site: SiteInHand) -> bool:
        """Return whether the robots rules for the next URL of a site are known."""
        state = site.hosts.get(site.urls[0].host)
        is_known = knows_wishes(state, self._wall_clock(), reservations=self._reservations)
        return is_known and state is not None and not state.failures
