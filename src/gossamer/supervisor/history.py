"""The history of a crawl on this machine: every ten seconds, the figures of all processes that have changed.

The supervisor writes the figures of its workers too: it has them already, and so a machine has one writer and one part
per hour, and a killed worker has still left its last figures.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gossamer.frontier import FrontierError
from gossamer.metrics.samples import flat, without_gauges
from gossamer.records import FigureRow, SharedFigures
from gossamer.store.figure_files import MINUTE_S, PART_S, TICK_S
from gossamer.store.names import SUPERVISOR
from gossamer.supervisor.repeated_warning import RepeatedWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gossamer.frontier import OperatorFrontier
    from gossamer.metrics.samples import Samples
    from gossamer.store.figure_files import FigureFiles

log = logging.getLogger(__name__)

CLOSE_S: Final = 2.0
MAX_UNSHARED: Final = 1_000  # minutes of processes, about 15 MB, while the database is away
Figures = dict[tuple[str, str, str], float]  # by worker, name and labels


class FigureSeries:
    """Decides which figures are written: those that have changed, and all at the begin of a part. Pure.

    A reader takes a figure without a row to be as in the row before, in the same hour. That must also hold for one who
    reads only full minutes, since the figures between them are deleted some day. A process without any row was not
    there: its processor time always changes.
    """

    def __init__(self) -> None:
        self._at_minute: Figures = {}  # as of the last full minute of this part
        self._at_tick: Figures = {}  # as of the last tick of this part

    def begin_part(self) -> None:
        """Forget all that was written."""
        self._at_minute, self._at_tick = {}, {}

    def rows(self, at: float, figures: Figures, *, keep: bool) -> list[FigureRow]:
        """Return the rows of a moment; `keep`: it is a full minute, or the end."""
        before = (self._at_tick, self._at_minute) if keep else (self._at_tick,)
        changed = {key: value for key, value in figures.items() if any(then.get(key) != value for then in before)}
        self._at_tick |= figures
        if keep:
            self._at_minute |= figures
        return [FigureRow(at, *key, value) for key, value in changed.items()]


class History:
    """Keeps the figures of all processes, in a thread of its own: a slow disk must not hold up the supervisor."""

    def __init__(self, files: FigureFiles, *, clock: Callable[[], float] = time.time) -> None:
        self._files = files
        self._clock = clock  # Unix seconds
        self._series = FigureSeries()
        self._own_name = f"{SUPERVISOR}@{socket.gethostname()}"
        self._ended: dict[str, Samples] = {}  # counts of workers that have ended since the last full minute
        self._hour = -1
        self._unshared: deque[SharedFigures] = deque(maxlen=MAX_UNSHARED)  # full minutes not yet told to other machines
        self._failing = RepeatedWarning(log, "The history of figures cannot be written (%s); it has a gap.")
        self._not_shared = RepeatedWarning(log, "Other machines do not see the history of this one for now (%s).")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="history")

    def end_worker(self, name: str, samples: Samples) -> None:
        """Take the last figures of a worker that has ended."""
        if name:
            self._ended[name] = without_gauges(samples)

    async def keep(self, current: Callable[[], Mapping[str, Samples]]) -> None:
        """Write the figures that `current` returns at every tick, until cancelled; the supervisor has no name there."""
        while True:
            await asyncio.sleep(TICK_S - self._clock() % TICK_S)
            at = self._clock() // TICK_S * TICK_S
            await self._take(at, current(), keep=at % MINUTE_S == 0)

    def share(self, frontier: OperatorFrontier) -> None:
        """Tell other machines the full minutes that are new. It blocks: call it where the frontier is called."""
        told = list(self._unshared)
        try:
            frontier.share_figures(told, days=self._files.days)
        except FrontierError as error:
            self._not_shared.warn(error)
            return
        self._not_shared.clear()
        for one in told:
            with suppress(ValueError):  # others pushed it out meanwhile
                self._unshared.remove(one)

    async def close(self, last: Mapping[str, Samples]) -> None:
        """Write the last figures, and finish all files; give up on a disk that does not answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._take(self._clock(), last, keep=True)
                await self._in_thread(self._files.close)
        self._thread.shutdown(wait=False)

    async def _take(self, at: float, samples: Mapping[str, Samples], *, keep: bool) -> None:
        figures = self._flat(samples)
        if keep:
            self._ended = {}
        await self._in_thread(self._write, at, figures, keep)

    def _flat(self, samples: Mapping[str, Samples]) -> Figures:
        return {
            (worker or self._own_name, name, labels): value
            for worker, of_worker in {**self._ended, **samples}.items()
            for name, labels, value in flat(of_worker)
        }

    def _write(self, at: float, figures: Figures, keep: bool) -> None:
        if at // PART_S != self._hour:
            self._hour = int(at // PART_S)
            self._series.begin_part()
            self._files.end_parts(at)
        rows = [] if self._files.is_full else self._series.rows(at, figures, keep=keep)
        if keep:
            self._unshared.extend(by_process(at, rows))
        self._files.write(rows, keep=keep)

    async def _in_thread(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
        except OSError as error:
            self._failing.warn(error)
        else:
            self._failing.clear()


def by_process(at: float, rows: Iterable[FigureRow]) -> list[SharedFigures]:
    """Return the rows of a moment as one value per process."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in rows:
        found.setdefault(row.worker, {})[row.name, row.labels] = row.value
    return [SharedFigures(at=at, worker=worker, figures=figures) for worker, figures in found.items()]
