"""When requests may start: by count, by bytes and by address, in the order of arrival."""

from __future__ import annotations

import asyncio
import random

import pytest

from gossamer.fetch.bodies import Growth
from gossamer.fetch.slots import AddressSlots, RequestGate, RequestPlace
from gossamer.records import Failed, Fetched, Reason, RequestKind
from tests.fetch.nameserver import Reply, a, naming
from tests.fetch.servers import PAGE, Peer, fetcher, serving


def gate(limit: int = 1, max_held_bytes: int = 100) -> RequestGate:
    """Return a gate."""
    return RequestGate(limit=limit, max_held_bytes=max_held_bytes)


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_gate_lets_in_as_many_as_it_may_and_then_in_order() -> None:
    inside: list[RequestPlace] = []
    way = gate(limit=2)
    places = [RequestPlace() for _ in range(5)]

    async def enter(place: RequestPlace) -> None:
        await way.enter(place)
        inside.append(place)

    tasks = [asyncio.create_task(enter(place)) for place in places]
    for expected in range(2, 5):
        await settle()
        assert inside == places[:expected]
        way.leave(places[expected - 2])
    await asyncio.gather(*tasks)
    assert inside == places


async def test_a_gate_admits_no_request_while_too_many_bytes_are_held() -> None:
    way = gate(limit=10, max_held_bytes=100)
    first, second = RequestPlace(), RequestPlace()
    await way.enter(first)
    await way.enter(second)
    assert way.bodies.grow(first, 60) is Growth.TAKEN
    way.bodies.held_bytes += 60
    waiting = asyncio.create_task(way.enter(RequestPlace()))
    await settle()
    assert not waiting.done()
    way.leave(first)
    await settle()
    assert not waiting.done(), "the body is still in hand"
    way.bodies.release(60)
    await settle()
    assert waiting.done()


async def test_a_request_that_gives_up_waiting_takes_no_place() -> None:
    way = gate()
    first = RequestPlace()
    await way.enter(first)
    waiting = [asyncio.create_task(way.enter(RequestPlace())) for _ in range(3)]
    await settle()
    waiting[0].cancel()  # while waiting
    way.leave(first)
    waiting[1].cancel()  # when its place was given to it already, and before it knew
    await settle()
    assert [task.cancelled() for task in waiting] == [True, True, False]
    assert waiting[2].done()


async def test_slots_are_counted_for_each_address_alone() -> None:
    slots = AddressSlots(2)
    for address in ("a", "b", "a", "b"):
        await slots.enter(address)
    waiting = asyncio.create_task(slots.enter("a"))
    slots.leave("b")
    await settle()
    assert not waiting.done()
    slots.leave("a")
    await settle()
    assert waiting.done()


async def test_slots_never_leak_nor_multiply_whatever_is_cancelled_when() -> None:
    draw = random.Random(5)
    slots = AddressSlots(3)
    inside = dict.fromkeys("ab", 0)

    async def visit(address: str) -> None:
        await slots.enter(address)
        inside[address] += 1
        assert inside[address] <= 3
        try:
            for _ in range(draw.randrange(4)):
                await asyncio.sleep(0)
        finally:
            inside[address] -= 1
            slots.leave(address)

    tasks: list[asyncio.Task[None]] = []
    for _ in range(2_000):
        tasks.append(asyncio.create_task(visit(draw.choice("ab"))))
        if draw.random() < 0.4:
            draw.choice(tasks).cancel()
        if draw.random() < 0.3:
            await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(result is None or isinstance(result, asyncio.CancelledError) for result in results)
    assert slots._inside == {}
    assert slots._lines == {}


class Crowd:
    """A server that holds all answers back until a test releases them."""

    def __init__(self) -> None:
        self.inside = 0
        self.full = asyncio.Event()  # as many are inside as should be
        self.go_on = asyncio.Event()

    def expect(self, inside: int) -> None:
        """Say how many should come in."""
        self._expected = inside

    async def serve(self, peer: Peer) -> None:
        """Serve one of them."""
        self.inside += 1
        if self.inside == self._expected:
            self.full.set()
        await self.go_on.wait()
        await peer.send(PAGE)


@pytest.mark.parametrize(("own", "expected"), [(True, 12), (False, 4)])
@pytest.mark.parametrize("names", [1, 12])
async def test_an_address_gets_four_requests_at_once_under_all_its_names_unless_it_is_the_operators(
    own: bool, expected: int, names: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd()
    crowd.expect(expected)
    zone: dict[tuple[str, str], list[Reply]] = {(f"n{n}.test", "A"): [a("127.0.0.1")] for n in range(names)}
    async with (
        serving(crowd.serve) as server,
        serving(PAGE, address="127.0.0.2") as other,
        naming(zone) as nameserver,
        fetcher(nameserver=nameserver.address) as web,
    ):
        if not own:  # no test can have a public address: what may be contacted here is always the operator's
            monkeypatch.setattr(web, "_is_own", lambda _address: False)
        tasks = [asyncio.create_task(web.fetch(server.url(host=f"n{n % names}.test"))) for n in range(12)]
        await crowd.full.wait()
        # A request admitted by mistake has had the time of an entire request to another address.
        assert isinstance(await web.fetch(other.url(host="127.0.0.2")), Fetched)
        assert crowd.inside == expected
        crowd.go_on.set()
        assert all(isinstance(outcome, Fetched) for outcome in await asyncio.gather(*tasks))


async def test_requests_wait_while_the_bodies_in_flight_hold_too_much() -> None:
    half_way, go_on = asyncio.Event(), asyncio.Event()

    async def send_in_halves(peer: Peer) -> None:
        await peer.send(PAGE[:-5] + b"hell")
        half_way.set()
        await go_on.wait()
        await peer.send(b"o")

    async with serving(send_in_halves) as slow, serving(PAGE) as server, fetcher(max_held_bytes=4) as web:
        first = asyncio.create_task(web.fetch(slow.url()))
        await half_way.wait()
        while web._gate.bodies.held_bytes < 4:  # noqa: ASYNC110 - that bytes came in is not announced by any event
            await asyncio.sleep(0)
        second = asyncio.create_task(web.fetch(server.url()))
        await settle()
        assert server.connections == 0
        go_on.set()
        answer = await first
        assert isinstance(answer, Fetched)
        await settle()
        assert server.connections == 0, "the body is in hand until it is stored"
        web.release(len(answer.body))
        other = await second
        assert isinstance(other, Fetched)
        web.release(len(other.body))
        assert web._gate.bodies.held_bytes == 0


async def test_a_sitemap_that_finds_no_room_beside_others_is_left_for_later_and_one_alone_is_not() -> None:
    is_full, go_on = asyncio.Event(), asyncio.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"

    async def send_most_and_wait(peer: Peer) -> None:
        await peer.send(head + b"x" * 1_990)
        await go_on.wait()
        await peer.send(b"x" * 10)

    async def send_when_full(peer: Peer) -> None:
        await is_full.wait()
        await peer.send(head + b"x" * 2_000)

    async with (
        serving(send_most_and_wait) as first,
        serving(send_when_full) as second,
        fetcher(max_held_bytes=1_000, max_body_bytes=100) as web,
    ):
        alone = asyncio.create_task(web.fetch(first.url(), kind=RequestKind.SITEMAP))
        beside = asyncio.create_task(web.fetch(second.url(), kind=RequestKind.SITEMAP))
        while web._gate.bodies.held_bytes < 1_990:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        is_full.set()
        outcome = await beside
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.CUT_LARGE, "no site is at fault, and it is requested again"
        go_on.set()
        answer = await alone
        assert isinstance(answer, Fetched)
        web.release(len(answer.body))
        assert isinstance(await web.fetch(second.url(), kind=RequestKind.SITEMAP), Fetched)
