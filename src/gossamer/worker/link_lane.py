"""The lane by which the links of link-rich pages and sitemaps reach the frontier: in portions, each site in its turn.

A page may hold ten thousand links, and taking them in costs the worker as much as fifty ordinary pages. Such links
wait here and not in the report that all sites share, so only the turn that found them waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAVY_LINKS: Final = 300  # of one turn; more take the lane, while those of nearly all pages need not
LANE_LINKS: Final = 2_000  # that one batch takes from the lane
LEAST_PORTION: Final = 250  # links of one site in a batch, if many wait
MAX_HELD_LINKS: Final = 100_000  # of all turns in the lane, about 40 MB; one turn may always be there
LANE_SHARE: Final = 8  # while others report, links of the lane take at most one part in this many of the time
MAX_REST_S: Final = 2.0  # after a batch, however long it took


class LinkLane:
    """Lets portions of links into the next batch, in the order in which their turns came: a round robin by site."""

    __slots__ = ("_links_left", "_rest_until_s", "_waiting", "held", "is_idle")

    def __init__(self) -> None:
        self.held = 0  # links of turns in the lane
        self.is_idle = True  # it need not be opened for the next batch: none came since the last one
        self._links_left = LANE_LINKS  # that the next batch still takes
        self._rest_until_s = -float("inf")
        self._waiting: deque[asyncio.Future[int]] = deque()

    def has_room(self, links: int) -> bool:
        """Return whether a turn with this many links may come: if not, it had better come again later."""
        return links <= HEAVY_LINKS or not self.held or self.held + links <= MAX_HELD_LINKS

    @contextmanager
    def holding(self, links: int) -> Iterator[None]:
        """Count the links of a turn while the block runs."""
        self.held += links
        try:
            yield
        finally:
            self.held -= links

    async def enter(self) -> int:
        """Wait until the next batch takes links of this turn; return how many it takes."""
        self.is_idle = False
        if self._links_left and not self._waiting:
            return self._let_in(1)
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        return await place

    def open(self, now_s: float) -> None:
        """Let portions into a batch that begins now, unless the lane had its share of the time."""
        self._links_left = LANE_LINKS if now_s >= self._rest_until_s else 0
        waiting = len(self._waiting)
        while self._waiting and self._links_left:
            place = self._waiting.popleft()
            if not place.cancelled():
                place.set_result(self._let_in(waiting))
        self.is_idle = self._links_left == LANE_LINKS

    def rest(self, took_s: float, now_s: float) -> None:
        """Note that a batch with links of the lane and reports of others took this long."""
        self._rest_until_s = now_s + min((LANE_SHARE - 1) * took_s, MAX_REST_S)
        self.is_idle = False

    def _let_in(self, waiting: int) -> int:
        """Return how many links of one of these turns the batch takes."""
        links = min(self._links_left, max(LEAST_PORTION, LANE_LINKS // waiting))
        self._links_left -= links
        return links
