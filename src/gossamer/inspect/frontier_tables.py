"""The frontier as tables of a query: its queue, its sites and its workers, copied in short reads to temporary files.

A copy does not hold up the crawl, and DuckDB gets no access to the frontier's database. Only what the query needs is
copied: some sites, or the first rows. Too much is refused, never cut.
"""

from __future__ import annotations

import json
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.errors import GossamerError
from gossamer.inspect.query_shape import Need, need_of, tables_of
from gossamer.records.rows import NO_HASH
from gossamer.store.schemas import Column, Table
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import duckdb

    from gossamer.frontier import FrontierReader
    from gossamer.records import QueueEntry, SiteState, WorkerState

MAX_ROWS: Final = 1_000_000  # of a table, for a query that does not say how much it wants
_STEP_ROWS: Final = 20_000
_TIME: Final = pa.timestamp("us", tz="UTC")

QUEUE: Final = Table(
    name="queue",
    meaning="every URL that is queued now, from the frontier",
    columns=(
        Column(name="site", type=pa.string(), meaning="registrable domain or IP address"),
        Column(name="url", type=pa.string(), meaning="the URL, normalised"),
        Column(name="depth", type=pa.int32(), meaning="links from the nearest seed"),
        Column(name="rank", type=pa.int32(), meaning="URLs of a site with a lower rank come first"),
        Column(name="tries", type=pa.int32(), meaning="failed tries so far"),
        Column(name="not_before", type=_TIME, meaning="when it may be fetched; null if it may now"),
        Column(name="via", type=pa.string(), meaning="URL of the page that the URL was found on; empty for seeds"),
        Column(name="added", type=_TIME, meaning="when it was queued; null if an older version did it"),
    ),
)

FRONTIER_SITES: Final = Table(
    name="frontier_sites",
    meaning="every known site with its schedule, from the frontier",
    columns=(
        Column(name="site", type=pa.string(), meaning="registrable domain or IP address"),
        Column(
            name="ready_in_s", type=pa.float64(), meaning="seconds until its next turn; 0 if due; null if it has none"
        ),
        Column(name="owner", type=pa.int32(), meaning="worker that has it in hand; null if none"),
        Column(name="epoch", type=pa.int64(), meaning="how often it was claimed"),
        Column(name="delay_s", type=pa.float64(), meaning="delay that the site itself asks for; 0 if none"),
        Column(name="failures", type=pa.int32(), meaning="failures in a row, when it was last released"),
        Column(name="queued", type=pa.int64(), meaning="queued URLs"),
        Column(name="pages", type=pa.int64(), meaning="stored pages"),
        Column(name="seeded", type=pa.bool_(), meaning="whether a seed is of this site"),
        Column(name="excluded", type=pa.bool_(), meaning="whether the operator has excluded it"),
        Column(name="spent", type=pa.bool_(), meaning="whether it has reached `--max-pages-per-site`"),
    ),
)

WORKERS: Final = Table(
    name="workers",
    meaning="every worker that ever joined, from the frontier",
    columns=(
        Column(name="worker", type=pa.int32(), meaning="its number, never used again"),
        Column(name="label", type=pa.string(), meaning="its machine and process"),
        Column(name="beats", type=pa.int64(), meaning="heartbeats so far"),
        Column(name="gone", type=pa.bool_(), meaning="whether it ended or was declared dead"),
        Column(name="sites", type=pa.int64(), meaning="sites that it has in hand"),
        Column(name="silent_s", type=pa.float64(), meaning="seconds since its last heartbeat; null if not known"),
        Column(
            name="figures", type=pa.string(), meaning="what it counted since its start, as JSON: figures ->> 'pages'"
        ),
    ),
)

FRONTIER_TABLES: Final = {table.name: table for table in (QUEUE, FRONTIER_SITES, WORKERS)}


def needs_of(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Need]:
    """Return which rows of which of these tables a query needs; nothing if it cannot be read."""
    (text,) = connection.execute("select json_serialize_sql(?::varchar)::varchar", [sql]).fetchall()[0]
    parsed = json.loads(text)
    if parsed.get("error") or len(parsed["statements"]) != 1:
        return {}  # the check of the query says what is wrong with it
    (statement,) = parsed["statements"]
    return {name: need_of(statement, name) for name in tables_of(statement) & FRONTIER_TABLES.keys()}


def copy_tables(
    frontier: FrontierReader, needs: Mapping[str, Need], folder: Path, *, with_queued: bool
) -> dict[str, Path]:
    """Copy the rows that a query needs to Parquet files, by table; `via` is a hash, and zeros for seeds."""
    return {
        name: _copy(frontier, FRONTIER_TABLES[name], need, folder, with_queued=with_queued)
        for name, need in needs.items()
    }


def _copy(frontier: FrontierReader, table: Table, need: Need, folder: Path, *, with_queued: bool) -> Path:
    _refuse_too_many(frontier, table, need)
    found = islice(_rows(frontier, table, need, with_queued=with_queued), need.rows)
    types = {"via": pa.binary(16)}
    schema = pa.schema([(column.name, types.get(column.name, column.type)) for column in table.columns])
    path = folder / f"{table.name}.parquet"
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        while rows := list(islice(found, _STEP_ROWS)):
            columns = zip(*rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return path


def _refuse_too_many(frontier: FrontierReader, table: Table, need: Need) -> None:
    if need.is_bounded or table is WORKERS:
        return
    stats = frontier.stats()
    rows = stats.queued if table is QUEUE else stats.sites
    if rows > MAX_ROWS:
        raise GossamerError(
            f"The table {table.name} has {count(rows, 'row')}, too many to read them all: add `where site = '...'` or "
            "`limit N` to the query."
        )


def _rows(frontier: FrontierReader, table: Table, need: Need, *, with_queued: bool) -> Iterator[tuple[Any, ...]]:
    if table is QUEUE:
        now_at = time.time()
        return (_queue_row(entry, now_at) for entry in _queue(frontier, need))
    if table is WORKERS:
        return map(_worker_row, frontier.workers())
    if need.sites is not None:
        return (_site_row(site) for name in sorted(need.sites) if (site := frontier.find_site(name)))
    return map(_site_row, frontier.list_sites(with_queued=with_queued))


def _queue(frontier: FrontierReader, need: Need) -> Iterable[QueueEntry]:
    if need.sites is None:
        yield from frontier.list_queue()
    for site in sorted(need.sites or ()):
        yield from frontier.list_queue(site)


def _queue_row(entry: QueueEntry, now_at: float) -> tuple[Any, ...]:
    not_before = _moment(now_at + entry.wait_s) if entry.wait_s else None
    added = _moment(entry.queued_at) if entry.queued_at else None
    via = entry.via or NO_HASH
    return entry.site, entry.url, entry.depth, entry.rank, entry.tries, not_before, via, added


def _site_row(site: SiteState) -> tuple[Any, ...]:
    return (
        site.site, site.wait_s, site.owner, site.epoch, site.own_delay_s, site.failures, site.queued, site.pages,
        site.seeded, site.excluded, site.spent,
    )  # fmt: skip


def _worker_row(worker: WorkerState) -> tuple[Any, ...]:
    figures = json.dumps(dict(worker.figures))
    return worker.worker, worker.label, worker.beats, worker.gone, worker.sites, worker.silent_s, figures


def _moment(at: float) -> int:
    return round(at * 1e6)
