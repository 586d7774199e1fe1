"""The kinds of metrics: a counter, a gauge and a histogram, each declared once. Their values are plain numbers.

The code that counts must be cheap: a page adds to a dozen of them. So there is no registry of objects behind a value,
and text is made only when a program asks for it (`supervisor.exposition`).
"""

from __future__ import annotations

from bisect import bisect_left
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Combine(StrEnum):
    """What the gauges of several processes make together."""

    SUM = "sum"
    MOST = "most"
    LEAST = "least"


class Metric:
    """A figure that has a name and a meaning, and answers a question of an operator."""

    declared: ClassVar[dict[str, Metric]] = {}  # by name, in the order of the declarations
    kind: ClassVar[str]

    def __init__(self, name: str, documentation: str, *, question: str, labels: tuple[str, ...] = ()) -> None:
        assert name not in self.declared, f"{name} is declared twice"
        self.name = name
        self.documentation = documentation
        self.question = question
        self.label_names = labels
        self.declared[name] = self

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


class Gauge(Metric):
    """A figure of this moment. It has no value of its own: it is read from the figures of a process."""

    kind = "gauge"

    def __init__(
        self,
        name: str,
        documentation: str,
        *,
        question: str,
        figures: Mapping[str, str],
        label: str = "",
        combine: Combine = Combine.SUM,
    ) -> None:
        """`figures` maps the names of a process's figures to the values of the label, or one name to nothing."""
        super().__init__(name, documentation, question=question, labels=(label,) if label else ())
        self.figures = {figure: (value,) if label else () for figure, value in figures.items()}
        self.combine = combine


class _Cell:
    """One number of a counter."""

    __slots__ = ("_lock", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self._lock = Lock()

    def inc(self, amount: float = 1) -> None:
        """Count something."""
        with self._lock:
            self.value += amount


class Counter(Metric):
    """Counts events since the process started. Any thread may count."""

    kind = "counter"

    def __init__(self, name: str, documentation: str, *, question: str, labels: tuple[str, ...] = ()) -> None:
        super().__init__(name, documentation, question=question, labels=labels)
        self.cells: dict[tuple[str, ...], _Cell] = {} if labels else {(): _Cell()}

    def labels(self, *values: str) -> _Cell:
        """Return the number for these values of the labels."""
        return self.cells.get(values) or self.cells.setdefault(values, _Cell())

    def inc(self, amount: float = 1) -> None:
        """Count something; for a counter without labels."""
        self.cells[()].inc(amount)


class _Buckets:
    """The numbers of a histogram. Values are only collected, and sorted into buckets when somebody asks.

    Workers ask with every heartbeat (`sort_values`), so that few values wait.
    """

    __slots__ = ("_bounds", "_lock", "_numbers", "_values", "observe")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._numbers = [0.0] * (len(bounds) + 2)
        self._values: list[float] = []  # not yet sorted
        self._lock = Lock()
        self.observe: Callable[[float], None] = self._values.append  # takes in a value, from any thread

    def numbers(self) -> list[float]:
        """Return the sum, then how many values fell into each bucket, the last without a bound."""
        with self._lock:
            taken = len(self._values)
            for value in self._values[:taken]:
                self._numbers[0] += value
                self._numbers[bisect_left(self._bounds, value) + 1] += 1
            del self._values[:taken]  # others may have come meanwhile
            return self._numbers[:]


class Histogram(Metric):
    """Counts values by size, and sums them up, since the process started. Any thread may observe."""

    kind = "histogram"

    def __init__(
        self,
        name: str,
        documentation: str,
        *,
        question: str,
        buckets: tuple[float, ...],
        labels: tuple[str, ...] = (),
    ) -> None:
        super().__init__(name, documentation, question=question, labels=labels)
        self.buckets = buckets
        self.cells: dict[tuple[str, ...], _Buckets] = {}
        if not labels:
            self.cells[()] = _Buckets(buckets)
            self.observe = self.cells[()].observe  # without labels there is one row of numbers

    def labels(self, *values: str) -> _Buckets:
        """Return the numbers for these values of the labels."""
        return self.cells.get(values) or self.cells.setdefault(values, _Buckets(self.buckets))


class WorkerCounter(Metric):
    """A counter of what workers do. Each worker counts in its own `WorkerCounts`, since a process may have several."""

    kind = "counter"
