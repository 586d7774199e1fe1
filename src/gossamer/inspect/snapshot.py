"""A table's rows at one moment, all as Parquet files: parts as they are, open journals as copies.

A journal grows, becomes a part and is removed while others read. So its rows are copied, which takes a fraction of a
second; after that no file of the snapshot changes. The same rows can be read again later: of a journal that has grown,
or has become a part, as many first rows as it had.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.errors import GossamerError
from gossamer.inspect.bucket_files import source_of
from gossamer.inspect.folder_errors import no_crawl
from gossamer.store import names
from gossamer.store.damage import damaged_by
from gossamer.store.parts import groups, open_part
from gossamer.store.reading import row_files
from gossamer.store.schemas import LINKS, PAGES, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from gossamer.store.reading import RowFile
    from gossamer.store.schemas import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows that no longer change."""

    path: Path  # Parquet
    folder: Path  # of the crawl
    stem: str  # shared by a journal and its part
    rows: int
    columns: frozenset[str]  # an older version wrote fewer

    @property
    def source(self) -> str:
        """The name by which DuckDB opens it."""
        return source_of(self.path)


def check_folders(folders: Sequence[Path]) -> None:
    """Raise an error for a folder without a crawl, or named twice."""
    for folder in folders:
        if not any((folder / name).exists() for name in (*names.FOLDERS, "crawl.toml")):
            raise no_crawl(folder)
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise GossamerError("A folder is named twice: name each once.")


def check_contents(folders: Sequence[Path]) -> None:
    """Raise an error if the crawls have stored nothing at all: an empty result would be misleading."""
    if not any(row_files(list(folders), table) for table in (PAGES, REQUESTS, LINKS)):
        raise GossamerError("Nothing is stored yet: try again when the crawl has fetched its first pages.")


def take(
    folders: Sequence[Path], table: Table, scratch: Path, only: Mapping[tuple[Path, str], int] | None = None
) -> list[Part]:
    """Return a table's rows as they are now, oldest file first; copies go to `scratch`.

    `only` names the files, by folder and stem, and how many rows of each count.
    """
    found = []
    for source in row_files(list(folders), table):
        key = source.path.parents[1], names.stem_of(source.path)
        if only is None or key in only:
            part = _freeze(source, table, scratch, *key, None if only is None else only[key])
            found += [part] if part.rows else []
    return found


def _freeze(source: RowFile, table: Table, scratch: Path, folder: Path, stem: str, rows: int | None) -> Part:
    path = source.path
    try:
        if path.suffix == names.PART_SUFFIX:
            with open_part(path) as file:
                there, columns = file.metadata.num_rows, frozenset(file.schema_arrow.names)
            if rows is None or there <= rows:
                return Part(path=path.absolute(), folder=folder, stem=stem, rows=there, columns=columns)
        path = _new_path(scratch, table, stem)
        there = _copy(_first_rows(source, rows), path)
    except (OSError, pa.ArrowException) as error:
        raise damaged_by(source.path, error) from None
    columns = frozenset(pq.read_schema(path).names) if there else frozenset()
    return Part(path=path.absolute(), folder=folder, stem=stem, rows=there, columns=columns)


def _new_path(scratch: Path, table: Table, stem: str) -> Path:
    """Return a path with a part's name: files are ordered by name. Two machines may use the same stem."""
    for number in range(1_000_000):
        folder = scratch / f"{table.name}-{number}"
        path = folder / f"part-{stem}{names.PART_SUFFIX}"
        if not path.exists():
            folder.mkdir(exist_ok=True)
            return path
    raise AssertionError("more folders than this are never read at once")


def _first_rows(source: RowFile, rows: int | None) -> Iterator[pa.RecordBatch]:
    left = rows
    for batch in source.batches():
        if left is None:
            yield batch
        elif left > 0:
            yield batch.slice(0, left)
            left -= batch.num_rows


def _copy(batches: Iterator[pa.RecordBatch], path: Path) -> int:
    """Write rows to a temporary file: uncompressed, which is fast."""
    first = next(batches, None)
    if first is None:
        return 0
    rows = 0
    with pq.ParquetWriter(
        path, first.schema, compression="none", use_dictionary=False, write_statistics=False
    ) as writer:
        for group in groups(first, batches):
            writer.write_table(group)
            rows += group.num_rows
    return rows


def stems(parts: Collection[Part]) -> dict[tuple[Path, str], int]:
    """Return the `only` with which `take` returns the same rows again."""
    return {(part.folder, part.stem): part.rows for part in parts}
