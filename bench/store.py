"""What keeping a page costs: encoding its records, syncing them and its rows, converting journals to parts.

    python -m bench store [--pages 2000]

Pages of 12 KB and 250 KB, whose bodies came plain or gzip-encoded; their text is a third of the HTML. CPU is that
of the process; what a finishing process takes is measured by doing its work here. Files go to `.bench` if there is
such a folder, else where temporary files go.
"""

from __future__ import annotations

import argparse
import gzip
import random
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.records import Fetched, PageRow, RequestRow
from gossamer.store.finishing import finish
from gossamer.store.reading import last_pages, pages
from gossamer.store.repair import repair
from gossamer.store.store import Store, StoreSettings
from gossamer.store.warc import encode_exchange
from gossamer.urls import hash_url

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL_BYTES, LARGE_BYTES = 12_000, 250_000
DISTINCT_PAGES = 50
SYNC_PAGES = 100  # a second's worth of half of the pages that one worker is to manage
HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    b"Content-Type: text/html; charset=utf-8\r\nVary: Accept-Encoding\r\nCache-Control: max-age=300\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A page to be kept."""

    fetched: Fetched
    text: str


def samples(size: int, *, encoded: bool) -> list[Sample]:
    """Return pages of this size made of made-up words."""
    draw = random.Random(7)
    words = ["".join(draw.choices("abcdefghijklmnoprstuvwz", k=draw.randint(2, 9))) for _ in range(3_000)]
    made = []
    for number in range(DISTINCT_PAGES):
        html, text = [], []
        length = 0
        while length < size:
            line = " ".join(draw.choices(words, k=5))
            html.append(
                f'<div class="entry c{draw.randrange(9)}"><a href="/page/{draw.randrange(9999)}">{line}</a></div>\n'
            )
            text.append(line)
            length += len(html[-1])
        body = "".join(html).encode()
        url = f"https://www.site-{number}.test/articles/2026/a-headline-of-common-length-{number}"
        made.append(
            Sample(
                fetched=Fetched(
                    url=url,
                    status=200,
                    head=HEAD + (b"Content-Encoding: gzip\r\n\r\n" if encoded else b"\r\n"),
                    body=gzip.compress(body, 6) if encoded else body,
                    address="192.0.2.7",
                    request_head=b"GET / HTTP/1.1\r\nHost: www.site.test\r\nUser-Agent: Gossamer/0.1\r\n"
                    b"Accept: text/html,application/xhtml+xml\r\nAccept-Encoding: gzip, br, zstd\r\n\r\n",
                    started_at=1_767_225_600.0 + number,
                    duration_s=0.3,
                ),
                text="\n".join(text),
            )
        )
    return made


@contextmanager
def timed(what: str, things: int) -> Iterator[None]:
    """Print the CPU and wall time per item."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"    {what:<28} {cpu / things * 1e6:8.1f} µs CPU {wall / things * 1e6:8.1f} µs wall", flush=True)


def rows(sample: Sample, digest: str) -> tuple[PageRow, RequestRow]:
    """Return the rows of a page."""
    fetched = sample.fetched
    url_hash = hash_url(fetched.url)
    page = PageRow(
        url_hash=url_hash, url=fetched.url, site="site.test", depth=2, fetched_at=fetched.started_at, status=200,
        content_type="text/html; charset=utf-8", charset="utf-8", lang="en", title="A headline of common length",
        text=sample.text, links=40, content_hash=url_hash, canonical=fetched.url, signals="", truncated=False,
        body_bytes=len(sample.text) * 3, payload_digest=digest, warc_file="", warc_offset=0, warc_length=0,
    )  # fmt: skip
    request = RequestRow(
        url_hash, fetched.url, "site.test", "page", fetched.started_at, fetched.started_at + 0.3, 200, "",
        len(fetched.body), "192.0.2.7", "allowed", 1, "w0",
    )  # fmt: skip
    return page, request


def run(size: int, *, encoded: bool, count: int, folder: Path) -> None:
    """Keep this many pages of one kind, and print what each step took."""
    made = samples(size, encoded=encoded)
    print(f"{size // 1000} KB, {'gzip-encoded' if encoded else 'plain'}: {len(made[0].fetched.body):,} bytes sent, "
          f"{len(made[0].text):,} characters of text")  # fmt: skip
    encoded_samples = [encode_exchange(sample.fetched) for sample in made]
    with timed("encode", count):
        for number in range(count):
            encode_exchange(made[number % DISTINCT_PAGES].fetched)
    exchanges = [encoded_samples[number % DISTINCT_PAGES] for number in range(count)]
    ready = [rows(made[number % DISTINCT_PAGES], exchanges[number].payload_digest) for number in range(count)]
    # Fresh strings, as a crawl has them: Python keeps the UTF-8 form of one that was written.
    ready = [(page._replace(text=page.text[:-1] + "\u2026"), request) for page, request in ready]
    store = Store(folder, "w0", StoreSettings(part_size_bytes=1 << 40), operator="a@b.test", user_agent="Gossamer/0.1")
    longest_s = 0.0
    with timed("keep and sync", count):
        for number, ((page, request), exchange) in enumerate(zip(ready, exchanges, strict=True), start=1):
            store.keep_request(request)
            store.keep_page(page, exchange.archive, exchange.response_offset)
            if number % SYNC_PAGES == 0:
                begun = time.perf_counter()
                store.sync()
                longest_s = max(longest_s, time.perf_counter() - begun)
    print(f"    longest sync                 {longest_s * 1e3:8.1f} ms wall for {SYNC_PAGES} pages")
    journals = sorted((folder / "journal").iterdir())
    written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    store._segments.close()  # noqa: SLF001 - as if killed, so that the steps below can be timed apart
    for path in journals:
        with timed(f"{path.name.partition('-')[0]} to parquet", count):
            finish(path)
    with timed("index", count):
        repair(folder)
    kept = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    with timed("read all rows", count):
        assert sum(1 for _ in pages(folder)) == count
    with timed("last rows", count):
        assert sum(1 for _ in last_pages(folder)) == DISTINCT_PAGES
    print(f"    on disk                      {kept / count:8,.0f} bytes per page; {written / count:,.0f} were synced")


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench store", description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000, help="pages of each kind")
    count = parser.parse_args(arguments).pages
    for size in (SMALL_BYTES, LARGE_BYTES):
        for encoded in (False, True):
            with tempfile.TemporaryDirectory(dir=".bench" if Path(".bench").is_dir() else None) as folder:
                run(size, encoded=encoded, count=count, folder=Path(folder))
