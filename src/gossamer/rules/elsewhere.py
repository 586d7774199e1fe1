"""robots.txt files on other sites: which answers a worker keeps, and when it may request the next. Pure.

A robots.txt may redirect to another site. That site is then requested outside its turns, because a turn that waits for
another site's turn could wait for ever. So that no site gets many such requests, a worker requests each URL once a day
and each site once per delay. A host whose robots.txt is on a site that is not due yet is blocked until a moment that is
reserved for it. Times are seconds of any monotonic clock, passed in.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.records import Failed, HostState, Reason, Truncation
from gossamer.rules.answers import OURS, REDIRECTS
from gossamer.rules.hosts import MIN_CACHE_S, NOTHING_ALLOWED, RobotsRead, judge_robots, robots_url
from gossamer.rules.pace import DAY_S
from gossamer.rules.robots import RobotsRules
from gossamer.urls import normalise, site_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records import Fetched, ParsedRobots
    from gossamer.rules.hosts import RobotsSettings
    from gossamer.urls import Url

MAX_HOPS: Final = 5  # redirects of a robots.txt that are followed, as RFC 9309 asks
KEEP_S: Final = DAY_S  # how long an answer is used before its URL is requested again
MAX_ANSWERS: Final = 10_000
MAX_ANSWER_BYTES: Final = 32_000_000
MAX_MOMENTS: Final = 50_000  # reserved ones, of all sites
MAX_SITES: Final = 100_000
MAX_WAIT_S: Final = DAY_S  # no moment is reserved further ahead: the host asks again then
# Two reserved moments are farther apart than the delay, because requests take time and turns come late:
SPARE_SHARE: Final = 0.25  # by this share of the delay,
SPARE_S: Final = 1.0  # and by this much more (or the delay, if that is shorter)
UNDER_WAY_S: Final = 1.0  # the shortest wait for a site that is being requested
OVERHEAD_BYTES: Final = 1_000  # of an answer that is kept
LONG_AGO_AT: Final = 1.0  # Unix seconds: a host that has answered, but whose rules are not known
NOT_DUE: Final = "not_due"  # the outcome of a robots.txt on a site that may not be requested yet


class KeptAnswer(NamedTuple):
    """An answer of another site."""

    answer: Fetched | Failed
    until_s: float  # its URL is not requested again before
    failures: int = 0  # in a row, this one included

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        answer = self.answer
        sent = 0 if isinstance(answer, Failed) else len(answer.body) + len(answer.head) + len(answer.request_head)
        return OVERHEAD_BYTES + 2 * len(answer.url) + sent


@dataclass(slots=True)
class _Site:
    """When another site may be requested."""

    due_s: float = 0.0  # not before, since its last request is not long enough ago
    free_s: float = 0.0  # the first moment that is reserved for no URL
    is_busy: bool = False  # a request is under way

    def is_forgettable(self, now_s: float) -> bool:
        """Return whether an unknown site would be treated the same."""
        return self.due_s <= now_s and self.free_s <= now_s


class Elsewhere:
    """A worker's memory of robots.txt files on other sites. What does not fit is forgotten, the oldest first.

    Invariant: a site has one request at a time, and the next one begins no earlier than `rest_s` after its end. The
    moments that are reserved for URLs of one site are a little more than a delay apart. A site is forgotten when it is
    due and nothing is reserved: each new site causes a check of two old ones.
    """

    def __init__(
        self,
        retry_waits_s: Sequence[float],
        *,
        max_answers: int = MAX_ANSWERS,
        max_bytes: int = MAX_ANSWER_BYTES,
        max_moments: int = MAX_MOMENTS,
        max_sites: int = MAX_SITES,
    ) -> None:
        self._retry_waits_s = retry_waits_s  # after the first, second, ... failure in a row
        self._max_answers = max_answers
        self._max_bytes = max_bytes
        self._max_moments = max_moments
        self._max_sites = max_sites
        self._answers: OrderedDict[str, KeptAnswer] = OrderedDict()  # by URL, the oldest first
        self._kept_bytes = 0
        self._moments: OrderedDict[str, float] = OrderedDict()  # reserved, by URL
        self._sites: OrderedDict[str, _Site] = OrderedDict()

    def find(self, url: str, now_s: float) -> KeptAnswer | None:
        """Return the answer to use for a URL; None if it has to be requested."""
        kept = self._answers.get(url)
        return kept if kept and now_s < kept.until_s else None

    def reserve(self, url: Url, *, delay_s: float, now_s: float) -> float:
        """Return 0 if a URL may be requested now, else how long to wait until the moment that is reserved for it.

        After 0 the site counts as busy until `settle` or `cancel`.
        """
        site = self._site(url.site, now_s)
        moment_s = self._moments.get(url.url)
        # plant: foreign-robots-without-delay
        if not site.is_busy and now_s >= max(site.due_s, site.free_s if moment_s is None else moment_s):
            self._moments.pop(url.url, None)
            site.is_busy = True
            site.free_s = max(site.free_s, now_s + spacing_s(delay_s))
            return 0.0
        if moment_s is None or moment_s <= now_s:  # none is reserved, or it was missed: another came late, too
            busy_s = now_s + max(delay_s, UNDER_WAY_S) if site.is_busy else now_s
            moment_s = max(site.due_s, site.free_s, busy_s)
            if moment_s > now_s + MAX_WAIT_S:
                self._moments.pop(url.url, None)
                return MAX_WAIT_S
            site.free_s = moment_s + spacing_s(delay_s)
            self._remember_moment(url.url, moment_s)
        return moment_s - now_s

    def settle(
        self, url: Url, answer: Fetched | Failed, *, rest_s: float, now_s: float, keep: bool = True
    ) -> KeptAnswer:
        """Record how a request ended; its site gets no other request for `rest_s`. Return the answer.

        The answer is remembered, unless the failure was ours or the caller says that it means nothing (`keep`).
        """
        self._end(url.site, now_s + rest_s)
        failures = 0
        until_s = now_s + KEEP_S
        if is_failure(answer):
            former = self._answers.get(url.url)
            failures = 1 + (former.failures if former else 0)
            until_s = now_s + self._retry_waits_s[min(failures, len(self._retry_waits_s)) - 1]
        kept = KeptAnswer(answer, until_s, failures)
        if keep and not (isinstance(answer, Failed) and answer.reason in OURS):
            self._remember_answer(kept)  # plant: foreign-robots-not-remembered
        return kept

    def cancel(self, url: Url, *, rest_s: float, now_s: float) -> None:
        """Record that a request was cancelled; `rest_s` is 0 if it was never sent."""
        self._end(url.site, now_s + rest_s)

    def _site(self, name: str, now_s: float) -> _Site:
        site = self._sites.get(name)
        if site is None:
            for _ in range(min(2, len(self._sites))):
                oldest, other = self._sites.popitem(last=False)
                is_full = len(self._sites) + 1 >= self._max_sites
                if other.is_busy or not (is_full or other.is_forgettable(now_s)):
                    self._sites[oldest] = other  # at the end: it is looked at again after all others
            site = self._sites[name] = _Site()
        return site

    def _end(self, name: str, due_s: float) -> None:
        site = self._sites[name]
        site.is_busy = False
        site.due_s = max(site.due_s, due_s)

    def _remember_moment(self, url: str, moment_s: float) -> None:
        self._moments[url] = moment_s
        self._moments.move_to_end(url)
        if len(self._moments) > self._max_moments:
            self._moments.popitem(last=False)

    def _remember_answer(self, kept: KeptAnswer) -> None:
        url = kept.answer.url
        if former := self._answers.pop(url, None):
            self._kept_bytes -= former.size_bytes
        self._answers[url] = kept
        self._kept_bytes += kept.size_bytes
        while len(self._answers) > self._max_answers or self._kept_bytes > self._max_bytes:
            _, oldest = self._answers.popitem(last=False)
            self._kept_bytes -= oldest.size_bytes


def spacing_s(delay_s: float) -> float:
    """Return the time between two moments that are reserved at one site."""
    return delay_s * (1 + SPARE_SHARE) + min(SPARE_S, delay_s)


def is_failure(answer: Fetched | Failed) -> bool:
    """Return whether an answer says nothing about what is allowed, so that its URL is requested again soon."""
    if isinstance(answer, Failed):
        return True
    return answer.status == 429 or answer.status >= 500 or answer.truncated in (Truncation.TIME, Truncation.DISCONNECT)


# ---------------------------------------------------------------------- what it means for the host that redirected


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRobots:
    """The result of a search for a host's robots.txt, behind all redirects that were followed."""

    own_url: str  # the last URL of the host's own site that was requested
    answer: Fetched | Failed | None = None  # the last one; None: the file is on a site that is not due yet
    moved_to: tuple[str, ...] = ()  # where redirects led, in order
    keep_s: float | None = None  # how long the answer of another site is still used; None: it came from this site
    wait_s: float = 0.0  # until the other site may be requested

    @property
    def outcome(self) -> str:
        """What was found instead of rules, in a word; empty if rules were found, or if robots.txt did not redirect."""
        answer = self.answer
        if answer is None:
            return NOT_DUE
        if isinstance(answer, Failed):
            return answer.reason if self.moved_to else ""
        if answer.status in REDIRECTS:
            last = self.moved_to[-1] if self.moved_to else ""
            return Reason.BAD_REDIRECT if last in ("", answer.url) else Reason.TOO_MANY_REDIRECTS
        return f"status {answer.status}" if self.moved_to and not 200 <= answer.status < 300 else ""


def judge_found(
    found: FoundRobots,
    *,
    host: str,
    previous: HostState | None,
    agent: str,
    now_at: float,
    settings: RobotsSettings,
    parsed: ParsedRobots | None = None,
) -> RobotsRead:
    """Return what the robots.txt that was found, on whichever site, means for the host.

    Of the sitemaps that another site's robots.txt names, only those on the host's own site count: thousands of hosts
    may share that file.
    """
    if found.answer is None:
        state = HostState(
            host=host,
            rules=NOTHING_ALLOWED,
            expires_at=LONG_AGO_AT,
            failures=previous.failures if previous else 0,
            failing_since=previous.failing_since if previous else None,
            blocked_s=found.wait_s,
        )
        read = RobotsRead(state=state)
    else:
        read = judge_robots(
            found.answer, host=host, previous=previous, agent=agent, now_at=now_at, settings=settings, parsed=parsed
        )
    if read.unreachable or not (found.moved_to or found.outcome):
        return read
    state = read.state
    rules = replace(RobotsRules.from_text(state.rules), moved_to=found.moved_to, outcome=found.outcome)
    if read.usable and found.keep_s is not None:
        state = replace(state, expires_at=now_at + max(found.keep_s, MIN_CACHE_S))
        rules = replace(rules, sitemaps=_of_own_site(rules.sitemaps, host))
    return replace(read, state=replace(state, rules=rules.to_text()))


def _of_own_site(sitemaps: Sequence[str], host: str) -> tuple[str, ...]:
    """Return the sitemaps that are on the site of a host."""
    own = site_of(f"{host}/")
    found = ((text, normalise(text, robots_url(host))) for text in sitemaps)
    return tuple(text for text, url in found if isinstance(url, str) and site_of(url) == own)
