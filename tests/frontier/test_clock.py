"""The clock behind every wait."""

from __future__ import annotations

import time

from gossamer.frontier.clock import boot_seconds


def test_waits_are_counted_on_a_clock_that_nobody_can_set() -> None:
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    before_s = time.clock_gettime(clock)
    now_s = boot_seconds()
    assert before_s <= now_s <= time.clock_gettime(clock)
    assert abs(now_s - time.time()) > 86_400  # unless this machine was started in 1970
