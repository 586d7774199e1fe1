"""Answers, rows and readers of other makes that the store's tests share."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

from gossamer.records import Fetched, Truncation

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
    """An answer, of page number `number` unless told otherwise."""
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
    for name, verb in (("gzip", "-t"), ("warcio", "check"), ("fastwarc", "check")):
        done = program(name, verb, segment)
        if done.returncode != 0:
            said[name] = done.stdout + done.stderr
    return said


def kinds_seen_by_fastwarc(segment: Path) -> list[str]:
    """The types of a segment's records, in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the library warns of itself when imported
        from fastwarc.warc import ArchiveIterator
    with segment.open("rb") as file:
        return [str(record.headers["WARC-Type"]) for record in ArchiveIterator(file, parse_http=False)]
