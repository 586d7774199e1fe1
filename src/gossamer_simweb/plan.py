"""The plan of a simulated web: its sites, hosts, pages, redirects and robots rules. Pure.

(seed, site number, page number) determines everything. So every part of a web can be made without the other parts, the
server and the judge agree without communicating, and a web of any size needs little memory: sites are planned on
demand, and the least recently used ones are dropped.

A site is a tree: a parent links to every page except the front page. Parents are ordinary pages on the main host
that every crawler may read. So a crawler can reach every page that it should.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from gossamer_simweb.hosts import HostPlan, split_url
from gossamer_simweb.seeded_random import EvenSpread, SeededRandom, unit_of
from gossamer_simweb.sitemaps import PlannedSitemap, plan_sitemaps
from gossamer_simweb.spec import PAGE_SHARES
from gossamer_simweb.text import PAGE_WORDS, SECTIONS

if TYPE_CHECKING:
    from gossamer_simweb.hosts import Hosts
    from gossamer_simweb.spec import PlantedPage, WebSpec


class PageKind(StrEnum):
    """The kind of a page. The values are the names of the shares in `WebSpec`."""

    PAGE = "page"  # ordinary
    TEXT = "text"
    IMAGE = "image"
    MISSING = "missing"
    BROKEN = "broken"
    FLAKY = "flaky"
    BUSY = "busy"
    SLOW = "slow"
    REDIRECT = "redirect"
    AWAY = "away"
    REFRESH = "refresh"
    LOOP = "loop"
    NOFOLLOW = "nofollow"
    UNLINKED = "unlinked"
    PRIVATE = "private"
    MEMBERS = "members"
    SITEMAP = "sitemap"
    PLANTED = "planted"


PARENTS = frozenset({PageKind.PAGE, PageKind.FLAKY, PageKind.BUSY, PageKind.SLOW})
WITH_LINKS = PARENTS | {PageKind.NOFOLLOW, PageKind.UNLINKED, PageKind.PRIVATE, PageKind.MEMBERS}
_MAX_PAGES_IN_MEMORY = 500_000  # about 330 bytes each
REDIRECT_STATUSES = (301, 302, 303, 307, 308)


class PlannedPage(NamedTuple):
    """One URL of the web. A named tuple, because large webs have millions."""

    site: int  # -1 for planted pages
    number: int  # within the site; numbers from `WebSpec.pages` on belong to extra pages, such as redirect targets
    kind: PageKind
    url: str  # normalised
    leads_to: str | None = None  # normalised; the target of a redirect
    status: int = 200
    planted: PlantedPage | None = None


class PlannedSite:
    """One site with all its pages."""

    __slots__ = ("by_url", "children", "hosts", "numbered", "sitemaps")

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self.numbered: list[PlannedPage] = []  # by number
        self.by_url: dict[str, PlannedPage] = {}
        self.children: dict[int, list[PlannedPage]] = {}  # by the parent's number
        self.sitemaps: dict[str, PlannedSitemap] = {}  # by URL

    def add(self, page: PlannedPage, parent: int | None) -> None:
        """Add a page, and the link to it from its parent if it has one."""
        self.by_url[page.url] = page
        if parent is not None:
            self.children.setdefault(parent, []).append(page)


class WebPlan(HostPlan):
    """The plan of a simulated web: its hosts and their pages."""

    def __init__(self, spec: WebSpec, *, port: int = 8080, tls_port: int = 8443, network: int | None = 127) -> None:
        super().__init__(spec, port=port, tls_port=tls_port, network=network)
        self._kind_limits = list(accumulate(float(getattr(spec, share)) for share in PAGE_SHARES))
        self._kinds = [*(PageKind(share) for share in PAGE_SHARES), PageKind.PAGE]
        self._kind_spread = EvenSpread(spec.seed, 5)
        self._sites: OrderedDict[int, PlannedSite] = OrderedDict()
        self._max_sites = max(64, _MAX_PAGES_IN_MEMORY // spec.pages)

    def seed(self, site: int) -> str:
        """Return a seed URL for a site: its front page, under the main name or an alias."""
        hosts = self.hosts(site)
        name = hosts.alias if hosts.alias and site % 2 else hosts.main
        return self.origin(name, "http" if site % 3 == 0 else self.scheme) + "/"

    def seeds(self, count: int | None = None) -> list[str]:
        """Return the seeds of the first `count` sites; without `count`, of all sites, traps and hostile sites."""
        if count is not None:
            return [self.seed(site) for site in range(count)]
        traps = [f"{self.origin(name)}/" for name in self.trap_sites()]
        return [*(self.seed(site) for site in range(self.spec.sites)), *traps, *self.hostile.seeds()]

    def find(self, url: str) -> PlannedPage | None:
        """Return the page at a normalised URL; None if no host of this web serves it, or only a trap does."""
        scheme, name, target = split_url(url)
        if url != self.origin(name, scheme) + target or (scheme == "https" and not self.spec.tls):
            return None
        if name in self.planted.names:
            planted = self.planted.find(name, target)
            if planted is None:
                return PlannedPage(-1, 0, PageKind.MISSING, url, status=404)
            return PlannedPage(-1, 0, PageKind.PLANTED, url, planted.leads_to, planted.status, planted)
        number = self.site_number(name)
        if number is None:
            return None
        if scheme != self.scheme:
            return PlannedPage(number, 0, PageKind.REDIRECT, url, self.origin(name) + target, 301)
        site = self.site(number)
        if name == site.hosts.alias:
            return PlannedPage(number, 0, PageKind.REDIRECT, url, self.origin(site.hosts.main) + target, 301)
        return site.by_url.get(url) or PlannedPage(number, 0, PageKind.MISSING, url, status=404)

    def page_url(self, site: int, index: int) -> str:
        """Return the URL of a numbered page. A site that moved has only a front page."""
        hosts = self.hosts(site)
        if index == 0 or hosts.moved_to is not None:
            return self.origin(hosts.main) + "/"
        return self._url(site, index, self.kind(site, index), hosts)

    def kind(self, site: int, index: int) -> PageKind:
        """Return the kind of a numbered page."""
        if index == 0:
            return PageKind.PAGE
        place = self._kind_spread.unit(site * self.spec.pages + index)
        return self._kinds[bisect_right(self._kind_limits, place)]

    def site(self, number: int) -> PlannedSite:
        """Return a site with all its pages."""
        site = self._sites.get(number)
        if site is None:
            site = self._sites[number] = self._plan_site(number)
            if len(self._sites) > self._max_sites:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(number)
        return site

    def _url(self, number: int, index: int, kind: PageKind, hosts: Hosts) -> str:
        dice = SeededRandom(self.spec.seed, "url", number, index)
        name = hosts.main
        if hosts.subs and dice.chance(0.3):
            name = dice.pick(hosts.subs)
        words = f"{dice.pick(PAGE_WORDS)}-{dice.pick(PAGE_WORDS)}"
        section = dice.pick(_OWN_SECTION.get(kind, SECTIONS))
        leaf = dice.pick(_LEAVES).format(words=words, index=index)
        return f"{self.origin(name)}/{section}/{leaf}"

    def _plan_site(self, number: int) -> PlannedSite:
        hosts = self.hosts(number)
        site = PlannedSite(hosts)
        main = self.origin(hosts.main)
        if hosts.moved_to is not None:
            to = self.page_url(hosts.moved_to, 0)
            site.numbered.append(PlannedPage(number, 0, PageKind.AWAY, main + "/", to, 301))
            site.add(site.numbered[0], None)
            return site
        branching = 3 + int(unit_of(self.spec.seed, "tree", number) * 6)
        parents: list[int] = []  # for every index: the last index up to it that may be a parent
        main += "/"
        for index in range(self.spec.pages):
            kind = self.kind(number, index)
            url = self._url(number, index, kind, hosts) if index else main
            parents.append(index if kind in PARENTS and url.startswith(main) else parents[-1])
            parent = parents[(index - 1) // branching] if index else None
            parent_url = site.numbered[parent].url if parent is not None else main
            page = self._plan_page(site, PlannedPage(number, index, kind, url), parent_url)
            site.numbered.append(page)
            site.add(page, parent)
        if self.spec.sitemaps:
            self._plan_sitemaps(number, site)
        return site

    def _plan_sitemaps(self, number: int, site: PlannedSite) -> None:
        """Add a site's sitemaps, and the pages that only sitemaps list."""
        plan = plan_sitemaps(self, number, [page.url for page in site.numbered])
        index = 10 * self.spec.pages  # beyond the extra pages of other pages
        for url in plan.only:
            index += 1
            site.add(PlannedPage(number, index, PageKind.PAGE, url), None)
        for sitemap in plan.sitemaps:
            index += 1
            site.sitemaps[sitemap.url] = sitemap
            site.add(PlannedPage(number, index, PageKind.SITEMAP, sitemap.url), None)
        for url, to in plan.moved:
            index += 1
            site.add(PlannedPage(number, index, PageKind.REDIRECT, url, to, 301), None)

    def sitemap(self, url: str) -> PlannedSitemap | None:
        """Return the sitemap at a URL; None if there is none."""
        page = self.find(url)
        if page is None or page.planted is None:
            return (
                self.site(page.site).sitemaps.get(url) if page is not None and page.kind is PageKind.SITEMAP else None
            )
        return PlannedSitemap(url, "planted", page.planted.links, page.planted.sitemaps)

    def _plan_page(self, site: PlannedSite, page: PlannedPage, parent_url: str) -> PlannedPage:
        """Decide the status and redirect of a page, and add the extra pages that it needs."""
        match page.kind:
            case PageKind.MISSING:
                return page._replace(status=404)
            case PageKind.BROKEN:
                return page._replace(status=500)
            case PageKind.AWAY:
                dice = SeededRandom(self.spec.seed, "away", page.site, page.number)
                to = self.cross_link(page.site, dice, WITH_LINKS) or parent_url
                return page._replace(leads_to=to, status=dice.pick(REDIRECT_STATUSES))
            case PageKind.REDIRECT | PageKind.REFRESH | PageKind.LOOP:
                return self._plan_redirect(site, page, parent_url)
            case PageKind.NOFOLLOW:  # only this page links to the secret one, which no crawler may visit
                index = page.number + self.spec.pages
                url = f"{self.origin(site.hosts.main)}/secret/{page.number}.html"
                site.add(PlannedPage(page.site, index, PageKind.PAGE, url), page.number)
        return page

    def _plan_redirect(self, site: PlannedSite, page: PlannedPage, parent_url: str) -> PlannedPage:
        dice = SeededRandom(self.spec.seed, "redirect", page.site, page.number)
        status = dice.pick(REDIRECT_STATUSES) if page.kind is not PageKind.REFRESH else 200
        if page.kind is PageKind.LOOP:
            if dice.chance(0.3):
                return page._replace(leads_to=page.url, status=status)
            hops, last = 2, page.url
        else:
            hops = 1 + dice.skewed(4)
            last = parent_url
            if dice.chance(0.7):  # a target that only this redirect leads to; some targets are disallowed
                folder = "private" if dice.chance(0.3) else "end"
                last = f"{self.origin(site.hosts.main)}/{folder}/{page.number}.html"
                site.add(PlannedPage(page.site, page.number + self.spec.pages, PageKind.PAGE, last), None)
        urls = [page.url]
        urls += [f"{self.origin(site.hosts.main)}/hop/{page.number}/{hop}" for hop in range(1, hops)]
        urls.append(last)
        for hop in range(1, hops):
            index = page.number + (1 + hop) * self.spec.pages
            to = urls[hop + 1]
            site.add(
                PlannedPage(page.site, index, PageKind.REDIRECT, urls[hop], to, dice.pick(REDIRECT_STATUSES)), None
            )
        return page._replace(leads_to=urls[1], status=status)

    def cross_link(self, site: int, dice: SeededRandom, kinds: frozenset[PageKind] = frozenset(PageKind)) -> str | None:
        """Draw the URL of a page on another site by a power law: a linkable page of `kinds`, or else a front page."""
        other = dice.skewed(self.spec.sites)
        if other == site:
            other += 1
        if other >= self.spec.sites:
            return None
        index = dice.skewed(self.spec.pages)
        kind = self.kind(other, index)
        return self.page_url(other, index if kind in kinds and kind is not PageKind.UNLINKED else 0)


_OWN_SECTION = {
    PageKind.PRIVATE: ("private", "private", "private/open"),
    PageKind.MEMBERS: ("members",),
    PageKind.REDIRECT: ("go",),
    PageKind.LOOP: ("loop",),
}
_LEAVES = (
    "{words}-{index}.html",
    "{words}-{index}.html",
    "{words}-{index}",
    "{words}-{index}/",
    "{words}?id={index}&view=full",
    "?id={index}",
    "caf%C3%A9/{words}-{index}",
    "2024/{index}/{words}.html",
)
