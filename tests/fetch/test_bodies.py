"""The budget of bytes: small bodies never wait, large ones wait for each other, and none waits for ever."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.bodies import Body, BodyBudget, Growth
from gossamer.records import Failed, Fetched, Reason, Truncation
from tests.fetch.servers import Peer, fetcher, serving

if TYPE_CHECKING:
    from collections.abc import Callable

REQUESTS = 10
SMALL = 50  # what is always there for each of them
MAX = 1_000


class Transfer:
    """A transfer of a body in pieces of ten bytes."""

    def __init__(self, budget: BodyBudget, site: str, size_bytes: int) -> None:
        self.body = Body(site)
        self.body.transfer = self
        self.is_paused = False
        self._budget = budget
        self._size_bytes = size_bytes

    @property
    def is_done(self) -> bool:
        """Whether it has come to its end."""
        return self.body.body_bytes >= self._size_bytes

    def step(self) -> Growth:
        """Receive a piece."""
        growth = self._budget.grow(self.body, 10)
        self.is_paused = growth is Growth.PAUSED
        return growth

    def resume(self) -> None:
        """Go on."""
        self.is_paused = False

    def cut(self) -> None:
        """Bodies are never cut from outside here."""


def budget(released: Callable[[], None] = lambda: None) -> BodyBudget:
    """Return a budget of which each request has 50 bytes for itself."""
    return BodyBudget(max_bytes=MAX, requests=REQUESTS, released=released)


def test_small_bodies_never_wait_whatever_large_ones_hold() -> None:
    bodies = budget()
    large = [Transfer(bodies, f"large {number}", 10_000) for number in range(2)]
    while not any(transfer.is_paused for transfer in large):
        for transfer in large:
            transfer.step()
    for number in range(REQUESTS - 2):
        small = Transfer(bodies, f"small {number}", SMALL)
        while not small.is_done:
            assert small.step() is Growth.TAKEN


def test_a_lone_body_may_be_larger_than_the_budget() -> None:
    alone = Transfer(budget(), "a.test", 3 * MAX)
    while not alone.is_done:
        assert alone.step() is Growth.TAKEN


def test_more_than_a_part_of_the_requests_does_not_wait_and_a_sitemap_never_does() -> None:
    bodies = budget()
    first = Transfer(bodies, "first", 10_000)
    while bodies.held_bytes < MAX:
        first.step()
    others = [Transfer(bodies, str(number), 10_000) for number in range(4)]
    others[0].body.is_patient = False
    found = []
    for other in others:
        while (growth := other.step()) is Growth.TAKEN:
            pass
        found.append(growth)
    assert found == [Growth.REFUSED, Growth.PAUSED, Growth.PAUSED, Growth.REFUSED]
    assert bodies.paused == 2


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 60)), min_size=1, max_size=REQUESTS),
    st.randoms(use_true_random=False),
)
def test_every_body_ends_and_the_bytes_held_have_a_bound(plans: list[tuple[str, int]], dice: object) -> None:
    bodies = budget()
    under_way = [Transfer(bodies, site, 10 * tens) for site, tens in plans]
    in_hand: list[Transfer] = []
    largest = max(10 * tens for _, tens in plans)
    while under_way or in_hand:
        able = [transfer for transfer in under_way if not transfer.is_paused]
        assert able or in_hand, "nothing can go on"
        choices = [*able, *in_hand]
        chosen = dice.choice(choices)  # type: ignore[attr-defined]
        if chosen in in_hand:
            in_hand.remove(chosen)
            bodies.release(chosen.body.body_bytes)
            continue
        growth = chosen.step()
        if growth is Growth.REFUSED or chosen.is_done:
            under_way.remove(chosen)
            bodies.end(chosen.body, is_kept=chosen.is_done)
            in_hand += [chosen] if chosen.is_done else []
        assert bodies.held_bytes <= MAX + largest
    assert bodies.held_bytes == bodies._large_bytes == bodies._large == bodies.paused == 0


async def test_a_large_page_waits_for_another_to_be_stored_and_then_comes_whole() -> None:
    body = b"x" * 300_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 300000\r\n\r\n"

    async def send(peer: Peer) -> None:
        await peer.send(head + body)

    async with serving(send) as server, fetcher(max_held_bytes=500_000, in_flight=4) as web:
        first = await web.fetch(server.url(), site="a.test")
        assert isinstance(first, Fetched)
        second = asyncio.create_task(web.fetch(server.url(), site="b.test"))
        third = asyncio.create_task(web.fetch(server.url(), site="c.test"))
        while web.load.paused < 1:  # noqa: ASYNC110 - no event tells that libcurl was paused
            await asyncio.sleep(0.001)
        assert not second.done()
        web.release(len(first.body))
        for task in (second, third):
            answer = await task
            if isinstance(answer, Failed):  # it did not even find a place to wait
                assert answer.reason is Reason.CUT_LARGE
            else:
                assert answer.body == body
                assert answer.truncated is None
                web.release(len(answer.body))
        assert web.load.held_bytes == 0


async def test_a_page_that_exceeds_its_limit_when_it_goes_on_after_a_wait_is_kept_up_to_the_limit() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 300000\r\n\r\n"
    limit = 500_000 // 2 // 4 + 1  # one byte more than every request has for itself

    async def send(peer: Peer) -> None:
        await peer.send(head + b"x" * 300_000)

    async with serving(send) as server, fetcher(max_held_bytes=500_000, in_flight=4, max_body_bytes=limit) as web:
        held = [await web.fetch(server.url(), site=f"{number}.test") for number in range(4)]
        waiting = asyncio.create_task(web.fetch(server.url(), site="b.test"))
        while not web.load.paused:  # noqa: ASYNC110 - no event tells that libcurl was paused
            await asyncio.sleep(0.001)
        for answer in held:
            assert isinstance(answer, Fetched)
            web.release(len(answer.body))
        last = await waiting
        assert isinstance(last, Fetched)
        assert (len(last.body), last.truncated) == (limit, Truncation.LENGTH)
        web.release(limit)
        assert web.load.held_bytes == 0


@pytest.mark.parametrize("total_s", [0.3])
async def test_a_page_whose_time_ends_while_it_waits_for_memory_is_not_kept_in_part(total_s: float) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 300000\r\n\r\n"

    async def send(peer: Peer) -> None:
        await peer.send(head + b"x" * 300_000)

    async with serving(send) as server, fetcher(max_held_bytes=500_000, in_flight=4, total_timeout_s=total_s) as web:
        first = await web.fetch(server.url())
        assert isinstance(first, Fetched)
        second = await web.fetch(server.url())
        assert isinstance(second, Failed)
        assert second.reason is Reason.CUT_LARGE
        web.release(len(first.body))
        assert web.load.held_bytes == 0
