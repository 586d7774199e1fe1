"""What machines share of their history: each minute once, for some days, found by its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres.database import SQL
from gossamer.frontier.postgres.history import DROP_ROWS, STEP_ROWS, pack, unpack
from gossamer.records import SharedFigures
from tests.frontier.postgres.test_plans import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.frontier.labs import PostgresLab

NOON = 1_800_000_000 // 60 * 60.0
DAY_S = 86_400.0


def minute(at: float, worker: str = "w1", value: float = 1.0) -> SharedFigures:
    return SharedFigures(at=at, worker=worker, figures={("gossamer_requests_total", "kind=page"): value})


@pytest.fixture
def machine(lab: PostgresLab) -> Iterator[Callable[[str], PostgresFrontier]]:
    """Opens the crawl as a machine of this name."""
    opened: list[PostgresFrontier] = []

    def open_machine(name: str) -> PostgresFrontier:
        opened.append(PostgresFrontier(lab.address, lab.crawl, home=f"host:7:{name}"))
        return opened[-1]

    yield open_machine
    for frontier in opened:
        frontier.close()


def told(frontier: PostgresFrontier, **period: Any) -> list[tuple[str, float, str]]:
    found = frontier.shared_figures(**{"since_at": 0.0, "until_at": 2 * NOON, **period})
    return [(one.home.rpartition(":")[2], one.at, one.worker) for one in found]


def test_every_machine_sees_the_minutes_of_all_and_none_twice(machine: Callable[[str], PostgresFrontier]) -> None:
    one, other = machine("one"), machine("other")
    assert one.shared_span() is None
    one.share_figures([minute(NOON), minute(NOON, "supervisor@here")], days=7)
    other.share_figures([minute(NOON, "w2", 2.5), minute(NOON, "supervisor@here")], days=7)
    other.share_figures([minute(NOON + 60, "w2", 9), minute(NOON, "w2", 2.5)], days=7)  # its answer was lost before
    mine = [("one", NOON, "supervisor@here"), ("one", NOON, "w1")]
    theirs = [("other", NOON, "supervisor@here"), ("other", NOON, "w2"), ("other", NOON + 60, "w2")]
    for reader in (one, other):
        assert told(reader) == mine + theirs
        assert told(reader, without={"one"}) == theirs
        assert told(reader, since_at=NOON + 1, until_at=NOON + 60) == theirs[-1:]
        assert reader.shared_span() == (NOON, NOON + 60)
    (figures,) = [one.figures for one in other.shared_figures(since_at=NOON + 1, until_at=2 * NOON)]
    assert figures == {("gossamer_requests_total", "kind=page"): 9.0}


def test_minutes_of_all_machines_are_deleted_after_some_days_a_few_at_a_time(
    machine: Callable[[str], PostgresFrontier],
) -> None:
    here, gone = machine("here"), machine("gone")
    rows = DROP_ROWS + 5
    gone.share_figures([minute(NOON - 8 * DAY_S + number * 60, f"w{number}") for number in range(rows)], days=70)
    here.share_figures([minute(NOON)], days=7)
    assert len(told(here)) == rows - DROP_ROWS + 1
    here.share_figures([minute(NOON + 60)], days=7)
    assert told(here) == [("here", NOON, "w1"), ("here", NOON + 60, "w1")]


def test_a_long_history_is_read_in_steps_and_completely(machine: Callable[[str], PostgresFrontier]) -> None:
    rows = 2 * STEP_ROWS + 1
    frontier = machine("one")
    frontier.share_figures([minute(NOON + number // 3 * 60, f"w{number % 3}") for number in range(rows)], days=7)
    assert len(set(told(frontier))) == rows


def test_another_crawl_in_the_database_has_a_history_of_its_own(
    lab: PostgresLab, machine: Callable[[str], PostgresFrontier]
) -> None:
    machine("one").share_figures([minute(NOON)], days=7)
    with PostgresFrontier(lab.address, f"beside {lab.crawl}") as beside:
        assert told(beside) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("history_homes", {}),
        ("drop_figures", {"home": "h", "before": 1 << 60, "rows": 10}),
        ("shared_figures", {"home": "h", "after": 0, "worker": "", "until": 1 << 60, "rows": 10}),
    ],
)
def test_statements_find_minutes_by_their_key(
    machine: Callable[[str], PostgresFrontier], name: str, values: dict[str, object]
) -> None:
    connection = machine("one")._database._connected()
    with psycopg.ClientCursor(connection) as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {SQL[name]}".encode(), {"crawl": 1, **values})
        ((found,),) = cursor.fetchall()
    walked = [step for step in nodes(found[0]["Plan"]) if step.get("Relation Name") == "history"]
    keyed = [step for step in walked if step["Node Type"] != "Tid Scan" and "Index Cond" in step]
    assert keyed
    assert {step["Node Type"] for step in walked} <= {"Index Scan", "Index Only Scan", "Tid Scan", "ModifyTable"}
    for step in keyed:
        assert "crawl" in step["Index Cond"]
        assert "Filter" not in step
        if name != "history_homes":
            assert "home" in step["Index Cond"]
            assert "at" in step["Index Cond"]


@given(st.dictionaries(st.tuples(st.text(), st.text()), st.floats(allow_nan=False, allow_infinity=False)))
def test_figures_come_back_as_they_were(figures: dict[tuple[str, str], float]) -> None:
    assert unpack(pack(figures)) == figures
