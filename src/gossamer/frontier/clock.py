"""The clock behind every wait, and how long to back off after a failure.

The clock is how long this machine has been up. It counts suspended time and cannot be set, so no change of the wall
clock makes a turn early.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_MAX_DOUBLINGS = 30  # keeps the power of two within a float, however many failures

Clock = Callable[[], float]  # seconds since some fixed instant; never goes back

# Without CLOCK_BOOTTIME (macOS) the monotonic clock may stop while the machine sleeps: a turn is later, never early.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # plant: waits-on-wall-clock


def boot_seconds() -> float:
    """Return the seconds since this machine started."""
    return time.clock_gettime(_BOOT_CLOCK)


def backoff_s(failures: int, *, first_s: float, most_s: float) -> float:
    """Return how long to wait after this many failures in a row: twice as long each time, at most `most_s`."""
    return min(most_s, first_s * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))
