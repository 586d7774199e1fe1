"""The life of a page, path by path: what a turn asks for, what it keeps, and what becomes of each URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.records import Done, GivenUp, Outcome, Reason
from gossamer.rules.pace import WaitCause
from tests.turn.scripted import World, answered, hashed, links_of, outcomes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOME = "https://a.test/"
ROBOTS = "https://a.test/robots.txt"
PAGE_STORED = [f"ask page {HOME}", f"parse page {HOME}", f"keep {HOME}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A path through a turn, as a sentence, with what must come of it."""

    says: str
    world: Mapping[str, Any] = field(default_factory=dict)
    trace: Sequence[str] | None = None  # None: not the point of this row
    outcomes: Mapping[str, Outcome] | None = None  # by URL
    links: Sequence[str] | None = None
    cause: WaitCause | None = None
    wait_s: float | None = None


def check(row: Row) -> None:
    """Play a row, and compare what came of it with what it says."""
    world = World(**row.world)
    result = world.play()
    if row.trace is not None:
        assert world.trace == list(row.trace)
    if row.outcomes is not None:
        assert outcomes_of(world, result) == {hashed(url): outcome for url, outcome in row.outcomes.items()}
    if row.links is not None:
        assert links_of(world, result) == list(row.links)
    if row.cause is not None:
        assert result.wait.cause is row.cause
    if row.wait_s is not None:
        assert result.wait.wait_s == row.wait_s
    assert result.bug is row.world.get("bug")


ROBOTS_ROWS = [
    Row(
        says="a page of a host with fresh robots.txt is asked for at once",
        trace=PAGE_STORED,
        outcomes={HOME: Done()},
        cause=WaitCause.DELAY,
        wait_s=70.0,
    ),
    Row(
        says="robots.txt of an unknown host comes first, and is durable before the page is asked for",
        world={"hosts": ()},
        trace=[f"ask robots {ROBOTS}", "commit", "wait 1.00", *PAGE_STORED],
        outcomes={HOME: Done()},
    ),
    Row(
        says="what robots.txt forbids is given up without a request",
        world={"hosts": (), "answers": {ROBOTS: answered(ROBOTS, body=b"User-agent: *\nDisallow: /")}},
        trace=[f"ask robots {ROBOTS}", "commit"],
        outcomes={HOME: GivenUp(reason=Reason.ROBOTS_DISALLOWED)},
    ),
]


@pytest.mark.parametrize("row", ROBOTS_ROWS, ids=lambda row: row.says)
def test_robots(row: Row) -> None:
    check(row)
