"""Which figures the history keeps, so that a reader knows the value of each at every moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from gossamer import metrics
from gossamer.store.figure_files import MINUTE_S, TICK_S, FigureFiles
from gossamer.store.reading import row_files
from gossamer.store.schemas import FIGURES
from gossamer.supervisor.history import FigureSeries, History

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from gossamer.records import FigureRow

KEYS = [("w1", "a", ""), ("w1", "b", "x=1"), ("w2", "a", "")]
NUMBERS = st.dictionaries(st.sampled_from(KEYS), st.integers(0, 2).map(float), min_size=1)


def filled(rows: list[FigureRow]) -> dict[tuple[str, str, str], float]:
    """Return what a reader knows after these rows."""
    return {(row.worker, row.name, row.labels): row.value for row in rows}


@given(st.lists(NUMBERS, min_size=1, max_size=30))
def test_every_value_can_be_read_with_and_without_the_ticks_between_full_minutes(moments: list[dict]) -> None:  # type: ignore[type-arg]
    series = FigureSeries()
    kept: list[FigureRow] = []
    all_rows: list[FigureRow] = []
    for number, figures in enumerate(moments):
        is_minute = number * TICK_S % MINUTE_S == 0
        rows = series.rows(number * TICK_S, figures, keep=is_minute)
        all_rows += rows
        assert filled(all_rows) == filled(all_rows) | figures
        if is_minute:
            kept += rows
            assert filled(kept) == filled(kept) | figures


def test_a_value_that_has_not_changed_has_no_row_until_the_next_part() -> None:
    series = FigureSeries()
    figures = {KEYS[0]: 1.0}
    assert len(series.rows(0, figures, keep=True)) == 1
    assert series.rows(10, figures, keep=False) == series.rows(60, figures, keep=True) == []
    series.begin_part()
    assert len(series.rows(3600, figures, keep=True)) == 1


def test_a_worker_that_has_ended_leaves_its_last_counts_in_the_kept_series(tmp_path: Path) -> None:
    async def run() -> None:
        history = History(FigureFiles(tmp_path, days=7), clock=lambda: 1_800_000_005.0)
        history.end_worker("w7", {(metrics.BODY_BYTES_TOTAL.name,): 12, (metrics.IN_FLIGHT.name,): 3})
        await history.close({"": {(metrics.UPTIME_SECONDS.name,): 5}})

    asyncio.run(run())
    rows = [row for file in row_files(tmp_path, FIGURES) for batch in file.batches() for row in batch.to_pylist()]
    assert {(row["worker"].partition("@")[0], row["name"], row["value"]) for row in rows} == {
        ("w7", "gossamer_body_bytes_total", 12),
        ("supervisor", "gossamer_uptime_seconds", 5),
    }


def test_a_history_that_cannot_be_written_is_a_warning_and_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        history = History(FigureFiles(tmp_path, days=7))
        (tmp_path / "journal").rmdir()
        await history.close({"": {(metrics.UPTIME_SECONDS.name,): 5}})

    asyncio.run(run())
    assert "The history of figures cannot be written" in caplog.text
