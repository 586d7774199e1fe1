"""Whether a crawl is over by itself, and why a crawl ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gossamer.records import SeedOutcome, Stats
    from gossamer.supervisor.progress import Progress

BLIND: Final = "Whether the crawl is over cannot be told yet (%s)."  # whoever looks says so in these words


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
        """Whether the crawl has done what it was to do."""
        return self in (End.DRAINED, End.PAGE_LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a crawl ended."""

    end: End
    detail: str = ""  # a sentence, for mistakes and deaths
    progress: Progress
    seeds: tuple[SeedOutcome, ...] = ()  # what became of them, over all starts


def end_of(drained: bool, stats: Stats | None, *, elapsed_s: float, max_duration_s: float | None) -> End | None:
    """Tell whether a crawl is over by itself, and why; by the clock alone if its figures are not known."""
    if drained:
        return End.DRAINED
    if stats is not None and stats.is_full:
        return End.PAGE_LIMIT
    return End.DURATION if max_duration_s is not None and elapsed_s >= max_duration_s else None
