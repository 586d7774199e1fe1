"""When a site may get its next request: its delay, the wait that it asks for, and more if it fails. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - the settings are read from the types at run time
from typing import NamedTuple

DAY_S = 86_400.0
MAX_RETRY_AFTER_S = DAY_S  # one header cannot stop the crawl of a site for longer

# A site that fails repeatedly waits twice as long with each further failure, within these bounds.
FAILURES_BEFORE_BACKOFF = 2  # in a row, which is normal; a site with more is in trouble (`Stats.in_trouble`)
MAX_DOUBLINGS = 6
MAX_BACKOFF_S = 3_600.0
LEAST_BACKOFF_S = 1.0  # is doubled if the delay is shorter

# After a slow answer the site waits for SLOWNESS_FACTOR times the time that it took, at most for these delays.
SLOWNESS_FACTOR = 10
MAX_SLOWNESS_DELAYS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceSettings:
    """How fast a site is visited, and how often a failure is tried again."""

    delay_s: float = field(
        default=70.0,
        metadata={"help": "The time between two pages of one site; a site may ask for a longer one.", "minimum": 0},
    )
    site_delay: tuple[str, ...] = field(
        default=(), metadata={"help": "A longer delay for a single site, written like example.org=300."}
    )
    site_delays_file: Path | None = field(
        default=None,
        metadata={"help": "A file of longer delays for single sites, one per line, written like example.org=300."},
    )
    own: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "A site that belongs to you, written like example.org. With a delay of 0 it gets several requests "
            "at once (parallel), and the limits per address do not apply to it. Its robots.txt is obeyed like any "
            "other.",
        },
    )
    parallel: int = field(
        default=8,
        metadata={
            "help": "The most requests at once that each of your own sites gets, with a delay of 0; fewer while it "
            "answers with 429 or 503, or takes longer to answer. Lower it to spare your server.",
            "minimum": 1,
        },
    )
    address_delay_s: float | None = field(
        default=None,
        metadata={
            "help": "The time between two requests of all workers to one IP address, whatever the names; if not given, "
            "0.1 s, and none for allow_network. Lower it if status shows that many sites wait for an address.",
            "minimum": 0,
        },
    )
    step_gap_s: float = field(
        default=1.0,
        metadata={
            "help": "The time between two requests of one turn, such as robots.txt and a page; the delay, if that is "
            "shorter. Raise it if a site owner objects to requests so close together.",
            "minimum": 0,
        },
    )
    retry_wait_s: float = field(
        default=60.0,
        metadata={
            "help": "The wait after the first temporary failure of a page, or of a host that does not answer; each "
            "further wait is four times as long. Lower it for a crawl of minutes.",
            "minimum": 0,
        },
    )
    max_tries: int = field(
        default=3,
        metadata={
            "help": "How often a page that failed, or a host that does not answer, is tried again; a host that "
            "answered before is tried twice as often. Raise it if sites are often down for hours.",
            "minimum": 0,
        },
    )
    suspension_failures: int = field(
        default=10,
        metadata={
            "help": "A site backs off for the time that suspension gives after this many failures in a row. "
            "Lower it to spend fewer requests on broken sites.",
            "minimum": 1,
        },
    )
    suspension_s: float = field(
        default=21_600.0,
        metadata={
            "help": "How long a site backs off after suspension_failures failures in a row. "
            "Lower it if broken sites recover sooner.",
            "minimum": 0,
        },
    )


class WaitCause(StrEnum):
    """Why a site waits for its next turn."""

    DELAY = "delay"  # of the crawl
    CRAWL_DELAY = "Crawl-delay"  # of its robots.txt, or the operator's for this site
    RETRY_AFTER = "Retry-After"
    BACKOFF = "back-off"  # it failed several times in a row
    SUSPENDED = "suspended"  # it failed suspension_failures times in a row, and is tried again much later
    SLOWNESS = "slow answer"
    PARSER_SHARE = "parser share"  # its pages take more processor time than its share, and others wait
    SLOT_SHARE = "slot share"  # it does not answer, and silent sites hold as many request slots as they may
    LINK_SHARE = "link share"  # its pages have many links, and too many links wait for the frontier
    BYTE_SHARE = "byte share"  # its bodies take more than its share, and others wait


class TurnWait(NamedTuple):
    """How long a site waits for its next turn, and why."""

    wait_s: float
    cause: WaitCause


def step_gap_s(settings: PaceSettings, delay_s: float) -> float:
    """Return the pause between robots.txt or a redirect and the next request of the same turn."""
    return min(settings.step_gap_s, delay_s)


def turn_wait(
    settings: PaceSettings, *, delay_s: float, crawl_delay_s: float | None, retry_after_s: float | None, failures: int
) -> TurnWait:
    """Return the wait from the end of a site's turn to the beginning of its next, and its cause: the longest one.

    `failures` counts the site's failures in a row. From the third failure on the wait doubles with each, up to 64
    times the site's delay or an hour, whichever is less, but it is never shorter than the delay. In the end the site
    is suspended, and tried again much later. The first good answer resets the count.
    """
    wait = TurnWait(delay_s, WaitCause.DELAY)
    pace_s = max(delay_s, crawl_delay_s or 0.0)
    for wait_s, cause in (
        (pace_s, WaitCause.CRAWL_DELAY),
        (retry_after_s or 0.0, WaitCause.RETRY_AFTER),
        (backoff_s(pace_s, failures), WaitCause.BACKOFF),
        (settings.suspension_s if failures >= settings.suspension_failures else 0.0, WaitCause.SUSPENDED),
    ):
        if wait_s > wait.wait_s:
            wait = TurnWait(wait_s, cause)
    return wait


def with_slowness(wait: TurnWait, *, delay_s: float, response_s: float) -> TurnWait:
    """Return a wait, or the one that follows from a slow answer if that is longer."""
    slow_s = slowness_wait_s(delay_s=delay_s, response_s=response_s)
    return TurnWait(slow_s, WaitCause.SLOWNESS) if slow_s > wait.wait_s else wait


def with_share(wait: TurnWait, *, share: TurnWait | None) -> TurnWait:
    """Return a wait, or that of a site that took more than its share if that is longer."""
    return share if share is not None and share.wait_s > wait.wait_s else wait


def slowness_wait_s(*, delay_s: float, response_s: float) -> float:
    """Return the wait of a site that took `response_s` to answer: it may be overloaded.

    The site did not ask for this wait, so it need not survive a crash.
    """
    return min(SLOWNESS_FACTOR * response_s, MAX_SLOWNESS_DELAYS * delay_s)


def parse_retry_after(value: str, now_at: float) -> float | None:
    """Return the seconds that a Retry-After header asks for, a day at most; None if it is not valid."""
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), MAX_RETRY_AFTER_S)
    try:
        date = parsedate_to_datetime(value)
        until_at = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, until_at - now_at), MAX_RETRY_AFTER_S)


def backoff_s(pace_s: float, failures: int) -> float:
    """Return the wait of a site after this many failures in a row; 0 while that is normal."""
    doublings = failures - FAILURES_BEFORE_BACKOFF
    if doublings <= 0:
        return 0.0
    return min(max(pace_s, LEAST_BACKOFF_S) * 2.0 ** min(doublings, MAX_DOUBLINGS), MAX_BACKOFF_S)


_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?", re.ASCII)
