"""The fair queue: equal shares by key, whatever the costs are."""

from __future__ import annotations

from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fair_queue import FairQueue

KEYS = st.sampled_from("abcde")
COSTS = st.floats(min_value=0.001, max_value=10)


def test_with_equal_costs_and_one_item_per_key_the_order_is_that_of_arrival() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(100):
        queue.push(f"site {number}", number)
    assert [queue.pop()[1] for _ in range(100)] == [*range(100)]
    assert not queue.size
    with pytest.raises(IndexError):
        queue.pop()


def test_a_key_that_was_dear_waits_until_the_others_had_as_much() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("dear", "page")
    assert queue.pop() == ("dear", "page")
    queue.charge("dear", 1.0)
    queue.push("dear", "page")
    served = []
    queue.push("cheap", "page")
    for _ in range(30):
        key, _ = queue.pop()
        served.append(key)
        queue.charge(key, 0.1 if key == "cheap" else 1.0)
        queue.push(key, "page")
    assert served.index("dear") in (10, 11)
    assert served[: served.index("dear")] == ["cheap"] * served.index("dear")


def test_a_dear_key_gets_everything_while_no_other_waits() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(5):
        queue.push("dear", number)
        assert queue.pop() == ("dear", number)
        queue.charge("dear", 100.0)


def test_an_idle_key_cannot_save_up_its_share() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(100):
        queue.push("busy", number)
        queue.pop()
        queue.charge("busy", 1.0)
    for number in range(10):
        queue.push("busy", number)
        queue.push("late", number)
    served = []
    for _ in range(10):
        key, _ = queue.pop()
        served.append(key)
        queue.charge(key, 1.0)
    assert 4 <= served.count("late") <= 6


def test_a_cost_that_comes_to_light_while_the_key_waits_counts_at_once() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.push("dear", "first")
    queue.pop()
    queue.push("dear", "second")  # it waits already when its first cost becomes known
    queue.charge("dear", 5.0)
    queue.push("cheap", "page")
    assert queue.pop() == ("cheap", "page")


def test_only_small_debts_are_forgotten() -> None:
    queue: FairQueue[int] = FairQueue()
    queue.charge("dear", 1_000.0)
    for number in range(25_000):
        queue.push(f"site {number}", number)
        queue.pop()
    assert len(queue._tags) <= 10_001
    queue.push("dear", 0)
    queue.push("cheap", 0)
    assert queue.pop()[0] == "cheap"


@given(st.lists(st.one_of(KEYS, st.tuples(KEYS, COSTS)), max_size=60))
def test_nothing_is_lost_and_a_key_keeps_its_order(steps: list[str | tuple[str, float]]) -> None:
    queue: FairQueue[int] = FairQueue()
    model: dict[str, deque[int]] = {}
    for number, step in enumerate(steps):
        if isinstance(step, str):
            queue.push(step, number)
            model.setdefault(step, deque()).append(number)
        elif queue.size:
            key, item = queue.pop()
            assert item == model[key].popleft()
            queue.charge(key, step[1])
        assert queue.size == sum(map(len, model.values()))
    assert Counter(queue.clear()) == Counter(item for line in model.values() for item in line)
    assert not queue.size


@given(st.lists(st.lists(COSTS, min_size=1, max_size=5), min_size=2, max_size=6), st.integers(10, 200))
def test_keys_that_always_wait_are_charged_the_same_within_one_item_each(costs: list[list[float]], turns: int) -> None:
    queue: FairQueue[float] = FairQueue(least_cost=1e-6)
    spent = dict.fromkeys(map(str, range(len(costs))), 0.0)
    for number, own in enumerate(costs):
        for cost in own * (turns // len(own) + 1):
            queue.push(str(number), cost)
    for _ in range(turns):
        key, cost = queue.pop()
        queue.charge(key, cost)
        spent[key] += cost
    for one in spent:
        for other in spent:
            assert abs(spent[one] - spent[other]) <= max(costs[int(one)]) + max(costs[int(other)]) + 1e-3


def test_an_item_that_never_waited_is_charged_as_if_it_had() -> None:
    served, popped = FairQueue[str](), FairQueue[str]()
    for _ in range(3):  # the key is idle in between: it owes only its last item
        served.serve("dear", 1.0)
        popped.push("dear", "page")
        popped.pop()
        popped.charge("dear", 1.0)
    for queue in (served, popped):
        queue.push("dear", "page")
        for number in range(3):
            queue.push("cheap", f"{number}")
    orders = []
    for queue in (served, popped):
        order = []
        while queue.size:
            key, _ = queue.pop()
            queue.charge(key, 0.4 if key == "cheap" else 1.0)
            order.append(key)
        orders.append(order)
    assert orders[0] == orders[1] == ["cheap", "cheap", "cheap", "dear"]
