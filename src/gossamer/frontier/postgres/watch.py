"""Who is alive: an observer's own memory of when it last saw each worker's heartbeat counter move.

Ages are counted on the observer's boot clock and nothing else, so that no clock's jump makes anybody look dead. Nor
does an outage of the database: whoever could not look for a while begins to count anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

BLIND_S = 2.0  # between two looks, at least; or a quarter of the lease


class Silent(NamedTuple):
    """A worker whose counter stood still for the whole lease, and where it stood."""

    worker: int
    beats: int


class Watch:
    """Compares one look at the counters with the next."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._blind_s = max(BLIND_S, lease_s / 4)
        self._looked_s = 0.0
        self._since: dict[int, tuple[int, float]] = {}

    def look(self, beats: Iterable[tuple[int, int]], now_s: float) -> list[Silent]:
        """Take in all live workers' counters as of now; return who has been silent for the lease."""
        if now_s - self._looked_s > self._blind_s:
            self._since = {}
        self._looked_s = now_s
        since = {
            worker: before if (before := self._since.get(worker)) and before[0] == count else (count, now_s)
            for worker, count in beats
        }
        self._since = since
        return [Silent(worker, count) for worker, (count, at_s) in since.items() if now_s - at_s >= self._lease_s]

    def left_s(self, now_s: float) -> float:
        """Return how long until a worker that shows no life has been silent for the lease."""
        return max(0.0, self._lease_s - max((now_s - at_s for _, at_s in self._since.values()), default=0.0))

    def has_moved(self, beats: Iterable[tuple[int, int]]) -> bool:
        """Tell whether any counter is other than at the last look, or any worker is new."""
        return any(worker not in self._since or self._since[worker][0] != count for worker, count in beats)
