"""A host's robots.txt as a state: its rules, how long they hold, and what follows if it cannot be read. Pure.

The rules of an unreadable robots.txt are stored as "nothing is allowed", so that code that checks only the rules errs
on the polite side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from gossamer.inflate import NotInflated, inflate
from gossamer.records import Failed, Fetched, HostState, ParsedRobots, Reason, Truncation
from gossamer.rules.answers import NO_HOST, OURS, REDIRECTS, location_of, retry_after_of, retry_wait_s
from gossamer.rules.heads import headers_all
from gossamer.rules.pace import DAY_S
from gossamer.rules.patterns import Rule
from gossamer.rules.reservations import MAX_TDMREP_BYTES, Reservations, parse_tdmrep
from gossamer.rules.robots import MAX_ROBOTS_BYTES, RobotsRules, decide, parse_robots
from gossamer.urls import host_of, identify, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.rules.pace import PaceSettings
    from gossamer.urls import Url

SHORT_BYTES: Final = 16_000  # a longer robots.txt takes milliseconds to read: the page process reads it
MAX_CACHE_S: Final = DAY_S
MIN_CACHE_S: Final = 600.0  # many servers forbid caching by accident: no robots.txt is requested more often than this
GIVEN_UP_S: Final = DAY_S  # how long a host, or a robots.txt, that was given up is not requested again

# The host answers, but its robots.txt cannot be read: as after a server error, nothing is allowed.
ROBOTS_FAILED: Final = frozenset(
    {
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.CONNECTION_LOST,
        Reason.BAD_RESPONSE,
        Reason.HEADERS_TOO_LARGE,
    }
)
# Failures that further tries are not expected to change. Such a try sends nothing to the site.
NO_ADDRESS: Final = frozenset({Reason.NO_SUCH_NAME, Reason.ADDRESS_REFUSED})

NOTHING_ALLOWED: Final = RobotsRules(group="*", rules=(Rule(False, "/"),)).to_text()


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsSettings:
    """How long a host is blocked when its robots.txt cannot be fetched."""

    robots_retry_waits_s: tuple[float, ...] = field(
        default=(600.0, 3_600.0, 21_600.0, 86_400.0),
        metadata={
            "help": "The waits after the first, the second and each further failure of a host's robots.txt; the last "
            "one repeats. Lower them for a crawl of hours."
        },
    )
    robots_give_up_s: float = field(
        default=3 * DAY_S,
        metadata={
            "help": "The pages of a host are given up when its robots.txt has failed for this long. "
            "Lower it to let a crawl end sooner.",
            "minimum": 0,
        },
    )

    def __post_init__(self) -> None:
        if not self.robots_retry_waits_s or min(self.robots_retry_waits_s) <= 0:
            raise ValueError("robots_retry_waits needs at least one wait, and each longer than 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsRead:
    """The result of a request for a robots.txt. Exactly one holds: usable, blocked, given_up, or unreachable."""

    state: HostState  # to be stored, unless the host is unreachable: then it holds nothing new
    usable: bool = False  # its rules may be followed
    given_up: bool = False  # it failed for robots_give_up_s: its pages are given up, as ROBOTS_UNREACHABLE
    unreachable: Reason | None = None  # the host did not answer, or the failure was ours: the rules stay unknown

    @property
    def blocked(self) -> bool:
        """Whether the host is blocked for `state.blocked_s`: its pages go back to the queue, and no try is counted."""
        return not (self.usable or self.given_up or self.unreachable)


def is_fresh(state: HostState | None, now_at: float) -> bool:
    """Return whether a host's state is still valid: if not, its robots.txt is requested before any of its pages."""
    return state is not None and now_at < state.expires_at <= now_at + MAX_CACHE_S


def rules_of(state: HostState) -> RobotsRules:
    """Return the robots rules in a host's state; cached."""
    return RobotsRules.from_text(state.rules)


def knows_reservations(state: HostState, now_at: float) -> bool:
    """Return whether it is known what a host reserves: if not, its tdmrep.json is requested before any of its pages."""
    return now_at < rules_of(state).reservations.expires_at <= now_at + MAX_CACHE_S


def knows_wishes(state: HostState | None, now_at: float, *, reservations: bool) -> bool:
    """Return whether a host's robots.txt is fresh and, if `reservations` count, its tdmrep.json too."""
    return state is not None and is_fresh(state, now_at) and (not reservations or knows_reservations(state, now_at))


def with_reservations(state: HostState, reservations: Reservations) -> HostState:
    """Return a host's state with what its tdmrep.json says."""
    rules = rules_of(state)
    if rules.reservations == reservations:
        return state
    return replace(state, rules=replace(rules, reservations=reservations).to_text())


def rules_allowing(state: HostState | None, url: str, now_at: float) -> RobotsRules | None:
    """Return the robots rules in a host's state if they are fresh and allow a page; else a turn has to look further."""
    if state is None or state.failures or not is_fresh(state, now_at):
        return None
    rules = RobotsRules.from_text(state.rules)
    return rules if decide(rules, url).allowed else None


def refusal_of(state: HostState, url: str) -> Reason | None:
    """Return why a page of a host with a fresh state may not be requested; None if it may."""
    if state.failures:
        return Reason.ROBOTS_UNREACHABLE
    return None if decide(rules_of(state), url).allowed else Reason.ROBOTS_DISALLOWED


def has_answered(state: HostState) -> bool:
    """Return whether a host ever answered, if only with a failing robots.txt."""
    return state.expires_at > 0 or state.failures > 0


def answers(state: HostState) -> bool:
    """Return whether a host answered its last request."""
    return not state.silent and has_answered(state)


def after_silence(previous: HostState | None, *, host: str, reason: Reason, settings: PaceSettings) -> HostState:
    """Return the state of a host that did not answer: blocked until its next try, or given up after its last.

    A host that never answered gets `max_tries` more tries, but none if its name has no usable address. A host that
    answered before gets `max_tries` more than that, because its whole queue is at stake. A host that was given up may
    be tried again once a day.
    """
    state = previous or HostState(host=host)
    # plant: answered-host-given-up-early
    tries = settings.max_tries * ((reason not in NO_ADDRESS) + has_answered(state))
    silent = state.silent + 1
    if silent > tries:  # plant: given-up-one-try-early
        return replace(state, silent=silent, given_up=reason, blocked_s=GIVEN_UP_S)
    # plant: silent-host-without-backoff
    return replace(state, silent=silent, given_up=None, blocked_s=retry_wait_s(silent - 1, settings))


def asked_delay_s(states: Iterable[HostState]) -> float:
    """Return the delay that a site asks for: the largest Crawl-delay of its hosts, or 0."""
    return max((rules_of(state).delay_s or 0.0 for state in states), default=0.0)


def robots_url(host: str) -> str:
    """Return the URL of a host's robots.txt."""
    return host + "/robots.txt"


def robots_redirect(answer: Fetched | Failed, url: str) -> Url | None:
    """Return the URL to which the robots.txt at `url` redirects, if it can be followed."""
    if isinstance(answer, Failed) or answer.status not in REDIRECTS:
        return None
    location = location_of(answer)
    target = normalise(location, url) if location else None
    return identify(target) if isinstance(target, str) and target != url else None


def is_long_robots(answer: Fetched | Failed | None) -> bool:
    """Return whether an answer is a robots.txt that is too long to be read between two events of a worker's loop."""
    if not isinstance(answer, Fetched) or not 200 <= answer.status < 300:
        return False
    if len(answer.body) > SHORT_BYTES:
        return True
    encodings = ",".join(headers_all(answer.head, "Content-Encoding"))
    found = inflate(answer.body, encodings, max_bytes=SHORT_BYTES)
    return not isinstance(found, NotInflated) and found.truncated


def parse_answer(answer: Fetched, agent: str) -> ParsedRobots:
    """Return what a robots.txt asks of us."""
    body = _body_of(answer)
    return ParsedRobots(rules=None if body is None else parse_robots(body, agent).to_text())


def judge_robots(
    answer: Fetched | Failed,
    *,
    host: str,
    previous: HostState | None,
    agent: str,
    now_at: float,
    settings: RobotsSettings,
    parsed: ParsedRobots | None = None,
) -> RobotsRead:
    """Return what the last answer (behind all redirects) to a request for a host's robots.txt means.

    An answer that redirects is one that could not be followed, or one too many. `parsed` is what the page process read
    in the answer; without it, the answer is read here.
    """
    if isinstance(answer, Failed):
        is_elsewhere = host_of(answer.url) != host  # the host did answer, with a redirect
        if answer.reason in OURS or (answer.reason in NO_HOST and not is_elsewhere):
            state = replace(previous, blocked_s=0.0) if previous else HostState(host=host)
            return RobotsRead(state=state, unreachable=answer.reason)
        return _failed(host, previous, now_at, settings)
    if 200 <= answer.status < 300:
        rules = (parsed or parse_answer(answer, agent)).rules
    elif 300 <= answer.status < 500 and answer.status != 429:  # plant: failing-robots-allows-all
        rules = ""
    else:
        rules = None
    if rules is None:
        return _failed(host, previous, now_at, settings, retry_after_s=retry_after_of(answer, now_at) or 0.0)
    expires_at = now_at + cache_s(answer.head)
    return RobotsRead(state=HostState(host=host, rules=rules, expires_at=expires_at), usable=True)


def judge_tdmrep(answer: Fetched | Failed | None, former: Reservations, *, now_at: float) -> Reservations:
    """Return what the last answer to a request for a host's tdmrep.json means; None: it must not be requested.

    One that fails is requested once more. Then it counts as one that the host does not have, as the protocol says; what
    an earlier one said stays valid.
    """
    if answer is None:
        return Reservations(expires_at=now_at + MAX_CACHE_S)
    if isinstance(answer, Failed) or answer.status == 429 or answer.status >= 500 or answer.truncated in _CUT_OFF:
        is_last = former.failures > 0
        return replace(former, failures=0, expires_at=now_at + MAX_CACHE_S) if is_last else replace(former, failures=1)
    rules: tuple[Rule, ...] = ()
    if 200 <= answer.status < 300:
        encodings = ",".join(headers_all(answer.head, "Content-Encoding"))
        found = inflate(answer.body, encodings, max_bytes=MAX_TDMREP_BYTES + 1)
        rules = parse_tdmrep(answer.body if isinstance(found, NotInflated) else found.body)
    return Reservations(rules=rules, expires_at=now_at + cache_s(answer.head))


def cache_s(head: bytes) -> float:
    """Return how long a robots.txt or tdmrep.json may be cached: a day, or less if it says so, at least MIN_CACHE_S."""
    wishes = ",".join(headers_all(head, "Cache-Control")).lower()
    if _UNCACHED.search(wishes):
        return MIN_CACHE_S
    ages_s = [float(age) for age in _MAX_AGE.findall(wishes)]
    return max(MIN_CACHE_S, min([*ages_s, MAX_CACHE_S]))


def _failed(
    host: str, previous: HostState | None, now_at: float, settings: RobotsSettings, *, retry_after_s: float = 0.0
) -> RobotsRead:
    """Block the host for longer with each failure, and give it up in the end.

    A host is given up only after every wait was used: a crawl that was stopped for a week has not tried for a week.
    """
    failures = 1 + (previous.failures if previous else 0)
    since_at = previous.failing_since if previous and previous.failing_since is not None else now_at
    waits_s = settings.robots_retry_waits_s
    given_up = failures > len(waits_s) and now_at - since_at >= settings.robots_give_up_s
    state = HostState(
        host=host,
        rules=NOTHING_ALLOWED,
        expires_at=now_at + GIVEN_UP_S if given_up else 0.0,
        failures=failures,
        failing_since=min(since_at, now_at),
        blocked_s=0.0 if given_up else max(waits_s[min(failures, len(waits_s)) - 1], retry_after_s),
    )
    return RobotsRead(state=state, given_up=given_up)


def _body_of(answer: Fetched) -> bytes | None:
    """Return the text of a robots.txt, in whole lines; None if the connection broke before its end."""
    if answer.truncated in _CUT_OFF:
        return None
    # One byte more than is parsed, so that the parser knows that there was more.
    encodings = ",".join(headers_all(answer.head, "Content-Encoding"))
    found = inflate(answer.body, encodings, max_bytes=MAX_ROBOTS_BYTES + 1)
    if isinstance(found, NotInflated):
        body = answer.body if _is_text(answer.body) else None  # `Content-Encoding: utf-8` is seen in the wild
    elif found.truncated and len(found.body) <= MAX_ROBOTS_BYTES and answer.truncated is None:
        body = None
    else:
        body = found.body
    if body is not None and answer.truncated is not None:  # the last line may be half a line
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


_CUT_OFF: Final = (Truncation.TIME, Truncation.DISCONNECT)
_UNCACHED: Final = re.compile(r"\bno-(?:cache|store)\b")
_MAX_AGE: Final = re.compile(r"\bmax-age\s*=\s*\"?([0-9]{1,12})")
