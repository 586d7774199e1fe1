"""Adds seeds to the frontier, in bulk and in small transactions."""

from __future__ import annotations

import gc
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError
from gossamer.records import Kind, Link
from gossamer.seeds import STANDARD_INPUT, BadSeed, Seed, digest_seed_file, find_seed_file, read_seeds
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from gossamer.frontier import OperatorFrontier

CHUNK_LINES: Final = 10_000
MAX_WARNINGS: Final = 20  # about bad lines, per file
GARBAGE_OBJECTS: Final = 1_000_000  # more objects than a chunk has


class Seeds:
    """The seeds and seed files that the operator named, checked when this is created."""

    def __init__(self, sources: Sequence[str | Path]) -> None:
        self.named: list[Seed] = []
        self.files: list[str | Path] = []  # or `-`
        for source in sources:
            path = find_seed_file(source)
            if path is not None or source == STANDARD_INPUT:
                if path is not None and path.is_file():
                    next(read_seeds([path]), None)  # refuses a file that is not text before anything is created
                self.files.append(source)
                continue
            for seed in read_seeds([source]):
                if isinstance(seed, BadSeed):
                    raise GossamerError(f"{seed.text!r} is no seed ({seed.reason}): name a domain, a URL or a file.")
                self.named.append(seed)

    def __bool__(self) -> bool:
        return bool(self.named or self.files)


def load_all(
    frontier: OperatorFrontier, seeds: Seeds, *, show: Callable[[Seeding, int], None], warn: Callable[[str], None]
) -> list[str | Path]:
    """Add all seeds to the frontier and return the files that are empty.

    A file that an earlier start loaded completely is skipped.
    """
    frontier.add([_link(seed) for seed in seeds.named])
    return [source for source in seeds.files if _load_file(frontier, source, show, _BadLineWarnings(warn)) == Seeding()]


def _link(seed: Seed) -> Link:
    return Link(*seed.url, 0, seeded=True, kind=Kind.BARE if seed.bare else Kind.PAGE)


def _load_file(
    frontier: OperatorFrontier, source: str | Path, show: Callable[[Seeding, int], None], bad_lines: _BadLineWarnings
) -> Seeding | None:
    """Add the seeds of a file; return what it held, or None if it was loaded before."""
    path = find_seed_file(source)
    digest = None if path is None else digest_seed_file(path)
    if path is None or digest is None:  # standard input or a pipe: it can be read only once
        total_lines = 0
    elif frontier.seeds_loaded(digest):
        return None
    else:
        total_lines = _count_lines(path)
    done = load_seeds(
        frontier, read_seeds([source]), report=lambda done: show(done, total_lines), on_bad_line=bad_lines.add
    )
    bad_lines.close()
    if digest is not None and done.lines:
        frontier.mark_seeds_loaded(digest)
    return done


class _BadLineWarnings:
    """Warns of bad lines, but only of the first ones if there are many."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._count = 0

    def add(self, bad: BadSeed) -> None:
        self._count += 1
        if self._count <= MAX_WARNINGS:
            source = "standard input" if bad.source == STANDARD_INPUT else bad.source
            self._warn(f"{source}, line {bad.line}: {bad.text!r} is no seed ({bad.reason}); it is left out")

    def close(self) -> None:
        if self._count > MAX_WARNINGS:
            self._warn(f"... and {count(self._count - MAX_WARNINGS, 'more line')}: no seeds")


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(partial(file.read, 1 << 20), b""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeding:
    """How far the loading of seeds has come."""

    lines: int = 0
    new: int = 0
    bad: int = 0


def load_seeds(
    frontier: OperatorFrontier,
    lines: Iterable[Seed | BadSeed],
    *,
    report: Callable[[Seeding], None],
    on_bad_line: Callable[[BadSeed], None],
) -> Seeding:
    """Add all seeds; bad lines are reported and left out. Loading the same seeds again adds nothing."""
    source = iter(lines)
    coming: deque[tuple[int, int]] = (
        deque()
    )  # the lines, and the bad ones among them, of each chunk that is being added

    def batches() -> Iterator[list[Link]]:
        while chunk := list(islice(source, CHUNK_LINES)):
            seeds = [seed for seed in chunk if isinstance(seed, Seed)]
            coming.append((len(chunk), len(chunk) - len(seeds)))
            for line in chunk:
                if isinstance(line, BadSeed):
                    on_bad_line(line)
            yield [_link(seed) for seed in seeds]

    done = Seeding()
    with _rare_garbage_collection():
        for new in frontier.add_each(batches()):
            read, bad = coming.popleft()
            done = Seeding(lines=done.lines + read, new=done.new + new, bad=done.bad + bad)
            report(done)
    return done


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Run the garbage collector rarely: seeds leave no cycles, and its runs would take a quarter of the time."""
    thresholds = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
