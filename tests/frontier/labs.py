"""The labs of the engines that Gossamer has: a new engine is one more class here and one more entry in `ENGINES`."""

from __future__ import annotations

import os
import signal
import warnings
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import psycopg

from gossamer.frontier.clock import boot_seconds
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.sqlite import SqliteFrontier
from tests.frontier import postgres_server
from tests.frontier.conformance.lab import Engine, ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gossamer.frontier import Frontier


class SqliteLab:
    """A frontier in a SQLite file of its own."""

    def __init__(self, folder: Path, *, real_time: bool = False) -> None:
        self.path = folder / "frontier.sqlite"
        self.clock = ManualClock()
        self._clock = boot_seconds if real_time else self.clock
        self._handles: list[SqliteFrontier] = []

    def open(self) -> SqliteFrontier:
        handle = SqliteFrontier(self.path, clock=self._clock)
        self._handles.append(handle)
        return handle

    def join(self) -> tuple[SqliteFrontier, int]:
        handle = self.open()
        return handle, handle.join("test")

    def advance(self, seconds: float) -> None:
        self.clock.now_s += seconds

    def reboot(self, *, uptime_s: float) -> None:
        self.close()
        self.clock.now_s = uptime_s

    def crash(self, worker: int, operation: Callable[[Frontier], object], *, step: int) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the child never touches the parent's threads
            child = os.fork()
        if child == 0:
            frontier = SqliteFrontier(self.path, clock=self._clock)
            frontier._worker = worker
            steps = 0

            def count(_: str) -> None:
                nonlocal steps
                steps += 1
                if steps > step:
                    os.kill(os.getpid(), signal.SIGKILL)

            frontier._database.connection.set_trace_callback(count)
            operation(frontier)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or status == 0
        return os.WIFSIGNALED(status)

    def opener(self) -> Callable[[], SqliteFrontier]:
        return partial(SqliteFrontier, self.path)

    def close(self) -> None:
        for handle in self._handles:
            handle._database.close()
        self._handles.clear()


class PostgresLab:
    """A crawl of its own name in a database that all tests of a process share."""

    _numbers = count(1)

    def __init__(self, _folder: Path, *, real_time: bool = False, version: str = "") -> None:
        self.address = postgres_server.shared_database(version)
        self.crawl = f"lab {next(self._numbers)}"
        self.clock = ManualClock()
        self._server_ms = 1e12  # the server's own clock: it runs on through any reboot of ours
        self._real_time = real_time
        self._handles: list[PostgresFrontier] = []

    def _new(self) -> PostgresFrontier:
        if self._real_time:
            return self.opener()()
        return PostgresFrontier(self.address, self.crawl, clock=self.clock, server_clock=lambda: self._server_ms)

    def open(self) -> PostgresFrontier:
        handle = self._new()
        self._handles.append(handle)
        return handle

    def join(self) -> tuple[PostgresFrontier, int]:
        handle = self.open()
        return handle, handle.join("test")

    def advance(self, seconds: float) -> None:
        self.clock.now_s += seconds
        self._server_ms += seconds * 1000

    def reboot(self, *, uptime_s: float) -> None:
        self.close()
        self.clock.now_s = uptime_s
        self._server_ms += 1234.5

    def crash(self, worker: int, operation: Callable[[Frontier], object], *, step: int) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the child never touches the parent's threads
            child = os.fork()
        if child == 0:
            frontier = self._new()
            frontier._database.worker = worker
            frontier._database._connected().execute("SELECT pg_advisory_lock(%s)", (os.getpid(),))
            steps = 0
            timed = frontier._database._timed

            def count(name: str) -> AbstractContextManager[None]:
                nonlocal steps
                steps += 1
                if steps > step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return timed(name)

            frontier._database._timed = count  # type: ignore[method-assign, assignment]
            operation(frontier)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or status == 0
        # The server notices a little later; its session's lock goes after the locks of its transaction.
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (child,))
        return os.WIFSIGNALED(status)

    def opener(self) -> Callable[[], PostgresFrontier]:
        return partial(PostgresFrontier, self.address, self.crawl)

    def close(self) -> None:
        for handle in self._handles:
            handle._database.close()
        self._handles.clear()


# A PostgreSQL server is slower than SQLite, above all when it crashes.
_HISTORIES = int(os.environ.get("GOSSAMER_TEST_HISTORIES", "40")) // len(postgres_server.versions())

ENGINES = [
    *(
        Engine(name=f"postgres{version}", new_lab=partial(PostgresLab, version=version), histories=_HISTORIES)
        for version in postgres_server.versions()
    ),
    Engine(name="sqlite", new_lab=SqliteLab, histories=1_000),
]
