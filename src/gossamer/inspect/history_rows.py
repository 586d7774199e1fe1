"""The rows of a crawl's history in some period: which figures the processes told, and which processes were there."""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.inspect.shared_history import shared_tables
from gossamer.metrics import Histogram, Metric
from gossamer.store import names
from gossamer.store.damage import DamagedError
from gossamer.store.figure_files import MINUTE_S, PART_S, TICK_S
from gossamer.store.reading import row_files
from gossamer.store.schemas import FIGURES, TICKS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from gossamer.frontier import FrontierReader

log = logging.getLogger(__name__)


class Process(NamedTuple):
    """One process of a crawl: a worker, or a supervisor."""

    source: int  # the number of its folder: supervisors of two folders may have the same name; others come after them
    worker: str


class Known(NamedTuple):
    """What the rows of one figure tell of a step."""

    first_at: float
    last: float
    most: float
    least: float


class Told(NamedTuple):
    """One row: the value that a figure of a process had from a moment on."""

    at: float
    process: Process
    name: str
    labels: str
    value: float


def span_of(folders: Sequence[Path], frontier: FrontierReader | None = None) -> tuple[float, float] | None:
    """Return a period that has all of the history, also that in the frontier; None if there is none."""
    files = [file for table in (FIGURES, TICKS) for file in row_files(folders, table)]
    begun = [names.begun_by(file.path.name)[1] for file in files]
    # A file is named after its first moment.
    spans = [(min(begun) - MINUTE_S, max(begun) + PART_S)] if begun else []
    if frontier is not None and (shared := frontier.shared_span()):
        spans.append((shared[0] - MINUTE_S, shared[1]))
    return (min(began for began, _ in spans), max(ended for _, ended in spans)) if spans else None


class HistoryRows:
    """The rows of a period, from the full hour before it: an hour begins with a row for every figure."""

    def __init__(self, wanted: Collection[str], *, began_at: float, step_s: float, steps: int) -> None:
        self._began_at = began_at
        self._step_s = step_s
        self.steps = steps
        self._from_at = (began_at - TICK_S) // PART_S * PART_S
        self._until_at = began_at + steps * step_s
        self._wanted = sorted(_row_names(wanted))
        self._found: list[pa.Table] = []
        self.last_seen: dict[Process, float] = {}  # when each process had its last row
        self.present: dict[Process, dict[int, float]] = defaultdict(dict)  # the first time in each step with a row
        self._has_earlier = False  # whether there are older rows than were read
        self._by_minute: set[int] = set()  # the sources that have only full minutes

    def read(self, folder: Path, source: int) -> None:
        """Read a folder's rows; a file that is damaged is left out: `verify` names it."""
        for table in (FIGURES, TICKS) if self._step_s < MINUTE_S else (FIGURES,):
            for file in row_files(folder, table):
                begun_at = names.begun_by(file.path.name)[1]
                if begun_at + PART_S < self._from_at:
                    self._has_earlier = True
                elif begun_at <= self._until_at + MINUTE_S:
                    try:
                        batches = list(file.batches())
                    except DamagedError as error:
                        log.warning("%s", error)
                        continue
                    if batches:
                        self._add(pa.Table.from_batches(batches), source)

    def read_shared(self, frontier: FrontierReader, folders: Sequence[Path]) -> None:
        """Read what other machines than those of these folders share in the frontier."""
        span = frontier.shared_span()
        if span is None:
            return
        self._has_earlier |= span[0] < self._from_at
        found = shared_tables(
            frontier, folders, since_at=self._from_at, until_at=self._until_at, wanted=self._wanted
        )  # fmt: skip
        for source, (_, table) in enumerate(found, start=len(folders)):
            self._by_minute.add(source)
            self._add(table, source)

    def steps_between(self, process: Process) -> int:
        """Return how many steps a process passes at most from one row to the next."""
        return max(1, int(MINUTE_S // self._step_s)) if process.source in self._by_minute else 1

    def steps_told(self) -> int:
        """Return how many steps are told of by all machines that live: those in the frontier tell once a minute."""
        last: dict[int, float] = {}
        for process, at in self.last_seen.items():
            if process.source in self._by_minute:
                last[process.source] = max(at, last.get(process.source, at))
        # The last row of a machine that has stopped is not that of a full minute.
        awaited = [at for at in last.values() if at % MINUTE_S == 0 and self._until_at - at < 2 * MINUTE_S]
        return math.ceil((min(awaited) - self._began_at) / self._step_s) if awaited else self.steps

    def _add(self, stored: pa.Table, source: int) -> None:
        """Take the rows of the period, and note which processes were there."""
        seconds = pc.divide(pc.cast(stored["time"], pa.int64()), 1e6)
        is_in = pc.and_(pc.greater_equal(seconds, self._from_at), pc.less_equal(seconds, self._until_at))
        # A row tells what was until then: one at the end of a step belongs to it.
        steps = pc.subtract(pc.ceil(pc.divide(pc.subtract(seconds, self._began_at), self._step_s)), 1.0)
        table = pa.table(
            [stored["worker"], stored["name"], stored["labels"], pc.cast(steps, pa.int32()), seconds, stored["value"]],
            ["worker", "name", "labels", "step", "at", "value"],
        ).filter(is_in)
        seen = table.group_by(["worker", "step"]).aggregate([("at", "min"), ("at", "max")])
        for worker, step, first_at, last_at in _tuples(seen):
            process = Process(source, worker)
            noted = self.present[process]
            noted[step] = min(first_at, noted.get(step, first_at))
            self.last_seen[process] = max(last_at, self.last_seen.get(process, last_at))
        told = table.filter(pc.is_in(table["name"], pa.array(self._wanted, pa.string())))
        self._found.append(told.append_column("source", pa.array([source] * len(told), pa.int32())))

    def may_have_begun_earlier(self, process: Process, known: Collection[int]) -> bool:
        """Return whether a figure of a process may have a value from before the first row that was read."""
        present = self.present[process]
        is_first = min(present.values()) <= self._from_at + MINUTE_S and min(known) == min(present)
        return is_first and self._has_earlier

    def figures(self) -> dict[tuple[str, str], dict[Process, dict[int, Known]]]:
        """Return what is known of each figure, by name and labels, then process, then step."""
        figures: dict[tuple[str, str], dict[Process, dict[int, Known]]] = defaultdict(lambda: defaultdict(dict))
        if not self._found:
            return figures
        grouped = (
            self._whole()
            .group_by(["source", "worker", "name", "labels", "step"], use_threads=False)
            .aggregate([("at", "min"), ("value", "last"), ("value", "max"), ("value", "min")])
        )
        for source, worker, name, labels, step, *known in _tuples(grouped):
            figures[name, labels][Process(source, worker)][step] = Known(*known)
        return figures

    def each(self) -> Iterator[Told]:
        """Yield the rows by time."""
        columns = ["at", "source", "worker", "name", "labels", "value"]
        for at, source, worker, *told in _tuples(self._whole().select(columns)) if self._found else ():
            yield Told(at, Process(source, worker), *told)

    def _whole(self) -> pa.Table:
        return pa.concat_tables(self._found).sort_by("at")


def _tuples(table: pa.Table) -> Iterator[tuple]:  # type: ignore[type-arg]
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _row_names(wanted: Collection[str]) -> set[str]:
    """Return names as rows have them: a histogram has two."""
    found: set[str] = set()
    for name in wanted:
        is_histogram = isinstance(Metric.declared.get(name), Histogram)
        found |= {f"{name}_sum", f"{name}_count"} if is_histogram else {name}
    return found
