"""The table with which Common Crawl indexes its archives (`cc-index-table`, flat), over the archives of a crawl.

Columns, names and types are theirs, so that their queries run here: `warc_filename`, `warc_record_offset` and
`warc_record_length` say where the record of a page is. A redirect is no page, so `fetch_redirect` is always null.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from gossamer.bucket.paths import is_remote_folder, object_key
from gossamer.errors import GossamerError
from gossamer.inspect.language_codes import three_letters
from gossamer.inspect.targets import Takes
from gossamer.store import names
from gossamer.store.cdxj import REVISIT_TYPE, surt
from gossamer.store.scanning import headers_at
from gossamer.urls import host_of, is_address, name_of_host, suffixes_of_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME_PARTS: Final = ("tld", "2nd_last_part", "3rd_last_part", "4th_last_part", "5th_last_part")
_COLUMNS: Final = (
    "url", "fetched_at", "status", "content_type", "charset", "lang", "truncated", "payload_digest", "warc_file",
    "warc_offset", "warc_length", "duplicate_of", "mime_detected",
)  # fmt: skip
_MAX_OFFSET: Final = (1 << 31) - 1


def _column(name: str, type_: pa.DataType | None = None, *, nullable: bool = True) -> pa.Field:
    return pa.field(name, type_ or pa.string(), nullable=nullable)


SCHEMA: Final = pa.schema(
    [
        _column("url_surtkey", nullable=False),
        _column("url", nullable=False),
        _column("url_host_name", nullable=False),
        *(_column(f"url_host_{part}") for part in _NAME_PARTS),
        _column("url_host_registry_suffix"),
        _column("url_host_registered_domain"),
        _column("url_host_private_suffix"),
        _column("url_host_private_domain"),
        _column("url_protocol", nullable=False),
        _column("url_port", pa.int32()),
        _column("url_path", nullable=False),
        _column("url_query"),
        _column("fetch_time", pa.timestamp("us", tz="UTC"), nullable=False),
        _column("fetch_status", pa.int16(), nullable=False),
        _column("fetch_redirect"),
        _column("content_digest"),
        _column("content_mime_type"),
        _column("content_mime_detected"),
        _column("content_charset"),
        _column("content_languages"),
        _column("content_truncated"),
        _column("warc_filename", nullable=False),
        _column("warc_record_offset", pa.int32(), nullable=False),
        _column("warc_record_length", pa.int32(), nullable=False),
        _column("warc_segment", nullable=False),
        _column("crawl", nullable=False),
        _column("subset", nullable=False),
    ]
)


class CommonCrawlIndex:
    """Rows of the index for archived pages."""

    takes = Takes.ARCHIVED
    schema = SCHEMA

    def __init__(self, folders: Sequence[Path]) -> None:
        # With the folders of several machines, from the folder that has them all.
        here = [folder.resolve() for folder in folders if not is_remote_folder(folder)]
        self._root = os.path.commonpath(here) if here else ""

    def query(self, pages: str) -> str:
        """Read what the rows need."""
        return f"select {', '.join(_COLUMNS)} from ({pages})"  # noqa: S608  # our own names

    def rows(self, folder: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of pages."""
        archives = folder.resolve() / names.WARC
        common = {"crawl": folder.resolve().name}
        rows = [_row(page, archives) | common for page in batch.to_pylist()]
        for row in rows:
            row["warc_filename"] = object_key(archives / Path(row["warc_filename"]).name) or os.path.relpath(
                row["warc_filename"], self._root
            )
        return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _row(page: dict[str, Any], archives: Path) -> dict[str, Any]:
    if page["warc_offset"] > _MAX_OFFSET:
        raise GossamerError(
            f"{page['warc_file']} is larger than 2 GB, and a cc-index cannot point beyond that: export another format."
        )
    archive = archives / page["warc_file"]
    # Only these rows need what the record says.
    is_special = page["truncated"] or page["duplicate_of"]
    said = headers_at(archive, page["warc_offset"]) if is_special else {}
    is_revisit = said.get("warc-type") == "revisit"
    return _url_columns(page["url"]) | {
        "fetch_time": page["fetched_at"],
        "fetch_status": page["status"],
        "content_digest": page["payload_digest"].removeprefix("sha1:"),
        "content_mime_type": REVISIT_TYPE if is_revisit else _media_type(page["content_type"]),
        "content_mime_detected": page["mime_detected"] or None,
        "content_charset": _charset(page["charset"]),
        "content_languages": three_letters(page["lang"]) or None,
        "content_truncated": said.get("warc-truncated"),
        "warc_filename": archive,
        "warc_record_offset": page["warc_offset"],
        "warc_record_length": page["warc_length"],
        "warc_segment": page["warc_file"].removesuffix(names.SEGMENT_SUFFIX),
        "subset": "warc" if page["status"] == 200 else "crawldiagnostics",
    }


def _url_columns(url: str) -> dict[str, Any]:
    host = host_of(url)
    path, _, query = url[len(host) :].partition("?")
    return _host_columns(host) | {
        "url_surtkey": surt(url),
        "url": url,
        "url_path": path,
        "url_query": query or None,
    }


@lru_cache(maxsize=1 << 12)
def _host_columns(host: str) -> dict[str, Any]:
    """Return the columns about a host; an address has no labels and no suffix."""
    scheme, _, authority = host.partition("://")
    _, _, port = authority.rpartition("]")[2].partition(":")
    name = name_of_host(host)
    columns = {"url_host_name": name, "url_protocol": scheme, "url_port": int(port) if port else None}
    if is_address(name):
        return columns
    for part, label in zip(_NAME_PARTS, reversed(name.split(".")), strict=False):
        columns[f"url_host_{part}"] = label
    return columns | {f"url_host_{kind}": value for kind, value in suffixes_of_name(name)._asdict().items()}


def _media_type(content_type: str) -> str | None:
    return content_type.partition(";")[0].strip().lower() or None


def _charset(name: str) -> str | None:
    """Return the name of a charset as the index spells it: in upper case but for those of Windows and Macintosh."""
    return (name if name.startswith(("windows-", "x-")) else name.upper()) or None
