"""An own site gets as many requests at once as it can bear."""

from __future__ import annotations

import pytest

from gossamer.rules.lanes import SLOWER_S, Lanes


def answered(lanes: Lanes, *times_s: float) -> int:
    for response_s in times_s:
        lanes.note(response_s=response_s, failed=False, waits=False)
    return lanes.now


def test_a_site_gets_one_request_until_it_has_answered_and_then_all() -> None:
    lanes = Lanes(8)
    assert lanes.now == 1
    assert answered(lanes, 0.2) == 8


def test_a_failure_halves_the_lanes_once_for_all_that_were_under_way_and_good_answers_give_them_back() -> None:
    lanes = Lanes(8)
    answered(lanes, *[0.2] * 8)
    seen = []
    for _ in range(4):
        lanes.note(response_s=0.2, failed=True, waits=False)
        seen.append(lanes.now)
    assert seen == [4, 4, 4, 4]
    lanes.note(response_s=0.2, failed=True, waits=False)
    assert lanes.now == 2
    assert answered(lanes, *[0.2] * 16) == 3
    assert answered(lanes, *[0.2] * 100) == 8


def test_a_site_that_asks_for_a_wait_gets_one_request_at_a_time() -> None:
    lanes = Lanes(8)
    answered(lanes, 0.2)
    lanes.note(response_s=0.2, failed=False, waits=True)
    assert lanes.now == 1


@pytest.mark.parametrize(("usual_s", "slow_s", "narrows"), [
    (0.2, 0.38, False), (0.2, 0.45, True),
    (0.001, 0.001 + SLOWER_S / 2, False),  # a small server's jitter
    (0.001, 0.001 + 2 * SLOWER_S, True),
])  # fmt: skip
def test_answers_that_take_much_longer_than_usual_take_lanes_away(usual_s: float, slow_s: float, narrows: bool) -> None:
    lanes = Lanes(8)
    answered(lanes, *[usual_s] * 8)
    assert (answered(lanes, *[slow_s] * 60) < 8) is narrows


def test_a_server_that_does_one_thing_at_a_time_ends_with_few_lanes() -> None:
    lanes = Lanes(8)
    answered(lanes, 0.2)
    seen = [answered(lanes, 0.2 * lanes.now) for _ in range(1_000)]  # an answer takes as long as what waits before it
    assert max(seen[200:]) <= 4


def test_pages_that_differ_take_no_lanes_away() -> None:
    lanes = Lanes(8)
    answered(lanes, 0.2)
    assert {answered(lanes, response_s) for _ in range(200) for response_s in (0.005, 0.2, 0.2)} == {8}


def test_a_site_that_has_become_slower_for_good_gets_its_lanes_back() -> None:
    lanes = Lanes(8)
    answered(lanes, *[0.1] * 10)
    assert answered(lanes, *[0.5] * 30) < 8
    assert answered(lanes, *[0.5] * 300) == 8
