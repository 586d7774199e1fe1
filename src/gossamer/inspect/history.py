"""The history of a crawl, read back: metrics over time, of one machine or of several that crawl together.

`read_timeline` is the one way in. It reads only the files that a period needs, and what it returns is as small as the
caller's steps are few.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.metrics import Gauge, Histogram, Metric
from gossamer.metrics.kinds import Combine
from gossamer.store import names
from gossamer.store.damage import DamagedError
from gossamer.store.figure_files import MINUTE_S, PART_S, TICK_S
from gossamer.store.reading import row_files
from gossamer.store.schemas import FIGURES, TICKS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

log = logging.getLogger(__name__)

Values = list[float | None]  # one for each step; None if no process told


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Metrics over a period, in equal steps: of counters what was counted in a step, of gauges the highest value."""

    began_at: float  # Unix seconds; a multiple of the step
    step_s: float
    steps: int
    series: Mapping[str, Mapping[str, Values]]  # by name as in the table `figures`, then by labels as there

    def total(self, name: str, *, labels: str = "") -> Values:
        """Return one metric, added up over all labels that contain these."""
        found = [values for given, values in self.series.get(name, {}).items() if _has(given, labels)]
        return [_together(values) for values in zip(*found, strict=True)] if found else [None] * self.steps

    def by_label(self, name: str, label: str) -> dict[str, Values]:
        """Return one metric by the values of one of its labels."""
        told = {pair.partition("=")[2] for labels in self.series.get(name, {}) for pair in labels.split(",")
                if pair.startswith(f"{label}=")}  # fmt: skip
        return {value: self.total(name, labels=f"{label}={value}") for value in sorted(told)}

    def mean(self, name: str, *, labels: str = "") -> Values:
        """Return the mean of a histogram's values in each step; None if there were none."""
        sums, counts = (self.total(f"{name}_{what}", labels=labels) for what in ("sum", "count"))
        return [None if not times else (whole or 0.0) / times for whole, times in zip(sums, counts, strict=True)]


class _Process(NamedTuple):
    """One process of a crawl: a worker, or a supervisor."""

    source: int  # the number of its folder: supervisors of two folders may have the same name
    worker: str


class Known(NamedTuple):
    """What the rows of one figure tell of a step."""

    first_at: float
    last: float
    most: float
    least: float


def span_of(folders: Sequence[Path]) -> tuple[float, float] | None:
    """Return a period that has all of the history; None if there is none."""
    files = [file for table in (FIGURES, TICKS) for file in row_files(folders, table)]
    begun = [names.begun_by(file.path.name)[1] for file in files]
    return (min(begun) - MINUTE_S, max(begun) + PART_S) if begun else None  # a file is named after its first moment


def read_timeline(
    folders: Sequence[Path],
    wanted: Collection[str],
    *,
    began_at: float,
    ended_at: float,
    step_s: float,
    shared: Sequence[pa.RecordBatch] = (),
) -> Timeline:
    """Return the metrics of these names over a period, added up over all processes.

    A step is at least `TICK_S`; below a minute, the rows between full minutes are read too. `shared` has rows of
    workers on other machines, as the frontier knows them; those of workers that the folders have are left out.
    """
    began_at = began_at // step_s * step_s
    steps = max(1, math.ceil((ended_at - began_at) / step_s))
    rows = _Rows(began_at=began_at, step_s=step_s, steps=steps, wanted=_row_names(wanted))
    for number, folder in enumerate(folders):
        rows.read(folder, number)
    known = {process.worker for process in rows.present}
    for batch in shared:
        of_others = pc.invert(pc.is_in(batch["worker"], pa.array(sorted(known), pa.string())))
        rows.add(batch.filter(of_others), len(folders))
    return Timeline(began_at=began_at, step_s=step_s, steps=steps, series=_combine(rows))


def _row_names(wanted: Collection[str]) -> set[str]:
    """Return names as rows have them: a histogram has two."""
    found: set[str] = set()
    for name in wanted:
        is_histogram = isinstance(Metric.declared.get(name), Histogram)
        found |= {f"{name}_sum", f"{name}_count"} if is_histogram else {name}
    return found


class _Rows:
    """The rows of a period, from the full hour before it: an hour begins with a row for every figure."""

    def __init__(self, *, began_at: float, step_s: float, steps: int, wanted: set[str]) -> None:
        self._began_at = began_at
        self._step_s = step_s
        self.steps = steps
        self._from_at = (began_at - TICK_S) // PART_S * PART_S
        self._until_at = began_at + steps * step_s
        self._wanted = pa.array(sorted(wanted), pa.string())
        self._found: list[pa.Table] = []
        self.present: dict[_Process, dict[int, float]] = defaultdict(dict)  # the first time in each step with a row
        self._has_earlier = False  # whether there are older rows than were read

    def read(self, folder: Path, source: int) -> None:
        """Read a folder's rows; a file that is damaged is left out: `verify` names it."""
        for table in (FIGURES, TICKS) if self._step_s < MINUTE_S else (FIGURES,):
            for file in row_files(folder, table):
                begun_at = names.begun_by(file.path.name)[1]
                if begun_at + PART_S < self._from_at:
                    self._has_earlier = True
                elif begun_at <= self._until_at + MINUTE_S:
                    try:
                        for batch in file.batches():
                            self.add(batch, source)
                    except DamagedError as error:
                        log.warning("%s", error)

    def add(self, batch: pa.RecordBatch, source: int) -> None:
        """Take the rows of the period, and note which processes were there."""
        seconds = pc.divide(pc.cast(batch["time"], pa.int64()), 1e6)
        is_in = pc.and_(pc.greater_equal(seconds, self._from_at), pc.less_equal(seconds, self._until_at))
        # A row tells what was until then: one at the end of a step belongs to it.
        steps = pc.subtract(pc.ceil(pc.divide(pc.subtract(seconds, self._began_at), self._step_s)), 1.0)
        table = pa.table(
            [batch["worker"], batch["name"], batch["labels"], pc.cast(steps, pa.int32()), seconds, batch["value"]],
            ["worker", "name", "labels", "step", "at", "value"],
        ).filter(is_in)
        for worker, step, at in _tuples(table.group_by(["worker", "step"]).aggregate([("at", "min")])):
            noted = self.present[_Process(source, worker)]
            noted[step] = min(at, noted.get(step, at))
        told = table.filter(pc.is_in(table["name"], self._wanted))
        self._found.append(told.append_column("source", pa.array([source] * len(told), pa.int32())))

    def may_have_begun_earlier(self, process: _Process, known: Collection[int]) -> bool:
        """Return whether a figure of a process may have a value from before the first row that was read."""
        present = self.present[process]
        is_first = min(present.values()) <= self._from_at + MINUTE_S and min(known) == min(present)
        return is_first and self._has_earlier

    def figures(self) -> dict[tuple[str, str], dict[_Process, dict[int, Known]]]:
        """Return what is known of each figure, by name and labels, then process, then step."""
        figures: dict[tuple[str, str], dict[_Process, dict[int, Known]]] = defaultdict(lambda: defaultdict(dict))
        if not self._found:
            return figures
        whole = pa.concat_tables(self._found).sort_by("at")
        grouped = whole.group_by(["source", "worker", "name", "labels", "step"], use_threads=False).aggregate(
            [("at", "min"), ("value", "last"), ("value", "max"), ("value", "min")]
        )
        for source, worker, name, labels, step, *known in _tuples(grouped):
            figures[name, labels][_Process(source, worker)][step] = Known(*known)
        return figures


def _tuples(table: pa.Table) -> Iterator[tuple]:  # type: ignore[type-arg]
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _combine(rows: _Rows) -> dict[str, dict[str, Values]]:
    """Return each figure over time, added up over all processes."""
    series: dict[str, dict[str, Values]] = defaultdict(dict)
    for (name, labels), processes in rows.figures().items():
        metric = Metric.declared.get(name)
        combine = metric.combine if isinstance(metric, Gauge) else None
        each = []
        for process, known in processes.items():
            present = rows.present[process]
            if combine:
                each.append(gauge_over_time(known, present, rows.steps, is_least=combine is Combine.LEAST))
            else:
                before = None if rows.may_have_begun_earlier(process, known) else 0.0
                each.append(counted_over_time(known, present, rows.steps, before=before))
        series[name][labels] = [_together(values, combine) for values in zip(*each, strict=True)]
    return dict(series)


def counted_over_time(
    known: Mapping[int, Known], present: Collection[int], steps: int, *, before: float | None
) -> Values:
    """Return what a process counted in each step. `before` is its count when it is first seen, None if unknown.

    Only a change has a row. A count that falls has begun again at 0.
    """
    values: Values = [None] * steps
    for step in sorted(present):
        now = known[step].last if step in known else before
        if 0 <= step < steps and before is not None and now is not None:
            values[step] = now - before if now >= before else now
        before = now
    return values


def gauge_over_time(known: Mapping[int, Known], present: Mapping[int, float], steps: int, *, is_least: bool) -> Values:
    """Return the highest value of a process's gauge in each step, or the lowest one.

    Only a change has a row. The value before it counts too if the process was there before the change.
    """
    values: Values = [None] * steps
    before: float | None = None
    for step in sorted(present):
        told = known.get(step)
        candidates = [] if told is None else [told.least if is_least else told.most]
        if before is not None and (told is None or present[step] < told.first_at):
            candidates.append(before)
        if 0 <= step < steps and candidates:
            values[step] = min(candidates) if is_least else max(candidates)
        before = before if told is None else told.last
    return values


def _together(values: Sequence[float | None], combine: Combine | None = None) -> float | None:
    """Return what the values of several processes make together."""
    told = [value for value in values if value is not None]
    if not told:
        return None
    return max(told) if combine is Combine.MOST else min(told) if combine is Combine.LEAST else sum(told)


def _has(labels: str, wanted: str) -> bool:
    return not wanted or set(wanted.split(",")) <= set(labels.split(","))
