"""Writes rows that a start has restored, as a part of a worker of its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from gossamer.store import names
from gossamer.store.journals import Journal
from gossamer.store.parts import convert
from gossamer.store.schemas import LINKS, PAGES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.records import LinkRow, PageRow

WORKER = "restored"  # in the names of the files; no worker has this name
_SYNC_ROWS = 500


class RestoredRows:
    """Rows to write. They are in journals first, like all rows: a crash loses none that was synced."""

    def __init__(self, folder: Path) -> None:
        stems = names.Stems(folder, WORKER)
        self._pages: Journal[PageRow] = Journal(
            PAGES, lambda now: names.journal_path(folder, PAGES.name, stems.next(now)), time.time
        )
        self._links: Journal[LinkRow] = Journal(
            LINKS, lambda now: names.journal_path(folder, LINKS.name, stems.next(now)), time.time
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sync()
        for journal in (*self._pages.take(), *self._links.take()):
            convert(journal)

    def keep(self, row: PageRow) -> None:
        """Write a page's row."""
        self._pages.rows.append(row)
        self._sync_if_many()

    def keep_links(self, rows: Sequence[LinkRow]) -> None:
        """Write the links of a page."""
        self._links.rows.extend(rows)
        self._sync_if_many()

    def _sync_if_many(self) -> None:
        if len(self._pages.rows) >= _SYNC_ROWS or len(self._links.rows) >= _SYNC_ROWS:
            self._sync()

    def _sync(self) -> None:
        self._links.sync(len(self._links.rows))
        self._pages.sync(len(self._pages.rows))
