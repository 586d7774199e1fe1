"""What queries ask a bucket for: requests and bytes, counted at the server, beside those that their columns take.

    python -m bench bucket --rows 2000000

Uploads parts like those of a crawl to an S3 server (moto, behind a proxy that counts) and runs queries as a person
would, each in a process of its own. `needed` are the compressed bytes of the columns that a query names, and of those
by which the last row of each page is found (`url_hash`, `fetched_at`), with the footers of the files and the manifests.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from bench.query import build
from gossamer.store import names
from tests.bucket.crawls import uploader
from tests.bucket.s3_server import BUCKET, Asked, S3Server, serving_s3

if TYPE_CHECKING:
    from collections.abc import Collection

STORE = f"s3://{BUCKET}/crawl"
QUERIES = {  # and the columns that each names
    "select count(*) from pages": (),
    "select site, count(*) from pages group by 1 order by 2 desc limit 20": ("site",),
    "select lang, count(*), avg(body_bytes) from pages group by 1 order by 2 desc": ("lang", "body_bytes"),
    "select count(*) from pages where text ilike '%word77 word1%'": ("text",),
}
LAST_ROW = ("url_hash", "fetched_at")


def main(arguments: list[str]) -> None:
    """Build, upload, query."""
    parser = argparse.ArgumentParser(prog="python -m bench bucket", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args(arguments).rows
    with tempfile.TemporaryDirectory() as scratch, serving_s3() as s3:
        os.environ.update(s3.environment)
        folder = Path(scratch) / "data"
        build(folder, rows)
        parts = _rename(folder)
        metadata = [pq.ParquetFile(part).metadata for part in parts]
        total = sum(part.stat().st_size for part in parts)
        uploader(STORE, folder).upload()
        listed = sum(each.sent for each in _get(s3, "/_"))
        print(f"{rows:,} rows in {len(parts)} parts of {total / 1e6:,.0f} MB")
        for query, columns in QUERIES.items():
            footers = sum(each.serialized_size + 8 for each in metadata)
            needed = footers + listed + sum(_size(each, {*columns, *LAST_ROW}) for each in metadata)
            _measure(s3, query, needed)


def _rename(folder: Path) -> list[Path]:
    """Give parts the names of seconds, of which there are only sixty in a minute."""
    found = []
    for number, part in enumerate(sorted((folder / names.PAGES).iterdir())):
        at = f"20260101{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}000"
        found.append(part.rename(names.part_path(folder, names.PAGES, f"{at}-w1-00001")))
    return found


def _size(metadata: pq.FileMetaData, columns: Collection[str]) -> int:
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    chunks = (group.column(place) for group in groups for place in range(group.num_columns))
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in columns)


def _get(s3: S3Server, part: str) -> list[Asked]:
    return [each for each in s3.asked if each.method == "GET" and part in each.path]


def _measure(s3: S3Server, query: str, needed: int) -> None:
    s3.asked.clear()
    command = [sys.executable, "-m", "gossamer", "query", query, "--data-dir", STORE]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    read = sum(each.sent for each in s3.asked)
    print(
        f"{query}\n    {len(s3.asked):,} requests, {read / 1e6:,.1f} MB read, {needed / 1e6:,.1f} MB needed "
        f"({read / needed:.2f}), peak memory {usage.ru_maxrss / 1000:,.0f} MB, exit status {status}",
        flush=True,
    )
