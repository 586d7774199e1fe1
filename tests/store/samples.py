"""Answers, rows and other programs' readers that the store's tests share."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.records import Fetched, PageRow, RequestRow, Truncation
from gossamer.store import Store, StoreSettings
from gossamer.store.reading import find_response
from gossamer.store.warc import EncodedExchange, encode_exchange
from gossamer.urls import hash_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.store.reading import Folders

HTML = b"<html><head><title>A page</title></head><body>" + b"<p>Words, and more words.</p>" * 200 + b"</body></html>"


def fetched(
    number: int = 0,
    *,
    head: bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
    body: bytes = HTML,
    status: int = 200,
    truncated: Truncation | None = None,
    type_refused: bool = False,
) -> Fetched:
    """An answer; by default, that of page `number`."""
    return Fetched(
        url=f"https://site-{number}.test/page?n={number}",
        status=status,
        head=head,
        body=body,
        truncated=truncated,
        type_refused=type_refused,
        address="192.0.2.7",
        request_head=b"GET /page HTTP/1.1\r\nHost: site.test\r\nUser-Agent: Test/1 (+mailto:a@b.test)\r\n\r\n",
        started_at=1_767_225_600.25 + number,
        duration_s=0.5,
    )


def page_row(answer: Fetched, encoded: EncodedExchange) -> PageRow:
    """The row of an answer, without its place in the archive."""
    return PageRow(
        url_hash=hash_url(answer.url),
        url=answer.url,
        site="site.test",
        depth=1,
        fetched_at=answer.started_at,
        status=answer.status,
        content_type="text/html; charset=utf-8",
        charset="utf-8",
        lang="en",
        title="A page",
        text="Words, and möre words. " * 20,
        links=3,
        content_hash=b"0123456789abcdef",
        canonical="",
        signals="",
        truncated=answer.truncated is not None,
        body_bytes=len(answer.body),
        payload_digest=encoded.payload_digest,
        warc_file="",
        warc_offset=0,
        warc_length=0,
    )


def request_row(number: int) -> RequestRow:
    """Line `number` of a crawl log."""
    url = f"https://site-{number}.test/page?n={number}"
    started_at = 1_767_225_600.25 + number
    return RequestRow(
        hash_url(url),
        url,
        "site.test",
        "page",
        started_at,
        started_at + 0.5,
        200,
        "",
        100,
        "192.0.2.7",
        "allowed",
        1,
        "w",
    )


def new_store(folder: Path, worker: str = "w", **settings: Any) -> Store:
    """A store as a worker opens it."""
    return Store(
        folder,
        worker,
        StoreSettings(**settings),
        operator="you@example.org",
        user_agent="Test/1 (+mailto:a@b.test)",
    )


def keep(store: Store, number: int) -> PageRow:
    """Keep page `number` and its request."""
    answer = fetched(number)
    encoded = encode_exchange(answer)
    store.keep_request(request_row(number))
    return store.keep_page(page_row(answer, encoded), encoded.archive, encoded.response_offset)


def numbers(rows: Iterable[PageRow | RequestRow]) -> list[int]:
    """The numbers of the pages that these rows are of."""
    return [int(row.url.rpartition("=")[2]) for row in rows]


def read_record(folders: Folders, row: PageRow) -> bytes:
    """Return what the server sent for an archived page, head and body."""
    return find_response(folders, row).block


def segments(folder: Path) -> list[Path]:
    """The segments in a crawl's folder, oldest first."""
    return sorted((folder / "warc").glob("*.warc.gz"))


def run_python(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a child Python process with the same modules."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen([sys.executable, *map(str, arguments)], env=environment, **options)


def program(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a console program of this environment, or else of the system."""
    beside = Path(sys.executable).parent / name
    command = str(beside) if beside.exists() else name
    return subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)


def refusals(segment: Path) -> dict[str, str]:
    """Let three programs that are not ours check a segment's gzip members, records and digests.

    Returns what each one that is not content said.
    """
    said = {}
    for name, done in (
        ("gzip", program("gzip", "-t", segment)),
        ("warcio", warcio_apart("check", segment)),
        ("fastwarc", program("fastwarc", "check", segment)),
    ):
        if done.returncode != 0:
            said[name] = done.stdout + done.stderr
    return said


def warcio_apart(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run warcio as `docs/data.md` says: in an environment of its own, with what it requires and without brotli.

    It fails beside brotli 1.2, which Gossamer needs: it sets an attribute of a decompressor that takes none any more.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("warcio", "six"):
            installed = distribution(name)
            for part in {file.parts[0] for file in installed.files or () if file.parts[0] not in ("..", "__pycache__")}:
                (Path(folder) / part).symlink_to(Path(str(installed.locate_file(part))))
        command = [sys.executable, "-S", "-c", "from warcio.cli import main; main()", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": folder})


def kinds_seen_by_fastwarc(segment: Path) -> list[str]:
    """The types of a segment's records, in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the library warns of itself when imported
        from fastwarc.warc import ArchiveIterator
    with segment.open("rb") as file:
        return [str(record.headers["WARC-Type"]) for record in ArchiveIterator(file, parse_http=False)]
