"""The stream of the overview: one reading of the crawl for all open tabs, and none while no tab is open."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from gossamer.errors import GossamerError
from gossamer.serve.limits import MAX_STREAMS
from gossamer.serve.overview import StatusReader, live_values

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from gossamer.inspect.status import Status

PERIOD_S: Final = 2.0  # as often as workers report
MAX_STREAM_S: Final = 3600.0  # then the browser connects again, and shows its token again


class Live:
    """Hands out the status of a crawl, to pages and to streams."""

    def __init__(self, folders: Sequence[Path], *, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._reader = StatusReader(folders)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="status")
        self._streams = 0
        self._event = b""  # the last one
        self._came = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        """Whether as many streams are open as may be."""
        return self._streams >= MAX_STREAMS

    async def status(self) -> Status:
        """Return the status as it is now."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read)

    def _read(self) -> Status:
        try:
            return self._reader.read()
        finally:
            if not self._streams:  # nothing will be read soon: hold no connection
                self._reader.close()

    @contextmanager
    def streaming(self) -> Iterator[AsyncIterator[bytes]]:
        """Yield a stream of server-sent events, which counts as open inside the block."""
        self._streams += 1
        if self._task is None:
            self._event = b""
            self._task = asyncio.create_task(self._read_on())
        try:
            yield self._events()
        finally:
            self._streams -= 1
            if not self._streams and self._task is not None:
                self._task.cancel()
                self._task = None
                self._thread.submit(self._reader.close)

    async def _events(self) -> AsyncIterator[bytes]:
        yield b"retry: 3000\n\n" + self._event
        end_s = time.monotonic() + MAX_STREAM_S
        while time.monotonic() < end_s:
            await self._came.wait()
            yield self._event

    async def close(self) -> None:
        """End reading."""
        if self._task is not None:
            self._task.cancel()
        self._thread.submit(self._reader.close)
        self._thread.shutdown(wait=True)

    async def _read_on(self) -> None:
        while True:
            values = await self._values()
            self._event = b"data: " + json.dumps(values).encode() + b"\n\n"
            came, self._came = self._came, asyncio.Event()
            came.set()
            await asyncio.sleep(self._period_s)

    async def _values(self) -> dict[str, Any]:
        try:
            return live_values(await self.status(), time.time())
        except (GossamerError, OSError) as error:
            return {"lists": {"troubles": [f"The crawl cannot be read now: {error}"]}}
