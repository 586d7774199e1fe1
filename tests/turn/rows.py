"""A path through a turn as one row of a table: what the world is like, and what must come of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.records import HostState
from gossamer.urls import hash_url
from tests.turn.scripted import NOW_AT, OPEN, World, answered, effects_of, links_of, outcomes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.records import Fetched, Outcome
    from gossamer.rules.pace import WaitCause
    from gossamer.turn import TurnResult

HOME = "https://a.test/"
ROBOTS = "https://a.test/robots.txt"
NEXT = "https://a.test/next"
WWW = "https://www.a.test"
WWW_OPEN = replace(OPEN, host=WWW)
PAGE_STORED = [f"ask page {HOME}", f"parse page {HOME}", f"keep {HOME}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A path through a turn, as a sentence, with what must come of it. What is None is not the point of the row."""

    says: str
    world: Mapping[str, Any] = field(default_factory=dict)
    trace: Sequence[str] | None = None
    asks: Sequence[str] | None = None  # the requests of the trace
    outcomes: Mapping[str, Outcome] | None = None  # by URL; all of them
    links: Sequence[str] | None = None  # all of them
    link: Mapping[str, Any] | None = None  # fields of the last link
    hosts: Mapping[str, Mapping[str, Any]] | None = None  # fields of the last state of each host that was reported
    counts: Mapping[tuple[str, str], int] | None = None  # all of them
    hook_failures: Sequence[tuple[str, str, int]] | None = None  # hook, URL, times
    kept: Mapping[str, Any] | None = None  # fields of the page that was stored
    in_hand: Sequence[str] | None = None  # URLs that are left for further turns
    failures: int | None = None  # of the site, in a row
    cause: WaitCause | None = None
    wait_s: float | None = None
    urgent: bool | None = None
    made_request: bool | None = None

    def __str__(self) -> str:
        """Return the name of the test."""
        return self.says


class Played(NamedTuple):
    """A turn that is over, and the world in which it was."""

    world: World
    result: TurnResult


def play(row: Row) -> Played:
    """Let a site have its turn in the world of a row."""
    world = World(**row.world)
    return Played(world, world.play())


def check(row: Row) -> None:
    """Play a row, and compare what came of it with what it says."""
    played = play(row)
    assert played.result.bug is None
    _check_steps(row, played)
    _check_reported(row, played)
    _check_end(row, played)


def _check_steps(row: Row, played: Played) -> None:
    trace = played.world.trace
    _same(trace, row.trace)
    _same([line.removeprefix("ask ") for line in trace if line.startswith("ask ")], row.asks)
    if row.kept is not None:
        [page] = played.world.kept
        assert {name: getattr(page, name) for name in row.kept} == row.kept


def _check_reported(row: Row, played: Played) -> None:
    links = links_of(*played)
    if row.outcomes is not None:
        assert outcomes_of(*played) == {hash_url(url): outcome for url, outcome in row.outcomes.items()}
    _same([link.url for link in links], row.links)
    if row.link is not None:
        assert {name: getattr(links[-1], name) for name in row.link} == row.link
    reported = effects_of(*played)
    if row.hosts is not None:
        states = {state.host: state for effects in reported for state in effects.hosts}
        assert states.keys() == row.hosts.keys()
        found = {host: {name: getattr(states[host], name) for name in row.hosts[host]} for host in row.hosts}
        assert found == row.hosts
    if row.counts is not None:
        assert sum((Counter(effects.counts) for effects in reported), Counter()) == row.counts
    failures = [failure for effects in reported for failure in effects.hook_failures]
    _same([(failure.hook, failure.url, failure.times) for failure in failures], row.hook_failures)


def _check_end(row: Row, played: Played) -> None:
    world, result = played
    _same([url.url for url in world.site.urls], row.in_hand)
    if row.failures is not None:
        assert world.site.failures == row.failures
    if row.cause is not None:
        assert result.wait.cause is row.cause
    if row.wait_s is not None:
        assert result.wait.wait_s == row.wait_s
    if row.urgent is not None:
        assert result.urgent == row.urgent
    if row.made_request is not None:
        assert (result.ended_s is not None) == row.made_request


def _same(found: Sequence[Any], wanted: Sequence[Any] | None) -> None:
    if wanted is not None:
        assert found == list(wanted)


def robots(text: str, url: str = ROBOTS, **fields: Any) -> Fetched:
    """An answer with a robots.txt."""
    return answered(url, body=text.encode(), **fields)


def moved(url: str, target: str, status: int = 301) -> Fetched:
    """An answer that redirects."""
    return answered(url, status, f"Location: {target}")


def ruled(text: str, host: str = OPEN.host) -> HostState:
    """A host whose robots.txt was read a while ago."""
    return HostState(host=host, rules=f"User-agent: *\n{text}", expires_at=NOW_AT + 3_600)
