"""A thread of a simulated process: it runs only while the simulation waits for it."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Killed(BaseException):
    """Raised in the thread of a process that was killed, to end it."""


class SteppedThread:
    """A real thread that runs only while the process's loop waits for it: one of the two, never both."""

    def __init__(self) -> None:
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._work: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None
        self._killed = False

    def start(self, work: Callable[[], None]) -> None:
        """Start a function in the thread; return when it ends or pauses."""
        self._work = work
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self.go_on()

    def go_on(self) -> None:
        """Let the thread run until it ends or pauses."""
        self._go.release()
        self._back.acquire()

    def pause(self) -> None:
        """In the thread: wait for the next `go_on`."""
        self._back.release()
        self._go.acquire()
        if self._killed:
            raise Killed

    def end(self, *, killed: bool) -> None:
        """End the thread; if it is killed, in the middle of its work."""
        if self._thread is not None:
            self._killed, self._work = killed, None
            self.go_on()
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        self._go.acquire()
        with suppress(Killed):
            while self._work is not None:
                self._work()
                self._work = None
                self.pause()
        self._back.release()
