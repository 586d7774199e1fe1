"""Bringing seeds into the frontier, in bulk and in small transactions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from gossamer.records import Link
from gossamer.seeds import BadLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gossamer.frontier import Frontier
    from gossamer.seeds import Seed

CHUNK_LINES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeding:
    """How far the loading of seeds has come."""

    lines: int = 0
    new: int = 0
    bad: int = 0


def load_seeds(
    frontier: Frontier,
    lines: Iterable[Seed | BadLine],
    *,
    report: Callable[[Seeding], None],
    complain: Callable[[BadLine], None],
) -> Seeding:
    """Add all seeds; bad lines are complained about and left out. Loading the same seeds again adds nothing."""
    source = iter(lines)
    done = Seeding()
    while chunk := list(islice(source, CHUNK_LINES)):
        bad = [line for line in chunk if isinstance(line, BadLine)]
        for line in bad:
            complain(line)
        new = frontier.add([Link(*seed.url, 0, seeded=True) for seed in chunk if not isinstance(seed, BadLine)])
        done = Seeding(lines=done.lines + len(chunk), new=done.new + new, bad=done.bad + len(bad))
        report(done)
    return done
