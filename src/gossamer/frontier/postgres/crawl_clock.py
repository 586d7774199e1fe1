"""The clock of a crawl that many machines share: the server's, carried forward by each worker's own boot clock.

Crawl time is the server's clock plus an offset that the database keeps. A worker reads both once and from then on
counts by itself, so that it never follows a jump of the server's clock. A worker that lives through a jump corrects the
offset, so that workers that join later do not follow it either. Anything slower than a jump is the ordinary drift
between two clocks, and is followed. While no worker lives, the clock stands still: `resume` restarts it from its saved
value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.frontier.clock import Clock

ANCHOR_S = 10.0  # drift is followed no more often than this
DRIFT = 0.001  # no two clocks that are let run differ by more
UNCERTAIN_MS = 5.0  # what a reading may be wrong by, apart from the time that it took


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The server's clock and the crawl's offset, as one statement returned them."""

    sent_s: float  # on our boot clock
    received_s: float
    server_ms: float
    offset_ms: float
    run: int  # of the crawl's clock: it changes with every standstill

    @property
    def least_ms(self) -> float:
        """Crawl time on receipt, if the server looked at its clock just then."""
        return self.server_ms + self.offset_ms

    @property
    def most_ms(self) -> float:
        """Crawl time on receipt, if the server looked at its clock as soon as we asked."""
        return self.least_ms + (self.received_s - self.sent_s) * 1000


class CrawlClock:
    """Knows between which two bounds crawl time lies."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._run: int | None = None
        self._offset_ms = 0.0
        self._at_s = 0.0
        self._least_ms = 0.0
        self._most_ms = 0.0

    def forget(self) -> None:
        """Take the next reading as it is: a worker that joins has nothing to carry forward."""
        self._run = None

    def observe(self, reading: Reading) -> float | None:
        """Take in a reading; return the offset that belongs into the database if the server's clock has jumped."""
        if self._run != reading.run:  # plant: pg-clock-jump-followed
            self._anchor(reading)
            return None
        least, most = self._carried(reading.received_s)
        age_s = reading.received_s - self._at_s
        slack_ms = UNCERTAIN_MS + DRIFT * age_s * 1000
        if reading.least_ms <= most + slack_ms and reading.most_ms >= least - slack_ms:
            if age_s >= ANCHOR_S:
                self._anchor(reading)
            self._offset_ms = reading.offset_ms
            return None
        if reading.offset_ms == self._offset_ms:
            self._offset_ms = (least + most) / 2 - (reading.least_ms + reading.most_ms) / 2 + reading.offset_ms
            return self._offset_ms
        # Another worker corrected a jump that this one did not notice because it joined just then.
        self._at_s, self._offset_ms = reading.received_s, reading.offset_ms
        self._least_ms, self._most_ms = min(least, reading.least_ms), max(most, reading.most_ms)
        return None

    def now_ms(self) -> int:
        """Return a time that is never ahead of crawl time: what claims go by."""
        return math.floor(round(self._carried(self._clock())[0], 3))

    def wait_from_ms(self) -> int:
        """Return a time that is never behind crawl time: what waits are counted from."""
        return math.ceil(round(self._carried(self._clock())[1], 3))

    def _anchor(self, reading: Reading) -> None:
        self._run, self._offset_ms, self._at_s = reading.run, reading.offset_ms, reading.received_s
        self._least_ms, self._most_ms = reading.least_ms, reading.most_ms

    def _carried(self, at_s: float) -> tuple[float, float]:
        passed_ms = (at_s - self._at_s) * 1000
        return self._least_ms + passed_ms, self._most_ms + passed_ms
