"""An event loop in its own thread, for programs without an event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for other threads, until closed."""

    def __init__(self) -> None:
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def stay() -> None:
            closing = asyncio.Event()
            started.set_result((asyncio.get_running_loop(), closing))
            await closing.wait()

        # A daemon thread: a second Ctrl-C, during the shutdown, ends the program at once.
        self._thread = threading.Thread(target=asyncio.run, args=(stay(),), name="gossamer", daemon=True)
        self._thread.start()
        self._loop, self._closing = started.result()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return its result. Ctrl-C interrupts the waiting, not the coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """Stop the loop, and wait until the thread has ended."""
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
