"""How a crawl stands, in words: for `gossamer status` and the dashboard. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.supervisor.ending import find_end
from gossamer.wording import count, moment, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.inspect.status import Status
    from gossamer.records import WorkerState


def state_of(status: Status) -> str:
    """Return whether a crawl runs, or how it ended."""
    running = status.running
    if running is not None:
        since = f" since {moment(running.started_at)}" if running.started_at else ""
        return f"running{since}" + (f" (pid {running.pid})" if running.pid else "")
    end = find_end(status.is_drained, status.stats, elapsed_s=0.0, max_duration_s=None)
    if status.is_finished and end:
        return f"finished: {end.value}"
    return "not running" + (" here, but elsewhere" if status.workers else "")


def heartbeat_of(status: Status, worker: WorkerState) -> str:
    """Return how long ago a worker last reported."""
    if worker.silent_s is None:
        return "unknown"
    age = span(max(0.0, worker.silent_s))
    return f"SILENT {age}" if status.is_silent(worker) else f"{age} ago"


def silence_of(status: Status) -> Iterator[str]:
    """Yield what keeps workers from working, as far as they or their silence tell."""
    if silent := sum(map(status.is_silent, status.workers)):
        yield f"{count(silent, 'worker')} silent: stopped, cut off from the frontier, or dead"
    if any(worker.figures.get("outage") for worker in status.workers):
        yield "the network seems down: workers wait for it"
