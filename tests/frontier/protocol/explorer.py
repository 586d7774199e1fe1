"""Visits every state that a model can reach, and shows the shortest way to the first bad one.

A model is three things: a first state, a function that lists the steps out of a state, and an invariant. States are
immutable and hashable, so that each is visited once. The search is breadth first: the trace of a counterexample is
as short as any.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

State = TypeVar("State", bound="Hashable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """What a search came to: how much it saw, and how it went wrong if it did."""

    states: int
    wrong: str | None = None
    trace: tuple[str, ...] = ()  # the steps that lead there

    def __str__(self) -> str:
        if self.wrong is None:
            return f"{self.states} states, all good"
        return "\n".join([*(f"{number:3}. {step}" for number, step in enumerate(self.trace, 1)), f"  => {self.wrong}"])


def explore(
    initial: State,
    steps: Callable[[State], Sequence[tuple[str, State]]],
    invariant: Callable[[State, Sequence[tuple[str, State]]], str | None],
) -> Exploration:
    """Visit all states. `invariant` gets a state with the steps out of it, and says what is wrong, or None."""
    gc.disable()  # states hold no cycles, and looking for some among so many takes a tenth of the time
    try:
        return _search(initial, steps, invariant)
    finally:
        gc.enable()


def _search(
    initial: State,
    steps: Callable[[State], Sequence[tuple[str, State]]],
    invariant: Callable[[State, Sequence[tuple[str, State]]], str | None],
) -> Exploration:
    came_from: dict[State, tuple[State, str] | None] = {initial: None}
    layer = [initial]
    while layer:
        following = []
        for state in layer:
            ways = steps(state)
            wrong = invariant(state, ways)
            if wrong is not None:
                return Exploration(states=len(came_from), wrong=wrong, trace=_trace(came_from, state))
            for label, after in ways:
                if after not in came_from:
                    came_from[after] = (state, label)
                    following.append(after)
        layer = following
    return Exploration(states=len(came_from))


def _trace(came_from: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    labels = []
    while (origin := came_from[state]) is not None:
        state, label = origin
        labels.append(label)
    return tuple(reversed(labels))
