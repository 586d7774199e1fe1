"""The panels of a report's history: which metrics are drawn under the throughput, and in which unit. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer import metrics
from gossamer.inspect.report.curves import Curve
from gossamer.wording import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gossamer.inspect.history import Timeline, Values

MAX_CURVES: Final = 5  # of one panel; the rest is added up
_KINDS: Final = ("", "second", "warn", "third", "bad")

# Everything that the panels below use: nothing else is read.
METRICS: Final = (
    metrics.FRONTIER_CLAIMED_URLS_TOTAL, metrics.FRONTIER_CLAIMED_SITES_TOTAL, metrics.FRONTIER_CLAIMS_TOTAL,
    metrics.FRONTIER_RELEASES_TOTAL, metrics.FRONTIER_LINKS_TOTAL, metrics.FRONTIER_OPERATION_SECONDS,
    metrics.FRONTIER_STATEMENT_SECONDS, metrics.FRONTIER_LOCK_WAIT_SECONDS, metrics.FRONTIER_DEAD_ROWS,
    metrics.FRONTIER_OLDEST_TRANSACTION, metrics.FRONTIER_URLS,
    metrics.SITES_IN_HAND, metrics.TURN_LATENESS_SECONDS, metrics.FRONTIER_OUTCOMES_TOTAL, metrics.REQUESTS_TOTAL,
    metrics.IN_FLIGHT, metrics.CPU_SECONDS_TOTAL, metrics.LOOP_LAG_SECONDS, metrics.MAX_LOOP_LAG_SECONDS,
    metrics.MEMORY_BYTES, metrics.DESCRIPTORS, metrics.DESCRIPTOR_LIMIT, metrics.DISK_FREE_BYTES,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One plot over time, with the question that it answers."""

    title: str
    question: str
    curves: tuple[Curve, ...]
    tell: Callable[[float], str]


def panels(timeline: Timeline) -> Iterator[Panel]:
    """Yield every panel that has figures."""
    for title, question, curves, tell in (*_frontier(timeline), *_work(timeline), *_machine(timeline)):
        drawn = tuple(
            Curve(name=name, values=values, kind=kind)
            for (name, values), kind in zip(curves.items(), (*_KINDS, "quiet"), strict=False)
        )
        if any(value is not None for curve in drawn for value in curve.values):
            yield Panel(title=title, question=question, curves=drawn, tell=tell)


_Listed = tuple[str, str, dict[str, "Values"], "Callable[[float], str]"]


def _frontier(line: Timeline) -> Iterator[_Listed]:
    claims, releases, links = (
        metrics.FRONTIER_CLAIMS_TOTAL,
        metrics.FRONTIER_RELEASES_TOTAL,
        metrics.FRONTIER_LINKS_TOTAL,
    )
    claimed = {
        "URLs": _rate(line, metrics.FRONTIER_CLAIMED_URLS_TOTAL.name),
        "sites": _rate(line, metrics.FRONTIER_CLAIMED_SITES_TOTAL.name),
    }
    yield "Claimed a second", "Does the frontier give workers enough to do?", claimed, number
    asked = {"with sites": _rate(line, claims.name, "result=some"), "empty": _rate(line, claims.name, "result=empty")}
    yield "Claims a second", "Do workers ask the frontier in vain?", asked, number
    given = {"used": _rate(line, releases.name, "use=used"), "unused": _rate(line, releases.name, "use=unused")}
    yield "Sites given back a second", "Are sites claimed that are not visited?", given, number
    found = {"offered": _rate(line, links.name), "new": _rate(line, links.name, "result=new")}
    yield "Links a second", "Does the crawl still find new URLs?", found, number
    for title, question, metric, label in (
        ("Database time by operation", "What does the database spend its time on?",
         metrics.FRONTIER_OPERATION_SECONDS, "operation"),
        ("Database time by statement", "Which statement is slow?", metrics.FRONTIER_STATEMENT_SECONDS, "statement"),
        ("Lock waits by operation", "Do workers wait for each other at the database?",
         metrics.FRONTIER_LOCK_WAIT_SECONDS, "operation"),
    ):  # fmt: skip
        by_label = largest(line.by_label(f"{metric.name}_sum", label))
        yield title, f"{question} In seconds per second.", _per_second(line, by_label), number
    dead = largest(line.by_label(metrics.FRONTIER_DEAD_ROWS.name, "table"))
    yield "Dead rows by table", "Does PostgreSQL remove the rows that the crawl is done with?", dead, number
    oldest = {"age": line.total(metrics.FRONTIER_OLDEST_TRANSACTION.name)}
    yield "Oldest transaction", "Does a program keep PostgreSQL from removing dead rows?", oldest, seconds
    queued = line.total(metrics.FRONTIER_URLS.name, labels="state=queued")
    yield "Queue", "How many URLs wait, and are they more and more?", {"URLs": queued}, number


def _work(line: Timeline) -> Iterator[_Listed]:
    in_hand = line.by_label(metrics.SITES_IN_HAND.name, "state")
    named = {"all": "all", "busy": "busy", "due": "due", "address": "wait for an address"}
    sites = {told: in_hand[state] for state, told in named.items() if state in in_hand}
    yield "Sites in hand", "Are sites due that workers cannot visit yet, or is none due?", sites, number
    late = line.mean(metrics.TURN_LATENESS_SECONDS.name)
    yield "Lateness of turns", "Can the workers visit sites as soon as they are due?", {"mean": late}, seconds
    flight = line.total(metrics.IN_FLIGHT.name)
    yield "Requests in flight", "Does the crawl use what it may ask at once?", {"requests": flight}, number
    outcomes = line.by_label(metrics.FRONTIER_OUTCOMES_TOTAL.name, "outcome")
    yield ("Outcomes a second", "What becomes of URLs?", _per_second(line, largest(outcomes)), number)
    robots = {
        "allowed": _rate(line, metrics.REQUESTS_TOTAL.name, "kind=page"),
        "disallowed": _per_second(line, outcomes).get("robots_disallowed", [None] * line.steps),
        "unreachable": _per_second(line, outcomes).get("robots_unreachable", [None] * line.steps),
        "robots.txt asked for": _rate(line, metrics.REQUESTS_TOTAL.name, "kind=robots"),
    }
    yield "Robots decisions a second", "What do robots.txt files allow?", robots, number


def _machine(line: Timeline) -> Iterator[_Listed]:
    cpu = _per_second(line, line.by_label(metrics.CPU_SECONDS_TOTAL.name, "process"))
    cpu = {process.replace("_", " "): values for process, values in cpu.items()}
    yield "Processor", "Which process is the bottleneck? In cores.", cpu, number
    lag = {
        "highest": line.total(metrics.MAX_LOOP_LAG_SECONDS.name),
        "mean": line.mean(metrics.LOOP_LAG_SECONDS.name),
    }
    yield "Loop lag", "Is a worker's event loop overloaded or blocked?", lag, seconds
    memory = line.total(metrics.MEMORY_BYTES.name)
    yield "Memory", "Does memory grow?", {"all processes": memory}, size
    descriptors = {
        "open": line.total(metrics.DESCRIPTORS.name),
        "allowed": line.total(metrics.DESCRIPTOR_LIMIT.name),
    }
    yield "Descriptors", "How near is a process to its limit of open files?", descriptors, number
    free = line.total(metrics.DISK_FREE_BYTES.name)
    yield "Free disk space", "When is the disk full?", {"free": free}, size


def _rate(line: Timeline, name: str, labels: str = "") -> Values:
    return [None if value is None else value / line.step_s for value in line.total(name, labels=labels)]


def _per_second(line: Timeline, curves: Mapping[str, Values]) -> dict[str, Values]:
    return {
        name: [None if value is None else value / line.step_s for value in values] for name, values in curves.items()
    }


def largest(curves: Mapping[str, Values]) -> dict[str, Values]:
    """Return the largest curves by name, all others added up, and none that is zero throughout."""
    sums = {name: sum(value or 0.0 for value in values) for name, values in curves.items()}
    order = sorted((name for name in curves if sums[name]), key=lambda name: -sums[name])
    found = {name: list(curves[name]) for name in order[:MAX_CURVES]}
    if rest := [curves[name] for name in order[MAX_CURVES:]]:
        found["others"] = [
            None if all(value is None for value in values) else sum(value or 0.0 for value in values)
            for values in zip(*rest, strict=True)
        ]
    return found


def number(value: float) -> str:
    """Write a figure: 0.0123, 12.3, 1,230."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def seconds(value: float) -> str:
    """Write a duration: 12 ms, 1.25 s."""
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:,.3g} s"
