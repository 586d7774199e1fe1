"""Which events the history tells: each once, at its time, and no longer than the process that told it lived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer import metrics
from gossamer.inspect.history_rows import Process, Told
from gossamer.inspect.marks import CrawlMark, MarkKind, find_marks, joined, read_marks
from tests.inspect.histories import write

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 1_800_000_000.0 // 3600 * 3600
HERE = Process(0, "supervisor@here")
ONE, OTHER = Process(0, "w1"), Process(0, "w2")


def told(at: float, process: Process, metric: metrics.Metric, value: float, labels: str = "") -> Told:
    return Told(at, process, metric.name, labels, value)


def event(kind: MarkKind, at: float, detail: str = "") -> CrawlMark:
    return CrawlMark(kind=kind, began_at=at, ended_at=at, detail=detail)


def test_a_supervisor_that_starts_again_is_one_mark_and_its_uptime_none() -> None:
    rows = [told(at, HERE, metrics.UPTIME_SECONDS, at - 95.2) for at in range(100, 200, 10)]
    rows += [told(at, HERE, metrics.UPTIME_SECONDS, at - 251.0) for at in range(260, 300, 10)]
    assert find_marks(rows, {}) == [event(MarkKind.START, 95.2, "here"), event(MarkKind.START, 251.0, "here")]


def test_every_replaced_worker_is_a_mark_with_its_cause() -> None:
    counter = metrics.WORKER_REPLACEMENTS_TOTAL
    rows = [
        told(10, HERE, counter, 1, "cause=signal"),
        told(20, HERE, counter, 1, "cause=signal"),  # an hour begins with a row for every figure
        told(30, HERE, counter, 2, "cause=signal"),
        told(30, HERE, counter, 1, "cause=silence"),
        told(40, HERE, counter, 1, "cause=signal"),  # of the next start
    ]
    assert find_marks(rows, {}) == [
        event(MarkKind.REPLACED, 10, "signal"),
        event(MarkKind.REPLACED, 30, "signal"),
        event(MarkKind.REPLACED, 30, "silence"),
        event(MarkKind.REPLACED, 40, "signal"),
    ]


def test_exclusions_are_seen_by_all_workers_and_marked_once() -> None:
    rows = [
        told(at, worker, metrics.EXCLUSION_CHANGES, value)
        for at, worker, value in ((10, ONE, 3), (10, OTHER, 3), (20, ONE, 4), (30, OTHER, 4), (40, OTHER, 5))
    ]
    assert find_marks(rows, {}) == [event(MarkKind.EXCLUSION, 20), event(MarkKind.EXCLUSION, 40)]


def test_a_pause_lasts_while_any_worker_is_paused_and_ends_with_the_last_one() -> None:
    rows = [
        told(at, worker, metrics.PAUSED_WORKERS, value, f"cause={cause}")
        for at, worker, value, cause in (
            (0, ONE, 0, "operator"), (10, ONE, 1, "operator"), (20, OTHER, 1, "operator"), (20, ONE, 1, "outage"),
            (30, ONE, 0, "operator"), (40, OTHER, 0, "operator"), (70, OTHER, 1, "trouble"),
        )
    ]  # fmt: skip
    assert find_marks(rows, {ONE: 50, OTHER: 90}) == [
        CrawlMark(kind=MarkKind.PAUSE, began_at=10, ended_at=40),
        CrawlMark(kind=MarkKind.OUTAGE, began_at=20, ended_at=50),
        CrawlMark(kind=MarkKind.TROUBLE, began_at=70, ended_at=90),
    ]


def test_marks_are_read_from_what_a_supervisor_has_written(tmp_path: Path) -> None:
    keys = ("supervisor@here", metrics.UPTIME_SECONDS.name, ""), ("w1", metrics.PAUSED_WORKERS.name, "cause=operator")
    moments = {
        HOUR + second: {keys[0]: second + 7.0, keys[1]: float(120 <= second < 1800)} for second in range(0, 7200, 10)
    }
    write(tmp_path, moments)
    pause = CrawlMark(kind=MarkKind.PAUSE, began_at=HOUR + 120, ended_at=HOUR + 1800)
    for step_s in (10, 60):
        assert read_marks([tmp_path], began_at=HOUR - 60, ended_at=HOUR + 7200, step_s=step_s) == [
            event(MarkKind.START, HOUR - 7, "here"),
            pause,
        ]
    assert read_marks([tmp_path], began_at=HOUR + 1200, ended_at=HOUR + 7200, step_s=60) == [pause]
    assert read_marks([tmp_path], began_at=HOUR + 3000, ended_at=HOUR + 7200, step_s=60) == []


def test_periods_that_overlap_or_touch_are_one() -> None:
    assert joined([(5, 6), (1, 2), (2, 4), (1, 3)]) == [(1, 4), (5, 6)]
