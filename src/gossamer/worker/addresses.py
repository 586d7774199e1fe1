"""Lets requests through to their addresses, each address at its pace. What waits here holds no slot.

Sites whose turn has not begun wait on the workbench, in the line of their address. Requests of turns under way wait
here and come first, so that turns end; but every fourth request to an address is for a site on the workbench, so that
turns of other sites, which redirect there, cannot keep that site waiting for ever.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.rules.answers import is_silence, shows_trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.frontier.clock import Clock
    from gossamer.records import Failed, Fetched
    from gossamer.rules.address_pace import AddressPace
    from gossamer.workbench import Workbench

MAX_TURN_WAIT_S: Final = 10.0  # of a request of a turn under way, in a line; or two requests' time, if that is longer
TURNS_FIRST: Final = 3  # requests of turns under way that may pass a site on the workbench
MAX_PARKED_S: Final = 60.0  # a site that has to wait longer for its address is given back
MAX_CROWDED_S: Final = 2.0  # the same while parked sites fill half of the workbench
LEAST_TIMER_S: Final = 0.001


class Crowded(NamedTuple):
    """A request was not let through, because the line of its address is too long."""

    wait_s: float  # estimated


class Permit:
    """Leave to send one request to an address."""

    __slots__ = ("_gate", "address", "host", "is_paced", "is_sent")

    def __init__(self, gate: AddressGate | None, address: str, host: str) -> None:
        self.address = address
        self.host = host  # for which the address was looked up
        self.is_paced = gate is not None  # else nothing needs to be noted
        self.is_sent = gate is None
        self._gate = gate  # None: the address has no pace, or the permit was given back

    def send(self) -> None:
        """Note that the request is being sent; several calls count as one."""
        if self._gate is not None and not self.is_sent:
            self._gate.sent(self.address)
            self.is_sent = True

    def end(self, answer: Fetched | Failed | None = None) -> None:
        """Give the permit back, with what came of the request; None: nothing, or it was cancelled."""
        gate = self._gate
        if gate is None:
            return
        if answer is not None and answer.address:
            self.send()
        self._gate = None
        gate.ended(self.address, answer, was_sent=self.is_sent)


class AddressGate:
    """The lines of requests and sites that wait for an address."""

    def __init__(
        self,
        pace: AddressPace,
        *,
        bench: Workbench,
        clock: Clock,
        is_exempt: Callable[[str], bool],
        announce: Callable[[], None],
        note_wait: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`announce` is called when a site on the workbench may begin, `note_wait` with what has to wait."""
        self.waiting = 0  # requests of turns
        self.ready: dict[str, None] = {}  # addresses that are due, for a parked site
        self._pace = pace
        self._bench = bench
        self._clock = clock
        self._is_exempt = is_exempt
        self._announce = announce
        self._note_wait = note_wait
        self._lines: dict[str, deque[asyncio.Future[bool]]] = {}
        self._passed: dict[str, int] = {}  # requests of turns that passed a parked site, by address
        self._armed: dict[str, float] = {}  # when to look at an address that something waits for
        self._looks: list[tuple[float, str]] = []  # a heap of the same; entries that `_armed` does not know are stale
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = math.inf

    # ------------------------------------------------------------------ the share

    def set_share(self, share: float) -> None:
        """Use another share of what each address may get."""
        self._pace.set_share(share, self._clock())
        self._look_again()

    def restart(self) -> None:
        """Begin anew without a share."""
        self._pace.restart(self._clock())
        self._look_again()

    # ------------------------------------------------------------------ sites

    def try_enter(self, addresses: Sequence[str], host: str, *, is_own: bool = False) -> Permit | None:
        """Return leave for the first request of a turn, if an address is due and nothing waits for it.

        No limit per address applies to a site that `is_own`: the operator's.
        """
        address = self.pick(addresses)
        if is_own or self._is_exempt(address):
            return Permit(None, address, host)
        if self._is_wanted(address) or self._pace.until_due(address, self._clock()):
            return None
        return self._grant(address, host)

    def book(self, address: str) -> float | None:
        """Return when a site can be requested that had better be given back until then; None: it may be parked."""
        place = self._bench.parked_at(address) + 1
        most_s = MAX_PARKED_S if self._bench.has_room_to_park else MAX_CROWDED_S
        if self._pace.wait_s(address, place) <= most_s:
            self._note_wait("site")
            return None
        self._note_wait("given_back")
        return self._pace.book(address, place, self._clock())

    def watch(self, address: str) -> None:
        """Announce when this address, for which a site now waits, is due."""
        if address not in self.ready:
            self._arm(address)

    def next_ready(self) -> str | None:
        """Return an address that is due and has a parked site."""
        while self.ready:
            address = next(iter(self.ready))
            del self.ready[address]
            if self._bench.is_parked(address) and not self._pace.until_due(address, self._clock()):
                return address
            self._arm_if_wanted(address)
        return None

    def enter_parked(self, address: str, host: str) -> Permit:
        """Return leave for the first request of a turn to the address that `next_ready` returned."""
        self._passed.pop(address, None)
        return self._grant(address, host)

    # ------------------------------------------------------------------ requests of turns

    async def enter(self, addresses: Sequence[str], host: str, *, is_own: bool = False) -> Permit | Crowded:
        """Wait until an address is due, unless that takes too long, or the site is the operator's own."""
        address = self.pick(addresses)
        if is_own or self._is_exempt(address):
            return Permit(None, address, host)
        line = self._lines.get(address)
        if not line and self._may_pass(address) and not self._pace.until_due(address, self._clock()):
            self._note_passed(address)
            return self._grant(address, host)
        wait_s = self._pace.wait_s(address, 1 + len(line or ()))
        if wait_s > max(MAX_TURN_WAIT_S, self._pace.wait_s(address, 2)):
            return Crowded(wait_s)
        return Permit(self, address, host) if await self._stand_in_line(address) else Crowded(wait_s)

    def dismiss(self) -> None:
        """Let no request through that waits now: the worker is stopping."""
        for line in self._lines.values():
            for place in line:
                if not place.done():
                    place.set_result(False)

    async def _stand_in_line(self, address: str) -> bool:
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line = self._lines.setdefault(address, deque())
        line.append(place)
        self._arm(address)
        self.waiting += 1
        self._note_wait("request")
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.result():
                self.ended(address, None, was_sent=False)
            raise
        finally:
            self.waiting -= 1
            if place in line:
                line.remove(place)
            if not line and self._lines.get(address) is line:
                del self._lines[address]

    # ------------------------------------------------------------------ what permits report

    def sent(self, address: str) -> None:
        """Note that a request is being sent."""
        self._pace.sent(address, self._clock())
        self._arm_if_wanted(address)

    def ended(self, address: str, answer: Fetched | Failed | None, *, was_sent: bool) -> None:
        """Note how a request ended, or that it was not sent."""
        if was_sent:
            failed = answer is not None and (is_silence(answer) or shows_trouble(answer))
            self._pace.ended(address, duration_s=answer.duration_s if answer else 0.0, failed=failed)
        else:
            self._pace.cancel(address)
        self._arm_if_wanted(address)

    # ------------------------------------------------------------------ which address, and which comes first

    def pick(self, addresses: Sequence[str]) -> str:
        """Return the address that is due first; if several are, the first of them."""
        if len(addresses) == 1:
            return addresses[0]
        now_s = self._clock()
        return min(addresses, key=lambda address: self._expected_s(address, now_s))

    def _expected_s(self, address: str, now_s: float) -> float:
        if self._is_exempt(address):
            return 0.0
        place = len(self._lines.get(address, ())) + self._bench.parked_at(address)
        return self._pace.until_due(address, now_s) + self._pace.wait_s(address, place)

    def _grant(self, address: str, host: str) -> Permit:
        self._pace.grant(address)
        self._armed.pop(address, None)
        return Permit(self, address, host)

    def _may_pass(self, address: str) -> bool:
        return self._passed.get(address, 0) < TURNS_FIRST or not self._bench.is_parked(address)

    def _note_passed(self, address: str) -> None:
        if self._bench.is_parked(address):
            self._passed[address] = self._passed.get(address, 0) + 1
        else:
            self._passed.pop(address, None)

    def _is_wanted(self, address: str) -> bool:
        return bool(self._lines.get(address)) or self._bench.is_parked(address)

    # ------------------------------------------------------------------ when to look

    def _arm_if_wanted(self, address: str) -> None:
        if self._is_wanted(address):
            self._arm(address)

    def _arm(self, address: str) -> None:
        """Look at an address when it is due."""
        now_s = self._clock()
        wait_s = self._pace.until_due(address, now_s)
        if wait_s == math.inf:
            self._armed.pop(address, None)  # whatever must happen first looks again
            return
        at_s = now_s + wait_s
        self._armed[address] = at_s
        heappush(self._looks, (at_s, address))
        self._set_timer()

    def _look_again(self) -> None:
        """Compute anew when to look at each address."""
        self._armed.clear()
        self._looks.clear()
        for address in {*self._lines, *self._bench.parked_addresses()}:
            self._arm(address)

    def _set_timer(self) -> None:
        looks = self._looks
        while looks and self._armed.get(looks[0][1]) != looks[0][0]:
            heappop(looks)
        if not looks or (self._timer is not None and self._timer_s <= looks[0][0]):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_s = looks[0][0]
        wait_s = max(LEAST_TIMER_S, self._timer_s - self._clock())
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._look)

    def _look(self) -> None:
        """Let through what is due."""
        self._timer, self._timer_s = None, math.inf
        now_s = self._clock()
        while self._looks and self._looks[0][0] <= now_s:
            at_s, address = heappop(self._looks)
            if self._armed.get(address) == at_s:
                del self._armed[address]
                self._offer(address, now_s)
        self._set_timer()

    def _offer(self, address: str, now_s: float) -> None:
        """Let the first request of a line through, or announce that a parked site may begin."""
        if self._pace.until_due(address, now_s):
            self._arm(address)
            return
        line = self._lines.get(address)
        while line and self._may_pass(address):
            place = line.popleft()
            if not place.done():
                self._note_passed(address)
                self._pace.grant(address)
                place.set_result(True)
                return
        if self._bench.is_parked(address):
            self.ready[address] = None
            self._announce()
