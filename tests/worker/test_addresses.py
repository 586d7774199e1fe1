"""Requests and sites wait for their address in line; nothing is let through before the address is due."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import TYPE_CHECKING

from gossamer.records import Claim, QueuedUrl
from gossamer.rules.address_pace import AddressPace
from gossamer.workbench import Workbench, WorkbenchSettings
from gossamer.worker.addresses import TURNS_FIRST, AddressGate, Crowded, Permit

if TYPE_CHECKING:
    from collections.abc import Callable

ADDRESS, NAME = "192.0.2.1", "a.test"
DELAY_S = 0.02


def gate_of(
    bench: Workbench | None = None, *, delay_s: float = DELAY_S, announce: Callable[[], None] = lambda: None
) -> AddressGate:
    """A gate whose worker has had the whole share for long."""
    pace = AddressPace(delay_s=delay_s, most_s=70.0, at_once=4)
    gate = AddressGate(
        pace,
        bench=Workbench(WorkbenchSettings()) if bench is None else bench,
        clock=time.monotonic,
        is_exempt=lambda address: address == "127.0.0.1",
        announce=announce,
    )
    pace.set_share(1.0, time.monotonic() - 1_000.0)
    return gate


def park(bench: Workbench, gate: AddressGate, site: str) -> None:
    """Let a site wait for the address."""
    host = f"https://{site}"
    url = QueuedUrl(f"{host}/", site.encode(), host, 1, 0, 0, 0, 0)
    bench.take_in(Claim(site=site, epoch=1, delay_s=70.0, own_delay_s=0.0, failures=0, urls=(url,), hosts={}), 0.0)
    busy = bench.next_turn(0.0)
    assert busy is not None
    bench.park(busy, ADDRESS)
    gate.watch(ADDRESS)


async def send(gate: AddressGate, sent: list[tuple[str, float]], what: str) -> None:
    """Send one request, as a turn does."""
    permit = await gate.enter([ADDRESS], NAME)
    assert isinstance(permit, Permit)
    permit.send()
    sent.append((what, time.monotonic()))
    permit.end()


def test_requests_of_turns_go_one_after_the_other_in_the_order_in_which_they_came() -> None:
    async def check() -> None:
        gate = gate_of()
        sent: list[tuple[str, float]] = []
        await asyncio.gather(*(send(gate, sent, str(number)) for number in range(8)))
        assert [what for what, _ in sent] == [str(number) for number in range(8)]
        gaps_s = [later - earlier for (_, earlier), (_, later) in pairwise(sent)]
        assert min(gaps_s) >= DELAY_S
        assert gate.waiting == 0

    asyncio.run(check())


def test_an_address_without_a_delay_gets_four_requests_at_once_and_the_next_when_one_has_ended() -> None:
    async def check() -> None:
        gate = gate_of(delay_s=0.0)
        permits = []
        for _ in range(4):
            permit = await gate.enter([ADDRESS], NAME)
            assert isinstance(permit, Permit)
            permit.send()
            permits.append(permit)
        sent: list[tuple[str, float]] = []
        fifth = asyncio.create_task(send(gate, sent, "fifth"))
        await asyncio.sleep(0)
        assert gate.waiting == 1
        permits[0].end()
        await fifth
        assert [what for what, _ in sent] == ["fifth"]

    asyncio.run(check())


def test_an_exempt_address_has_no_line() -> None:
    async def check() -> None:
        gate = gate_of(delay_s=1_000.0)
        for _ in range(3):
            permit = await gate.enter(["127.0.0.1"], NAME)
            assert isinstance(permit, Permit)
            permit.send()

    asyncio.run(check())


def test_a_cancelled_request_leaves_its_place_to_the_next() -> None:
    async def check() -> None:
        gate = gate_of()
        sent: list[tuple[str, float]] = []
        first = gate.try_enter([ADDRESS], NAME)
        assert first is not None
        tasks = [asyncio.create_task(send(gate, sent, str(number))) for number in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        first.end()  # it was not sent
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [what for what, _ in sent] == ["1", "2"]

    asyncio.run(check())


def test_a_line_that_is_too_long_is_crowded() -> None:
    async def check() -> None:
        gate = gate_of(delay_s=4.0)
        first = gate.try_enter([ADDRESS], NAME)
        assert first is not None
        tasks = [asyncio.create_task(gate.enter([ADDRESS], NAME)) for _ in range(5)]
        await asyncio.sleep(0)
        assert [task.done() for task in tasks] == [False, False, True, True, True]
        assert all(isinstance(task.result(), Crowded) for task in tasks[2:])
        gate.dismiss()
        assert all(isinstance(ended, Crowded) for ended in await asyncio.gather(*tasks))

    asyncio.run(check())


def test_another_address_of_the_same_name_is_used_while_the_first_is_not_due() -> None:
    gate = gate_of()
    permits = [gate.try_enter([ADDRESS, "192.0.2.2"], NAME) for _ in range(3)]
    assert [permit and permit.address for permit in permits] == [ADDRESS, "192.0.2.2", None]


def test_a_parked_site_is_announced_when_its_address_is_due() -> None:
    async def check() -> None:
        ready = asyncio.Event()
        bench = Workbench(WorkbenchSettings())
        gate = gate_of(bench, announce=ready.set)
        permit = gate.try_enter([ADDRESS], NAME)
        assert permit is not None
        park(bench, gate, "b.test")
        await asyncio.sleep(0)
        assert not gate.ready
        permit.send()
        sent_s = time.monotonic()
        await asyncio.wait_for(ready.wait(), 30)
        assert time.monotonic() - sent_s >= DELAY_S
        assert gate.next_ready() == ADDRESS
        site = bench.next_parked(ADDRESS, 0.0)
        assert site is not None
        assert site.site == "b.test"
        gate.enter_parked(ADDRESS, NAME).end()

    asyncio.run(check())


def test_requests_of_turns_come_first_but_not_for_ever() -> None:
    async def check() -> None:
        ready = asyncio.Event()
        bench = Workbench(WorkbenchSettings())
        gate = gate_of(bench, announce=ready.set)
        sent: list[tuple[str, float]] = []
        await send(gate, sent, "before")
        park(bench, gate, "b.test")
        tasks = [asyncio.create_task(send(gate, sent, str(number))) for number in range(2 * TURNS_FIRST)]
        await asyncio.wait_for(ready.wait(), 30)
        assert len(sent) == 1 + TURNS_FIRST
        assert gate.next_ready() == ADDRESS
        assert bench.next_parked(ADDRESS, 0.0) is not None
        permit = gate.enter_parked(ADDRESS, NAME)
        permit.send()
        permit.end()
        await asyncio.gather(*tasks)

    asyncio.run(check())


def test_a_site_that_would_wait_long_for_its_address_had_better_be_given_back() -> None:
    async def check() -> None:
        bench = Workbench(WorkbenchSettings())
        gate = gate_of(bench, delay_s=25.0)
        permit = gate.try_enter([ADDRESS], NAME)
        assert permit is not None
        for number in range(2):
            assert gate.book(ADDRESS) is None
            park(bench, gate, f"{number}.test")
        booked_s = [gate.book(ADDRESS) for _ in range(3)]
        assert all(later and earlier and later > earlier + 20 for earlier, later in pairwise(booked_s))

    asyncio.run(check())
