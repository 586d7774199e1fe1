"""What a worker remembers of links and sites has a fixed size."""

from __future__ import annotations

import tracemalloc

import pytest

from gossamer.rules import memories
from gossamer.rules.memories import FEW, DistinctLimiter, NumberTable, PairTable
from gossamer.rules.traps import TrapGuard, TrapSettings
from gossamer.urls import identify


def test_keys_with_the_same_place_do_not_take_it_from_each_other() -> None:
    numbers = NumberTable(1 << 10)
    keys = [key << 10 for key in range(1, memories.NEIGHBOURS + 1)]  # the hash of a number is the number
    for key in keys:
        numbers.put(key, -key)
    assert [numbers.get(key, 0) for key in keys] == [-key for key in keys]
    assert numbers.get(100 << 10, 7) == 7
    numbers.put(100 << 10, 8)  # one too many
    assert numbers.get(100 << 10, 7) == 8
    assert [numbers.get(key, 0) for key in keys] == [0, *(-key for key in keys[1:])]


def test_who_is_met_again_and_again_is_not_forgotten_for_many_who_are_met_once() -> None:
    numbers = NumberTable(1 << 6)
    regulars = range(1, 1 << 6, 4)
    for key in regulars:
        numbers.put(key, key)
    for passer_by in range(1_000, 11_000):
        numbers.put(passer_by, 1)
        if passer_by % 20 == 0:
            assert [numbers.get(key, 0) for key in regulars] == list(regulars)


def test_a_key_has_two_numbers() -> None:
    pairs = PairTable(1 << 4)
    assert pairs.get(15) is None
    for key in (0, 15, 31):
        pairs.put(key, key, -key)
    pairs.put(15, 7, 8)
    assert [pairs.get(key) for key in (0, 15, 31, 47)] == [(0, 0), (7, 8), (31, -31), None]


def test_the_last_places_have_neighbours_too() -> None:
    numbers = NumberTable(1 << 4)
    for key in (15, 31, 47):
        numbers.put(key, key)
    assert [numbers.get(key, 0) for key in (15, 31, 47)] == [15, 31, 47]


def test_a_key_whose_hash_is_zero_is_a_key_too() -> None:
    numbers, distinct = NumberTable(1 << 4), DistinctLimiter(1, 1 << 4)
    assert numbers.get(0, 5) == 5
    numbers.put(0, 6)
    assert numbers.get(0, 5) == 6
    assert [distinct.take(0, 0), distinct.take(0, 0), distinct.take(0, 2)] == [True, True, False]


@pytest.mark.parametrize("limit", [1, 2, FEW, FEW + 1, 100])
def test_as_many_distinct_values_of_a_key_are_admitted_as_may_be(limit: int) -> None:
    distinct = DistinctLimiter(limit, 1 << 4)
    for _ in range(3):
        assert [distinct.take("key", f"{value}") for value in range(limit + 50)] == [True] * limit + [False] * 50
        assert distinct.take("other", "")


def test_a_key_that_took_the_place_of_another_begins_with_none() -> None:
    distinct = DistinctLimiter(2, 1)
    for key in range(1, 100):
        assert [distinct.take(key, f"{key} {value}") for value in range(3)] == [True, True, False]


def test_of_keys_with_many_values_those_met_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memories, "MAX_MANY", 100)
    distinct = DistinctLimiter(20, 1 << 10)
    for key in range(1, 51):
        for value in range(25):
            assert distinct.take(key, f"{value}") is (value < 20)
        assert sum(map(len, distinct._many.values())) == distinct._total <= 100
    assert set(distinct._many) == {46, 47, 48, 49, 50}
    assert not distinct.take(46, "another")
    assert distinct.take(1, "another")


def test_what_traps_are_known_by_does_not_grow() -> None:
    guard = TrapGuard(TrapSettings())
    links = [identify(f"https://h{number % 3}.s{number}.test/{number}?p{number}") for number in range(20_000)]

    def visit(number: int) -> None:
        site = f"t{number}.test"
        guard.select([links[number]], host=f"https://{site}", site=site, year=2030)
        guard.note_page(site, number)

    for number in range(1_000):  # the list of public suffixes is read, and caches are filled
        visit(number)
    tracemalloc.start()
    try:
        for number in range(1_000, len(links)):
            visit(number)
        gained, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert gained < 200_000  # 10 bytes for each site, path, host and content that it met
