"""Whether a URL may be asked for: not if the operator excludes it, and only as its host's robots.txt allows.

Where what we know of a robots.txt is stale, it is asked for first, in the same turn; what it says is kept, its sitemaps
are queued and its delay is heeded before anything else of the host is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer import metrics
from gossamer.records import Barred, GivenUp, Reason
from gossamer.rules.answers import retry_after_of
from gossamer.rules.elsewhere import judge_found
from gossamer.rules.hosts import asked_delay_s, is_fresh, refusal_of, rules_of
from gossamer.urls import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.records import HostState, QueuedUrl
    from gossamer.workbench import SiteInHand
    from gossamer.worker.asking import Turn
    from gossamer.worker.desk import Desk
    from gossamer.worker.manners import Manners
    from gossamer.worker.robots import RobotsFinder
    from gossamer.worker.settling import Settler
    from gossamer.worker.sitemaps import Sitemaps


class Permissions:
    """What the operator and the hosts permit. A URL that may not be asked for is settled here, unless it only waits."""

    def __init__(
        self,
        *,
        manners: Manners,
        desk: Desk,
        robots: RobotsFinder,
        settler: Settler,
        sitemaps: Sitemaps,
        wall_clock: Callable[[], float],
    ) -> None:
        self._manners = manners
        self._desk = desk
        self._robots = robots
        self._settler = settler
        self._sitemaps = sitemaps
        self._wall_clock = wall_clock

    async def heed_operator(self, site: SiteInHand) -> None:
        """Give a site the delay that the operator wants for it; the frontier knows it before the site is asked."""
        wanted_s = self._manners.site_delays_s.get(site.site, 0.0)
        if wanted_s > site.own_delay_s:
            site.own_delay_s = wanted_s
            self._heed_delay(site)
            await self._desk.ledger.note_delay(site.site, site.epoch, wanted_s)

    def is_excluded(self, turn: Turn, url: QueuedUrl) -> bool:
        """Tell whether the operator wants a URL left alone; settle it, unless its whole site is to be."""
        if turn.site.site in self._desk.excluded_sites:  # plant: excluded-site-asked
            turn.site.urls.clear()  # they stay queued, for the day the site is readmitted
            return True
        if self._desk.exclusions.find(url.url, url.host):
            self._settler.settle(turn, url, Barred(reason=Reason.EXCLUDED))
            return True
        return False

    async def is_allowed(self, turn: Turn, url: QueuedUrl) -> bool:
        """Tell whether a host's robots.txt allows a URL, asking for it first if need be; settle what it forbids."""
        state = turn.site.hosts.get(url.host)
        if not is_fresh(state, self._wall_clock()):
            state = await self._ask_host(turn, url, state)
        else:
            self._settler.adopt(turn, url)
        if state is None:
            return False
        if reason := refusal_of(state, url.url):
            self._settler.settle(turn, url, GivenUp(reason=reason))
            return False
        return True

    async def _ask_host(self, turn: Turn, url: QueuedUrl, former: HostState | None) -> HostState | None:
        """Read a host's robots.txt and keep what it says; None if there is nothing to go by for now."""
        site = turn.site
        found = await self._robots.find(turn, url)
        answer = found.answer
        read = judge_found(
            found,
            host=url.host,
            previous=former,
            agent=self._manners.agent,
            now_at=self._wall_clock(),
            settings=self._manners.robots,
        )
        if answer is not None and (read.unreachable or self._settler.excuses(answer)):
            verdict = self._settler.judge(turn, url, answer)
            self._settler.give_up_or_retry(turn, url, answer, verdict)
            return None
        self._settler.adopt(turn, url)
        is_alias = host_of(found.own_url) != url.host
        sitemaps = await self._sitemaps.find(turn, url, read.state, previous=former, is_alias=is_alias)
        site.hosts[url.host] = read.state
        if rules_of(read.state).delay_clamped:
            metrics.CLAMPED_DELAYS_TOTAL.inc()
        self._heed_delay(site)
        self._desk.ledger.note_links(sitemaps)
        committed = self._desk.ledger.note_host(site.site, site.epoch, read.state, own_delay_s=site.own_delay_s)
        if site.own_delay_s > self._manners.pace.delay_s:
            self._desk.ledger.full.set()  # a crash should not forget it
        if read.blocked:
            if answer is not None and found.keep_s is None:  # another site speaks for itself
                turn.retry_after_s = retry_after_of(answer, self._wall_clock())
            site.take_urls_of(url.host)  # they stay queued until the block ends
            return None
        # plant: rules-not-committed-first
        await committed  # the rules are kept before the page that they allow is asked for
        return read.state

    def _heed_delay(self, site: SiteInHand) -> None:
        """Keep the longest delay that any host of the site asks for."""
        site.own_delay_s = max(site.own_delay_s, asked_delay_s(site.hosts.values()))  # plant: crawl-delay-ignored
        site.delay_s = max(self._manners.pace.delay_s, site.own_delay_s)
