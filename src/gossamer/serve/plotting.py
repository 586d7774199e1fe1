"""What the plots of the overview show: metrics of the crawl's history, each as a rate or a value over time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gossamer.inspect.history import read_timeline, span_of
from gossamer.inspect.running import find_running
from gossamer.serve.overview import SPANS_S
from gossamer.store.figure_files import TICK_S
from gossamer.store.reading import row_files
from gossamer.store.schemas import FIGURES, TICKS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.history import Timeline, Values

MAX_STEPS: Final = 240  # points of a line
_STEPS_S: Final = (TICK_S, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot."""

    name: str
    metric: str
    labels: str = ""
    is_rate: bool = False  # of a counter: what it counted in a second
    is_mean: bool = False  # of a histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Some lines with one unit."""

    title: str
    unit: str  # as the browser writes values: number, bytes or seconds
    lines: tuple[Line, ...]


def _rate(name: str, metric: str, labels: str = "") -> Line:
    return Line(name=name, metric=metric, labels=labels, is_rate=True)


PLOTS: Final = (
    Plot(title="Requests a second", unit="number", lines=(
        _rate("pages", "gossamer_requests_total", "kind=page,result=2xx"),
        _rate("all requests", "gossamer_requests_total"),
    )),
    Plot(title="Received a second", unit="bytes", lines=(_rate("bodies", "gossamer_body_bytes_total"),)),
    Plot(title="URLs", unit="number", lines=(
        Line(name="queued", metric="gossamer_frontier_urls", labels="state=queued"),
        Line(name="done", metric="gossamer_frontier_urls", labels="state=done"),
    )),
    Plot(title="Sites", unit="number", lines=(
        Line(name="with work", metric="gossamer_frontier_sites", labels="state=with_work"),
        Line(name="in hand", metric="gossamer_frontier_sites", labels="state=in_hand"),
        Line(name="in trouble", metric="gossamer_frontier_sites", labels="state=in_trouble"),
    )),
    Plot(title="Time of a request, mean", unit="seconds", lines=(
        Line(name="request", metric="gossamer_request_seconds", is_mean=True),
        Line(name="turn begins late", metric="gossamer_turn_lateness_seconds", is_mean=True),
    )),
    Plot(title="Loop lag, largest", unit="seconds", lines=(Line(name="lag", metric="gossamer_max_loop_lag_seconds"),)),
    Plot(title="Processors used", unit="number", lines=(_rate("processors", "gossamer_cpu_seconds_total"),)),
    Plot(title="Memory", unit="bytes", lines=(Line(name="all processes", metric="gossamer_memory_bytes"),)),
)  # fmt: skip


def plots_of(folders: Sequence[Path], *, span: str, frontier: FrontierReader | None = None) -> dict[str, Any]:
    """Return all plots over the last minutes, hours or days of a crawl's history; none if it has no history.

    `frontier` adds the history of machines whose folders are not given.
    """
    known = span_of(folders, frontier)
    if known is None:
        return {"plots": []}
    ended_at = _ended_at(folders, frontier)
    began_at = max(known[0], ended_at - (SPANS_S[span] or ended_at))
    wanted = {line.metric for plot in PLOTS for line in plot.lines}
    step_s = step_for(ended_at - began_at)
    timeline = read_timeline(
        folders, wanted, began_at=began_at, ended_at=ended_at, step_s=step_s, frontier=frontier
    )  # fmt: skip
    return {
        "began_at": timeline.began_at,
        "step_s": timeline.step_s,
        "steps": timeline.steps,
        "plots": [
            {"title": plot.title, "unit": plot.unit,
             "lines": [{"name": line.name, "values": _values(timeline, line)} for line in plot.lines]}
            for plot in PLOTS
        ],
    }  # fmt: skip


def step_for(length_s: float) -> float:
    """Return the shortest step that makes no more points than a plot shows."""
    return next((step for step in _STEPS_S if length_s / step <= MAX_STEPS), _STEPS_S[-1])


def _ended_at(folders: Sequence[Path], frontier: FrontierReader | None) -> float:
    """Return now if a crawl runs here, else when the history was last written, here or elsewhere."""
    if any(find_running(folder) for folder in folders):
        return time.time()
    files = [file.path for table in (FIGURES, TICKS) for file in row_files(folders, table)]
    written = [path.stat().st_mtime for path in files if path.exists()]
    if frontier is not None and (shared := frontier.shared_span()):
        written.append(shared[1])
    return max(written, default=time.time())


def _values(timeline: Timeline, line: Line) -> Values:
    if line.is_mean:
        return timeline.mean(line.metric, labels=line.labels)
    values = timeline.total(line.metric, labels=line.labels)
    return [None if value is None else value / timeline.step_s for value in values] if line.is_rate else values
