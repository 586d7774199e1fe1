"""The columns of the stored tables: their types and what they mean. Declared here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    name: str
    type: pa.DataType
    meaning: str  # one line
    repeats: bool = False  # few distinct values in a part: worth a dictionary


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: its columns are the fields of its row, in the same order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """The columns as Arrow knows them. Nothing is null: what is unknown is empty or zero."""
        return pa.schema([pa.field(column.name, column.type, nullable=False) for column in self.columns])

    def complete(self, batch: pa.RecordBatch, names: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return rows with all columns, or these: one that an older version did not write is empty or zero."""
        wanted = [column for column in self.columns if names is None or column.name in names]
        there = set(batch.schema.names)
        arrays = [
            batch[column.name] if column.name in there else _nothing(column.type, batch.num_rows) for column in wanted
        ]
        schema = pa.schema([pa.field(column.name, column.type, nullable=False) for column in wanted])
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


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


def _column(name: str, type_: pa.DataType, meaning: str, *, repeats: bool = False) -> Column:
    return Column(name=name, type=type_, meaning=meaning, repeats=repeats)


PAGES = Table(
    name="pages",
    meaning="every page that was stored; a page fetched more than once has a row for each time",
    columns=(
        _column("url_hash", pa.binary(16), "xxh3-128 of the URL: the identity of the page"),
        _column("url", pa.string(), "normalised URL the page came from"),
        _column("site", pa.string(), "registrable domain or IP address", repeats=True),
        _column("depth", pa.int32(), "links from the nearest seed"),
        _column("fetched_at", _TIME, "when the request began"),
        _column("status", pa.int16(), "HTTP status"),
        _column("content_type", pa.string(), "Content-Type as sent", repeats=True),
        _column("charset", pa.string(), "encoding the text was read with", repeats=True),
        _column("lang", pa.string(), "language the page declares", repeats=True),
        _column("title", pa.string(), "title of the page"),
        _column("text", pa.string(), "main text"),
        _column("links", pa.int32(), "distinct links found to follow"),
        _column("content_hash", pa.binary(), "xxh3-128 of the inflated body: equal pages have equal ones"),
        _column("canonical", pa.string(), "canonical URL the page names, normalised"),
        _column("signals", pa.string(), "consent signals as found: name=value, one per line", repeats=True),
        _column("truncated", pa.bool_(), "whether the body is incomplete"),
        _column("body_bytes", pa.int64(), "length of the inflated body"),
        _column("payload_digest", pa.string(), "SHA-1 of the body as sent, as in the archive record"),
        _column("warc_file", pa.string(), "segment of the archive record; empty if not archived", repeats=True),
        _column("warc_offset", pa.int64(), "where in the segment the response record begins"),
        _column("warc_length", pa.int64(), "length of the response record in the segment"),
        _column("duplicate_of", pa.string(), "URL of a page stored before with the same content; empty if none"),
        _column("simhash", pa.uint64(), "fingerprint of the text: similar texts differ in few of its bits"),
    ),
)

REQUESTS = Table(
    name="requests",
    meaning="the crawl log: every request, robots.txt and failures included",
    columns=(
        _column("url_hash", pa.binary(16), "xxh3-128 of the URL"),
        _column("url", pa.string(), "URL that was asked for"),
        _column("site", pa.string(), "registrable domain or IP address", repeats=True),
        _column(
            "kind",
            pa.string(),
            "page, robots, sitemap, or robots_elsewhere: on another site than the robots.txt that redirects there",
            repeats=True,
        ),
        _column("started_at", _TIME, "when the request began"),
        _column("ended_at", _TIME, "when its last byte came, or it failed"),
        _column("status", pa.int16(), "HTTP status; 0 if there was no answer"),
        _column("reason", pa.string(), "why there was no answer; empty if there was one", repeats=True),
        _column("bytes", pa.int64(), "length of the body as sent"),
        _column("address", pa.string(), "IP address that was asked", repeats=True),
        _column("robots", pa.string(), "robots.txt's say: allowed, or unchecked for robots.txt itself", repeats=True),
        _column("attempt", pa.int16(), "1 for the first try, 2 for the second, ..."),
        _column("worker", pa.string(), "worker that asked", repeats=True),
        _column(
            "wait_s",
            pa.float64(),
            "how long the site was to be left alone afterwards, by what was known then: its delay, or its Retry-After",
            repeats=True,
        ),
    ),
)

LINKS = Table(
    name="links",
    meaning="the link graph: every link of every stored page, if the crawl keeps them (--links)",
    columns=(
        _column("from_hash", pa.binary(16), "url_hash of the page that has the link", repeats=True),
        _column("fetched_at", _TIME, "fetched_at of that page", repeats=True),
        _column("to_url", pa.string(), "URL the link leads to, normalised", repeats=True),
        _column("text", pa.string(), "what is written on the link, at most 200 characters", repeats=True),
        _column("rel", pa.string(), "rel of the link as written, such as nofollow", repeats=True),
    ),
)

TABLES = {table.name: table for table in (PAGES, REQUESTS, LINKS)}
