"""The files of a machine's history: two series of figures, in journals that become one part per hour.

Figures of full minutes are kept (`figures`). Those between (`ticks`) are deleted after some days, a whole part at a
time: a closed file never changes. One process writes both, the supervisor.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from gossamer.safe_files import make_folder
from gossamer.store import names
from gossamer.store.files import entries, remove, sync_folder
from gossamer.store.finishing import Finisher
from gossamer.store.journals import Journal
from gossamer.store.schemas import FIGURES, TICKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gossamer.records import FigureRow
    from gossamer.store.schemas import Table

TICK_S: Final = 10  # of wall-clock time, from one moment of the history to the next
MINUTE_S: Final = 60  # from one that is kept to the next
PART_S: Final = 3600.0  # the time that a part spans at most
_DAY_S: Final = 86_400.0
_MAX_WAITING_ROWS: Final = 100_000  # while the disk fails


class FigureFiles:
    """Writes figures. It blocks: call it from a thread, always the same one."""

    def __init__(self, folder: Path, *, days: float, clock: Callable[[], float] = time.time) -> None:
        """`days` is how long figures between full minutes are kept."""
        self._folder = folder
        self.days = days
        for name in (names.JOURNAL, names.FIGURES, names.TICKS):
            make_folder(folder / name)
        sync_folder(folder)
        stems = names.Stems(folder, names.SUPERVISOR)

        def path(table: Table, now: float) -> Path:
            return names.journal_path(folder, table.name, stems.next(now))

        self._minutes: Journal[FigureRow] = Journal(FIGURES, partial(path, FIGURES), clock)
        self._ticks: Journal[FigureRow] = Journal(TICKS, partial(path, TICKS), clock)
        self._journals = (self._minutes, self._ticks)
        self._finisher = Finisher()
        self._waiting_rows = 0  # that are not synced

    @property
    def is_full(self) -> bool:
        """Whether so many rows wait for a disk that fails that it takes no more."""
        return self._waiting_rows >= _MAX_WAITING_ROWS

    def write(self, rows: Sequence[FigureRow], *, keep: bool) -> None:
        """Write and sync rows; those of full minutes are to `keep`. If that fails, raise OSError and hold them."""
        (self._minutes if keep else self._ticks).rows.extend(rows)
        self._waiting_rows += len(rows)
        self._sync()
        self._finisher.turn()

    def end_parts(self, now_at: float) -> None:
        """Close the files of an hour, and delete those that are too old."""
        self._sync()
        for journal in self._journals:
            self._finisher.add(journal.take())
        self._finisher.turn()
        for part in expired(entries(self._folder / names.TICKS), now_at=now_at, days=self.days):
            remove(part)

    def close(self) -> None:
        """Sync, and finish all files."""
        try:
            self._sync()
            for journal in self._journals:
                self._finisher.add(journal.take())
        finally:
            for journal in self._journals:
                journal.close()
            self._finisher.finish_all()

    def _sync(self) -> None:
        for journal in self._journals:
            journal.sync(len(journal.rows))
        self._waiting_rows = 0


def expired(paths: Sequence[Path], *, now_at: float, days: float) -> list[Path]:
    """Return the parts of which every row is older than some days."""
    oldest_at = now_at - days * _DAY_S - PART_S
    parts = (path for path in paths if path.suffix == names.PART_SUFFIX and names.worker_of(path) is not None)
    return sorted(path for path in parts if names.begun_by(path.name)[1] <= oldest_at)
