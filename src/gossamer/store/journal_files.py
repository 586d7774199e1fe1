"""An open journal of any version, to read: it may grow, become a part and be removed meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Self
from weakref import finalize

import pyarrow as pa

from gossamer.store import names
from gossamer.store.frames import BrokenRange, JournalFrames
from gossamer.store.schemas import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class JournalReader:
    """Reads an open journal; `read` may be repeated, and yields only what is new."""

    def __init__(self, file: BinaryIO) -> None:
        self._frames = JournalFrames(file)

    @property
    def is_sealed(self) -> bool:
        """Whether the journal ended, when it was last read, as a sync leaves it."""
        return self._frames.is_sealed

    def read(self) -> Iterator[pa.RecordBatch | BrokenRange]:
        """Yield the batches of complete frames, and the ranges that are none."""
        for found in self._frames.read():
            if isinstance(found, BrokenRange):
                yield found
                continue
            with pa.ipc.open_stream(pa.py_buffer(found.payload)) as stream:
                yield from stream


class JournalFile:
    """A journal, opened while it existed."""

    def __init__(self, path: Path) -> None:
        self._is_old = path.suffix == names.OLD_JOURNAL_SUFFIX
        self._table = TABLES[names.table_of(path)]
        self.file = path.open("rb")
        finalize(self, self.file.close)  # readers of many journals do not say when they are done with one
        self._new = JournalReader(self.file)
        self.is_sealed = True  # whether it ended, when it was last read, as a sync leaves it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def read(self) -> Iterator[pa.RecordBatch | BrokenRange]:
        """Yield all sound batches, and the ranges that hold none."""
        if self._is_old:
            from gossamer.store.old_journals import read_old_journal  # few crawls have one

            yield from read_old_journal(self.file, self._table)
            return
        reader = JournalReader(self.file)
        yield from reader.read()
        self.is_sealed = reader.is_sealed

    def is_sealed_at_end(self) -> bool:
        """Return whether the file ends as a sync leaves it."""
        return JournalFrames(self.file).has_end_frame()

    def read_new(self) -> Iterator[pa.RecordBatch]:
        """Yield the sound batches that were added since the last call; all at the first. For journals of now."""
        yield from (found for found in self._new.read() if not isinstance(found, BrokenRange))
