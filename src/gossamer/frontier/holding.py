"""Measures how long operations hold their connection to the database; a long one is logged with its statements.

Four statements of 1.5 s each in one transaction block others for 6 s, though none of them is slow by itself.
"""

from __future__ import annotations

import logging
import math
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final

from gossamer import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

log = logging.getLogger("gossamer.frontier")

MOST_NAMED: Final = 8  # statements in a warning, the slowest first


class Held:
    """One operation: how long it waited for its turn, held its connection, and took from begin to commit."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.waited_s = 0.0  # for the gate that admits one writer at a time (SQLite)
        self.transaction_s = 0.0
        self.spent_s: dict[str, float] = {}  # by statement
        self.times: dict[str, int] = {}
        self._asked_s = self._lap_s = perf_counter()
        self._running = ""

    def take(self) -> None:
        """Note that the connection is taken, after a wait for others."""
        self._lap_s = perf_counter()
        self.waited_s = self._lap_s - self._asked_s

    def note(self, statement: str, spent_s: float) -> None:
        """Note how long a statement took."""
        self.spent_s[statement] = self.spent_s.get(statement, 0.0) + spent_s
        self.times[statement] = self.times.get(statement, 0) + 1

    def begin_statement(self, statement: str) -> None:
        """Note that a statement begins. It counts until the next one, since SQLite reads rows as they are asked for."""
        now_s = perf_counter()
        if self._running:
            self.note(self._running, now_s - self._lap_s)
        self._running, self._lap_s = statement, now_s

    def end(self) -> float:
        """Note that the connection is given back; return how long that was since it was asked for."""
        self.begin_statement("")
        return self._lap_s - self._asked_s


class Holding:
    """Measures the operations of one connection, one at a time."""

    def __init__(self, slow_s: float, names: Mapping[str, str] | None = None) -> None:
        """Warn above `slow_s`, 0: never. `names` maps statements to their names, unless they are noted by name."""
        self._slow_s = slow_s or math.inf
        self._names = names or {}
        self.held: Held | None = None  # the operation that holds the connection now

    @contextmanager
    def hold(self, operation: str) -> Iterator[Held]:
        """Measure an operation; one inside another is a part of it."""
        if self.held is not None:
            yield self.held
            return
        self.held = held = Held(operation)
        try:
            yield held
        finally:
            self.held = None
            took_s = held.end()
            metrics.FRONTIER_HELD_SECONDS.labels(operation).observe(took_s - held.waited_s)
            if took_s > self._slow_s:
                log.warning("%s", describe(held, took_s, self._names), stack_info=True)


def describe(held: Held, took_s: float, names: Mapping[str, str]) -> str:
    """Return what a slow operation spent its time on, in one line."""
    waited = f"waited {held.waited_s:.1f} s for other writers, then " if held.waited_s >= 0.05 else ""
    within = f", {held.transaction_s:.1f} s of it from begin to commit" if held.transaction_s else ""
    slowest = sorted(held.spent_s.items(), key=lambda item: -item[1])
    named = [
        f"{_name(statement, names)} {spent_s:.2f} s{_times(held.times[statement])}" for statement, spent_s in slowest
    ]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return (
        f"The operation {held.operation} {waited}held its connection for {took_s - held.waited_s:.1f} s{within} "
        f"(slow_operation); its statements: {', '.join(named[:MOST_NAMED]) or 'none'}{more}."
    )


def _name(statement: str, names: Mapping[str, str]) -> str:
    return names.get(statement) or " ".join(statement.split()[:3])


def _times(times: int) -> str:
    return f" in {times:,} runs" if times > 1 else ""
