"""The values of all metrics at one moment: collected in each process, added up for a machine, written as history.

A sample is a metric's name with the values of its labels, and its value: a number, or the numbers of a histogram (the
sum, then the count of each bucket). The samples of a process begin at 0 when it starts.
"""

from __future__ import annotations

from collections import Counter as Totals
from typing import TYPE_CHECKING, ClassVar, Final
from weakref import WeakSet, finalize

from gossamer.metrics.kinds import Combine, Counter, Gauge, Histogram, Metric, WorkerCounter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Key = tuple[str, ...]  # a metric's name, then the values of its labels
Value = float | list[float]
Samples = dict[Key, Value]

_BETWEEN: Final = "\t"  # name and values, in the reports of worker processes
_COMBINED: Final = {Combine.MOST: max, Combine.LEAST: min}


class WorkerCounts:
    """What one worker has counted: its heartbeats and the samples of its process read the same figures."""

    _all: ClassVar[WeakSet[WorkerCounts]] = WeakSet()
    _ended: ClassVar[Totals[tuple[WorkerCounter, tuple[str, ...]]]] = Totals()  # so that no counter ever falls

    def __init__(self) -> None:
        self.totals: Totals[tuple[WorkerCounter, tuple[str, ...]]] = Totals()
        self._all.add(self)
        finalize(self, self._ended.update, self.totals)

    def add(self, counter: WorkerCounter, *labels: str, times: int = 1) -> None:
        """Count something."""
        self.totals[counter, labels] += times

    def by_label(self, counter: WorkerCounter) -> dict[str, int]:
        """Return the counts of a counter by the value of its first label."""
        counts: Totals[str] = Totals()
        for (counted, labels), times in self.totals.items():
            if counted is counter:
                counts[labels[0] if labels else ""] += times
        return counts

    @classmethod
    def collect(cls) -> Samples:
        """Return every counter, summed over the workers of this process."""
        samples: Samples = {(each.name,): 0 for each in Metric.declared.values() if _is_plain(each)}
        for counts in (cls._ended, *(each.totals for each in cls._all)):
            for (counter, labels), times in list(counts.items()):
                key = (counter.name, *labels)
                samples[key] = samples.get(key, 0) + times  # type: ignore[operator]  # no histogram is among them
        return samples


def _is_plain(metric: Metric) -> bool:
    return isinstance(metric, WorkerCounter) and not metric.label_names


def collect() -> Samples:
    """Return the counters and histograms of this process."""
    samples = WorkerCounts.collect()
    for metric in Metric.declared.values():
        if isinstance(metric, Counter):
            samples |= {(metric.name, *values): cell.value for values, cell in list(metric.cells.items())}
        elif isinstance(metric, Histogram):
            samples |= {(metric.name, *values): cell.numbers() for values, cell in list(metric.cells.items())}
    return samples


def sort_values() -> None:
    """Sort the values of all histograms into their buckets, so that they take no memory."""
    for metric in Metric.declared.values():
        if isinstance(metric, Histogram):
            for cell in list(metric.cells.values()):
                cell.numbers()


def gauges_of(figures: Mapping[str, float]) -> Samples:
    """Return the gauges that some figures of a process are."""
    return {
        (metric.name, *values): float(figures[figure])
        for metric in Metric.declared.values()
        if isinstance(metric, Gauge)
        for figure, values in metric.figures.items()
        if figure in figures
    }


def without_gauges(samples: Samples) -> Samples:
    """Return the samples that count since a start."""
    return {key: value for key, value in samples.items() if not isinstance(Metric.declared[key[0]], Gauge)}


def add_up(total: Samples, samples: Mapping[Key, Value]) -> None:
    """Add the samples of another process to a total."""
    for key, value in samples.items():
        former = total.get(key)
        if former is None:
            total[key] = list(value) if isinstance(value, list) else value
        elif isinstance(former, list) and isinstance(value, list):
            total[key] = [one + other for one, other in zip(former, value, strict=True)]
        elif not isinstance(former, list) and not isinstance(value, list):
            metric = Metric.declared[key[0]]
            combine = _COMBINED.get(metric.combine) if isinstance(metric, Gauge) else None
            total[key] = combine(former, value) if combine else former + value


def changes(former: Samples, now: Samples) -> Samples:
    """Return the samples of now that differ: most counters rest most of the time."""
    return {key: value for key, value in now.items() if former.get(key) != value}


def to_json(samples: Samples) -> dict[str, Value]:
    """Return samples as a value for JSON."""
    return {_BETWEEN.join(key): value for key, value in samples.items()}


def from_json(given: Mapping[str, Value]) -> Samples:
    """Return what `to_json` made; metrics that this version does not know are left out."""
    keys = ((tuple(text.split(_BETWEEN)), value) for text, value in given.items())
    return {key: value for key, value in keys if key[0] in Metric.declared}


def flat(samples: Samples) -> Iterator[tuple[str, str, float]]:
    """Yield name, labels and value of every sample; of a histogram the sum and the count."""
    for (name, *values), value in samples.items():
        labels = ",".join(map("=".join, zip(Metric.declared[name].label_names, values, strict=True)))
        if isinstance(value, list):
            yield f"{name}_sum", labels, value[0]
            yield f"{name}_count", labels, sum(value[1:])
        else:
            yield name, labels, value


def snapshot() -> dict[str, float]:
    """Return all that this process has counted, flat and ready for JSON: `name{label=value}` and its value."""
    return {f"{name}{{{labels}}}" if labels else name: value for name, labels, value in flat(collect())}
