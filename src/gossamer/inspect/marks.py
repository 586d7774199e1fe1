"""Events of a crawl that explain what its plots show: starts, replaced workers, pauses, outages and exclusions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from gossamer import metrics
from gossamer.inspect.history_rows import HistoryRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.history_rows import Process, Told

_SAME_START_S: Final = 5.0  # the two clocks of a start may differ by so much over time


class MarkKind(StrEnum):
    """What happened."""

    START = "start"
    REPLACED = "worker replaced"
    PAUSE = "pause"
    TROUBLE = "trouble"  # the disk is full, or the database away
    OUTAGE = "outage"
    EXCLUSION = "exclusion"


_CAUSES: Final = {"operator": MarkKind.PAUSE, "trouble": MarkKind.TROUBLE, "outage": MarkKind.OUTAGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlMark:
    """An event, or a period in which something lasted."""

    kind: MarkKind
    began_at: float  # Unix seconds
    ended_at: float  # as `began_at` for an event
    detail: str = ""


def read_marks(
    folders: Sequence[Path],
    *,
    began_at: float,
    ended_at: float,
    step_s: float,
    frontier: FrontierReader | None = None,
) -> list[CrawlMark]:
    """Return the events of a period. From a minute per step on, full minutes are read: shorter pauses are not seen."""
    wanted = [
        metric.name
        for metric in (metrics.UPTIME_SECONDS, metrics.WORKER_REPLACEMENTS_TOTAL, metrics.PAUSED_WORKERS,
                       metrics.EXCLUSION_CHANGES)
    ]  # fmt: skip
    rows = HistoryRows(wanted, began_at=began_at, step_s=step_s, steps=int((ended_at - began_at) // step_s) + 1)
    for number, folder in enumerate(folders):
        rows.read(folder, number)
    if frontier is not None:
        rows.read_shared(frontier, folders)
    return [mark for mark in find_marks(rows.each(), rows.last_seen) if began_at <= mark.ended_at]


def find_marks(rows: Iterable[Told], last_seen: Mapping[Process, float]) -> list[CrawlMark]:
    """Return what rows tell, by time. What lasts ends at the latest when its process was last seen. Pure."""
    by_name: dict[str, list[Told]] = defaultdict(list)
    for row in rows:
        by_name[row.name].append(row)
    marks = [
        *_starts(by_name[metrics.UPTIME_SECONDS.name]),
        *_replacements(by_name[metrics.WORKER_REPLACEMENTS_TOTAL.name]),
        *_exclusions(by_name[metrics.EXCLUSION_CHANGES.name]),
        *_pauses(by_name[metrics.PAUSED_WORKERS.name], last_seen),
    ]
    return sorted(marks, key=lambda mark: (mark.began_at, mark.kind))


def _event(kind: MarkKind, at: float, detail: str = "") -> CrawlMark:
    return CrawlMark(kind=kind, began_at=at, ended_at=at, detail=detail)


def _starts(rows: Sequence[Told]) -> list[CrawlMark]:
    """A start is as long ago as the supervisor says."""
    last: dict[Process, float] = {}
    marks = []
    for row in rows:
        started_at = row.at - row.value
        if abs(started_at - last.get(row.process, 0.0)) > _SAME_START_S:
            marks.append(_event(MarkKind.START, started_at, row.process.worker.partition("@")[2]))
        last[row.process] = started_at
    return marks


def _replacements(rows: Sequence[Told]) -> list[CrawlMark]:
    last: dict[tuple[Process, str], float] = {}
    marks = []
    for row in rows:
        key = row.process, row.labels
        if row.value and row.value != last.get(key, 0.0):
            marks.append(_event(MarkKind.REPLACED, row.at, row.labels.partition("=")[2]))
        last[key] = row.value
    return marks


def _exclusions(rows: Sequence[Told]) -> list[CrawlMark]:
    """All workers see the same changes; those before the first row are old."""
    marks = []
    most: float | None = None
    for row in rows:
        if most is not None and row.value > most:
            marks.append(_event(MarkKind.EXCLUSION, row.at))
        most = row.value if most is None else max(most, row.value)
    return marks


def _pauses(rows: Sequence[Told], last_seen: Mapping[Process, float]) -> list[CrawlMark]:
    """A pause lasts while any worker is paused for its cause."""
    open_since: dict[tuple[Process, str], float] = {}
    periods: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        key = row.process, row.labels.partition("=")[2]
        if row.value:
            open_since.setdefault(key, row.at)
        elif key in open_since:
            periods[key[1]].append((open_since.pop(key), row.at))
    for (process, cause), since_at in open_since.items():
        periods[cause].append((since_at, max(since_at, last_seen[process])))
    return [
        CrawlMark(kind=_CAUSES[cause], began_at=began_at, ended_at=ended_at)
        for cause, found in periods.items()
        for began_at, ended_at in joined(found)
    ]


def joined(periods: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return periods in order, those that overlap or touch as one."""
    found: list[tuple[float, float]] = []
    for began_at, ended_at in sorted(periods):
        if found and began_at <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], ended_at))
        else:
            found.append((began_at, ended_at))
    return found
