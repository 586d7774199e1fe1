"""What the history says when it is read back: every count once, whatever the steps, restarts and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.inspect.history import Timeline, counted_over_time, gauge_over_time, read_timeline, span_of
from gossamer.inspect.history_rows import Known
from gossamer.store.figure_files import MINUTE_S, PART_S, TICK_S
from tests.inspect.histories import Figures, write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HOUR = 1_800_000_000 // 3600 * 3600
REQUESTS = "gossamer_requests_total"
FOUND = "kind=page,result=2xx"
MEMORY, QUEUE, DISK = "gossamer_memory_bytes", "gossamer_frontier_urls", "gossamer_disk_free_bytes"
LATENESS = "gossamer_turn_lateness_seconds"


def steadily(
    worker: str, moments: Iterable[float], *, name: str = REQUESTS, labels: str = FOUND
) -> dict[float, Figures]:
    """A worker that counts one in every tick."""
    return {at: {(worker, name, labels): float(number)} for number, at in enumerate(moments, start=1)}


def ticks(began_at: float, length_s: float) -> list[float]:
    return [began_at + second for second in range(0, int(length_s), TICK_S)]


def read(
    folders: Path | list[Path], *wanted: str, began_at: float, length_s: float, step_s: float = TICK_S
) -> Timeline:
    listed = folders if isinstance(folders, list) else [folders]
    return read_timeline(listed, wanted, began_at=began_at, ended_at=began_at + length_s, step_s=step_s)


@pytest.mark.parametrize("step_s", [TICK_S, 30, MINUTE_S, 300, PART_S])
def test_every_count_is_in_one_step_whatever_the_steps(tmp_path: Path, step_s: float) -> None:
    write(tmp_path, steadily("w1", ticks(HOUR + 1830, 2 * PART_S)))
    timeline = read(tmp_path, REQUESTS, began_at=HOUR, length_s=3 * PART_S, step_s=step_s)
    values = timeline.total(REQUESTS)
    assert len(values) == timeline.steps == 3 * PART_S / step_s
    assert sum(value or 0 for value in values) == 720
    assert [number for number, value in enumerate(values) if value is None] == [
        number for number in range(timeline.steps)
        if number * step_s + step_s < 1830 or number * step_s >= 1820 + 2 * PART_S
    ]  # fmt: skip


def test_a_period_in_the_middle_has_only_its_own_counts(tmp_path: Path) -> None:
    write(tmp_path, steadily("w1", ticks(HOUR, 3 * PART_S)))
    for began_at in (HOUR + PART_S, HOUR + PART_S + 60, HOUR + 2 * PART_S - 600, HOUR + 2 * PART_S):
        timeline = read(tmp_path, REQUESTS, began_at=began_at, length_s=600, step_s=60)
        assert timeline.total(REQUESTS) == [6.0] * 10


def test_counts_of_workers_that_begin_end_and_begin_again_are_added_up(tmp_path: Path) -> None:
    first, second, third = (
        steadily("w1", ticks(HOUR, 300)),
        steadily("w2", ticks(HOUR + 100, 100)),
        steadily("w1", ticks(HOUR + 300, 60)),  # as a supervisor's name comes again
    )
    moments = {at: first.get(at, {}) | second.get(at, {}) | third.get(at, {}) for at in ticks(HOUR, 360)}
    write(tmp_path, moments)
    timeline = read(tmp_path, REQUESTS, began_at=HOUR - 10, length_s=370)
    assert timeline.total(REQUESTS) == [1.0] * 10 + [2.0] * 10 + [1.0] * 16 + [None]


def test_folders_of_several_machines_are_added_up_even_if_supervisors_have_one_name(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        supervisor = {
            at: {("supervisor@here", MEMORY, ""): 5.0 + number, ("supervisor@here", DISK, ""): 70.0 + number}
            | {("supervisor@here", QUEUE, "state=queued"): 100.0 - number}
            for at in ticks(HOUR, 60)
        }
        write(folder, supervisor)
    timeline = read(folders, MEMORY, DISK, QUEUE, began_at=HOUR - 10, length_s=60)
    assert timeline.total(MEMORY) == [11.0] * 6
    assert timeline.total(DISK) == [70.0] * 6  # the fullest
    assert timeline.by_label(QUEUE, "state") == {"queued": [100.0] * 6}  # both measure the same frontier


def test_a_histogram_is_read_as_its_mean(tmp_path: Path) -> None:
    keys = ("w1", f"{LATENESS}_sum", ""), ("w1", f"{LATENESS}_count", "")
    moments = {
        HOUR + 10.0: dict(zip(keys, (4.0, 8.0), strict=True)),
        HOUR + 20.0: dict(zip(keys, (7.0, 9.0), strict=True)),
        HOUR + 30.0: dict(zip(keys, (7.0, 9.0), strict=True)),
    }
    write(tmp_path, moments)
    assert read(tmp_path, LATENESS, began_at=HOUR, length_s=30).mean(LATENESS) == [0.5, 3.0, None]


def test_a_damaged_file_costs_its_own_hour(tmp_path: Path) -> None:
    write(tmp_path, steadily("w1", ticks(HOUR, 2 * PART_S)))
    first = min((tmp_path / "figures").iterdir())
    first.write_bytes(first.read_bytes()[:-100])
    timeline = read(tmp_path, REQUESTS, began_at=HOUR, length_s=2 * PART_S, step_s=600)
    assert timeline.total(REQUESTS)[:5] == [None] * 5
    assert timeline.total(REQUESTS)[7:] == [60.0] * 4 + [59.0]


def test_no_history_is_an_empty_timeline(tmp_path: Path) -> None:
    assert span_of([tmp_path]) is None
    timeline = read(tmp_path, REQUESTS, began_at=HOUR, length_s=30)
    assert (timeline.series, timeline.total(REQUESTS), timeline.mean(LATENESS)) == ({}, [None] * 3, [None] * 3)


@given(st.dictionaries(st.integers(-3, 9), st.integers(0, 5), min_size=1), st.sets(st.integers(-3, 9)))
def test_what_is_counted_in_steps_is_never_negative_and_adds_up(told: dict[int, int], quiet: set[int]) -> None:
    known = {step: Known(step, value, value, value) for step, value in told.items()}
    values = counted_over_time(known, {*told, *quiet}, 10, before=0.0)
    assert [step for step in range(10) if values[step] is not None] == sorted(
        step for step in {*told, *quiet} if step >= 0
    )
    counts = [value for _, value in sorted(told.items())]
    risen = sum(max(now - then, 0) if now >= then else now for then, now in zip([0, *counts], counts, strict=False))
    before_zero = counted_over_time(known, {step for step in {*told, *quiet} if step < 0}, 10, before=0.0)
    assert before_zero == [None] * 10
    assert sum(value or 0 for value in values) <= risen
    if min(told) >= 0:
        assert sum(value or 0 for value in values) == risen


def test_a_gauge_has_its_highest_value_also_that_from_before_a_change() -> None:
    known = {0: Known(5.0, 3.0, 8.0, 2.0), 2: Known(25.0, 1.0, 1.0, 1.0), 3: Known(30.0, 2.0, 2.0, 2.0)}
    present = {0: 5.0, 1: 10.0, 2: 20.0, 3: 30.0}
    assert gauge_over_time(known, present, 5, is_least=False) == [8.0, 3.0, 3.0, 2.0, None]
    assert gauge_over_time(known, present, 5, is_least=True) == [2.0, 3.0, 1.0, 2.0, None]
