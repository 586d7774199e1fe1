"""The history of a crawl, read back: metrics over time, of one machine or of several that crawl together.

`read_timeline` is the one way in. It reads only the files that a period needs, and what it returns is as small as the
caller's steps are few.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.inspect.history_rows import HistoryRows, Known, span_of
from gossamer.metrics import Gauge, Metric
from gossamer.metrics.kinds import Combine

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from gossamer.frontier import FrontierReader

__all__ = ["Timeline", "Values", "counted_over_time", "gauge_over_time", "read_timeline", "span_of", "spread"]

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


def read_timeline(
    folders: Sequence[Path],
    wanted: Collection[str],
    *,
    began_at: float,
    ended_at: float,
    step_s: float,
    frontier: FrontierReader | None = None,
) -> Timeline:
    """Return the metrics of these names over a period, added up over all processes.

    A step is at least `TICK_S`; below a minute, the rows between full minutes are read too. With a `frontier`, machines
    that share their history there are included; they tell full minutes, and so the last steps may be unknown.
    """
    began_at = began_at // step_s * step_s
    steps = max(1, math.ceil((ended_at - began_at) / step_s))
    rows = HistoryRows(wanted, began_at=began_at, step_s=step_s, steps=steps)
    for number, folder in enumerate(folders):
        rows.read(folder, number)
    if frontier is not None:
        rows.read_shared(frontier, folders)
    return Timeline(began_at=began_at, step_s=step_s, steps=steps, series=_combine(rows))


def _combine(rows: HistoryRows) -> dict[str, dict[str, Values]]:
    """Return each figure over time, added up over all processes."""
    series: dict[str, dict[str, Values]] = defaultdict(dict)
    for (name, labels), processes in rows.figures().items():
        metric = Metric.declared.get(name)
        combine = metric.combine if isinstance(metric, Gauge) else None
        each = []
        for process, known in processes.items():
            present = rows.present[process]
            if combine:
                values = gauge_over_time(known, present, rows.steps, is_least=combine is Combine.LEAST)
            else:
                before = None if rows.may_have_begun_earlier(process, known) else 0.0
                values = counted_over_time(known, present, rows.steps, before=before)
            each.append(spread(values, rows.steps_between(process), is_count=combine is None))
        told = [_together(values, combine) for values in zip(*each, strict=True)][: rows.steps_told()]
        series[name][labels] = told + [None] * (rows.steps - len(told))
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


def spread(values: Values, steps: int, *, is_count: bool) -> Values:
    """Return values that are told once in some steps as if they were told in each: a count in equal parts."""
    spread = list(values)
    before = -1
    for step, value in enumerate(values):
        if value is not None:
            first = max(before + 1, step - steps + 1)
            each = value / (step - first + 1) if is_count else value
            spread[first : step + 1] = [each] * (step - first + 1)
            before = step
    return spread


def _together(values: Sequence[float | None], combine: Combine | None = None) -> float | None:
    """Return what the values of several processes make together."""
    told = [value for value in values if value is not None]
    if not told:
        return None
    return max(told) if combine is Combine.MOST else min(told) if combine is Combine.LEAST else sum(told)


def _has(labels: str, wanted: str) -> bool:
    return not wanted or set(wanted.split(",")) <= set(labels.split(","))
