"""An address gets no more than its share of requests, whatever the names, and less while it is slow or fails."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.address_pace import MARGIN, MAX_DOUBLINGS, MAX_IDLE_ADDRESSES, AddressPace, address_delay_s
from gossamer.rules.pace import PaceSettings

ADDRESS = "192.0.2.1"
TICK_S = 0.1 * MARGIN


def paced(*, share: float = 1.0, most_s: float = 70.0, at_once: int = 4) -> AddressPace:
    """The pace of a worker that has just got a share, and may send a request to any address."""
    pace = AddressPace(delay_s=0.1, most_s=most_s, at_once=at_once)
    pace.set_share(share, -1.0)
    return pace


def ask(pace: AddressPace, now_s: float, *, took_s: float = 0.0, failed: bool = False) -> None:
    """Send a request that ends at once."""
    assert pace.until_due(ADDRESS, now_s) == 0
    pace.grant(ADDRESS)
    pace.sent(ADDRESS, now_s)
    pace.ended(ADDRESS, duration_s=took_s, failed=failed)


@pytest.mark.parametrize(
    ("settings", "delay_s"),
    [
        (PaceSettings(), 0.1),
        (PaceSettings(delay_s=0.05), 0.05),  # never more than the delay of a site, unless the operator says so
        (PaceSettings(delay_s=0.0), 0.0),
        (PaceSettings(address_delay_s=2.0), 2.0),
        (PaceSettings(address_delay_s=0.5, delay_s=0.0), 0.5),
    ],
)
def test_the_delay_of_an_address_is_the_operators_or_a_tenth_of_a_second(
    settings: PaceSettings, delay_s: float
) -> None:
    assert address_delay_s(settings) == delay_s


def test_an_address_is_due_one_tick_after_its_last_request() -> None:
    pace = paced()
    ask(pace, 0.0)
    assert pace.until_due(ADDRESS, 0.0) == pytest.approx(TICK_S)
    assert pace.until_due(ADDRESS, 0.09) > 0
    assert pace.until_due("192.0.2.2", 0.0) == 0
    assert pace.until_due(ADDRESS, TICK_S) == 0


def test_a_worker_without_a_share_sends_nothing() -> None:
    pace = AddressPace(delay_s=0.1, most_s=70.0, at_once=4)
    assert pace.until_due(ADDRESS, 100.0) == math.inf
    pace.set_share(0.25, 100.0)
    assert pace.until_due(ADDRESS, 100.0) == pytest.approx(4 * TICK_S)


def test_while_a_request_is_allowed_and_not_sent_no_other_is_allowed() -> None:
    pace = paced()
    pace.grant(ADDRESS)
    assert pace.until_due(ADDRESS, 10.0) == math.inf
    pace.cancel(ADDRESS)
    assert pace.until_due(ADDRESS, 10.0) == 0


def test_no_more_requests_are_under_way_at_once_than_allowed() -> None:
    pace = paced(at_once=2)
    for now_s in (0.0, 1.0):
        pace.grant(ADDRESS)
        pace.sent(ADDRESS, now_s)
    assert pace.until_due(ADDRESS, 5.0) == math.inf
    pace.ended(ADDRESS, duration_s=0.1, failed=False)
    assert pace.until_due(ADDRESS, 5.0) == 0


def test_the_operators_own_addresses_get_any_number_of_requests_at_once() -> None:
    pace = AddressPace(delay_s=0.0, most_s=70.0, at_once=2, is_own=lambda address: address == ADDRESS)
    for address, is_due in ((ADDRESS, True), ("192.0.2.2", False)):
        for _ in range(2):
            pace.grant(address)
            pace.sent(address, 0.0)
        assert (pace.until_due(address, 0.0) == 0) == is_due


def test_an_address_that_fails_again_and_again_gets_fewer_requests_but_never_fewer_than_its_sites_delay() -> None:
    pace = paced(most_s=3.0)
    waits_s = []
    for number in range(9):
        ask(pace, 100.0 * number, failed=True)
        waits_s.append(pace.until_due(ADDRESS, 100.0 * number))
    assert waits_s[:5] == pytest.approx([TICK_S, TICK_S, 2 * TICK_S, 4 * TICK_S, 8 * TICK_S])
    assert waits_s[-1] == pytest.approx(3.0 * MARGIN)
    ask(pace, 1_000.0)
    assert pace.until_due(ADDRESS, 1_000.0) == pytest.approx(TICK_S)
    assert MAX_DOUBLINGS == 6


def test_a_slow_address_gets_no_more_requests_than_it_answers_at_once() -> None:
    pace = paced()
    ask(pace, 0.0, took_s=4.0)
    assert pace.until_due(ADDRESS, 0.0) == pytest.approx(1.0)


def test_a_worker_that_joins_again_begins_without_an_allowance() -> None:
    pace = paced()
    pace.restart(50.0)
    pace.set_share(1.0, 50.0)
    assert pace.until_due(ADDRESS, 50.0) == pytest.approx(TICK_S)


def test_addresses_that_are_due_for_long_are_forgotten() -> None:
    pace = paced(most_s=0.1)
    for number in range(2 * MAX_IDLE_ADDRESSES):
        address, now_s = str(number), float(number)
        pace.grant(address)
        pace.sent(address, now_s)
        pace.ended(address, duration_s=0.0, failed=False)
    assert len(pace._addresses) <= MAX_IDLE_ADDRESSES


@given(
    st.lists(
        st.tuples(
            st.floats(0.0, 0.3),  # time that passes
            st.sampled_from(["ask", "ask", "ask", "share", "restart"]),
            st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]),
            st.booleans(),
        ),
        max_size=60,
    )
)
def test_in_any_time_an_address_gets_at_most_what_the_share_allows_and_one(
    events: list[tuple[float, str, float, bool]],
) -> None:
    pace = paced()
    now_s, allowed, share = 0.0, 1.0, 1.0  # `allowed` integrates the share over time
    sent: list[tuple[float, float]] = []
    for passed_s, what, new_share, failed in events:
        now_s += passed_s
        allowed += passed_s * share / 0.1
        if what == "ask" and not pace.until_due(ADDRESS, now_s):
            ask(pace, now_s, failed=failed)
            sent.append((now_s, allowed))
        elif what == "share":
            pace.set_share(new_share, now_s)
            share = new_share
        elif what == "restart":
            pace.restart(now_s)
            share = 0.0
    for first, (_, allowed_then) in enumerate(sent):
        for last in range(first, len(sent)):
            assert last - first + 1 <= sent[last][1] - allowed_then + 1 + 1e-6
