"""The explorer sees everything, and shows the shortest way to what is wrong."""

from __future__ import annotations

from tests.frontier.protocol.explorer import explore

Jugs = tuple[int, int]  # litres in a jug of three and in a jug of five
EMPTY: Jugs = (0, 0)


def pour(jugs: Jugs) -> list[tuple[str, Jugs]]:
    small, large = jugs
    right, left = min(small, 5 - large), min(large, 3 - small)
    return [
        ("fill the small one", (3, large)),
        ("fill the large one", (small, 5)),
        ("empty the small one", (0, large)),
        ("empty the large one", (small, 0)),
        ("pour the small one over", (small - right, large + right)),
        ("pour the large one over", (small + left, large - left)),
    ]


def test_the_shortest_way_to_a_bad_state_is_shown() -> None:
    found = explore(EMPTY, pour, lambda jugs, _: "four litres" if jugs[1] == 4 else None)
    assert found.wrong == "four litres"
    assert found.trace == (
        "fill the large one",
        "pour the large one over",
        "empty the small one",
        "pour the large one over",
        "fill the large one",
        "pour the large one over",
    )
    assert str(found).endswith("=> four litres")


def test_every_state_is_visited_once() -> None:
    visited: list[Jugs] = []
    found = explore(EMPTY, pour, lambda jugs, _: visited.append(jugs))
    assert found.wrong is None
    assert len(visited) == len(set(visited)) == found.states == 16  # one of the two is always empty or full


def test_an_invariant_sees_where_a_state_leads() -> None:
    found = explore(0, lambda n: [("up", n + 1)] if n < 3 else [], lambda n, ways: None if ways else f"stuck at {n}")
    assert (found.wrong, found.trace) == ("stuck at 3", ("up", "up", "up"))
