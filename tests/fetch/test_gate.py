"""Sites that answer find a slot, whatever silent ones do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gossamer.fetch.slots import MAX_QUIET_S, QUIET_S, RequestGate, RequestPlace
from gossamer.records import Failed, Fetched, Reason, SiteStanding
from gossamer.waste import LEAST_WASTE, NetworkLedger
from tests.fetch.servers import PAGE, Peer, fetcher, serving

if TYPE_CHECKING:
    from collections.abc import Iterable


UNTRIED = SiteStanding.UNTRIED


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


class Tarpit:
    """A request that never ends by itself."""

    def __init__(self, way: RequestGate, place: RequestPlace) -> None:
        self._way = way
        self.place = place
        place.transfer = self
        self.is_cut = False

    def cut(self) -> None:
        """End."""
        self.is_cut = True
        asyncio.get_running_loop().call_soon(self._way.leave, self.place)

    def resume(self) -> None:
        """Bodies play no part here."""


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def enter(way: RequestGate, standings: Iterable[SiteStanding], address: str = "192.0.2.1") -> list[Tarpit]:
    """Let requests in for which there is room."""
    tarpits = [Tarpit(way, RequestPlace("", address, standing)) for standing in standings]
    return [tarpit for tarpit in tarpits if await way.enter(tarpit.place)]


def gate(clock: Clock, networks: NetworkLedger | None = None) -> RequestGate:
    """Return a gate with ten slots."""
    return RequestGate(limit=10, max_held_bytes=1_000_000, networks=networks, clock=clock)


async def test_sites_that_failed_get_half_of_the_slots_and_the_next_one_is_turned_away() -> None:
    way = gate(Clock())
    assert len(await enter(way, [SiteStanding.FAILED] * 9)) == 5
    assert way.silent == 5
    assert way.is_contended
    assert len(await enter(way, [SiteStanding.UNTRIED] * 3 + [SiteStanding.ANSWERED] * 2)) == 5


async def test_untried_sites_may_take_all_slots_until_they_turn_out_to_be_silent() -> None:
    clock = Clock()
    way = gate(clock)
    tarpits = await enter(way, [SiteStanding.UNTRIED] * 10)
    assert len(tarpits) == 10
    waiting = [asyncio.create_task(way.enter(RequestPlace())) for _ in range(7)]
    await settle()
    assert not any(tarpit.is_cut for tarpit in tarpits), "they have had no time to answer"
    clock.now_s += QUIET_S
    way._make_room()
    await settle()
    assert [tarpit.is_cut for tarpit in tarpits] == [True] * 5 + [False] * 5
    assert [task.done() for task in waiting] == [True] * 5 + [False] * 2
    assert way.silent == 5
    for task in waiting:
        task.cancel()


async def test_nothing_is_cut_while_no_other_waits() -> None:
    clock = Clock()
    way = gate(clock)
    tarpits = await enter(way, [SiteStanding.UNTRIED] * 10)
    clock.now_s += 100
    way._age()
    assert way.silent == 10
    assert not any(tarpit.is_cut for tarpit in tarpits)


async def test_a_request_that_was_answered_is_not_silent_unless_its_body_never_ends() -> None:
    clock = Clock()
    way = gate(clock)
    tarpits = await enter(way, [SiteStanding.UNTRIED] * 10)
    clock.now_s += QUIET_S - 0.1
    for tarpit in tarpits[:4]:
        way.hear(tarpit.place)
    clock.now_s += 0.2
    way._age()
    assert way.silent == 6
    clock.now_s += 100
    way._age()
    assert way.silent == 10
    way.hear(tarpits[9].place)  # late, but it speaks
    assert way.silent == 9
    for tarpit in tarpits:
        way.leave(tarpit.place)
    assert way.silent == 0
    assert not way._quiet
    assert not way._talking


async def test_where_all_answers_take_long_no_request_is_silent_sooner_than_usual() -> None:
    clock = Clock()
    way = gate(clock)
    for _ in range(200):
        [tarpit] = await enter(way, [SiteStanding.ANSWERED])
        clock.now_s += 3.0
        way.hear(tarpit.place)
        way.leave(tarpit.place)
    assert 4 * 2.5 < way.quiet_s < MAX_QUIET_S
    for _ in range(200):
        [tarpit] = await enter(way, [SiteStanding.ANSWERED])
        clock.now_s += 0.05
        way.hear(tarpit.place)
        way.leave(tarpit.place)
    assert way.quiet_s == QUIET_S


async def test_a_new_site_of_a_network_of_tarpits_waits_among_those_and_a_known_one_does_not() -> None:
    networks = NetworkLedger()
    for _ in range(LEAST_WASTE):
        networks.note_waste("192.0.2.1")
    way = gate(Clock(), networks)
    assert len(await enter(way, [SiteStanding.UNTRIED] * 5)) == 1, "an eighth of the slots for one network"
    assert way.silent == 1
    assert len(await enter(way, [SiteStanding.UNTRIED] * 5, address="192.0.3.1")) == 5
    assert len(await enter(way, [SiteStanding.ANSWERED] * 3)) == 3
    assert way.silent == 1


async def test_two_thousand_tarpits_keep_good_sites_waiting_for_seconds_only() -> None:
    """A model of the attack, with a clock of its own: every round takes a tenth of a second."""
    clock = Clock()
    way = RequestGate(limit=100, max_held_bytes=1_000_000, clock=clock)
    tarpits = [
        Tarpit(way, RequestPlace("", f"192.0.{number % 200}.1", SiteStanding.UNTRIED)) for number in range(2_000)
    ]
    entering = [asyncio.create_task(way.enter(tarpit.place)) for tarpit in tarpits]
    good = RequestPlace("", "198.51.100.1")
    arrival = asyncio.create_task(way.enter(good))
    rounds = 0
    while not arrival.done():
        await settle()
        clock.now_s += 0.1
        rounds += 1
        way._make_room()
    assert rounds <= 10 * QUIET_S * 2_000 / 50 + 10  # without cuts: 2,000 / 100 times 30 s
    assert way.silent <= 100
    for task in entering:
        task.cancel()
    await asyncio.gather(*entering, return_exceptions=True)


async def test_a_tarpit_loses_its_slot_to_a_site_that_answers() -> None:
    is_silent = asyncio.Event()
    never = asyncio.Event()

    async def keep_silent(peer: Peer) -> None:
        is_silent.set()
        await never.wait()

    async with serving(keep_silent) as tarpit, serving(PAGE) as server, fetcher(in_flight=2) as web:
        waiting = [asyncio.create_task(web.fetch(tarpit.url(), standing=SiteStanding.UNTRIED)) for _ in range(2)]
        await is_silent.wait()
        answer = await web.fetch(server.url())
        assert isinstance(answer, Fetched)
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        [cut] = [task.result() for task in waiting if task.done()]
        assert isinstance(cut, Failed)
        assert cut.reason is Reason.CUT_SILENT
        assert cut.address
        refused = await web.fetch(tarpit.url(), standing=SiteStanding.FAILED)
        assert isinstance(refused, Failed)
        assert refused.reason is Reason.CUT_SILENT
        assert not refused.address, "no server was contacted"
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert web.load.silent == 0
        never.set()
