"""Hands pages from the crawl to the program's loop, one by one; each side waits for the other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gossamer.api.page import Page


class Handover:
    """Pages that wait for the program's loop. A turn that gives a page waits until the loop has finished with it.

    This bounds the number of waiting pages by the number of turns. A page that the loop did not get, or at which it
    failed, is not done.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Page, asyncio.Future[None]]] = deque()
        self._in_hand: set[asyncio.Future[None]] = set()
        self._changed = asyncio.Event()
        self._closed = False

    async def give(self, page: Page) -> None:
        """Return when the loop has finished with the page; raise CancelledError if it never will."""
        read = asyncio.get_running_loop().create_future()
        if self._closed:
            read.cancel()
        self._waiting.append((page, read))
        self._changed.set()
        await read

    async def pages(self) -> AsyncIterator[Page]:
        """Yield pages until closed. A loop that asks for the next page has finished with the one before."""
        while not self._closed:
            if not self._waiting:
                self._changed.clear()
                await self._changed.wait()
                continue
            page, read = self._waiting.popleft()
            if read.done():  # the turn that gave it was cancelled
                continue
            self._in_hand.add(read)
            yield page
            self._in_hand.discard(read)
            _settle(read)

    def close(self, *, read: bool) -> None:
        """Stop. `read` says whether the loop has finished with the pages in hand; waiting pages were not read."""
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
