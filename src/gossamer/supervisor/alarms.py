"""Which causes need the operator: a crawl that is finished or stalled, a full disk, a database that is away. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from gossamer.supervisor.ending import End
from gossamer.wording import count, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.supervisor.progress import Ended, Progress

STALL_S: Final = 900.0  # without any URL settled, though some are due
LASTING_S: Final = 60.0  # a restart of a database takes less
DEATHS: Final = 3  # of workers, within DEATHS_S
DEATHS_S: Final = 600.0
AGAIN_S: Final = 3_600.0  # between two messages of one cause


class Alarm(StrEnum):
    """A cause that needs the operator."""

    FINISHED = "finished"
    STALLED = "stalled"
    DISK_FULL = "disk full"
    DATABASE_AWAY = "database away"
    WORKERS_DIE = "workers die"


@dataclass(slots=True, kw_only=True)
class AlarmWatch:
    """Finds causes in what a crawl reports every second. The caller passes in the time."""

    _settled: int = -1
    _moved_s: float = 0.0  # when a URL was last settled, or none was due
    _since_s: dict[Alarm, float] = field(default_factory=dict)  # since when there is trouble that may pass
    _deaths_s: list[float] = field(default_factory=list)  # when workers were replaced
    _deaths: int = 0

    def look(self, progress: Progress, *, deaths: int, now_s: float) -> dict[Alarm, str]:
        """Return the causes that hold now, each with what is known; `deaths` counts the workers replaced so far."""
        found = {}
        if (disk := _find(progress.troubles, "disk nearly full")) is not None:
            found[Alarm.DISK_FULL] = disk
        away = _find(progress.troubles, "the frontier cannot be read", "waits for the frontier")
        unwritten = None if away else _find(progress.troubles, "cannot write")
        for alarm, trouble in ((Alarm.DATABASE_AWAY, away), (Alarm.DISK_FULL, unwritten)):
            if trouble is None:
                self._since_s.pop(alarm, None)
            elif now_s - self._since_s.setdefault(alarm, now_s) >= LASTING_S:
                found[alarm] = trouble
        if self._is_stalled(progress, now_s):
            waiting = count(progress.stats.queued, "URL")
            found[Alarm.STALLED] = f"no URL was settled for {span(STALL_S)}, and {waiting} wait"
        if died := self._recent_deaths(deaths, now_s):
            found[Alarm.WORKERS_DIE] = f"{count(died, 'worker')} died within {span(DEATHS_S)}"
        return found

    def _recent_deaths(self, deaths: int, now_s: float) -> int:
        """Return how many workers died lately; 0 if they are few."""
        self._deaths_s += [now_s] * (deaths - self._deaths)
        self._deaths = deaths
        self._deaths_s = [at_s for at_s in self._deaths_s if now_s - at_s < DEATHS_S]
        return len(self._deaths_s) if len(self._deaths_s) >= DEATHS else 0

    def _is_stalled(self, progress: Progress, now_s: float) -> bool:
        stats = progress.stats
        settled = stats.done + sum(stats.given_up.values())
        is_idle = stats.is_paused or not stats.queued or progress.next_due_s is not None
        if is_idle or settled != self._settled:
            self._settled, self._moved_s = settled, now_s
        return now_s - self._moved_s >= STALL_S


def at_the_end(ended: Ended) -> dict[Alarm, str]:
    """Return the cause for which a crawl ended, if the operator should hear of it."""
    if ended.end.is_finish:
        return {Alarm.FINISHED: f"{ended.end.value}; {count(ended.progress.stats.pages, 'page')} stored"}
    return {Alarm.WORKERS_DIE: ended.detail.rstrip(".")} if ended.end is End.DYING else {}


def is_due(sent_at: Mapping[str, float], alarm: Alarm, now_at: float) -> bool:
    """Return whether a cause may be told, given when each was told last (Unix seconds)."""
    return not 0 <= now_at - sent_at.get(alarm.value, -math.inf) < AGAIN_S


def _find(troubles: tuple[str, ...], *beginnings: str) -> str | None:
    return next((trouble for trouble in troubles if trouble.startswith(beginnings)), None)
