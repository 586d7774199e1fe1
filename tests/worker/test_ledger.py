"""What a worker has to report is handed in whole, soon, and before it becomes too much."""

from __future__ import annotations

import asyncio
from functools import wraps
from typing import TYPE_CHECKING

from gossamer.records import Done, HostState, Link
from gossamer.urls import hash_url, identify
from gossamer.worker.ledger import FULL_LINKS, FULL_OUTCOMES, OVERFULL, Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


def in_a_loop(test: Callable[[], Coroutine[None, None, None]]) -> Callable[[], None]:
    """Run a test that is a coroutine."""

    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def host() -> HostState:
    return HostState(host="https://a.test", rules="")


def note(ledger: Ledger, outcomes: int) -> None:
    for number in range(outcomes):
        ledger.note_outcome("a.test", 1, hash_url(f"https://a.test/{number}"), Done())


@in_a_loop
async def test_one_who_is_cancelled_waiting_for_a_page_does_not_spoil_it_for_others() -> None:
    ledger = Ledger()

    async def wait() -> None:
        await ledger.note_host("a.test", 1, host(), own_delay_s=0)

    impatient, patient = asyncio.create_task(wait()), asyncio.create_task(wait())
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.wait([impatient])
    ledger.turn_page().committed.set_result(None)
    await patient
    assert impatient.cancelled()


@in_a_loop
async def test_many_outcomes_are_handed_in_at_once() -> None:
    ledger = Ledger()
    note(ledger, FULL_OUTCOMES - 1)
    assert not ledger.full.is_set()
    note(ledger, 1)
    assert ledger.full.is_set()
    assert len(ledger.turn_page().batch(0.0).visits[0].outcomes) == FULL_OUTCOMES
    assert not ledger.full.is_set()


@in_a_loop
async def test_nothing_new_begins_while_the_frontier_cannot_keep_up() -> None:
    ledger = Ledger()
    note(ledger, OVERFULL * FULL_OUTCOMES - 1)
    assert not ledger.is_overfull
    note(ledger, 1)
    assert ledger.is_overfull
    ledger.turn_page()
    assert not ledger.is_overfull
    ledger.note_links([Link(*identify("https://b.test/"), 0)] * (OVERFULL * FULL_LINKS))
    assert ledger.is_overfull
