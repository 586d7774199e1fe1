"""Workers share what each address may get; what a dead worker had is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.frontier.shares import UNCHANGED, WHOLE
from gossamer.records import Orders

if TYPE_CHECKING:
    from gossamer.frontier import Frontier
    from gossamer.records import AddressShare
    from tests.frontier.conformance.lab import Lab


def beat(frontier: Frontier, used: AddressShare = UNCHANGED) -> AddressShare:
    orders = frontier.heartbeat({}, 0, used)
    assert isinstance(orders, Orders)
    return orders.share


def test_a_lone_worker_has_the_whole_and_a_second_one_gets_its_half_when_the_first_uses_less(lab: Lab) -> None:
    first, _ = lab.join()
    had = beat(first)
    assert had.parts == WHOLE
    second, _ = lab.join()
    assert beat(second).parts == 0, "nothing is left"
    told = beat(first, had)
    assert told.parts == WHOLE // 2
    assert beat(second).parts == 0, "the first may not have heard it"
    assert beat(first, told).parts == WHOLE // 2
    assert beat(second).parts == WHOLE // 2


def test_a_dead_workers_share_goes_to_the_others(lab: Lab) -> None:
    first, worker = lab.join()
    beat(first)
    second, _ = lab.join()
    assert beat(second).parts == 0
    second.recover(worker)
    assert beat(second).parts == WHOLE


def test_a_heartbeat_that_is_older_than_the_share_changes_nothing(lab: Lab) -> None:
    first, _ = lab.join()
    had = beat(first)
    second, worker = lab.join()
    told = beat(first, had)
    assert beat(first, told).parts == WHOLE // 2
    second.recover(worker)
    assert beat(first, UNCHANGED).parts == WHOLE
    assert beat(first, told).parts == WHOLE, "it came late"
