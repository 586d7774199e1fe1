"""The stored tables as Arrow knows them, derived from the annotations of their rows (`records.rows`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from gossamer.records.rows import HASH_BYTES, ColumnType, FigureRow, LinkRow, PageRow, RequestRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records.rows import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    name: str
    type: pa.DataType
    meaning: str  # one line
    repeats: bool = False  # few distinct values in a part: worth a dictionary


def _schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(column.name, column.type, nullable=False) for column in columns])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: its columns are the fields of its row, in the same order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    schema: pa.Schema = field(init=False)  # as Arrow knows the columns; nothing is null: unknown is empty or zero

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", _schema(self.columns))

    def complete(self, batch: pa.RecordBatch, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return rows with all columns, or these: one that an older version did not write is empty or zero."""
        wanted = [column for column in self.columns if names is None or column.name in names]
        there = set(batch.schema.names)
        arrays = [
            batch[column.name] if column.name in there else _nothing(column.type, batch.num_rows) for column in wanted
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=_schema(wanted))


def _nothing(type_: pa.DataType, rows: int) -> pa.Array:
    empty: object = 0
    if pa.types.is_string(type_):
        empty = ""
    elif pa.types.is_boolean(type_):
        empty = False
    elif pa.types.is_fixed_size_binary(type_):
        empty = bytes(type_.byte_width)
    elif pa.types.is_binary(type_):
        empty = b""
    return pa.repeat(pa.scalar(empty, type_), rows)


_ARROW = {
    ColumnType.BYTES: pa.binary(),
    ColumnType.HASH: pa.binary(HASH_BYTES),
    ColumnType.TEXT: pa.string(),
    ColumnType.FLAG: pa.bool_(),
    ColumnType.INT16: pa.int16(),
    ColumnType.INT32: pa.int32(),
    ColumnType.INT64: pa.int64(),
    ColumnType.UINT64: pa.uint64(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.TIME: pa.timestamp("us", tz="UTC"),
}


def columns_of(row: type[PageRow | RequestRow | LinkRow | FigureRow]) -> tuple[Column, ...]:
    """Return the columns that the annotations of a row declare."""
    return tuple(_column(name, *row.__annotations__[name].__metadata__) for name in row._fields)


def _column(name: str, stored: Stored) -> Column:
    return Column(name=name, type=_ARROW[stored.type], meaning=stored.meaning, repeats=stored.repeats)


PAGES = Table(
    name="pages",
    meaning="every page that was stored; a page fetched more than once has a row for each time",
    columns=columns_of(PageRow),
)

REQUESTS = Table(
    name="requests",
    meaning="the crawl log: every request, robots.txt and failures included",
    columns=columns_of(RequestRow),
)

LINKS = Table(
    name="links",
    meaning="the link graph: every link of every stored page, if the crawl keeps them (--links)",
    columns=columns_of(LinkRow),
)

FIGURES = Table(
    name="figures",
    meaning="the history of all metrics: a row for each that has changed since the last one",
    columns=columns_of(FigureRow),
)

TICKS = Table(
    name="ticks",
    meaning="the figures between two full minutes, which are deleted after figures_days",
    columns=columns_of(FigureRow),
)

TABLES = {table.name: table for table in (PAGES, REQUESTS, LINKS, FIGURES, TICKS)}
