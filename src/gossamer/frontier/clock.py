"""The clock behind every wait: how long this machine has been up.

It counts suspended time and cannot be set, so no change of the wall clock makes a turn early.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]  # seconds since some fixed instant; never goes back

# Where there is no CLOCK_BOOTTIME (macOS) the monotonic clock may stand still in suspend: later, never early.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # plant: waits-on-wall-clock


def boot_seconds() -> float:
    """Return the seconds since this machine started."""
    return time.clock_gettime(_BOOT_CLOCK)
