"""Who may start a request now: a ceiling for all, by count and bytes, and one per address. First come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class RequestGate:
    """Lets at most `limit` requests in at once, and nobody while those inside hold `max_held_bytes` or more.

    What is inside may still grow: pages as they like, so that at most `max_held_bytes` + `limit` times the largest page
    can ever be held; what is larger, only as long as it does not find the gate crowded.
    Invariant: whoever waits, waits because the gate is shut. Only a leaver opens it, and lets in who waits.
    """

    def __init__(self, *, limit: int, max_held_bytes: int) -> None:
        self._limit = limit
        self._max_held_bytes = max_held_bytes
        self._inside = 0
        self._held_bytes = 0
        self._line: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a place; whoever got one must `leave`."""
        if self._is_open():
            self._inside += 1
        else:
            await _stand_in(self._line, undo=self._give_back)

    def hold(self, size_bytes: int) -> None:
        """Count bytes that arrived for someone inside."""
        self._held_bytes += size_bytes

    def is_crowded(self, own_bytes: int) -> bool:
        """Tell whether the others inside hold so much that nobody would be let in; one that is alone never finds so."""
        return self._held_bytes - own_bytes >= self._max_held_bytes

    def leave(self, held_bytes: int) -> None:
        """Give up a place, and the bytes held there."""
        self._held_bytes -= held_bytes
        self._give_back()

    def _give_back(self) -> None:
        self._inside -= 1
        while self._is_open() and _admit_first(self._line):
            self._inside += 1

    def _is_open(self) -> bool:
        return self._inside < self._limit and self._held_bytes < self._max_held_bytes


class AddressSlots:
    """Lets at most `limit` requests in at once for each address."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._inside: dict[str, int] = {}
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    async def enter(self, address: str) -> None:
        """Wait for a slot of this address; whoever got one must `leave`."""
        inside = self._inside.get(address, 0)
        if inside < self._limit:
            self._inside[address] = inside + 1
        else:
            line = self._lines.setdefault(address, deque())
            await _stand_in(line, undo=lambda: self.leave(address))

    def leave(self, address: str) -> None:
        """Give up a slot: to the first in line, if there is one."""
        line = self._lines.get(address)
        if line is not None:
            admitted = _admit_first(line)
            if not line:
                del self._lines[address]
            if admitted:
                return
        self._inside[address] -= 1
        if not self._inside[address]:
            del self._inside[address]


async def _stand_in(line: deque[asyncio.Future[None]], *, undo: Callable[[], None]) -> None:
    """Wait to be admitted; `undo` gives the place on if we are cancelled in the instant after we got it."""
    place = asyncio.get_running_loop().create_future()
    line.append(place)
    try:
        await place
    except asyncio.CancelledError:
        if not place.cancelled():
            undo()
        raise


def _admit_first(line: deque[asyncio.Future[None]]) -> bool:
    """Admit the first who is still waiting; say whether there was one."""
    while line:
        place = line.popleft()
        if not place.done():
            place.set_result(None)
            return True
    return False
