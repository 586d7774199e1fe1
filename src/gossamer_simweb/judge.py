"""The judge: what a crawler missed, repeated, was not allowed to ask for, or asked for too early. Pure.

It reads the server's access log and the expectation, and nothing else: no clock but the server's, no word of
the crawler's. What counts as a turn, and which gaps are asked for, is in `turns`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gossamer.urls import site_of
from gossamer_simweb.robots_redirects import RobotsRedirects
from gossamer_simweb.turns import EarlyRequest, PaceLimits, early_requests, robots_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gossamer_simweb.expected import ExpectedCrawl
    from gossamer_simweb.log import LoggedRequest

_ROBOTS_CACHE_S = 86_400.0
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_SHOWN = 5  # examples of each fault in a summary


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedUrl:
    """A URL that was asked for more often than its answers allow."""

    url: str
    asked: int
    allowed: int

    def __str__(self) -> str:
        return f"{self.url} (asked for {self.asked}, allowed {self.allowed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapOverrun:
    """A trap on which more was spent than it is worth."""

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
    missed: tuple[str, ...]  # expected, but not asked for
    unexpected: tuple[str, ...]  # asked for, but not expected: out of scope, nofollow, no link, at a wrong address
    disallowed: tuple[str, ...]  # asked for, though robots.txt forbids it
    unasked: tuple[str, ...]  # asked for before the robots.txt of its host
    early: tuple[EarlyRequest, ...]
    repeated: tuple[RepeatedUrl, ...]
    repeated_robots: tuple[RepeatedUrl, ...]
    trapped: tuple[TrapOverrun, ...]
    trap_pages: Mapping[str, int]  # asked for, by the name of each trap's site
    allowed_repeats: int  # requests too many that are no fault, as after a crash

    @property
    def repeats(self) -> int:
        """How many requests there were too many."""
        return sum(repeat.asked - repeat.allowed for repeat in (*self.repeated, *self.repeated_robots))

    @property
    def ok(self) -> bool:
        """Whether there is nothing to complain about."""
        faults = (self.missed, self.unexpected, self.disallowed, self.unasked, self.early, self.trapped)
        return not any(faults) and self.repeats <= self.allowed_repeats

    def summary(self) -> str:
        """Say it in one paragraph."""
        sentences = [f"Requests: {self.requests}; pages: {self.visited}."]
        for name in (
            "missed",
            "unexpected",
            "disallowed",
            "unasked",
            "early",
            "repeated",
            "repeated_robots",
            "trapped",
        ):
            faults: tuple[object, ...] = getattr(self, name)
            if faults:
                shown = "; ".join(str(fault) for fault in faults[:_SHOWN])
                more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
                sentences.append(f"{name.capitalize().replace('_', ' ')}: {len(faults)} ({shown}{more}).")
        if self.allowed_repeats:
            sentences.append(f"{self.repeats} of {self.allowed_repeats} allowed repeats.")
        sentences.append("Nothing to complain about." if self.ok else "Not as it should be.")
        return " ".join(sentences)


def judge(
    log: Iterable[LoggedRequest],
    *,
    delay_s: float,
    expected: ExpectedCrawl | None,
    tries: int = 4,
    inner_gap_s: float | None = None,
    allowed_repeats: int = 0,
    robots_cache_s: float = _ROBOTS_CACHE_S,
    robots_first: bool = True,
    workers: int = 1,
    slack_s: float = 0.0,
    kills: Sequence[float] = (),
    unheard_s: float = 0.5,
    trap_bounds: Mapping[str, int] = MappingProxyType({}),
) -> Verdict:
    """Judge the requests of one crawl.

    `expected` None judges only its manners. `tries` is how often a URL that fails (429, 5xx, cut off) may be
    asked for; `inner_gap_s` the gap within a turn (1 s, or the delay if that is smaller); `allowed_repeats`
    how many requests too many are forgiven, though still reported; `slack_s` how much a gap may be too short.
    `robots_first` False for a log that begins in the middle of a crawl. `kills` are the instants (CLOCK_MONOTONIC) at
    which the crawler was killed: a Crawl-delay or Retry-After answered less than `unheard_s` before one is forgiven.
    `workers` is how many processes crawled, over all starts: each may ask once for a robots.txt to which another site's
    redirects, outside of turns.
    `trap_bounds` says how many pages may be asked for of each trap of a kind; one without a bound is only counted.
    """
    requests = sorted(log, key=lambda request: request.arrived)
    sites: defaultdict[str, list[LoggedRequest]] = defaultdict(list)
    for request in requests:
        sites[_site(request)].append(request)
    pace = PaceLimits(
        delay_s=delay_s,
        inner_gap_s=1.0 if inner_gap_s is None else inner_gap_s,
        slack_s=slack_s,
        kills=tuple(kills),
        unheard_s=unheard_s,
        workers=workers,
    )
    elsewhere = RobotsRedirects(requests)
    early: list[EarlyRequest] = []
    robots: list[LoggedRequest] = []  # those asked for on their own account, not as a hop of another
    for site, theirs in sites.items():
        found, hops = early_requests(site, theirs, pace, elsewhere)
        early += found
        robots += [r for r in theirs if r.kind == "robots" and id(r) not in hops]
    pages = [request for request in requests if request.kind == "page"]
    traps = [request for request in requests if request.kind == "trap"]
    spent = Counter(_site(request) for request in traps)
    strays = dict.fromkeys(request.url for request in requests if request.kind == "other")
    asked = dict.fromkeys(request.url for request in pages)
    visited = frozenset(expected.depths) if expected is not None else frozenset(asked)
    disallowed = expected.disallowed if expected is not None else frozenset()
    return Verdict(
        requests=len(requests),
        visited=len(asked),
        missed=tuple(sorted(visited - asked.keys())),
        unexpected=(*(url for url in asked if url not in visited and url not in disallowed), *strays),
        disallowed=tuple(url for url in asked if url in disallowed),
        unasked=_unasked(requests, elsewhere) if robots_first else (),
        early=tuple(sorted(early, key=lambda fault: fault.arrived)),
        repeated=_repeated([*pages, *traps], tries, again=expected.again if expected is not None else _NOTHING),
        repeated_robots=_repeated(
            elsewhere.without_waits(robots, [*pages, *traps]),
            tries,
            robots_cache_s,
            again=elsewhere.again(robots, workers),
        ),
        trapped=_trapped(spent, trap_bounds),
        trap_pages=spent,
        allowed_repeats=allowed_repeats,
    )


def _site(request: LoggedRequest) -> str:
    try:
        return site_of(request.url)
    except ValueError:  # no URL at all: not HTTP, or no host
        return ""


def _trapped(spent: Mapping[str, int], bounds: Mapping[str, int]) -> tuple[TrapOverrun, ...]:
    """Return the traps on which more was spent than their kind's bound."""
    found = []
    for site, pages in spent.items():
        bound = bounds.get(site.partition("-")[0], pages)
        if pages > bound:
            found.append(TrapOverrun(site=site, pages=pages, bound=bound))
    return tuple(found)


def _unasked(requests: Sequence[LoggedRequest], elsewhere: RobotsRedirects) -> tuple[str, ...]:
    """Return pages that were asked for before the robots.txt of their host, or what that redirects to."""
    asked: set[str] = set()
    found: dict[str, None] = {}
    for request in requests:
        if request.kind == "robots":
            asked.add(request.url)
        elif request.kind in ("page", "trap"):
            robots = robots_of(request.url)
            if not asked.issuperset((robots, *elsewhere.way(robots))):
                found[request.url] = None
    return tuple(found)


def _repeated(
    requests: Sequence[LoggedRequest], tries: int, period_s: float | None = None, *, again: Mapping[str, int] = _NOTHING
) -> tuple[RepeatedUrl, ...]:
    """Return URLs that were asked for again after a final answer, or too often without one.

    With `period_s`, an answer is final only for that long; what is in `again` may be asked for so many times more.
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
        too_many -= again.get(url, 0)
        if too_many > 0:
            repeats.append(RepeatedUrl(url=url, asked=len(theirs), allowed=len(theirs) - too_many))
    return tuple(repeats)
