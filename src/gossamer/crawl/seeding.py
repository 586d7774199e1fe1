"""Bringing seeds into the frontier, in bulk and in small transactions."""

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
from gossamer.seeds import STANDARD_INPUT, BadLine, Seed, digest_seed_file, find_seed_file, read_seeds
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from gossamer.frontier import Frontier

CHUNK_LINES: Final = 10_000
MAX_COMPLAINTS: Final = 20  # about one file
GARBAGE_OBJECTS: Final = 1_000_000  # more than there are in a chunk


class Seeds:
    """What the operator named to start from: seeds outright, and files that hold them. Checked at once."""

    def __init__(self, sources: Sequence[str | Path]) -> None:
        self.named: list[Seed] = []
        self.files: list[str | Path] = []  # or `-`
        for source in sources:
            path = find_seed_file(source)
            if path is not None or source == STANDARD_INPUT:
                if path is not None and path.is_file():
                    next(read_seeds([path]), None)  # refuses what is not text before anything is made
                self.files.append(source)
                continue
            for seed in read_seeds([source]):
                if isinstance(seed, BadLine):
                    raise GossamerError(f"{seed.text!r} is no seed ({seed.reason}): name a domain, a URL or a file.")
                self.named.append(seed)

    def __bool__(self) -> bool:
        return bool(self.named or self.files)


def load_all(
    frontier: Frontier, seeds: Seeds, *, show: Callable[[Seeding, int], None], warn: Callable[[str], None]
) -> list[str | Path]:
    """Bring all seeds into the frontier and return the files that are empty.

    A file that was loaded before, to its end, is skipped.
    """
    frontier.add([_link(seed) for seed in seeds.named])
    return [source for source in seeds.files if _load_file(frontier, source, show, _Complaints(warn)) == Seeding()]


def _link(seed: Seed) -> Link:
    return Link(*seed.url, 0, seeded=True, kind=Kind.BARE if seed.bare else Kind.PAGE)


def _load_file(
    frontier: Frontier, source: str | Path, show: Callable[[Seeding, int], None], complaints: _Complaints
) -> Seeding | None:
    """Bring the seeds of a file in; return what was in it, or None if it was loaded before."""
    path = find_seed_file(source)
    digest = None if path is None else digest_seed_file(path)
    if path is None or digest is None:  # standard input, or a pipe: it can be read but once
        total_lines = 0
    elif frontier.seeds_loaded(digest):
        return None
    else:
        total_lines = _count_lines(path)
    done = load_seeds(
        frontier, read_seeds([source]), report=lambda done: show(done, total_lines), complain=complaints.add
    )
    complaints.close()
    if digest is not None and done.lines:
        frontier.mark_seeds_loaded(digest)
    return done


class _Complaints:
    """Tells of bad lines, but not of all if there are many."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._count = 0

    def add(self, bad: BadLine) -> None:
        self._count += 1
        if self._count <= MAX_COMPLAINTS:
            source = "standard input" if bad.source == STANDARD_INPUT else bad.source
            self._warn(f"{source}, line {bad.line}: {bad.text!r} is no seed ({bad.reason}); it is left out")

    def close(self) -> None:
        if self._count > MAX_COMPLAINTS:
            self._warn(f"... and {count(self._count - MAX_COMPLAINTS, 'more line')}: no seeds")


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
    frontier: Frontier,
    lines: Iterable[Seed | BadLine],
    *,
    report: Callable[[Seeding], None],
    complain: Callable[[BadLine], None],
) -> Seeding:
    """Add all seeds; bad lines are complained about and left out. Loading the same seeds again adds nothing."""
    source = iter(lines)
    coming: deque[tuple[int, int]] = deque()  # of chunks that are being added: lines, and bad ones

    def batches() -> Iterator[list[Link]]:
        while chunk := list(islice(source, CHUNK_LINES)):
            seeds = [seed for seed in chunk if isinstance(seed, Seed)]
            coming.append((len(chunk), len(chunk) - len(seeds)))
            for line in chunk:
                if isinstance(line, BadLine):
                    complain(line)
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
    """Look for reference cycles rarely: seeds leave none, and looking among them is a quarter of their cost."""
    thresholds = gc.get_threshold()
    gc.set_threshold(GARBAGE_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
