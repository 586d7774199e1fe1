"""A worker process, as its supervisor sees it: the supervisor starts it, reads its reports and waits for its end."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from gossamer.metrics.samples import from_json
from gossamer.safe_files import open_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.metrics.samples import Samples

MISTAKE: Final = 2  # exit status of a worker that found a mistake of the operator's, and has reported it
_MAX_LINE_BYTES: Final = 1 << 20
_PR_SET_PDEATHSIG: Final = 1

# Signals that are blocked while a worker starts; the worker inherits this. Ctrl-C, which the terminal sends to all
# processes, never reaches a worker. SIGTERM waits until the worker can shut down, SIGHUP until it has a log to reopen.
_BLOCKED: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

# For the C library: all threads of a worker share one heap, and large blocks are returned at once. After 15 minutes of
# bursts, a worker used 142 MB with this and 148 MB without, at the same speed. The operator's own variables win.
_MEMORY: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 18),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 18),
}


class WorkerProcess(asyncio.Protocol):
    """A worker process and the socket on which it reports in lines of JSON. Used once."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.name = ""  # in the names of its files, once it has joined the crawl
        self.figures: dict[str, float] = {}  # as of its last report
        self.samples: Samples = {}  # of all metrics, as of its last report
        self.trouble = ""  # why it starts no requests, in a few words
        self.mistake = ""  # of the operator's: another worker would end in the same way
        self.silent_s = 0.0  # counted in the supervisor's ticks: its own pause (SIGSTOP) must not count as silence
        self.was_silent = False  # the supervisor has killed it for its silence
        self._process = process
        self._unread = b""
        self._ended = asyncio.get_running_loop().create_future()

    @classmethod
    async def start(cls, command: Sequence[str], *, lock: int, output: Path) -> WorkerProcess:
        """Start a process that inherits the lock; its output is appended to `output`."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, open_file(output, "ab") as printed:
                process = _spawn(command, theirs.fileno(), lock, printed)
        except OSError:
            ours.close()
            raise
        started = cls(process)
        await asyncio.get_running_loop().create_connection(lambda: started, sock=ours)
        return started

    def stop(self) -> None:
        """Ask it to shut down."""
        self._process.terminate()

    def follow_log(self) -> None:
        """Tell it to reopen the log file, which was moved away."""
        self._process.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._end()

    async def wait(self) -> int:
        """Wait until the process has ended; return its exit status, or minus the number of the signal that ended it."""
        await asyncio.shield(self._ended)
        return await asyncio.to_thread(self._process.wait)

    def data_received(self, data: bytes) -> None:
        """Take in its reports."""
        self.silent_s = 0.0
        *lines, self._unread = (self._unread + data)[-_MAX_LINE_BYTES:].split(b"\n")
        for line in lines:
            self._take_report(json.loads(line))

    def connection_lost(self, _error: Exception | None) -> None:
        """Note that the process has ended: while it lives, it never closes the socket."""
        self._end()

    def _take_report(self, report: dict[str, Any]) -> None:
        self.mistake = report.get("mistake", "")
        self.name = report.get("name", self.name)
        self.figures = report.get("figures", self.figures)
        self.trouble = report.get("trouble", "")
        self.samples |= from_json(report.get("metrics", {}))

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


def _spawn(command: Sequence[str], theirs: int, lock: int, printed: BinaryIO) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    try:
        return subprocess.Popen(  # noqa: S603 - takes milliseconds; must be a child of this thread
            [*command, str(theirs), str(lock), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            pass_fds=(theirs, lock),
            env={**_MEMORY, **os.environ, "PYTHONPATH": path},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)


def label_of(pid: int) -> str:
    """Return the label under which a worker process joins the frontier; it tells the operator where the process is."""
    return f"{socket.gethostname()}:{pid}"


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends; elsewhere than on Linux, the closed socket tells that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the supervisor died before the call above
        sys.exit(1)
