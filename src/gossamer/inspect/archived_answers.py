"""Answers as they came, made again from archive records."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from gossamer.inspect.stored import head_of
from gossamer.records import Fetched, PageRow
from gossamer.store.damage import DamagedError
from gossamer.store.reading import find_response

if TYPE_CHECKING:
    from pathlib import Path


class ArchivePlace(NamedTuple):
    """Where the answer of a page is archived."""

    url: str
    payload_digest: str
    warc_file: str
    warc_offset: int


class ArchivedAnswer(NamedTuple):
    """An answer, and the URL of the page that has the same payload, if its record names one."""

    answer: Fetched
    duplicate_of: str


def read_answer(folder: Path, place: ArchivePlace) -> ArchivedAnswer | None:
    """Return the answer of an archived page; None if its record, or that of its payload, is missing or damaged."""
    try:
        record = find_response(folder, PageRow(**place._asdict()))
        started_at = datetime.fromisoformat(record.headers["warc-date"]).timestamp()
        status = int(record.block.split(None, 2)[1])
    except (OSError, LookupError, ValueError, DamagedError):
        return None
    answer = Fetched(
        url=place.url, status=status, head=head_of(record), body=record.payload,
        address=record.headers.get("warc-ip-address", ""), request_head=b"", started_at=started_at, duration_s=0.0,
    )  # fmt: skip
    return ArchivedAnswer(answer, record.headers.get("warc-refers-to-target-uri", ""))
