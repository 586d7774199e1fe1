"""How pages get from the crawl to the loop that reads them: one by one, and each side waits for the other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gossamer.api.page import Page


class Handover:
    """Pages that wait to be read. Whoever gives one waits until its reader is through with it.

    So nothing piles up here: what waits is bounded by how many give at once. And a page that its reader did not get,
    or failed at, is not done.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Page, asyncio.Future[None]]] = deque()
        self._in_hand: set[asyncio.Future[None]] = set()
        self._changed = asyncio.Event()
        self._closed = False

    async def give(self, page: Page) -> None:
        """Return when a reader is through with the page; be cancelled if none ever will be."""
        read = asyncio.get_running_loop().create_future()
        if self._closed:
            read.cancel()
        self._waiting.append((page, read))
        self._changed.set()
        await read

    async def pages(self) -> AsyncIterator[Page]:
        """Yield pages until closed. A reader that asks for the next page is through with the one before."""
        while not self._closed:
            if not self._waiting:
                self._changed.clear()
                await self._changed.wait()
                continue
            page, read = self._waiting.popleft()
            if read.done():  # whoever gave it has gone
                continue
            self._in_hand.add(read)
            yield page
            self._in_hand.discard(read)
            _settle(read)

    def close(self, *, read: bool) -> None:
        """End: pages in hand were read to the end, or were not; those that wait were not."""
        self._closed = True
        for future in self._in_hand:
            _settle(future) if read else future.cancel()
        for _, future in self._waiting:
            future.cancel()
        self._in_hand.clear()
        self._waiting.clear()
        self._changed.set()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
