"""Starts page processes. One from scratch takes 0.2 s of processor time, most of it to import libraries.

So after a page has killed a process, another process is started from which the next ones are forked, in milliseconds:
hostile pages would keep the others waiting for each new process. `docs/decisions/0019-fair-shares.md` says why.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

FORKER: Final = "forker"  # the argument that makes a process one from which others are forked
ORDER_BYTES: Final = 8  # a process id to reap, or 0 to fork; the answer is an exit status, or a process id
ANSWER_S: Final = 2.0  # a forker that is silent for this long is of no use any more

# Keep freed memory instead of returning it to the system and requesting it for every page (5 % faster for large pages).
# The worker has other settings of its own, which must not reach this process.
_MALLOC: Final = {"MALLOC_MMAP_THRESHOLD_": str(8 << 20), "MALLOC_TRIM_THRESHOLD_": str(16 << 20)}

# What the process may know of the worker's environment: how Python, the C library and its allocator work. Never the
# settings of the crawl and of PostgreSQL, which may hold a password: a page that takes the process over could send it.
_PASSED_ON: Final = re.compile(
    r"PYTHON[A-Z_]*|MALLOC_[A-Z_]*|GLIBC_TUNABLES|LC_[A-Z]+|LANG|LANGUAGE|TZ|(LD|DYLD|DYLD_FALLBACK)_LIBRARY_PATH|"
    r"LD_PRELOAD|DYLD_INSERT_LIBRARIES"
)


class Started(Protocol):
    """A process that was started: what `subprocess.Popen` and `_Forked` have in common."""

    @property
    def pid(self) -> int:
        """The process id."""

    def kill(self) -> None:
        """Kill the process if it is alive."""

    def wait(self) -> int:
        """Wait until it has ended, and return its exit status; a negative one is a signal."""


class ProcessStarter:
    """Starts the page processes of a worker, by forking once one of them was lost."""

    def __init__(self) -> None:
        self._forker: _Forker | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use this loop."""
        self._loop = loop

    def close(self) -> None:
        """End the forker. The processes that it forked die with it."""
        if self._forker is not None:
            self._forker.close()
            self._forker = None

    def note_loss(self) -> None:
        """Prepare to fork: a page has killed a process, and more may follow."""
        if self._forker is not None and self._forker.is_broken:
            self.close()
        if self._forker is None and sys.platform == "linux":
            with suppress(OSError, MemoryError):  # then processes are started from scratch
                self._forker = _Forker(self._loop)

    def start(self, theirs: socket.socket) -> Started:
        """Start a process with this end of the socket; raise OSError if that fails."""
        if self._forker is not None and self._forker.is_ready:
            with suppress(OSError):
                return self._forker.fork(theirs)
        return _spawn(theirs)


class _Forker:
    """The worker's handle of a process from which page processes are forked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start it; raise OSError if that fails."""
        self.is_ready = False
        self.is_broken = False
        self._loop = loop
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = _spawn(theirs, FORKER)
            except (OSError, MemoryError):
                self._socket.close()
                raise
        loop.add_reader(self._socket.fileno(), self._hear)

    def _hear(self) -> None:
        """Take its greeting, after which it speaks only when it is asked."""
        self._loop.remove_reader(self._socket.fileno())
        self._socket.settimeout(ANSWER_S)
        with suppress(OSError):
            self.is_ready = len(self._socket.recv(ORDER_BYTES)) == ORDER_BYTES

    def fork(self, theirs: socket.socket) -> Started:
        """Fork a process with this end of its socket; raise OSError if that fails."""
        pid = self._order(0, theirs.fileno())
        return _Forked(pid, os.pidfd_open(pid), self)

    def reap(self, pid: int) -> int:
        """Wait for a process that was forked, and return its exit status."""
        return os.waitstatus_to_exitcode(self._order(pid))

    def close(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _order(self, pid: int, *descriptors: int) -> int:
        try:
            socket.send_fds(self._socket, [pid.to_bytes(ORDER_BYTES, "little")], descriptors)
            answer = self._socket.recv(ORDER_BYTES)
            result = int.from_bytes(answer, "little")
            if not answer or (not pid and not result):
                raise OSError("no process can be forked")
        except OSError:  # it is dead, or its late answers would be taken for those to later orders
            self.is_ready, self.is_broken = False, True
            self._process.kill()
            raise
        return result


class _Forked:
    """A page process that was forked. The forker reaps it only when it is told to: until then, the id is its own."""

    def __init__(self, pid: int, descriptor: int, forker: _Forker) -> None:
        self.pid = pid
        self._descriptor = descriptor
        self._forker = forker

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def wait(self) -> int:
        try:
            return self._forker.reap(self.pid)
        except OSError:  # the forker is gone, and this process with it
            return -signal.SIGKILL
        finally:
            os.close(self._descriptor)


def _spawn(theirs: socket.socket, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a process with this end of the socket as its only descriptor besides standard error."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", "-m", "gossamer.page_process", str(os.getpid()), *arguments],
        stdin=theirs.fileno(),
        stdout=subprocess.DEVNULL,
        env=_environment(os.environ) | {"PYTHONPATH": path},
    )


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the process: what it may know of ours, and its own settings of the allocator."""
    return {name: value for name, value in ours.items() if _PASSED_ON.fullmatch(name)} | _MALLOC
