"""Gathers what the live screen shows: progress, the end of the request log, the last minutes of the history, disk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gossamer import metrics
from gossamer.cli.screen import Spark, View, draw, seconds
from gossamer.inspect.history import read_timeline
from gossamer.inspect.recent import Lately, Tail, together
from gossamer.inspect.status import sizes
from gossamer.store.disk import free_space
from gossamer.store.figure_files import TICK_S
from gossamer.wording import count

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, Group

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.history import Timeline, Values
    from gossamer.supervisor import Progress

SIZING_SHARE: Final = 0.02  # of the time, at most: a long crawl has thousands of files

SPARKS_S: Final = 600  # of the history
_SPARK_METRICS: Final = (
    metrics.FRONTIER_CLAIMED_URLS_TOTAL, metrics.FRONTIER_RELEASES_TOTAL, metrics.FRONTIER_LINKS_TOTAL,
    metrics.FRONTIER_OPERATION_SECONDS, metrics.TURN_LATENESS_SECONDS, metrics.FRONTIER_URLS,
)  # fmt: skip


class CrawlView:
    """Collects, for one crawl on one or more machines, what its live screen shows."""

    def __init__(
        self, *folders: Path, hint: str, with_history: bool = False, frontier: FrontierReader | None = None
    ) -> None:
        """`with_history`: read it too. Not in the process that writes it: a screen must not hold up a crawl.

        `frontier` adds the history of machines whose folders are not given.
        """
        self._folders = folders
        self._hint = hint
        self._with_history = with_history
        self._frontier = frontier
        self._tails = [Tail(folder) for folder in folders]
        self._sparks: tuple[Spark, ...] = ()
        self._sparks_again_at = 0.0
        self._used_bytes = 0
        self._size_again_s = 0.0  # when the files are measured next

    def look(self) -> Lately:
        """Read the end of the crawl's log."""
        now_at = time.time()
        return together([tail.look(now_at) for tail in self._tails])

    def view(self, progress: Progress, lately: Lately) -> View:
        """Return what to show now."""
        now_s = time.monotonic()
        if now_s >= self._size_again_s:
            self._used_bytes = sum(sum(sizes(folder).values()) for folder in self._folders)
            ended_s = time.monotonic()
            self._size_again_s = ended_s + (ended_s - now_s) / SIZING_SHARE
        return View(
            folder=self._folders[0],
            others=len(self._folders) - 1,
            progress=progress,
            lately=lately,
            used_bytes=self._used_bytes,
            free_bytes=min(map(free_space, self._folders)),
            hint=self._hint,
            sparks=self._look_back() if self._with_history else (),
        )

    def _look_back(self) -> tuple[Spark, ...]:
        """Return plots of the last minutes; they are read again when the history has grown."""
        now_at = time.time()
        if now_at >= self._sparks_again_at:
            self._sparks_again_at = (now_at // TICK_S + 1) * TICK_S + 1
            wanted = [metric.name for metric in _SPARK_METRICS]
            self._sparks = sparks(
                read_timeline(
                    self._folders,
                    wanted,
                    began_at=now_at - SPARKS_S,
                    ended_at=now_at // TICK_S * TICK_S,
                    step_s=TICK_S,
                    frontier=self._frontier,
                )
            )
        return self._sparks


def sparks(line: Timeline) -> tuple[Spark, ...]:
    """Return the plots that tell most about a slow crawl. Pure."""
    lines = (
        ("claimed", line.total(metrics.FRONTIER_CLAIMED_URLS_TOTAL.name),
         lambda value: f"{value / TICK_S:,.1f} URLs/s"),
        ("unused", line.total(metrics.FRONTIER_RELEASES_TOTAL.name, labels="use=unused"),
         lambda value: f"{value / TICK_S:,.1f} sites/s"),
        ("new links", line.total(metrics.FRONTIER_LINKS_TOTAL.name, labels="result=new"),
         lambda value: f"{value / TICK_S:,.1f}/s"),
        ("database", line.total(f"{metrics.FRONTIER_OPERATION_SECONDS.name}_sum"),
         lambda value: f"{seconds(value / TICK_S)}/s"),
        ("lateness", line.mean(metrics.TURN_LATENESS_SECONDS.name), seconds),
        ("queue", line.total(metrics.FRONTIER_URLS.name, labels="state=queued"),
         lambda value: count(round(value), "URL")),
    )  # fmt: skip
    told = ((name, _until_last(values), tell) for name, values, tell in lines if any(values))
    return tuple(Spark(label=name, value=tell(values[-1]), values=values) for name, values, tell in told)


def _until_last(values: Values) -> list[float]:
    """Return values up to the last that is known: the next moment may not be written yet."""
    known = next(number for number in range(len(values), 0, -1) if values[number - 1] is not None)
    return [value or 0.0 for value in values[:known]]


def fill(console: Console, view: View, *, spare_lines: int = 0) -> Group:
    """Return a screen that fills a terminal except for `spare_lines`."""
    width, height = console.size
    return draw(view, width=width, height=max(1, height - spare_lines), ascii_only=console.options.ascii_only)
