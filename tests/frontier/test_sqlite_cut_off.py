"""An operation on SQLite that is cut off at any instruction happened whole or not at all, and holds nobody up."""

from __future__ import annotations

import re
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pytest

from gossamer.frontier import FrontierError
from gossamer.frontier.sqlite import SqliteFrontier
from tests.frontier.samples import claim, complete, link, links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

INSTRUCTIONS = 5  # of SQLite's, between two places where an operation is cut off


@contextmanager
def _frontier(path: Path) -> Iterator[SqliteFrontier]:
    with SqliteFrontier(path, clock=lambda: 1_000.0) as frontier:
        frontier.resume(delay_s=70)
        frontier.join("test")
        frontier.add([*links("a.test", 3), link("b.test/")])
        yield frontier


def _report(frontier: SqliteFrontier) -> Callable[[], object]:
    claimed = claim(frontier)[0]
    return lambda: complete(frontier, claimed, links=links("c.test", 2))


def _give_back(frontier: SqliteFrontier) -> Callable[[], object]:
    claim(frontier)
    return lambda: frontier.reconcile({})


OPERATIONS: dict[str, Callable[[SqliteFrontier], Callable[[], object]]] = {
    "add": lambda frontier: lambda: frontier.add(links("d.test", 2)),
    "claim": lambda frontier: lambda: frontier.claim(10),
    "complete": _report,
    "heartbeat": lambda frontier: lambda: frontier.heartbeat({}),
    "reconcile": _give_back,
    "find_site": lambda frontier: lambda: frontier.find_site("a.test"),
    "stats": lambda frontier: frontier.stats,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_cut_off_happened_whole_or_not_at_all_and_can_be_done_again(name: str, tmp_path: Path) -> None:
    with _frontier(tmp_path / "whole.sqlite") as frontier:
        OPERATIONS[name](frontier)()
        whole = _content(frontier)
    with _frontier(tmp_path / "cut.sqlite") as frontier:
        operate = OPERATIONS[name](frontier)
        before = _content(frontier)
        places = 0
        while _is_cut_off(frontier, operate, places + 1):
            places += 1
            assert not frontier._database.connection.in_transaction
            if _content(frontier) != before:
                break  # cut off behind its commit
        assert places
        assert _content(frontier) == whole
        assert frontier.audit() == []
        operate()


def _is_cut_off(frontier: SqliteFrontier, operate: Callable[[], object], place: int) -> bool:
    """Try an operation that SQLite is told to end when it gets to a place; tell whether it got there."""
    places = count(1)
    connection = frontier._database.connection
    connection.set_progress_handler(lambda: next(places) == place, INSTRUCTIONS)
    try:
        operate()
    except FrontierError:
        return True
    finally:
        connection.set_progress_handler(None, 0)
    return False


def _content(frontier: SqliteFrontier) -> list[str]:
    """Return all that is in there, but for the Unix seconds at which something was added."""
    lines = frontier._database.connection.iterdump()
    # Each frontier has a time of its own, and a name that no other has.
    return [re.sub(r"\b\d{10}(?:\.\d+)?\b|\b1\.\d+e\+09\b|(?<!X)'[0-9a-f]{32}'", "its own", line) for line in lines]
