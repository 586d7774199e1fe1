"""Parts: journals turned into Parquet, which other tools read well."""

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

# Rows that are read and written at a time, and so what converting needs of memory, whatever the journal's size.
_GROUP_BYTES = 1 << 25


def convert(journal: Path) -> Path | None:
    """Turn a closed journal into its part and remove it; return the part, or None if no row was whole.

    The part is on disk under its own name before the journal goes. A part that exists already is whole: then
    only the journal was left behind. So this can be cut off anywhere and repeated.
    """
    part = names.part_of(journal)
    found = part.exists()
    if not found:
        try:
            stream = pa.OSFile(os.fspath(journal))
        except FileNotFoundError:  # a dead worker's finisher has got there first, in its last moment
            return part if part.exists() else None
        with stream:
            found = _write(part, read_batches(stream))  # plant: journal-removed-first
    remove(journal)
    return part if found else None


def _write(part: Path, batches: Iterator[pa.RecordBatch]) -> bool:
    """Write a part unless there is nothing to write; tell whether there was."""
    table = TABLES[part.parent.name]
    rows = (table.complete(batch) for batch in batches)  # an older version's crash may have left the journal
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
    """Put small batches together: a row group per half second would make large, slow files."""
    group, size = [first], first.nbytes
    for batch in rest:
        if size + batch.nbytes > _GROUP_BYTES:
            yield pa.Table.from_batches(group)
            group, size = [], 0
        group.append(batch)
        size += batch.nbytes
    yield pa.Table.from_batches(group)
