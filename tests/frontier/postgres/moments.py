"""Chosen moments: something happens between two statements of a frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier.postgres import PostgresFrontier


def when(frontier: PostgresFrontier, statement: str, act: Callable[[], object]) -> None:
    """Do something just before a statement is sent, once."""
    timed = frontier._database._timed

    def first(name: str) -> Any:
        if name == statement:
            frontier._database._timed = timed  # type: ignore[method-assign]
            act()
        return timed(name)

    frontier._database._timed = first  # type: ignore[method-assign]
