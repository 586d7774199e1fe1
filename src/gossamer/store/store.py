"""The store as a worker uses it: keep pages and requests, and know when they are on disk for good."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

from gossamer.store import names
from gossamer.store.files import sync_folder
from gossamer.store.finishing import Finisher
from gossamer.store.journals import Journal
from gossamer.store.schemas import PAGES, REQUESTS, Table
from gossamer.store.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.records import PageRow, RequestRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """What is kept, and when files are closed."""

    warc: bool = field(
        default=True, metadata={"help": "Keep every page exactly as the server sent it, in WARC archives."}
    )
    segment_size_bytes: int = field(
        default=1_000_000_000,
        metadata={"help": "Size at which a WARC segment is closed and another begun.", "minimum": 1_000_000},
    )
    part_rows: int = field(
        default=50_000, metadata={"help": "Rows after which a journal becomes a Parquet part.", "minimum": 1}
    )
    part_size_bytes: int = field(
        default=128_000_000,
        metadata={"help": "Size at which a journal becomes a Parquet part.", "minimum": 1_000_000},
    )
    part_age_s: float = field(
        default=300.0, metadata={"help": "Age at which a journal becomes a Parquet part.", "minimum": 1}
    )
    min_free_space_bytes: int = field(
        default=1_000_000_000,
        metadata={"help": "Pause the crawl while the disk has less room than this.", "minimum": 0},
    )


class Store:
    """One worker's files in a crawl's folder.

    `keep_page` and `keep_request` only take note: they touch no file, so they are cheap enough for an event loop.
    `sync` brings everything to the disk that was kept before it was called, and returns when it is there: first the
    archive records, then the rows that point at them, so that a row without its record is never seen. It blocks:
    call it from a thread.

    If `sync` raises OSError (no space, an I/O error), nothing that was kept is lost and nothing on disk is torn:
    files were cut back to what was whole, and all that is not on disk for good is still held, in its place. Call
    `sync` again once there is room; do not keep anything twice, and complete nothing until it has returned.
    `waiting_bytes` says how much is held meanwhile.

    Keep from one thread, sync from any. After a crash, `repair` before the next Store of the same worker.
    """

    def __init__(
        self,
        folder: Path,
        worker: str,
        settings: StoreSettings,
        *,
        operator: str,  # e-mail address
        user_agent: str,
        clock: Callable[[], float] = time.time,  # Unix seconds; names files and says how old a journal is
    ) -> None:
        stems = names.Stems(folder, worker)
        for name in names.FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        sync_folder(folder)
        self._settings = settings
        self._segments = Segments(
            folder,
            stems,
            clock=clock,
            max_bytes=settings.segment_size_bytes,
            operator=operator,
            user_agent=user_agent,
        )

        def path(table: Table, now: float) -> Path:
            return names.journal_path(folder, table.name, stems.next(now))

        self._pages: Journal[PageRow] = Journal(PAGES, partial(path, PAGES), clock)
        self._requests: Journal[RequestRow] = Journal(REQUESTS, partial(path, REQUESTS), clock)
        self._finisher = Finisher()
        self._syncing = threading.Lock()
        self._kept_bytes = 0  # written by the keeping thread only ...
        self._synced_bytes = 0  # ... and this one while syncing only

    @property
    def archives(self) -> bool:
        """Whether archive records are kept at all."""
        return self._settings.warc

    def keep_page(self, row: PageRow, archive: bytes = b"", response_offset: int = 0) -> PageRow:
        """Take note of a page; return its row with the place of its archive record.

        `archive` holds the page's records, the response last, from `response_offset` on. Without an archive, or
        if the crawl keeps none, the row goes as it is.
        """
        if archive:
            row = self.keep_answer(row, archive, response_offset)
        self._pages.keep(row)  # after its record: see `sync`
        self._kept_bytes += len(row.text)
        return row

    def keep_answer(self, row: PageRow, archive: bytes, response_offset: int) -> PageRow:
        """Take note of an answer's records only, as of a redirect or an error: its row goes to the index alone."""
        if self._settings.warc:
            row = self._segments.keep(row, archive, response_offset)
            self._kept_bytes += len(archive)
        return row

    def keep_request(self, row: RequestRow) -> None:
        """Take note of a request, answered or not."""
        self._requests.keep(row)

    @property
    def waiting_bytes(self) -> int:
        """How much is kept but not yet on disk: archive records and text."""
        return self._kept_bytes - self._synced_bytes

    def sync(self) -> None:
        """Bring to the disk what was kept before this call; raise OSError, and still hold it, if that fails."""
        with self._syncing:
            self._sync()
            self._hand_over(everything=False)
            self._finisher.turn()

    def close(self) -> None:
        """Sync, and finish all files: journals become parts, the open segment gets its index.

        If the last sync fails, its OSError is raised and what it did not write is gone; so it is as after a crash.
        """
        with self._syncing:
            try:
                self._sync()
                self._segments.end()
                self._hand_over(everything=True)
            finally:
                self._segments.close()
                self._pages.close()
                self._requests.close()
                self._finisher.finish_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sync(self) -> None:
        kept_bytes = self._kept_bytes
        # Rows are counted before the records are written: the record of each one counted was added before it.
        pages, requests = self._pages.waiting(), self._requests.waiting()
        self._segments.sync()
        self._pages.sync(pages)
        self._requests.sync(requests)
        self._synced_bytes = kept_bytes

    def _hand_over(self, *, everything: bool) -> None:
        """Give the finisher the segments that are full and the journals that are due."""
        self._finisher.add(self._segments.take_full())
        settings = self._settings
        for journal in (self._pages, self._requests):
            if everything or journal.is_due(
                max_rows=settings.part_rows, max_bytes=settings.part_size_bytes, max_age_s=settings.part_age_s
            ):
                self._finisher.add(journal.take())
