"""How long to wait before what failed is tried again. Pure."""

from __future__ import annotations

_MAX_DOUBLINGS = 30  # more would, after an hour of failures, make a number that is too large to be one


def growing_wait_s(failures: int, *, first_s: float, most_s: float) -> float:
    """Return how long to wait after so many failures in a row: each time twice as long, and never longer than most."""
    return min(most_s, first_s * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))
