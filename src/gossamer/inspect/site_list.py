"""All sites of a crawl in one file, to search and to sort: the table `sites`, with the last request of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow.parquet as pq

from gossamer.inspect.database import open_tables
from gossamer.inspect.views import quoted
from gossamer.records import RequestRow
from gossamer.store.reading import row_files
from gossamer.store.schemas import PAGES, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SORTS: Final = ("site", "pages", "requests", "errors", "bytes", "min_gap_s", "mean_request_s", "last_request_at")
MEMORY: Final = "256MB"
_QUERY: Final = """
select s.*, l.last from sites s
left join (select site, arg_max(r, ended_at) as last from requests r group by site) l using (site)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSite:
    """A site that was asked for anything."""

    site: str
    pages: int
    requests: int
    errors: int
    bytes: int
    mean_request_s: float | None
    min_gap_s: float | None  # None: it had only one turn
    last: RequestRow | None


def list_sites(folders: Sequence[Path], file: Path) -> None:
    """Write all sites, as they are now, to a file."""
    with (
        open_tables(folders, "sites requests", with_urls_in_via=False) as tables,
        tables.read(_QUERY) as reader,
        pq.ParquetWriter(file, reader.schema) as writer,
    ):
        for batch in reader:
            writer.write_batch(batch)


def has_sites(folders: Sequence[Path]) -> bool:
    """Return whether anything was asked for yet."""
    return any(row_files(list(folders), table) for table in (PAGES, REQUESTS))


def find_sites(
    file: Path, *, search: str, sort: str, descending: bool, offset: int, limit: int
) -> tuple[int, list[ListedSite]]:  # fmt: skip
    """Return how many sites of the file have these letters in their names, and some of them."""
    order = f"{sort if sort in SORTS else 'pages'} {'desc' if descending else 'asc'} nulls last, site"
    found = f"from read_parquet({quoted(str(file))}) where contains(site, ?)"  # it is our own file
    with duckdb.connect(config={"memory_limit": MEMORY, "threads": 1}) as connection:
        connection.execute("set timezone = 'UTC'")
        (total,) = connection.execute(f"select count(*) {found}", [search]).fetchall()[0]
        # In two steps: sorting must not carry the last requests along.
        names = f"select site {found} order by {order} limit {limit} offset {offset}"
        query = f"select * {found} and site in ({names}) order by {order}"
        rows = connection.sql(query, params=[search, search]).to_arrow_table().to_pylist()
    return total, [_listed(row) for row in rows]


def _listed(row: dict[str, Any]) -> ListedSite:
    last = row.pop("last")
    kept = {name: row[name] for name in ListedSite.__slots__ if name != "last"}
    return ListedSite(**kept, last=_request(last) if last else None)


def _request(row: dict[str, Any]) -> RequestRow:
    times = {name: row[name].timestamp() for name in ("started_at", "ended_at")}
    return RequestRow(**row | times)
