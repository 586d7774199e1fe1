"""What a perfect crawler does on a simulated web, worked out from the plan. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gossamer.simweb.links import targets
from gossamer.urls import host_of, normalise, site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer.simweb.plan import Web

Scope = Literal["host", "site", "web"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The URLs of a web as a perfect crawler sees them; all normalised."""

    depths: Mapping[str, int]  # every URL it asks for, with the least number of links from a seed
    disallowed: frozenset[str]  # URLs in scope that it comes across and robots.txt forbids

    @property
    def visited(self) -> frozenset[str]:
        """Every URL that it asks for: redirects, errors and pictures too, robots.txt not."""
        return frozenset(self.depths)


def expected(
    web: Web, seeds: Iterable[str], *, scope: Scope = "site", token: str, max_depth: int | None = None
) -> Expected:
    """Return what a crawler called `token` must ask for, starting from `seeds`.

    `scope` is where it may go: the seeds' own hosts or sites, or the whole web; where a seed redirects is a
    seed too. A link adds one to the depth, a redirect nothing. The order of things plays no part: the scope
    is the one that holds in the end, and depths are those of the shortest way. A crawler that reaches a page
    by a longer way first may therefore rightly visit less than `max_depth` allows here.
    """
    walk = _Walk(web, scope, token, max_depth)
    for seed in seeds:
        url = normalise(seed)
        if not isinstance(url, str):
            raise ValueError(f"{seed}: {url.value}")
        walk.meet(url, 0)
    walk.run()
    return Expected(depths=walk.depths, disallowed=frozenset(walk.disallowed))


class _Walk:
    """Breadth first; a URL is taken up again when it turns out to be nearer.

    Depth 0 is what the seeds are and where they redirect: exactly what may widen the scope.
    """

    def __init__(self, web: Web, scope: Scope, token: str, max_depth: int | None) -> None:
        self._web = web
        self._scope = scope
        self._token = token
        self._max_depth = max_depth
        self._in_scope: set[str] = set()  # hosts or sites
        self._refused: defaultdict[str, dict[str, int]] = defaultdict(dict)  # by host or site: depths of URLs
        self._queue: deque[tuple[str, int]] = deque()
        self.depths: dict[str, int] = {}
        self.disallowed: set[str] = set()

    def meet(self, url: str, depth: int) -> None:
        """Take up a URL that was found at a depth, unless that is nothing new."""
        if self.depths.get(url, depth + 1) <= depth or (self._max_depth is not None and depth > self._max_depth):
            return
        if not self._admit(url, depth) or url in self.disallowed or self._web.find(url) is None:
            return
        if not self._web.allowed(url, self._token):
            self.disallowed.add(url)
            return
        self.depths[url] = depth
        self._queue.append((url, depth))

    def run(self) -> None:
        """Follow everything that was taken up."""
        while self._queue:
            url, depth = self._queue.popleft()
            if depth > self.depths[url]:
                continue  # taken up again since, from nearer
            page = self._web.find(url)
            assert page is not None
            if page.leads_to is not None:
                self.meet(page.leads_to, depth)
            else:
                for target in dict.fromkeys(targets(self._web, page)):
                    if target.follow:
                        self.meet(target.url, depth + 1)

    def _admit(self, url: str, depth: int) -> bool:
        if self._scope == "web":
            return True
        place = site_of(url) if self._scope == "site" else host_of(url)
        if depth == 0 and place not in self._in_scope:
            self._in_scope.add(place)
            for refused, refused_depth in self._refused.pop(place, {}).items():
                self.meet(refused, refused_depth)
        if place in self._in_scope:
            return True
        met = self._refused[place]
        met[url] = min(depth, met.get(url, depth))
        return False
