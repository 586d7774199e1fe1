"""The history of a crawl's other machines, as far as they share it in the frontier: the last days, by the minute.

A folder that is given has the whole history of its own machine, so that what this machine shared is left out.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from gossamer.errors import GossamerError
from gossamer.store.names import HOME
from gossamer.store.schemas import FIGURES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.records import SharedFigures

log = logging.getLogger(__name__)


def homes_of(folders: Sequence[Path]) -> set[str]:
    """Return the names by which the frontier knows these folders; none if it is a file of one machine."""
    homes = set()
    for folder in folders:
        with suppress(OSError, UnicodeDecodeError):
            homes.add((folder / HOME).read_text(encoding="ascii"))
    return homes


@contextmanager
def open_sharing(
    folders: Sequence[Path], open_frontier: Callable[..., AbstractContextManager[FrontierReader]]
) -> Iterator[FrontierReader | None]:
    """Open the frontier if machines may share their history in it; warn and yield None if it cannot be read."""
    with ExitStack() as stack:
        frontier = None
        if homes_of(folders):
            try:
                frontier = stack.enter_context(open_frontier(*folders))
            except GossamerError as error:
                log.warning("The figures of other machines are left out: %s", error)
        yield frontier


def shared_tables(
    frontier: FrontierReader,
    folders: Sequence[Path],
    *,
    since_at: float = 0.0,
    until_at: float = 1e12,
    wanted: Collection[str] | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the figures of each other machine as rows of the table `figures`, with the name of the machine's folder.

    Of a process without any of the `wanted` figures there is a row without a name: it was there.
    """
    told = frontier.shared_figures(since_at=since_at, until_at=until_at, without=homes_of(folders))
    for home, of_home in groupby(told, key=lambda one: one.home):
        columns = list(zip(*_rows(of_home, wanted), strict=True))
        yield home, pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)],
                             schema=SCHEMA)  # fmt: skip


def _rows(told: Iterable[SharedFigures], wanted: Collection[str] | None) -> Iterator[tuple[int, str, str, str, float]]:
    for one in told:
        at = round(one.at * 1e6)
        is_silent = True
        for (name, labels), value in one.figures.items():
            if wanted is None or name in wanted:
                is_silent = False
                yield at, one.worker, name, labels, value
        if is_silent:
            yield at, one.worker, "", "", 0.0


SCHEMA = pa.schema([(column.name, column.type) for column in FIGURES.columns])
