"""Distinguishes an outage of our own network from failing sites. Pure: events and times are passed in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from gossamer.records import Reason
from gossamer.rules.answers import TEMPORARY_REASONS

FIRST_PROBE_S: Final = 1.0
MAX_PROBE_S: Final = 30.0
FAILED_SHARE: Final = 0.8
MAX_OUTAGE_S: Final = 86_400.0  # after a longer pause the sites count as dead, and the crawl continues

# The failures that an outage causes. Not NO_SUCH_NAME: a name server has answered, and lists of seeds contain many
# dead names. Not time-outs either: those had a connection, and some of them are slow pages.
NOTHING_GETS_OUT: Final = frozenset(
    {Reason.DNS_FAILED, Reason.CONNECT_REFUSED, Reason.CONNECT_TIMEOUT, Reason.CONNECT_FAILED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageSettings:
    """When failures count as an outage of the crawl's own network."""

    outage_sites: int = field(
        default=10,
        metadata={
            "help": "The number of sites that must fail within outage_window for the crawl to suspect its own network "
            "and pause. Lower it for a crawl of fewer sites.",
            "minimum": 2,
        },
    )
    outage_window_s: float = field(
        default=10.0,
        metadata={
            "help": "The time within which outage_sites sites must fail, and none answer. "
            "Raise it if a slow crawl does not notice outages.",
            "minimum": 0,
        },
    )


class OutageGuard:
    """Pauses a crawl whose sites all fail at once.

    An outage begins when, within the window, enough distinct sites were tried, none answered, and most failed before a
    connection was made. Only a page's first failure counts: at the end of a crawl only dead sites are left, and these
    must not look like an outage. Any answer ends the outage. So does MAX_OUTAGE_S; then no other outage begins until a
    site has answered.

    While `paused`, start only probes (any page that is due), each when `until_probe` returns 0.
    """

    __slots__ = (
        "_failing", "_is_armed", "_paused_since_s", "_probe_gap_s", "_probe_s", "_recent", "_settings", "answered_s",
        "is_alert", "paused",
    )  # fmt: skip

    def __init__(self, settings: OutageSettings) -> None:
        self.paused = False  # our own network seems to be down
        self.is_alert = False  # a request failed since the last answer
        self.answered_s = -math.inf  # when a site last answered: without an alert, that is all there is to report
        self._settings = settings
        # Sites that failed within the window and since the last answer, the oldest failure first:
        # its time, and whether no connection was made.
        self._recent: dict[str, tuple[float, bool]] = {}
        self._failing = 0  # of these, those without a connection
        self._is_armed = True  # whether an outage may begin
        self._paused_since_s = 0.0
        self._probe_s = 0.0
        self._probe_gap_s = FIRST_PROBE_S

    def report(self, now_s: float, site: str, reason: Reason | None, *, tries: int) -> None:
        """Record how a request ended: `reason` is None if it was answered, with any status, else why it was not.

        `tries` is the number of earlier failures of the page, also if the request was for its robots.txt.
        """
        if reason is None:
            self.answered_s, self._is_armed, self.paused, self.is_alert = now_s, True, False, False
            self._recent.clear()
            self._failing = 0
            return
        self.is_alert = True
        if self.paused:
            if now_s - self._paused_since_s >= MAX_OUTAGE_S:
                self._is_armed = self.paused = False
        elif self._is_armed and not tries and reason is not Reason.CANCELLED:
            self._keep(now_s, site, nothing_got_out=reason in NOTHING_GETS_OUT)
            if self._looks_like_us(now_s):
                self._pause(now_s)

    def excuses(self, reason: Reason) -> bool:
        """Return whether a failure now uses up none of its page's tries.

        This holds also before the window is over: once enough sites have failed and none has answered in between, our
        own network may be the cause.
        """
        return reason in TEMPORARY_REASONS if self.paused else reason in NOTHING_GETS_OUT and self._is_suspected()

    def until_probe(self, now_s: float) -> float | None:
        """Return the time until the next probe is due; None if there is no outage."""
        return max(0.0, self._probe_s - now_s) if self.paused else None

    def probe(self, now_s: float) -> None:
        """Record that a probe starts now; each probe makes the wait for the next one longer."""
        self._probe_s = now_s + self._probe_gap_s
        self._probe_gap_s = min(2 * self._probe_gap_s, MAX_PROBE_S)

    def _keep(self, now_s: float, site: str, *, nothing_got_out: bool) -> None:
        self._forget(site)
        self._recent[site] = (now_s, nothing_got_out)
        self._failing += nothing_got_out
        begun_s = now_s - self._settings.outage_window_s
        while self._recent[oldest := next(iter(self._recent))][0] < begun_s:
            self._forget(oldest)

    def _forget(self, site: str) -> None:
        _, nothing_got_out = self._recent.pop(site, (0.0, False))
        self._failing -= nothing_got_out

    def _is_suspected(self) -> bool:
        return (
            self._is_armed
            and len(self._recent) >= self._settings.outage_sites
            and self._failing >= FAILED_SHARE * len(self._recent)
        )

    def _looks_like_us(self, now_s: float) -> bool:
        return self._is_suspected() and self.answered_s < now_s - self._settings.outage_window_s

    def _pause(self, now_s: float) -> None:
        self._recent.clear()
        self._failing = 0
        self.paused = True
        self._paused_since_s = now_s
        self._probe_gap_s = FIRST_PROBE_S
        self.probe(now_s)
