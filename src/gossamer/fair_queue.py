"""A queue that is shared fairly by key: every key gets the same share while others wait, everything while none does.

This is start-time fair queueing (Goyal, Vin, Cheng 1996). It serves the same purpose as deficit round robin, and needs
no cost in advance: the caller tells what an item has cost when it knows. Each key has a tag, the service that it has
received; the key with the lowest tag is served next. A key that was idle starts at the tag of the present service, so
that it can neither save up its share nor lose it. Pure.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush, heappushpop
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")

_MAX_DEBTS: Final = 10_000  # of keys; more if more keys wait


class FairQueue(Generic[Item]):
    """Items by key, in the order in which to serve them.

    Fairness: while two keys wait all the time, what they were charged differs by no more than the costs of their
    dearest single items, one of each. Items of one key keep their order. With one item per key and equal costs, the
    order is first come, first served. An operation costs O(log n).
    """

    __slots__ = ("_heap", "_least_cost", "_lines", "_now", "_tags", "_tickets", "size")

    def __init__(self, least_cost: float = 1e-9) -> None:
        """Charge each item at least `least_cost`, when it is taken."""
        self._least_cost = least_cost
        self._now = 0.0  # the tag of the key that was served last
        self._tags: dict[str, float] = {}  # keys in debt: the tag at which each may go on
        self._lines: dict[str, deque[Item]] = {}  # by key, for keys that wait
        self._heap: list[tuple[float, int, str]] = []  # tag, arrival, key: one entry for each key that waits
        self._tickets = 0
        self.size = 0  # items that wait

    def push(self, key: str, item: Item) -> None:
        """Add an item at the end of its key's line."""
        self.size += 1
        line = self._lines.get(key)
        if line is not None:
            line.append(item)
            return
        self._lines[key] = deque((item,))
        self._enter(key)

    def pop(self) -> tuple[str, Item]:
        """Take the next item; raise IndexError if none waits."""
        tag, ticket, key = heappop(self._heap)
        while (due := self._tags.get(key, tag)) > tag:  # its last item cost more than was known when the key entered
            tag, ticket, key = heappushpop(self._heap, (due, ticket, key))
        self._now = max(self._now, tag)
        self.size -= 1
        line = self._lines[key]
        item = line.popleft()
        self.charge(key, self._least_cost)
        if line:
            self._enter(key)
        else:
            del self._lines[key]
        return key, item

    def serve(self, key: str, cost: float) -> None:
        """Charge a key for an item that never waited here, because none did when it came."""
        self._now = max(self._now, self._tags.get(key, 0.0))
        self.charge(key, max(cost, self._least_cost))

    def charge(self, key: str, cost: float) -> None:
        """Charge a key for an item that it was served; the cost counts from now on."""
        self._tags[key] = max(self._tags.get(key, 0.0), self._now) + cost
        if len(self._tags) > max(_MAX_DEBTS, 2 * len(self._lines)):
            self._forgive()

    def clear(self) -> list[Item]:
        """Remove and return all items that wait, by key."""
        items = [item for line in self._lines.values() for item in line]
        self._lines.clear()
        self._heap.clear()
        self.size = 0
        return items

    def _forgive(self) -> None:
        """Forget the smaller half of the debts of keys that do not wait: many keys, each of which was served little."""
        idle = sorted((tag, key) for key, tag in self._tags.items() if key not in self._lines)
        for _, key in idle[: len(idle) // 2]:
            del self._tags[key]

    def _enter(self, key: str) -> None:
        self._tickets += 1
        heappush(self._heap, (max(self._now, self._tags.get(key, 0.0)), self._tickets, key))
