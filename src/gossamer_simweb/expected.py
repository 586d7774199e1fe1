"""What a perfect crawler does on a simulated web, derived from the plan. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gossamer.urls import host_of, name_of_host, normalise, site_of
from gossamer_simweb.hosts import split_url
from gossamer_simweb.links import planned_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer_simweb.plan import WebPlan

Scope = Literal["host", "site", "web"]
CONVENTIONAL_PATH = "/sitemap.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCrawl:
    """The URLs that a perfect crawler meets; all normalised."""

    depths: Mapping[str, int]  # every URL that it requests, with the smallest number of links from a seed
    disallowed: frozenset[str]  # URLs in scope that it finds and robots.txt forbids
    extra_requests: Mapping[str, int] = field(default_factory=dict)  # by URL of a sitemap: further requests it may make

    @property
    def visited(self) -> frozenset[str]:
        """Every URL that it requests, with redirects, errors and images, without robots.txt."""
        return frozenset(self.depths)


def expected(
    web: WebPlan,
    seeds: Iterable[str],
    *,
    scope: Scope = "site",
    token: str,
    max_depth: int | None = None,
    sitemaps: bool = False,
) -> ExpectedCrawl:
    """Return what a crawler with the robots.txt name `token` must request, starting from `seeds`.

    `scope` limits it to the seeds' hosts, to the seeds' sites, or not at all. The target of a seed's redirect is a seed
    too. A link adds one to the depth, a redirect adds nothing. The order of requests does not matter: the result uses
    the final scope and the shortest path to each page. With `max_depth`, a crawler that reaches a page by a longer path
    first may therefore correctly visit fewer pages than this function returns.

    With `sitemaps`, the crawler reads the sitemaps that robots.txt names, or /sitemap.xml if it names none. Entries
    have the depth of a link on the page through which the crawler found the host. It follows entries of another host
    only if the robots.txt of that host names the sitemap, or the index that led to it.
    """
    walk = _Walk(web, scope, token, max_depth, sitemaps=sitemaps)
    for seed in seeds:
        url = normalise(seed)
        if not isinstance(url, str):
            raise ValueError(f"{seed}: {url.value}")
        walk.meet(url, 0)
    walk.run()
    return ExpectedCrawl(depths=walk.depths, disallowed=frozenset(walk.disallowed), extra_requests=walk.extra_requests)


class _Walk:
    """A breadth-first walk of the plan; it visits a URL again when it finds a shorter path to it.

    Depth 0 means seeds and the targets of their redirects: only these may widen the scope.
    """

    def __init__(self, web: WebPlan, scope: Scope, token: str, max_depth: int | None, *, sitemaps: bool) -> None:
        self._web = web
        self._scope = scope
        self._token = token
        self._max_depth = max_depth
        self._in_scope: set[str] = set()  # hosts or sites
        self._refused: defaultdict[str, dict[str, int]] = defaultdict(dict)  # by host or site: URLs and depths
        self._queue: deque[tuple[str, int]] = deque()
        self._sitemaps = sitemaps
        self._hosts: dict[str, int] = {}  # hosts whose robots.txt the crawler requests: depths
        self._met: deque[tuple[str, int]] = deque()  # hosts whose sitemaps are still to be read
        self._read: dict[tuple[str, str, str], int] = {}  # (sitemap, the one named, by which host): depths
        self._foreign: defaultdict[str, set[tuple[str, int, str]]] = defaultdict(set)  # by host: (page, depth, sitemap)
        self.extra_requests: Counter[str] = Counter()
        self.depths: dict[str, int] = {}
        self.disallowed: set[str] = set()

    def meet(self, url: str, depth: int) -> None:
        """Queue a URL found at a depth, unless it is already known at this depth or a smaller one."""
        if self.depths.get(url, depth + 1) <= depth or (self._max_depth is not None and depth > self._max_depth):
            return
        if not self._admit(url, depth) or url in self.disallowed or self._web.find(url) is None:
            return
        self._meet_host(host_of(url), depth)
        if not self._web.allowed(url, self._token):
            self.disallowed.add(url)
            return
        self.depths[url] = depth
        self._queue.append((url, depth))

    def run(self) -> None:
        """Follow all queued URLs."""
        while self._queue or self._met:
            while self._met:
                self._find_sitemaps(*self._met.popleft())
            if not self._queue:
                continue
            url, depth = self._queue.popleft()
            if depth > self.depths[url]:
                continue  # queued again since, at a smaller depth
            page = self._web.find(url)
            assert page is not None
            if page.leads_to is not None:
                self.meet(page.leads_to, depth)
            else:
                for target in dict.fromkeys(planned_links(self._web, page)):
                    if target.follow:
                        self.meet(target.url, depth + 1)

    def _meet_host(self, host: str, depth: int) -> None:
        if self._sitemaps and self._hosts.get(host, depth + 1) > depth:
            self._hosts[host] = depth
            self._met.append((host, depth))

    def _find_sitemaps(self, host: str, depth: int) -> None:
        """Read the sitemaps of a host, and follow its pages that sitemaps of other hosts list."""
        scheme, name, _ = split_url(f"{host}/")
        robots = self._web.robots(name)
        if robots.status == 429 or robots.status >= 500:
            return
        is_alias = self._web.is_alias(scheme, name)  # its robots.txt is that of another host
        for url in robots.sitemaps:
            if not is_alias or site_of(url) == site_of(f"{host}/"):
                self._meet_sitemap(url, depth + 1, url, "" if is_alias or host_of(url) == host else host)
        if not robots.sitemaps and not is_alias and robots.allows(self._token, CONVENTIONAL_PATH):
            self._meet_sitemap(host + CONVENTIONAL_PATH, depth + 1, host + CONVENTIONAL_PATH, "")
        for url, page_depth, sitemap in self._foreign.get(host, ()):
            if sitemap in robots.sitemaps:
                self.meet(url, page_depth)

    def _meet_sitemap(self, url: str, depth: int, named: str, behalf: str) -> None:
        """Read a sitemap to which the sitemap `named` in a robots.txt leads."""
        key = (url, named, behalf)
        if self._read.get(key, depth + 1) <= depth or (self._max_depth is not None and depth > self._max_depth):
            return
        if not self._admit(url, depth) or (page := self._web.find(url)) is None:
            return
        self._meet_host(host_of(url), depth)
        if not self._web.allowed(url, self._token):
            self.disallowed.add(url)
            return
        self.extra_requests[url] += bool(behalf) and key not in self._read
        self._read[key] = depth
        self.depths[url] = min(depth, self.depths.get(url, depth))
        if page.leads_to is not None:
            self._meet_sitemap(page.leads_to, depth, named, behalf)
        sitemap = self._web.sitemap(url)
        for other in sitemap.sitemaps if sitemap else ():
            if site_of(other) == site_of(url):
                self._meet_sitemap(other, depth, named, behalf)
        for entry in sitemap.entries if sitemap else ():
            self._meet_entry(entry, depth, url, named)

    def _meet_entry(self, entry: str, depth: int, url: str, named: str) -> None:
        host = host_of(entry)
        is_named = host in self._hosts and named in self._web.robots(split_url(entry)[1]).sitemaps
        if is_named or host == host_of(url):
            self.meet(entry, depth)
        else:
            self._foreign[host].add((entry, depth, named))

    def _admit(self, url: str, depth: int) -> bool:
        if self._scope == "web":
            return True
        place = site_of(url) if self._scope == "site" else name_of_host(host_of(url))
        if depth == 0 and place not in self._in_scope:
            self._in_scope.add(place)
            for refused, refused_depth in self._refused.pop(place, {}).items():
                self.meet(refused, refused_depth)
        if place in self._in_scope:
            return True
        met = self._refused[place]
        met[url] = min(depth, met.get(url, depth))
        return False
