"""Limits on requests at once: one for all, by count and bytes held, and one per address. First come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class RequestGate:
    """Admits at most `limit` requests at once, and none while the admitted ones hold `max_held_bytes` or more.

    Bodies of admitted requests may still grow. Pages grow up to their limit, so that at most `max_held_bytes` + `limit`
    times the largest page is held. Larger bodies grow only while the gate is not crowded.
    Invariant: a request waits only while the gate is shut. Only a request that leaves opens the gate; it admits the
    next ones.
    """

    def __init__(self, *, limit: int, max_held_bytes: int) -> None:
        self._limit = limit
        self._max_held_bytes = max_held_bytes
        self._inside = 0
        self._held_bytes = 0
        self._line: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a place; the caller must `leave` afterwards."""
        if self._is_open():
            self._inside += 1
        else:
            await _stand_in(self._line, undo=self._give_back)

    def hold(self, size_bytes: int) -> None:
        """Count bytes that arrived for an admitted request."""
        self._held_bytes += size_bytes

    def is_crowded(self, own_bytes: int) -> bool:
        """Return whether the other requests hold so many bytes that the gate admits none; never for a lone request."""
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
    """Admits at most `limit` requests at once for each address."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._inside: dict[str, int] = {}
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    async def enter(self, address: str) -> None:
        """Wait for a slot of this address; the caller must `leave` afterwards."""
        inside = self._inside.get(address, 0)
        if inside < self._limit:
            self._inside[address] = inside + 1
        else:
            line = self._lines.setdefault(address, deque())
            await _stand_in(line, undo=lambda: self.leave(address))

    def leave(self, address: str) -> None:
        """Give up a slot: the first request in line gets it."""
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
    """Wait to be admitted; if cancelled just after that, `undo` passes the place on."""
    place = asyncio.get_running_loop().create_future()
    line.append(place)
    try:
        await place
    except asyncio.CancelledError:
        if not place.cancelled():
            undo()
        raise


def _admit_first(line: deque[asyncio.Future[None]]) -> bool:
    """Admit the first request that still waits; return whether there was one."""
    while line:
        place = line.popleft()
        if not place.done():
            place.set_result(None)
            return True
    return False
