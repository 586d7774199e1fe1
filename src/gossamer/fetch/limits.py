"""How many requests may be under way at once, given the open files that this process may have."""

from __future__ import annotations

import resource

# Where the hard limit is "unlimited", the kernel still has an upper bound: these values are tried in turn.
_ENOUGH = (65_536, 10_240)


def raise_descriptor_limit() -> int:
    """Raise this process's soft limit of open files as far as possible, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in _ENOUGH if hard == resource.RLIM_INFINITY else (hard,):
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            break
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            continue
        break
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _ENOUGH[0] if soft == resource.RLIM_INFINITY else soft


def in_flight_limit(wanted: int, descriptors: int) -> int:
    """Return how many requests may be under way with this many descriptors. Pure.

    A request uses one descriptor, and for an instant two. A quarter is left for connections that are still
    closing, and 64 for files, the name server, the frontier and the page process.
    """
    return max(1, min(wanted, descriptors * 3 // 4 - 64))
