"""Limits on requests at once: one for all, and one for those that may not answer.

What guarantees that a site that answers finds a slot: requests that may hold a slot in vain get half of the slots at
most. These are requests of sites whose last request failed, or that are new in a network that wastes most requests;
they are turned away at once when their half is full. Any other request counts as answering, until it has had no answer
for a multiple of the usual time. If such requests fill the half, the oldest of them are cut short while others wait. So
each slot of the other half is free again after `quiet_s`, whatever the servers do.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from gossamer.fetch.bodies import Body, BodyBudget
from gossamer.records import SiteStanding
from gossamer.waste import NetworkLedger, network_of

if TYPE_CHECKING:
    from collections.abc import Callable

QUIET_S: Final = 2.0  # a request that waits this long for an answer may wait in vain, unless all take that long
MAX_QUIET_S: Final = 15.0
USUAL_TIMES: Final = 4  # or this many times the median of the times that answers take, if that is longer
TALKING_TIMES: Final = 4  # and for the body, this many times as long as for the head
NETWORK_SHARE: Final = 8  # one wasteful network gets this part of all slots
_LOOK_S: Final = 0.25
_STEP: Final = 1.05  # by which each answer moves the estimate of the median


class RequestPlace(Body):
    """What a request holds: a slot and a body."""

    __slots__ = ("address", "began_s", "heard_s", "is_cut", "is_suspect", "standing")

    def __init__(self, site: str = "", address: str = "", standing: SiteStanding = SiteStanding.ANSWERED) -> None:
        super().__init__(site)
        self.address = address
        self.standing = standing
        self.is_suspect = False  # it may hold its slot in vain
        self.is_cut = False
        self.began_s = 0.0
        self.heard_s = 0.0


class RequestGate:
    """Admits at most `limit` requests at once, and none while bodies take `max_held_bytes` or more.

    Invariant: a request waits only while the gate is shut. Only a request that leaves, or a body that is released,
    opens the gate; it admits the next ones. Sites are admitted in the order of arrival: a site has one request at a
    time, so that this is a round robin by site.
    """

    def __init__(
        self,
        *,
        limit: int,
        max_held_bytes: int,
        networks: NetworkLedger | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._half = max(1, limit // 2)
        self._networks = networks or NetworkLedger()
        self._clock = clock
        self._inside = 0
        self._line: deque[asyncio.Future[None]] = deque()
        # Requests of sites that count as answering, in the order of their times.
        self._quiet: dict[RequestPlace, None] = {}  # no head has come
        self._talking: dict[RequestPlace, None] = {}  # the body has not ended
        self._overdue: dict[RequestPlace, None] = {}  # either takes too long
        self._suspects = 0
        self._suspects_of: Counter[str] = Counter()  # by network
        self._cuts = 0  # requests that were cut and have not left yet
        self._usual_s = 0.1
        self._timer: asyncio.TimerHandle | None = None
        self.bodies = BodyBudget(max_bytes=max_held_bytes, requests=limit, released=self._admit)

    @property
    def silent(self) -> int:
        """How many slots are held by requests that may wait in vain."""
        return self._suspects + len(self._overdue)

    @property
    def is_contended(self) -> bool:
        """Whether requests wait for a slot, or are turned away."""
        return bool(self._line) or self.silent >= self._half

    @property
    def quiet_s(self) -> float:
        """How long a request may take to be answered before it counts as silent."""
        return min(max(QUIET_S, USUAL_TIMES * self._usual_s), MAX_QUIET_S)

    async def enter(self, place: RequestPlace) -> bool:
        """Wait for a slot; the caller must `leave` it afterwards. False: this site gets none now."""
        if place.standing is not SiteStanding.ANSWERED and self._suspects_waste(place):
            if not self._admits_suspect(place.address):
                return False
            place.is_suspect = True
            self._suspects += 1
            self._suspects_of[network_of(place.address)] += 1
        if self._is_open():
            self._inside += 1
        else:
            await self._stand_in_line(place)
        place.began_s = self._clock()
        if not place.is_suspect:
            self._quiet[place] = None
        return True

    def hear(self, place: RequestPlace) -> None:
        """Note that the head of an answer has come."""
        now_s = self._clock()
        is_slow = now_s - place.began_s > self._usual_s
        self._usual_s = self._usual_s * _STEP if is_slow else max(self._usual_s / _STEP, 0.001)
        if not place.is_suspect:
            self._quiet.pop(place, None)
            self._overdue.pop(place, None)
            place.heard_s = now_s
            self._talking[place] = None

    def leave(self, place: RequestPlace) -> None:
        """Give up a place; its body is released, or passed on, by itself."""
        self._forget(place)
        self._inside -= 1
        self._admit()

    def _suspects_waste(self, place: RequestPlace) -> bool:
        return place.standing is SiteStanding.FAILED or self._networks.is_wasteful(place.address)

    def _admits_suspect(self, address: str) -> bool:
        self._age()
        if self.silent >= self._half:
            return False
        most = max(1, self._limit // NETWORK_SHARE)
        return self._suspects_of[network_of(address)] < most or not self._networks.is_wasteful(address)

    def _forget(self, place: RequestPlace) -> None:
        if place.is_suspect:
            self._suspects -= 1
            network = network_of(place.address)
            self._suspects_of[network] -= 1
            if not self._suspects_of[network]:
                del self._suspects_of[network]
        else:
            for held in (self._quiet, self._talking, self._overdue):
                held.pop(place, None)
        self._cuts -= place.is_cut

    def _is_open(self) -> bool:
        return self._inside < self._limit and not self.bodies.is_full

    def _admit(self) -> None:
        while self._is_open() and _admit_first(self._line):
            self._inside += 1

    async def _stand_in_line(self, place: RequestPlace) -> None:
        """Wait to be admitted, and see that requests that may wait in vain do not hold too many slots meanwhile."""
        future = asyncio.get_running_loop().create_future()
        self._line.append(future)
        self._make_room()
        try:
            await future
        except asyncio.CancelledError:
            if future.cancelled():
                self._forget(place)
            else:
                self.leave(place)
            raise

    def _make_room(self) -> None:
        """Cut the oldest overdue requests while others wait and more than half of the slots are held in vain."""
        self._age()
        while self._overdue and self.silent > self._half and self._cuts < len(self._line):
            place = next(iter(self._overdue))
            del self._overdue[place]
            place.is_cut = True
            self._cuts += 1
            assert place.transfer is not None, "it was admitted, so it is under way"
            place.transfer.cut()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        while self._line and self._line[0].done():  # cancelled
            self._line.popleft()
        if self._line:
            self._make_room()

    def _age(self) -> None:
        """Find the requests that have become overdue."""
        now_s, quiet_s = self._clock(), self.quiet_s
        while self._quiet and (place := next(iter(self._quiet))).began_s + quiet_s <= now_s:
            self._overdue[place] = self._quiet.pop(place)
        while self._talking and (place := next(iter(self._talking))).heard_s + TALKING_TIMES * quiet_s <= now_s:
            del self._talking[place]
            if place.is_paused:  # by us
                place.heard_s = now_s
                self._talking[place] = None
            else:
                self._overdue[place] = None


def _admit_first(line: deque[asyncio.Future[None]]) -> bool:
    """Admit the first request that still waits; return whether there was one."""
    while line:
        place = line.popleft()
        if not place.done():
            place.set_result(None)
            return True
    return False
