"""When requests may start: by count and by bytes, in the order of arrival."""

from __future__ import annotations

import asyncio

from gossamer.fetch.bodies import Growth
from gossamer.fetch.slots import RequestGate, RequestPlace
from gossamer.records import Failed, Fetched, Reason, RequestKind
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
