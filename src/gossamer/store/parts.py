"""Parts: journals converted to Parquet, which other tools can read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.store import names
from gossamer.store.files import remove, replacing
from gossamer.store.journals import read_batches
from gossamer.store.schemas import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# Size of a row group. It bounds the memory that converting needs, whatever the journal's size.
_GROUP_BYTES = 1 << 25


def convert(journal: Path) -> Path | None:
    """Convert a closed journal to its part and remove the journal; return the part, or None if there was no row.

    The part is synced under its final name before the journal is removed. A part that already exists is complete: then
    only the journal was left. So this may be interrupted anywhere and repeated.
    """
    part = names.part_of(journal)
    found = part.exists()
    if not found:
        try:
            stream = pa.OSFile(os.fspath(journal))
        except FileNotFoundError:  # the finisher of a dead worker was faster
            return part if part.exists() else None
        with stream:
            found = _write(part, read_batches(stream))  # plant: journal-removed-first
    remove(journal)
    return part if found else None


def _write(part: Path, batches: Iterator[pa.RecordBatch]) -> bool:
    """Write a part if there are rows; return whether there were any."""
    table = TABLES[part.parent.name]
    rows = (table.complete(batch) for batch in batches)  # an older version may have left the journal in a crash
    first = next(rows, None)
    if first is None:
        return False
    with (
        replacing(part) as file,
        pq.ParquetWriter(
            file,
            table.schema,
            compression="zstd",
            use_dictionary=[column.name for column in table.columns if column.repeats],
            write_statistics=[column.name for column in table.columns if column.name != "text"],
        ) as writer,
    ):
        for group in groups(first, rows):
            writer.write_table(group)
    return True


def groups(first: pa.RecordBatch, rest: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combine small batches: a row group for every half second would make large, slow files."""
    group, size = [first], first.nbytes
    for batch in rest:
        if size + batch.nbytes > _GROUP_BYTES:
            yield pa.Table.from_batches(group)
            group, size = [], 0
        group.append(batch)
        size += batch.nbytes
    yield pa.Table.from_batches(group)
