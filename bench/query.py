"""What queries and exports cost: time and peak memory over a large table of pages.

    python -m bench query --rows 2000000

Writes parts like those of a crawl (50,000 rows each, 500 characters of text per page, one page in a hundred fetched
twice) and runs the commands as a person would, each in a process of its own. The peak of an export of a tenth of the
rows stands beside that of all: memory must not grow with the crawl.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.store import names
from gossamer.store.schemas import PAGES
from gossamer.urls import hash_url

PART_ROWS = 50_000
GROUP_ROWS = 20_000
SITES = 40_000
TEXT_CHARS = 500
TEXTS = 20_000
FIRST_AT_US = 1_767_225_600_000_000

QUERIES = (
    "select count(*) from pages",
    "select site, count(*) from pages group by 1 order by 2 desc limit 20",
    "select lang, count(*), avg(body_bytes) from pages group by 1 order by 2 desc",
    "select url, title from pages where url = 'https://www.site1.test/40001'",
    "select url, body_bytes from pages order by body_bytes desc limit 20",
    "select count(*) from pages where text ilike '%word77 word1%'",
    "select * from pages limit 20",
    "select site, pages from sites order by 2 desc limit 20",
)


def build(folder: Path, rows: int) -> None:
    """Write this many rows of pages."""
    dice = np.random.default_rng(1)
    words = np.array([f"word{number}" for number in range(3_000)])
    texts = pa.array([" ".join(dice.choice(words, TEXT_CHARS // 8))[:TEXT_CHARS] for _ in range(TEXTS)])
    (folder / PAGES.name).mkdir(parents=True)
    for first in range(0, rows, PART_ROWS):
        numbers = np.arange(first, min(first + PART_ROWS, rows))
        table = _part(numbers, texts, dice)
        path = names.part_path(folder, PAGES.name, f"{20260101000000000 + first}-w1-00001")
        with pq.ParquetWriter(
            path,
            PAGES.schema,
            compression="zstd",
            use_dictionary=[column.name for column in PAGES.columns if column.repeats],
            write_statistics=[column.name for column in PAGES.columns if column.name != "text"],
        ) as writer:
            writer.write_table(table, row_group_size=GROUP_ROWS)


def _part(numbers: np.ndarray, texts: pa.Array, dice: np.random.Generator) -> pa.Table:
    pages, hashes = pages_of(numbers)
    known = {
        "url_hash": hashes,
        "url": pa.array(map(url_of, pages)),
        "site": pa.array([f"site{page % SITES}.test" for page in pages]),
        "fetched_at": pa.array(FIRST_AT_US + numbers * 1_000),
        "status": pa.array(np.full(len(numbers), 200)),
        "lang": pa.array(np.array(["de", "en", "fr", "de-at", ""])[pages % 5]),
        "title": pa.array([f"Title of page {page}" for page in pages]),
        "text": texts.take(pa.array(dice.integers(0, len(texts), len(numbers)))),
        "body_bytes": pa.array(pages * 7_919 % 100_003),
        "payload_digest": pa.array([f"sha1:{page:032d}" for page in pages]),
    }
    arrays = [
        known[column.name].cast(column.type) if column.name in known else nothing(column.type, len(numbers))
        for column in PAGES.columns
    ]
    return pa.table(arrays, schema=PAGES.schema)


def pages_of(numbers: np.ndarray) -> tuple[np.ndarray, pa.Array]:
    """Return the pages of these rows, and the hashes of their URLs; every hundredth row is the page before it again."""
    pages = np.where(numbers % 100 == 99, numbers - 1, numbers)
    hashes = b"".join(hash_url(url_of(page)) for page in pages)
    return pages, pa.Array.from_buffers(pa.binary(16), len(numbers), [None, pa.py_buffer(hashes)])


def url_of(page: int) -> str:
    """Return the URL of a page."""
    return f"https://www.site{page % SITES}.test/{page}"


def nothing(kind: pa.DataType, rows: int) -> pa.Array:
    """Return a column without values."""
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.repeat(pa.scalar("", pa.string()), rows).cast(kind)
    if pa.types.is_fixed_size_binary(kind):
        return pa.repeat(pa.scalar(bytes(kind.byte_width), kind), rows)
    return pa.repeat(pa.scalar(0, pa.int8()), rows).cast(kind)


def run(arguments: list[str]) -> str:
    """Run a command and return how long it took, its CPU time, and the most memory it held."""
    begun_s = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "gossamer", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{arguments} ended with {process.returncode}")
    took_s, cpu_s = time.monotonic() - begun_s, used.ru_utime + used.ru_stime
    peak_bytes = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{took_s:6.2f} s {cpu_s:6.2f} s CPU {peak_bytes / 1e6:6.0f} MB"


def main(arguments: list[str]) -> None:
    """Build the tables, and run the queries."""
    parser = argparse.ArgumentParser(prog="bench query", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args(arguments).rows
    with tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as base:
        whole, tenth = Path(base) / "whole", Path(base) / "tenth"
        begun_s = time.monotonic()
        for folder, count in ((whole, rows), (tenth, rows // 10)):
            # Elsewhere: on Linux, the peak of a new process is at least that of the one that started it.
            builder = get_context("spawn").Process(target=build, args=(folder, count))
            builder.start()
            builder.join()
        print(f"{rows:,} rows written in {time.monotonic() - begun_s:.0f} s")
        for sql in QUERIES:
            cost = run(["query", sql, "--data-dir", str(whole), "--format", "csv"])
            print(f"{cost}  {sql}", flush=True)
        for form in ("jsonl", "csv", "parquet"):
            for folder in (tenth, whole):
                target = [] if form != "parquet" else ["-o", f"{base}/out.parquet"]
                cost = run(["export", "--format", form, "--data-dir", str(folder), *target])
                print(f"{cost}  export {form}, {folder.name}", flush=True)
