"""A worker process: `python -m gossamer.crawl.worker_process FOLDER SOCKET LOCK PARENT`, started by the supervisor.

It dies with its supervisor: the kernel kills it on Linux; elsewhere it ends when the socket is closed. SIGTERM shuts it
down, SIGHUP makes it reopen the log, and SIGINT never reaches it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import signal
import socket
import sys
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gossamer import metrics
from gossamer.crawl.compose import open_worker
from gossamer.crawl.engines import open_frontier
from gossamer.crawl.folder import read_settings
from gossamer.crawl.log import name_worker, open_log, reopen_log, reopen_output
from gossamer.crawl.terms import shared_terms
from gossamer.errors import GossamerError
from gossamer.extras import do_without_pandas
from gossamer.frontier import FrontierError, UnreachableError
from gossamer.frontier.clock import backoff_s, boot_seconds
from gossamer.metrics.samples import changes, to_json
from gossamer.safe_files import protect_from_others
from gossamer.store.names import name_of
from gossamer.supervisor.process import MISTAKE, die_with, label_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from gossamer.crawl.settings import Settings
    from gossamer.frontier import Frontier
    from gossamer.metrics.samples import Samples
    from gossamer.worker import Figures, Worker

log = logging.getLogger(__name__)

REPORT_EVERY_S: Final = 1.0
FIRST_JOIN_WAIT_S: Final = 0.5
MAX_JOIN_WAIT_S: Final = 4.0  # between two attempts to join
GARBAGE_OBJECTS: Final = 100_000


def main() -> None:
    """Crawl until the supervisor, or the operator through the frontier, stops the worker."""
    folder, descriptor, lock, parent = Path(sys.argv[1]), *map(int, sys.argv[2:])
    die_with(parent)
    protect_from_others()
    do_without_pandas()
    os.set_inheritable(lock, False)  # kept open to the end, but not inherited by our own child processes
    supervisor = socket.socket(fileno=descriptor)
    try:
        settings = read_settings(folder)
        with open_log(folder, settings.crawl.log_level, settings.log.log_format):
            _collect_garbage_rarely()
            _run(_crawl(folder, settings, supervisor))
    except GossamerError as mistake:
        supervisor.sendall(_line(mistake=str(mistake)))
        sys.exit(MISTAKE)


async def _crawl(folder: Path, settings: Settings, supervisor: socket.socket) -> None:
    label = label_of(os.getpid())
    frontier, worker_id = _join(folder, settings, label, supervisor)
    with frontier:
        name = name_of(worker_id)
        name_worker(name)
        supervisor.sendall(_line(name=name))
        async with open_worker(
            frontier=frontier, folder=folder, name=name, label=label, settings=settings, clock=boot_seconds
        ) as (worker, figures):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _follow_log, folder)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})  # see `WorkerProcess`
            reader, writer = await asyncio.open_connection(sock=supervisor)
            reporting = asyncio.create_task(_report(worker, figures, writer))
            watching = asyncio.create_task(_end_with(reader))
            await worker.run()
            reporting.cancel()
            watching.cancel()
            writer.write(_line(figures=figures.snapshot(), metrics=to_json(figures.samples())))
            await writer.drain()


def _join(folder: Path, settings: Settings, label: str, supervisor: socket.socket) -> tuple[Frontier, int]:
    """Open the frontier and join it as a worker; wait for an unreachable database, since it was there at the start."""
    for attempt in count(1):
        try:
            with ExitStack() as stack:
                frontier = stack.enter_context(open_frontier(folder, settings.frontier, begin=False))
                worker = frontier.join(label, shared_terms(settings))
                stack.pop_all()
                return frontier, worker
        except (UnreachableError, FrontierError) as error:
            said = str(error).rstrip(".")
            log.warning("This worker waits for the frontier (%s).", said)
            supervisor.sendall(_line(trouble=f"waits for the frontier: {said}"))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # it may end now: it owns nothing
        wait_s = backoff_s(attempt, first_s=FIRST_JOIN_WAIT_S, most_s=MAX_JOIN_WAIT_S)
        time.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads the load
    raise AssertionError("the loop ends only by returning")


def _follow_log(folder: Path) -> None:
    reopen_log()
    reopen_output(folder)


async def _report(worker: Worker, figures: Figures, writer: asyncio.StreamWriter) -> None:
    """Send figures to the supervisor once a second, unless it has not yet read the last ones."""
    reported: Samples = {}
    while True:
        if not writer.transport.get_write_buffer_size():
            samples = figures.samples()
            new = to_json(changes(reported, samples))
            writer.write(_line(figures=figures.snapshot(), trouble=worker.trouble, metrics=new))
            reported = samples
        if worker.trouble:
            metrics.PAUSED_SECONDS_TOTAL.inc(REPORT_EVERY_S)
        await asyncio.sleep(REPORT_EVERY_S)


async def _end_with(reader: asyncio.StreamReader) -> None:
    """End at once when the supervisor ends: no process would wait for a graceful shutdown."""
    await reader.read()
    os._exit(1)


def _collect_garbage_rarely() -> None:
    """Run the garbage collector a hundred times less often: a page leaves no cycles, and each run would cost time."""
    gc.freeze()  # everything loaded so far stays
    gc.set_threshold(GARBAGE_OBJECTS, 50, 100)


def _line(**report: Any) -> bytes:
    return json.dumps(report).encode() + b"\n"


def _run(crawling: Coroutine[None, None, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(crawling)
    else:
        uvloop.run(crawling)


if __name__ == "__main__":
    main()
