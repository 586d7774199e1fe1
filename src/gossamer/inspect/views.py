"""The tables of a query: their names, the meaning of their columns, and the SQL that reads them from stored files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from gossamer.inspect.frontier_tables import FRONTIER_TABLES
from gossamer.store.schemas import FIGURES, LINKS, PAGES, REQUESTS, TABLES, TICKS, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.inspect.snapshot import Part

_TIME = pa.timestamp("us", tz="UTC")

SITES: Final = Table(
    name="sites",
    meaning="every site that was asked for anything, from the other tables",
    columns=(
        Column(name="site", type=pa.string(), meaning="registrable domain or IP address"),
        Column(name="pages", type=pa.int64(), meaning="pages stored"),
        Column(name="requests", type=pa.int64(), meaning="requests made, robots.txt and failures included"),
        Column(name="errors", type=pa.int64(), meaning="requests without an answer, or with a status of 400 and above"),
        Column(name="bytes", type=pa.int64(), meaning="length of all bodies as sent"),
        Column(name="first_request_at", type=_TIME, meaning="when the first request began"),
        Column(name="last_request_at", type=_TIME, meaning="when the last request began"),
        Column(name="mean_request_s", type=pa.float64(), meaning="seconds that a request took, on average"),
        Column(
            name="min_gap_s",
            type=pa.float64(),
            meaning="shortest wait in seconds from a turn's end to the next turn's start; null if there was one turn",
        ),
    ),
)

# A URL that was fetched again has several rows; queries see the last.
_MEANINGS = {PAGES.name: "every page that is stored; of a page fetched more than once, the last"}
_USES = {  # views over other views, and over tables that have no view
    SITES.name: {PAGES.name, REQUESTS.name},
    LINKS.name: {PAGES.name},
    FIGURES.name: {TICKS.name},
}
# Columns that only queries have.
_FROM_URL = Column(name="from_url", type=pa.string(), meaning="URL of the page that has the link")
_VIA = Column(name="via", type=pa.string(), meaning="URL of the page that the URL was found on; empty for seeds")

_SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.uint64(): "UBIGINT",
    pa.float64(): "DOUBLE",
    pa.binary(): "BLOB",
    pa.binary(16): "BLOB",
    _TIME: "TIMESTAMP WITH TIME ZONE",
}

# A turn ends with a page or a sitemap: robots.txt and redirects come before it in the same turn.
# A page with a status of 2xx that is not stored may have been a redirect inside the page.
# The targets of other sites' robots.txt redirects are part of no turn.
SITES_SQL: Final = """
with asked as (
    select *, lag(kind) over turn as kind_before, lag(status) over turn as status_before,
        lag(url_hash) over turn as hash_before,
        max(ended_at) over (turn rows between unbounded preceding and 1 preceding) as ended_before
    from requests
    window turn as (partition by site, kind = 'robots_elsewhere' order by started_at, ended_at)
),
timed as (
    select *, kind <> 'robots_elsewhere' and kind_before <> 'robots' and status_before not between 300 and 399
        and not (kind_before = 'page' and status_before between 200 and 299
            and hash_before not in (select url_hash from pages)) as begins_turn
    from asked
),
by_requests as (
    select site, count(*) as requests, count(*) filter (reason <> '' or status >= 400) as errors,
        sum(bytes)::bigint as bytes, min(started_at) as first_request_at, max(started_at) as last_request_at,
        avg(epoch_us(ended_at) - epoch_us(started_at)) / 1e6 as mean_request_s,
        min(epoch_us(started_at) - epoch_us(ended_before)) filter (begins_turn) / 1e6 as min_gap_s
    from timed group by site
),
by_pages as (select site, count(*) as pages from pages group by site)
select site, coalesce(pages, 0) as pages, coalesce(requests, 0) as requests, coalesce(errors, 0) as errors,
    coalesce(bytes, 0) as bytes, first_request_at, last_request_at, mean_request_s, min_gap_s
from by_requests full join by_pages using (site)
"""


def views() -> list[Table]:
    """Return all tables of a query, described as the query sees them."""
    stored = [
        Table(name=table.name, meaning=_MEANINGS.get(table.name, table.meaning), columns=_seen_columns(table))
        for table in TABLES.values()
        if table is not TICKS
    ]
    return [*stored[:2], SITES, *stored[2:], *FRONTIER_TABLES.values()]


def _seen_columns(table: Table) -> tuple[Column, ...]:
    """Return the columns of a stored table as a query sees them: URLs in place of hashes of other pages."""
    columns = tuple(_VIA if column.name == _VIA.name else column for column in table.columns)
    return (_FROM_URL, *columns) if table is LINKS else columns


def names_column(query: str, column: str) -> bool:
    """Return whether a query may show a column that costs something, which other queries are spared."""
    every = r"\*|^\s*from\b|columns\s*\(|\bdescribe\b|\bsummarize\b"
    return bool(re.search(rf"\b{column}\b|{every}", query, re.IGNORECASE))


def sql_type(column: Column) -> str:
    """Return the SQL type of a column."""
    return _SQL_TYPES[column.type]


def with_what_they_use(names: Iterable[str]) -> set[str]:
    """Return the views, and the views that they use."""
    return set(names).union(*(_USES.get(name, ()) for name in names))


def stored_rows(table: Table, parts: Sequence[Part]) -> str:
    """Return SQL for all rows of some parts, each with its file (`file`) and its position in the file (`row`).

    A column that an older version did not write is empty or zero, never null.
    """
    if not parts:
        empty = ", ".join(f'null::{sql_type(column)} as "{column.name}"' for column in table.columns)
        return f"select {empty}, '' as file, 0 as row where false"
    alike: dict[frozenset[str], list[str]] = {}
    for part in parts:
        alike.setdefault(part.columns, []).append(quoted(part.source))
    return " union all ".join(
        f"select {_columns(table, there)}, filename as file, file_row_number as row "  # noqa: S608  # paths are quoted
        f"from read_parquet([{', '.join(paths)}])"
        for there, paths in alike.items()
    )


def _columns(table: Table, there: frozenset[str]) -> str:
    return ", ".join(
        f'"{column.name}"' if column.name in there else f'{_nothing(column)} as "{column.name}"'
        for column in table.columns
    )


def _nothing(column: Column) -> str:
    if pa.types.is_timestamp(column.type):
        return "to_timestamp(0)"
    return f"''::{sql_type(column)}" if sql_type(column) in ("VARCHAR", "BLOB") else f"0::{sql_type(column)}"


def quoted(text: str) -> str:
    """Return text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
