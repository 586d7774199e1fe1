"""Why a crawl ended, and whether it is over by itself. Pure."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gossamer.records import Stats

END_UNKNOWN: Final = "The crawl cannot tell yet whether it is over (%s)."  # logged if the frontier cannot be read
LOG_NOT_ROTATED: Final = "No new log file can be begun (%s)."


class End(Enum):
    """Why a crawl ended."""

    DRAINED = "nothing is left to fetch"
    PAGE_LIMIT = "the page limit is reached"
    DURATION = "the time is up"
    STOPPED = "stopped"
    KILLED = "ended at once"
    MISTAKE = "the operator's mistake"
    DYING = "workers keep dying"

    @property
    def is_finish(self) -> bool:
        """Whether the crawl has done all its work."""
        return self in (End.DRAINED, End.PAGE_LIMIT)


def find_end(drained: bool, stats: Stats | None, *, elapsed_s: float, max_duration_s: float | None) -> End | None:
    """Return why a crawl is over by itself, or None if it goes on; without `stats`, only the duration decides."""
    if drained:
        return End.DRAINED
    if stats is not None and stats.is_full:
        return End.PAGE_LIMIT
    return End.DURATION if max_duration_s is not None and elapsed_s >= max_duration_s else None
