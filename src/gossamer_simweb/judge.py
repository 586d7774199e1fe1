"""The judge: finds what a crawler missed, repeated, requested without permission or requested too early. Pure.

It reads only the server's access log and the expected crawl. It uses the server's clock, and nothing that the crawler
says about itself. `turns` defines turns and the gaps that they need.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gossamer.urls import host_of, site_of
from gossamer_simweb.addresses import crowded_addresses
from gossamer_simweb.lanes import asks_for_delay, early_in_lanes
from gossamer_simweb.robots_redirects import RobotsRedirects
from gossamer_simweb.turns import EarlyRequest, PaceLimits, early_requests, robots_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from gossamer_simweb.addresses import AddressLimit, CrowdedAddress
    from gossamer_simweb.expected import ExpectedCrawl
    from gossamer_simweb.log import LoggedRequest

_ROBOTS_CACHE_S = 86_400.0
_INNER_GAP_S = 1.0
_NO_EXTRA: Final[Mapping[str, int]] = MappingProxyType({})
_FAULTS = (
    "missed", "unexpected", "disallowed", "before_robots", "before_tdmrep", "early", "crowded", "repeated",
    "repeated_robots", "trapped",
)  # fmt: skip
_SHOWN = 5  # examples of each fault in a summary


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedUrl:
    """A URL that the crawler requested more often than its answers allow."""

    url: str
    asked: int
    allowed: int

    def __str__(self) -> str:
        return f"{self.url} (requested: {self.asked}, allowed: {self.allowed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapOverrun:
    """A trap from which the crawler requested more pages than the bound allows."""

    site: str
    pages: int
    bound: int

    def __str__(self) -> str:
        return f"{self.site} (pages: {self.pages}, at most {self.bound})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a crawler did wrong."""

    requests: int
    visited: int  # distinct URLs of pages
    missed: tuple[str, ...]  # expected, but not requested
    unexpected: tuple[str, ...]  # requested, but not expected: out of scope, nofollow, no link, wrong address
    disallowed: tuple[str, ...]  # requested, although robots.txt forbids it
    before_robots: tuple[str, ...]  # requested before the robots.txt of its host
    before_tdmrep: tuple[str, ...]  # requested before the tdmrep.json of its host
    early: tuple[EarlyRequest, ...]
    crowded: tuple[CrowdedAddress, ...]
    repeated: tuple[RepeatedUrl, ...]
    repeated_robots: tuple[RepeatedUrl, ...]  # and tdmrep.json
    trapped: tuple[TrapOverrun, ...]
    trap_pages: Mapping[str, int]  # requested pages of each trap, by the name of its site
    allowed_repeats: int  # extra requests that are no fault, as after a crash

    @property
    def repeats(self) -> int:
        """The number of requests beyond what is allowed."""
        return sum(repeat.asked - repeat.allowed for repeat in (*self.repeated, *self.repeated_robots))

    @property
    def ok(self) -> bool:
        """Whether the crawler did nothing wrong."""
        orders = (self.disallowed, self.before_robots, self.before_tdmrep)
        faults = (self.missed, self.unexpected, *orders, self.early, self.crowded, self.trapped)
        return not any(faults) and self.repeats <= self.allowed_repeats

    def summary(self) -> str:
        """Return the verdict as one paragraph."""
        sentences = [f"Requests: {self.requests}; pages: {self.visited}."]
        for name in _FAULTS:
            faults: tuple[object, ...] = getattr(self, name)
            if faults:
                shown = "; ".join(str(fault) for fault in faults[:_SHOWN])
                more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
                sentences.append(f"{name.capitalize().replace('_', ' ')}: {len(faults)} ({shown}{more}).")
        if self.allowed_repeats:
            sentences.append(f"{self.repeats} of {self.allowed_repeats} allowed repeats.")
        sentences.append("No faults found." if self.ok else "The crawl has faults.")
        return " ".join(sentences)


def judge(
    log: Iterable[LoggedRequest],
    *,
    delay_s: float,
    expected: ExpectedCrawl | None,  # None: judge politeness only, not which URLs were requested
    tries: int = 4,  # how often a URL that fails (429, 5xx, cut off) may be requested
    inner_gap_s: float = _INNER_GAP_S,  # the gap between requests of one turn, unless the delay is shorter
    allowed_repeats: int = 0,  # extra requests that are reported but are no fault
    robots_cache_s: float = _ROBOTS_CACHE_S,  # how long the crawler may use a robots.txt before it requests it again
    robots_first: bool = True,  # False for a log that begins in the middle of a crawl
    tdmrep: bool = False,  # the crawler respects reservations: it requests each host's tdmrep.json before its pages
    workers: int = 1,  # over all starts; each may request a robots.txt on another site once, outside of turns
    slack_s: float = 0.0,  # how much too short a gap may be
    kills: Sequence[float] = (),  # when the crawler was killed: seconds of CLOCK_MONOTONIC
    unheard_s: float = 0.5,  # the crawler may forget a Crawl-delay or Retry-After served this long before a kill
    trap_bounds: Mapping[str, int] = _NO_EXTRA,  # by kind: pages that may be requested of each trap; none: no bound
    address_limit: AddressLimit | None = None,
    lanes: Mapping[str, int] = _NO_EXTRA,  # sites that may get this many requests at once; without a Crawl-delay
) -> Verdict:
    """Judge the requests of one crawl."""
    pace = PaceLimits(
        delay_s=delay_s, inner_gap_s=inner_gap_s, slack_s=slack_s, kills=tuple(kills), unheard_s=unheard_s,
        workers=workers,
    )  # fmt: skip
    evidence = _Evidence(sorted(log, key=lambda request: request.arrived), pace, lanes)
    return Verdict(
        requests=len(evidence.requests),
        visited=len(evidence.asked),
        missed=evidence.missed(expected),
        unexpected=evidence.unexpected(expected, ("other",) if tdmrep else ("other", "tdmrep")),
        disallowed=tuple(url for url in evidence.asked if expected is not None and url in expected.disallowed),
        before_robots=evidence.before_robots() if robots_first else (),
        before_tdmrep=evidence.before_tdmrep() if tdmrep and robots_first else (),
        early=evidence.early,
        crowded=crowded_addresses(evidence.requests, address_limit) if address_limit else (),
        repeated=_repeated(evidence.visits, tries, extra=expected.extra_requests if expected else _NO_EXTRA),
        repeated_robots=evidence.repeated_robots(tries, robots_cache_s),
        trapped=_overruns(evidence.trap_pages, trap_bounds),
        trap_pages=evidence.trap_pages,
        allowed_repeats=allowed_repeats,
    )


class _Evidence:
    """The requests of a log, sorted by arrival, with what each of them was for."""

    def __init__(self, requests: Sequence[LoggedRequest], pace: PaceLimits, lanes: Mapping[str, int]) -> None:
        self.requests = requests
        self._workers = pace.workers
        self._redirects = RobotsRedirects(requests)
        pages = [request for request in requests if request.kind == "page"]
        traps = [request for request in requests if request.kind == "trap"]
        self.asked = dict.fromkeys(request.url for request in pages)
        self.visits = [*pages, *traps]
        self.trap_pages = Counter(_site(request) for request in traps)
        self._robots: list[LoggedRequest] = []  # without those that are a hop of another one's redirect
        self.early = tuple(sorted(self._check_gaps(pace, lanes), key=lambda fault: fault.arrived))

    def _check_gaps(self, pace: PaceLimits, lanes: Mapping[str, int]) -> list[EarlyRequest]:
        sites: defaultdict[str, list[LoggedRequest]] = defaultdict(list)
        for request in self.requests:
            sites[_site(request)].append(request)
        early: list[EarlyRequest] = []
        for site, theirs in sites.items():
            found, hops = early_requests(site, theirs, pace, self._redirects)
            if site in lanes and not asks_for_delay(theirs):
                in_turns = [request for request in theirs if not self._redirects.may_be_outside(request)]
                found = early_in_lanes(site, in_turns, lanes[site], pace)
            early += found
            self._robots += [r for r in theirs if r.kind == "robots" and id(r) not in hops]
        return early

    def missed(self, expected: ExpectedCrawl | None) -> tuple[str, ...]:
        """Return expected URLs that the crawler did not request."""
        return () if expected is None else tuple(sorted(expected.visited - self.asked.keys()))

    def unexpected(self, expected: ExpectedCrawl | None, stray: Container[str]) -> tuple[str, ...]:
        """Return requested URLs that are neither expected nor disallowed, and all of the kinds that are `stray`."""
        strays = dict.fromkeys(request.url for request in self.requests if request.kind in stray)
        if expected is None:
            return tuple(strays)
        known = expected.visited | expected.disallowed
        return (*(url for url in self.asked if url not in known), *strays)

    def before_robots(self) -> tuple[str, ...]:
        """Return pages that were requested before the robots.txt of their host, or before what it redirects to."""
        asked: set[str] = set()
        found: dict[str, None] = {}
        for request in self.requests:
            if request.kind == "robots":
                asked.add(request.url)
            elif request.kind in ("page", "trap", "tdmrep"):
                robots = robots_of(request.url)
                if not asked.issuperset((robots, *self._redirects.redirect_chain(robots))):
                    found[request.url] = None
        return tuple(found)

    def before_tdmrep(self) -> tuple[str, ...]:
        """Return pages that were requested before the tdmrep.json of their host."""
        asked: set[str] = set()
        found: dict[str, None] = {}
        for request in self.requests:
            if request.kind == "tdmrep":
                asked.add(host_of(request.url))
            elif request.kind in ("page", "trap") and host_of(request.url) not in asked:
                found[request.url] = None
        return tuple(found)

    def repeated_robots(self, tries: int, cache_s: float) -> tuple[RepeatedUrl, ...]:
        """Return files that were requested again while the crawler should have remembered them: tdmrep.json, too."""
        counted = self._redirects.without_retries(self._robots, self.visits)
        extra = self._redirects.extra_requests(self._robots, self._workers)
        tdmrep = [request for request in self.requests if request.kind == "tdmrep"]
        return _repeated([*counted, *tdmrep], tries, cache_s, extra=extra)


def _site(request: LoggedRequest) -> str:
    try:
        return site_of(request.url)
    except ValueError:  # no URL at all: not HTTP, or no host
        return ""


def _overruns(trap_pages: Mapping[str, int], bounds: Mapping[str, int]) -> tuple[TrapOverrun, ...]:
    """Return the traps from which more pages were requested than the bound of their kind allows."""
    found = []
    for site, pages in trap_pages.items():
        bound = bounds.get(site.partition("-")[0], pages)
        if pages > bound:
            found.append(TrapOverrun(site=site, pages=pages, bound=bound))
    return tuple(found)


def _repeated(
    requests: Sequence[LoggedRequest], tries: int, period_s: float | None = None, *, extra: Mapping[str, int]
) -> tuple[RepeatedUrl, ...]:
    """Return URLs that were requested again after a final answer, or too often without one.

    With `period_s`, an answer is final only for that long. `extra` is how many further requests a URL may get.
    """
    by_url: defaultdict[str, list[LoggedRequest]] = defaultdict(list)
    for request in requests:
        by_url[request.url].append(request)
    repeats = []
    for url, theirs in by_url.items():
        too_many, failures, final_at = 0, 0, None
        for request in theirs:
            if period_s is not None and final_at is not None and request.arrived >= final_at + period_s:
                failures, final_at = 0, None
            if final_at is not None or failures >= tries:
                too_many += 1
            elif request.retryable:
                failures += 1
            else:
                final_at = request.arrived
        too_many -= extra.get(url, 0)
        if too_many > 0:
            repeats.append(RepeatedUrl(url=url, asked=len(theirs), allowed=len(theirs) - too_many))
    return tuple(repeats)
