"""The history of figures: one part per hour, crash-safe, and only what lies between full minutes is ever deleted."""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

from gossamer.records import FigureRow
from gossamer.store.checking import check
from gossamer.store.figure_files import MINUTE_S, TICK_S, FigureFiles, expired
from gossamer.store.reading import row_files
from gossamer.store.repair import repair
from gossamer.store.schemas import FIGURES, TICKS
from gossamer.supervisor.history import FigureSeries

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.store.schemas import Table

HOUR_S, DAY_S = 3600, 86_400
NOON = 1_800_000_000 // DAY_S * DAY_S + DAY_S / 2


class Clock:
    """A clock that is set by hand."""

    at = NOON

    def __call__(self) -> float:
        return self.at


def row(at: float, value: float = 1.0) -> FigureRow:
    return FigureRow(at, "w1", "gossamer_requests_total", "kind=page", value)


def values(folder: Path, table: Table) -> list[float]:
    return [
        value for file in row_files(folder, table) for batch in file.batches() for value in batch["value"].to_pylist()
    ]


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*/part-*.parquet")}


def test_what_was_written_is_there_after_a_crash(tmp_path: Path) -> None:
    files = FigureFiles(tmp_path, days=7)
    files.write([row(NOON)], keep=True)
    files.write([row(NOON + 10, 2)], keep=False)
    del files  # neither closed nor finished
    assert (values(tmp_path, FIGURES), values(tmp_path, TICKS)) == ([1], [2])
    assert repair(tmp_path).parts == 2
    assert (values(tmp_path, FIGURES), values(tmp_path, TICKS)) == ([1], [2])
    checked = check(tmp_path)
    assert (checked.figures, checked.problems) == (2, [])


def test_a_torn_journal_of_figures_makes_no_start_look_for_lost_pages(tmp_path: Path) -> None:
    FigureFiles(tmp_path, days=7).write([row(NOON)], keep=True)
    (journal,) = (tmp_path / "journal").iterdir()
    journal.write_bytes(journal.read_bytes()[:-3])
    assert repair(tmp_path).doubtful == ()


def test_every_hour_has_a_part_and_a_closed_one_never_changes(tmp_path: Path) -> None:
    clock = Clock()
    files = FigureFiles(tmp_path, days=7, clock=clock)
    for hour in range(3):
        clock.at = NOON + hour * HOUR_S
        files.end_parts(clock.at)
        for second in range(0, 120, 10):
            files.write([row(clock.at + second)], keep=second % 60 == 0)
    files.close()
    before = digests(tmp_path)
    assert sorted(name[5:15] for name in before) == sorted(2 * ["2027011512", "2027011513", "2027011514"])
    FigureFiles(tmp_path, days=7).close()
    assert digests(tmp_path) == before
    assert (len(values(tmp_path, FIGURES)), len(values(tmp_path, TICKS))) == (6, 30)


def test_parts_between_full_minutes_are_deleted_whole_after_their_days_and_full_minutes_stay(tmp_path: Path) -> None:
    clock = Clock()
    for day in range(4):
        clock.at = NOON + day * DAY_S
        files = FigureFiles(tmp_path, days=2, clock=clock)
        files.end_parts(clock.at)
        files.write([row(clock.at, day)], keep=True)
        files.write([row(clock.at + 10, day)], keep=False)
        files.close()
    assert values(tmp_path, FIGURES) == [0, 1, 2, 3]
    assert values(tmp_path, TICKS) == [1, 2, 3]  # the last rows of the first could still be two days old
    FigureFiles(tmp_path, days=2, clock=clock).end_parts(clock.at + HOUR_S)
    assert values(tmp_path, TICKS) == [2, 3]
    FigureFiles(tmp_path, days=0, clock=clock).end_parts(clock.at + HOUR_S - 1)
    assert values(tmp_path, TICKS) == [3]


def test_only_parts_of_a_store_expire(tmp_path: Path) -> None:
    foreign = [
        tmp_path / "notes.txt",
        tmp_path / "part-of-mine.parquet",
        tmp_path / "part-20000101000000000-w1-00001.tmp",
    ]
    old = tmp_path / "part-20000101000000000-supervisor-00001.parquet"
    assert expired([*foreign, old], now_at=NOON, days=7) == [old]


def test_a_disk_that_fails_costs_a_gap_and_no_memory(tmp_path: Path) -> None:
    files = FigureFiles(tmp_path, days=7)
    (tmp_path / "journal").rmdir()
    many = [row(NOON)] * 60_000
    for _ in range(2):
        assert not files.is_full
        try:
            files.write(many, keep=True)
        except OSError:
            continue
        raise AssertionError("the disk failed")
    assert files.is_full
    (tmp_path / "journal").mkdir()
    files.write([], keep=False)
    assert not files.is_full
    files.close()
    assert len(values(tmp_path, FIGURES)) == 120_000


def test_a_worker_that_is_always_busy_writes_less_than_ten_megabytes_a_day(tmp_path: Path) -> None:
    """With PostgreSQL a worker has about 145 figures, of which 100 change in ten seconds, 30 of them by fractions."""
    files, series, chance = FigureFiles(tmp_path, days=7), FigureSeries(), random.Random(1)
    figures = {("w1", f"gossamer_metric_{number // 3}_total", f"operation=kind{number}"): 0.0 for number in range(150)}
    for second in range(0, int(HOUR_S), TICK_S):
        for number, key in enumerate(figures):
            if number < 100:
                figures[key] += chance.random() if number < 30 else chance.randrange(300)
        is_minute = second % MINUTE_S == 0
        files.write(series.rows(NOON + second, figures, keep=is_minute), keep=is_minute)
    files.close()
    assert sum(path.stat().st_size for path in tmp_path.glob("*/part-*.parquet")) * 24 < 10e6
