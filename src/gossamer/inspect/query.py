"""Runs a query: writes its result in a format for other programs, or returns a few rows to display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

import pyarrow.parquet as pq

from gossamer.inspect import lines
from gossamer.inspect.database import QueryDatabase, open_tables
from gossamer.store.parts import groups

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.inspect.database import OpenFrontier

FORMATS: Final = ("csv", "json", "jsonl", "parquet")

_MAX_CELL_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """The first rows of a result, as text."""

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]  # by column
    rows: list[tuple[str, ...]]
    more_rows: int  # not in `rows`


def look(folders: Sequence[Path], sql: str, *, limit: int, open_frontier: OpenFrontier | None = None) -> QueryResult:
    """Return the first `limit` rows of a result, or all with 0, and how many more there are."""
    with open_tables(folders, sql, open_frontier=open_frontier) as database:
        query = database.check(sql)
        columns = database.columns(query)
        cells = lines.text_cells(_limited(query, limit), columns, max_chars=_MAX_CELL_CHARS)
        with database.read(cells) as reader:
            table = reader.read_all()
        rows = [
            tuple("" if cell is None else str(cell) for cell in row)
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
        ]
        more_rows = database.count(query) - limit if limit and len(rows) == limit else 0
    return QueryResult(
        columns=tuple(name for name, _ in columns),
        numeric=tuple(lines.is_number(kind) for _, kind in columns),
        rows=rows,
        more_rows=more_rows,
    )


def write(
    folders: Sequence[Path],
    sql: str,
    file: BinaryIO,
    form: str,
    *,
    limit: int = 0,
    spreadsheet_safe: bool = False,  # CSV only
    open_frontier: OpenFrontier | None = None,
) -> int:
    """Write a result in one of `FORMATS`, row by row; return how many rows it has."""
    with open_tables(folders, sql, open_frontier=open_frontier) as database:
        query = _limited(database.check(sql), limit)
        if form == "parquet":
            return _write_parquet(database, query, file)
        columns = database.columns(query)
        match form:
            case "csv":
                header = lines.csv_header(columns, spreadsheet_safe=spreadsheet_safe).encode() + b"\n"
                every = lines.csv_lines(query, columns, spreadsheet_safe=spreadsheet_safe)
                return _write_lines(database, every, file, opening=header, none=header)
            case "jsonl":
                return _write_lines(database, lines.json_lines(query, columns), file)
            case _:
                every = lines.json_lines(query, columns)
                return _write_lines(
                    database, every, file, opening=b"[\n", between=b",\n", closing=b"\n]\n", none=b"[]\n"
                )


def _write_lines(
    database: QueryDatabase,
    query: str,
    file: BinaryIO,
    *,
    opening: bytes = b"",
    between: bytes = b"\n",
    closing: bytes = b"\n",
    none: bytes = b"",  # if there is no line
) -> int:
    """Write the lines of a query, nothing before the first line is known; return how many there are."""
    rows = 0
    with database.read(query) as reader:
        for batch in reader:
            if batch.num_rows:
                file.write(between if rows else opening)
                file.write(between.join(line.encode() for line in batch.column(0).to_pylist()))
                rows += batch.num_rows
    file.write(closing if rows else none)
    return rows


def _write_parquet(database: QueryDatabase, query: str, file: BinaryIO) -> int:
    rows = 0
    with database.read(query) as reader, pq.ParquetWriter(file, reader.schema, compression="zstd") as writer:
        first = next(reader, None)
        for group in groups(first, reader) if first is not None else ():
            writer.write_table(group)
            rows += group.num_rows
    return rows


def _limited(query: str, limit: int) -> str:
    return f"select * from ({query}\n) limit {limit}" if limit else query  # noqa: S608
