"""One worker process as its supervisor sees it: started, listened to, and waited for."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MISTAKE: Final = 2  # exit status of a worker that met a mistake of the operator's, and has said which
_MAX_LINE_BYTES: Final = 1 << 20

# Blocked while a worker starts, and inherited so: a Ctrl-C, which the terminal sends to all, never reaches it, and a
# SIGTERM waits until it is ready to stop in good order, a SIGHUP until it has a log to reopen.
_BLOCKED: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


# For the C library: one heap for all threads of a worker, and large blocks given back at once. After a quarter of an
# hour of bursts a worker had 142 MB so, and 148 without; it took as much time. The operator's own settings win.
_MEMORY: Final = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 18),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 18),
}


class Child(asyncio.Protocol):
    """A worker process and the socket to it, on which it reports in lines of JSON. Used once."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.figures: dict[str, float] = {}  # as of its last report
        self.trouble = ""  # why it starts nothing new, in a few words
        self.mistake = ""  # of the operator's: no use to start another
        self.silent_s = 0.0  # counted by the supervisor's ticks, so that one that was stopped itself blames nobody
        self._process = process
        self._unread = b""
        self._ended = asyncio.get_running_loop().create_future()

    @classmethod
    async def start(cls, command: Sequence[str], *, lock: int, output: Path) -> Child:
        """Start a process that holds the lock too; what it prints goes to the end of `output`."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, output.open("ab") as printed:
                process = _spawn(command, theirs.fileno(), lock, printed)
        except OSError:
            ours.close()
            raise
        child = cls(process)
        await asyncio.get_running_loop().create_connection(lambda: child, sock=ours)
        return child

    def stop(self) -> None:
        """Ask it to end in good order."""
        self._process.terminate()

    def follow_log(self) -> None:
        """Tell it that the log file was moved away."""
        self._process.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._end()

    async def wait(self) -> int:
        """Wait until the process is gone; return its exit status, or minus the signal that ended it."""
        await asyncio.shield(self._ended)
        return await asyncio.to_thread(self._process.wait)

    def data_received(self, data: bytes) -> None:
        """Take in what it reports."""
        self.silent_s = 0.0
        *lines, self._unread = (self._unread + data)[-_MAX_LINE_BYTES:].split(b"\n")
        for line in lines:
            self._heed(json.loads(line))

    def connection_lost(self, _error: Exception | None) -> None:
        """Note that it has closed its end: it never does while it lives."""
        self._end()

    def _heed(self, report: dict[str, Any]) -> None:
        self.mistake = report.get("mistake", "")
        self.figures = report.get("figures", self.figures)
        self.trouble = report.get("trouble", "")

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


def _spawn(command: Sequence[str], theirs: int, lock: int, printed: BinaryIO) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
    unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    try:
        return subprocess.Popen(  # noqa: S603 - takes milliseconds; it must be this very thread's child
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
    """Return the label under which a worker process joins the frontier: who sees it there can find the process."""
    return f"{socket.gethostname()}:{pid}"
