"""Repairs the files of dead workers before a crawl continues.

It truncates torn segments, writes missing indexes, converts journals to parts and removes temporary files. Complete
records and rows stay. It may be interrupted anywhere and repeated, with the same result.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gossamer.store import names
from gossamer.store.files import remove
from gossamer.store.journal_files import JournalFile
from gossamer.store.parts import convert
from gossamer.store.segments import finish_segment
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair did."""

    parts: int  # journals that became parts
    segments: int  # segments that got their index
    cut_bytes: int  # cut off the ends of segments; no completed page had a record there
    removed_files: int  # temporary ones
    # Journals whose end was damaged, by a crash or by the disk: completed pages may have no row.
    doubtful: tuple[str, ...] = ()


def repair(folder: Path, workers: Collection[str] | None = None) -> Repaired:
    """Repair the files of these workers, or of all.

    The caller must know that the workers are dead: this would destroy the files of a living worker.
    """

    def files(name: str, suffix: str) -> list[Path]:
        found = (folder / name).glob(f"*{suffix}")
        return sorted(path for path in found if _is_of(path, workers))

    removed = 0
    for name in names.FOLDERS:
        for path in files(name, names.TEMPORARY_SUFFIX):
            remove(path)
            removed += 1
    journals = [path for path in files(names.JOURNAL, "") if names.is_journal(path)]
    doubtful = tuple(path.name for path in journals if not _has_figures(path) and _ends_in_doubt(path))
    parts = sum(convert(path) is not None for path in journals)
    unfinished = [path for path in files(names.WARC, names.SEGMENT_SUFFIX) if _is_unfinished(path)]
    cut_bytes = 0
    for segment in unfinished:
        torn_bytes = finish_segment(segment)
        cut_bytes += torn_bytes
        if torn_bytes:
            _LOG.info("%s: a torn record of %s was cut off", segment.name, count(torn_bytes, "byte"))
    return Repaired(
        parts=parts,
        segments=len(unfinished),
        cut_bytes=cut_bytes,
        removed_files=removed,
        doubtful=doubtful,
    )


def _has_figures(journal: Path) -> bool:
    """Return whether a journal is one of the history: no page depends on it."""
    return names.table_of(journal) in (names.FIGURES, names.TICKS)


def _ends_in_doubt(journal: Path) -> bool:
    """Return whether the end of a journal is not as a sync leaves it: a crash in a sync, or the disk, explains that."""
    if journal.suffix == names.OLD_JOURNAL_SUFFIX or names.part_of(journal).exists():
        return False
    try:
        with JournalFile(journal) as file:
            return not file.is_sealed_at_end()
    except OSError:
        return True


def _is_of(path: Path, workers: Collection[str] | None) -> bool:
    worker = names.worker_of(path)
    return worker is not None and (workers is None or worker in workers)


def _is_unfinished(segment: Path) -> bool:
    return names.open_index_of(segment).exists() or not names.index_of(segment).exists()
