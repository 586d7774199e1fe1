"""What the supervisor measures: the samples of all processes of this machine's crawl, added up every second."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gossamer import metrics
from gossamer.metrics.samples import add_up, without_gauges
from gossamer.store.disk import free_space
from gossamer.supervisor.upkeep import UpkeepWatch
from gossamer.worker.figures import descriptors, memory_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.metrics.samples import Samples
    from gossamer.records import Stats
    from gossamer.supervisor.process import WorkerProcess

SILENT_S: Final = 10.0  # a worker reports every second


class MachineWatch:
    """Adds up the samples of workers that live and of those that have ended, so that no counter falls."""

    def __init__(self, *, folder: Path, workers: int, reserve_bytes: int, database: Path | None = None) -> None:
        """`database` is the file of an SQLite frontier."""
        self._folder = folder
        self._workers = workers
        self._reserve_bytes = reserve_bytes
        self._log = None if database is None else database.with_name(f"{database.name}-wal")
        self._ended: Samples = {}
        self._started_s = time.monotonic()
        self._upkeep = UpkeepWatch()
        self.own: Samples = {}  # of the supervisor alone, as of the last look
        self.total: Samples = {}  # of the whole machine; replaced by each look, never changed: other threads read it

    def reap(self, child: WorkerProcess) -> None:
        """Keep the counts of a worker that has ended."""
        add_up(self._ended, without_gauges(child.samples))

    def ask(self, frontier: FrontierReader) -> None:
        """Ask the frontier what it tells once a minute. It blocks: call it where the frontier is called."""
        self._upkeep.look(frontier)

    def look(self, children: Collection[WorkerProcess], stats: Stats, uploads: Samples | None = None) -> None:
        """Measure everything now; `uploads`: the samples of the upload process."""
        figures = {
            "build": 1.0,
            "workers_wanted": self._workers,
            "workers_alive": len(children),
            "workers_silent": sum(child.silent_s > SILENT_S for child in children),
            "uptime_s": time.monotonic() - self._started_s,
            **frontier_figures(stats),
            **self._upkeep.figures,
            **self._machine_figures(),
        }
        own = metrics.collect() | metrics.gauges_of(figures)
        self.own = own | metrics.cpu_samples({"supervisor": time.process_time()})
        self.total = self._add_up(self.own, (uploads or {}, *(child.samples for child in children)))

    def _add_up(self, own: Samples, living: Iterable[Samples]) -> Samples:
        total: Samples = {}
        for samples in (own, self._ended, *living):
            add_up(total, samples)
        return total

    def _machine_figures(self) -> dict[str, float]:
        memory = memory_bytes(with_children=False)
        figures: dict[str, float] = {"disk_reserve_bytes": self._reserve_bytes, "memory_bytes": memory}
        with suppress(OSError):
            figures["disk_free_bytes"] = free_space(self._folder)
        with suppress(OSError):
            if self._log is not None:
                figures["wal_bytes"] = self._log.stat().st_size
        return figures | descriptors()


def frontier_figures(stats: Stats) -> dict[str, float]:
    """Return the figures of a frontier by the names that metrics know them by."""
    figures: dict[str, float] = {
        "frontier_known": stats.known,
        "frontier_queued": stats.queued,
        "frontier_done": stats.done,
        "frontier_pages": stats.pages,
        "frontier_sites": stats.sites,
        "frontier_sites_with_work": stats.sites_with_work,
        "frontier_sites_in_hand": stats.sites_in_hand,
        "frontier_sites_in_trouble": stats.in_trouble,
        "frontier_sites_spent": stats.sites_spent,
    }
    return figures if stats.wait_s is None else figures | {"frontier_next_due_s": stats.wait_s}
