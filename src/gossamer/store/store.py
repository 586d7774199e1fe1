"""The store of one worker: takes pages and requests, and syncs them to disk."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self

from gossamer import __version__
from gossamer.records import PageRow
from gossamer.safe_files import make_folder
from gossamer.store import names
from gossamer.store.duplicates import DuplicateIndex
from gossamer.store.files import sync_folder
from gossamer.store.finishing import Finisher
from gossamer.store.journals import Journal
from gossamer.store.schemas import LINKS, PAGES, REQUESTS, Table
from gossamer.store.segments import Segments
from gossamer.store.warc import declared_type, encode_exchange, encode_revisit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gossamer.records import Fetched, LinkRow, RequestRow

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Which files are written, and when each is finished."""

    warc: bool = field(
        default=True, metadata={"help": "Keep every page exactly as the server sent it, in WARC archives."}
    )
    robots_archive: bool = field(
        default=True,
        metadata={
            "help": "Keep every robots.txt and tdmrep.json as the server sent it, in WARC archives of their own."
        },
    )
    warc_prefix: str = field(
        default=names.SegmentNames().prefix,
        metadata={
            "help": "The first part of the names of WARC files. Set it if you publish them, to a name of your crawl."
        },
    )
    hostname: str = field(
        default="",
        metadata={
            "help": "The name of this machine in the names and the first records of WARC files; without it they do not "
            "tell it. Set it if several machines write archives that you publish."
        },
    )
    segment_size_bytes: int = field(
        default=1_000_000_000,
        metadata={
            "help": "The size at which a WARC segment is closed and the next one begun. "
            "Lower it if other programs need complete archives sooner.",
            "minimum": 1_000_000,
        },
    )
    part_rows: int = field(
        default=50_000,
        metadata={
            "help": "The number of rows at which a journal becomes a Parquet part. "
            "Raise it to get fewer, larger files.",
            "minimum": 1,
        },
    )
    part_size_bytes: int = field(
        default=128_000_000,
        metadata={
            "help": "The size at which a journal becomes a Parquet part. Raise it to get fewer, larger files.",
            "minimum": 1_000_000,
        },
    )
    part_age_s: float = field(
        default=300.0,
        metadata={
            "help": "The age at which a journal becomes a Parquet part. "
            "Lower it if other programs need new pages sooner.",
            "minimum": 1,
        },
    )
    duplicates_memory_bytes: int = field(
        default=8_000_000,
        metadata={
            "help": "The memory in which a worker remembers the content of pages, to recognise duplicates; with 0 "
            "every page is stored in full. Raise it for a crawl of many pages.",
            "minimum": 0,
        },
    )
    min_free_space_bytes: int = field(
        default=1_000_000_000,
        metadata={"help": "The crawl pauses while the disk has less free space than this.", "minimum": 0},
    )

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.warc_prefix):
            raise ValueError(f"{self.warc_prefix!r} cannot begin the name of a file: use letters, digits, -, _ and .")
        if self.hostname and not _NAME.fullmatch(self.hostname):
            raise ValueError(f"{self.hostname!r} is not the name of a machine: write it like crawler1.example.org")


class PageStore(Protocol):
    """Keeps pages and requests: what a worker needs of the store. The simulation has one whose disk fails."""

    archives: bool  # whether the crawl keeps archive records

    def keep_page(self, row: PageRow, archive: bytes, response_offset: int, *, answer: Fetched) -> PageRow:
        """Take a page; return its row with the place of its archive record."""

    def keep_answer(self, row: PageRow, archive: bytes, response_offset: int) -> PageRow:
        """Take the archive records of an answer that is no page."""

    def keep_robots(self, answer: Fetched, asked: RequestRow) -> None:
        """Take the answer to a request for a robots.txt, and the line of the crawl log about it."""

    def keep_links(self, rows: Sequence[LinkRow]) -> None:
        """Take a page's links."""

    def keep_request(self, row: RequestRow) -> None:
        """Take a line of the crawl log."""

    def sync(self) -> None:
        """Write what was taken before this call to the disk; raise OSError if that fails."""

    def close(self) -> None:
        """Sync, and finish all files."""


class Store(PageStore):
    """One worker's files in a crawl's folder.

    The `keep_…` methods only collect in memory, so they are cheap enough for an event loop. `sync` writes and syncs
    everything that was kept before the call: first the archive records, then the rows that refer to them, so that no
    row is ever without its record. It blocks: call it from a thread.

    If `sync` raises OSError (no space, an I/O error), nothing is lost or torn: files were truncated to what was
    complete, and everything that is not synced is still held, in order. Call `sync` again once there is space. Do not
    keep anything twice, and complete no URL before `sync` has returned.

    Keep from one thread, sync from any. After a crash, call `repair` before opening the Store of the same worker.
    """

    def __init__(
        self,
        folder: Path,
        worker: str,
        settings: StoreSettings,
        *,
        operator: str,  # e-mail address
        user_agent: str,
        crawl_name: str = "",
        clock: Callable[[], float] = time.time,  # Unix seconds; for file names and the age of journals
    ) -> None:
        family = names.SegmentNames(settings.warc_prefix, settings.hostname or names.SegmentNames().host)
        robots_family = family._replace(prefix=f"{family.prefix}-robots")
        stems = names.Stems(folder, worker, family, robots_family)
        for name in names.FOLDERS:
            make_folder(folder / name)
        sync_folder(folder)
        self.archives = settings.warc
        self._settings = settings
        about = _about(settings.hostname, operator, user_agent, crawl_name)
        max_bytes = settings.segment_size_bytes
        self._segments = Segments(folder, stems, family, clock=clock, max_bytes=max_bytes, about=about)
        self._robots = Segments(folder, stems, robots_family, clock=clock, max_bytes=max_bytes, about=about)

        def path(table: Table, now: float) -> Path:
            return names.journal_path(folder, table.name, stems.next(now))

        self._pages: Journal[PageRow] = Journal(PAGES, partial(path, PAGES), clock)
        self._requests: Journal[RequestRow] = Journal(REQUESTS, partial(path, REQUESTS), clock)
        self._links: Journal[LinkRow] = Journal(LINKS, partial(path, LINKS), clock)
        self._journals = (self._pages, self._requests, self._links)
        self._duplicates = DuplicateIndex(settings.duplicates_memory_bytes)
        self._finisher = Finisher()
        self._syncing = threading.Lock()

    def keep_page(
        self, row: PageRow, archive: bytes = b"", response_offset: int = 0, *, answer: Fetched | None = None
    ) -> PageRow:
        """Take a page; return its row with the place of its archive record.

        `archive` holds the page's records; the response is the last, from `response_offset` on. Without an archive, or
        if the crawl keeps none, the row stays as it is. With its `answer`, a page with the same content as another is
        marked as its duplicate; if the other's payload is archived, only a reference to it is archived.
        """
        is_archived = self.archives and bool(archive)
        original = self._duplicates.take(row, is_archived=is_archived) if answer is not None else None
        is_revisit = False
        if answer is not None and original is not None:
            row = row._replace(duplicate_of=original.url)
            is_revisit = bool(archive) and original.payload_digest == row.payload_digest
            if is_revisit:
                revisit = encode_revisit(answer, row, same_as=original.url, same_at=original.fetched_at)
                archive, response_offset = revisit.archive, revisit.response_offset
        if is_archived:
            row = self._segments.keep(row, archive, response_offset, is_revisit=is_revisit)
        self._pages.rows.append(row)  # after its record: see `sync`
        return row

    def keep_answer(self, row: PageRow, archive: bytes, response_offset: int) -> PageRow:
        """Take the archive records of an answer that is no page, such as a redirect. Its row goes to the index only."""
        return self._segments.keep(row, archive, response_offset) if self.archives else row

    def keep_robots(self, answer: Fetched, asked: RequestRow) -> None:
        """Archive the answer to a request for a robots.txt, if the crawl keeps these. Only the index has its row."""
        if not (self.archives and self._settings.robots_archive):
            return
        encoded = encode_exchange(answer)
        row = PageRow(
            url=asked.url,
            fetched_at=answer.started_at,
            status=answer.status,
            content_type=declared_type(answer.head),
            payload_digest=encoded.payload_digest,
        )
        self._robots.keep(row, encoded.archive, encoded.response_offset)

    def keep_links(self, rows: Sequence[LinkRow]) -> None:
        """Take a page's links."""
        self._links.rows.extend(rows)

    def keep_request(self, row: RequestRow) -> None:
        """Take a line of the crawl log: a request, answered or not."""
        self._requests.rows.append(row)

    def sync(self) -> None:
        """Write and sync what was kept before this call; if that fails, raise OSError and keep it."""
        with self._syncing:
            self._sync()
            self._hand_over(everything=False)
            if self._finisher.files:
                self._finisher.turn()

    def close(self) -> None:
        """Sync, and finish all files: journals become parts, the open segment gets its index.

        If the last sync fails, its OSError is raised and what it did not write is lost, as after a crash.
        """
        with self._syncing:
            try:
                self._sync()
                self._segments.end()
                self._robots.end()
                self._hand_over(everything=True)
            finally:
                self._let_go()
                self._finisher.finish_all()

    def abandon(self) -> None:
        """Close all files as they are, as a crash would: the next start repairs them.

        After `close` this does nothing.
        """
        with self._syncing:
            self._let_go()

    def _let_go(self) -> None:
        self._segments.close()
        self._robots.close()
        for journal in self._journals:
            journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sync(self) -> None:
        # Rows are counted before records are written: the record of each counted row was added before the row.
        counts = [(journal, len(journal.rows)) for journal in self._journals]
        self._robots.sync()
        self._segments.sync()  # plant: rows-before-records
        for journal, count in counts:
            journal.sync(count)

    def _hand_over(self, *, everything: bool) -> None:
        """Pass full segments and due journals to the finisher."""
        for segments in (self._segments, self._robots):
            if segments.full:
                self._finisher.add(segments.take_full())
        settings = self._settings
        for journal in self._journals:
            if everything or journal.is_due(
                max_rows=settings.part_rows, max_bytes=settings.part_size_bytes, max_age_s=settings.part_age_s
            ):
                self._finisher.add(journal.take())


def _about(hostname: str, operator: str, user_agent: str, crawl_name: str) -> dict[str, str]:
    """Return what the first record of a segment says; fields without a value are left out."""
    fields = {
        "software": f"Gossamer/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "hostname": hostname,
        "isPartOf": crawl_name,
        "operator": operator,
        "http-header-user-agent": user_agent,
        "http-header-from": operator,
        "robots": "obeyed (RFC 9309)",
    }
    return {name: value for name, value in fields.items() if value}
