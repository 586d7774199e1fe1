"""Quarantine: what was damaged on the disk, out of the way of readers, and what became of its rows.

    quarantine/<journal>.<offset>      a range of a journal that was no complete frame
    quarantine/<journal or part>.json  a note: which rows are lost, and how many of them the crawl has restored

The operator may move a damaged part here: the next start restores its rows and writes the note. To accept a loss, the
operator removes the files.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from gossamer.safe_files import make_folder
from gossamer.store import names
from gossamer.store.files import entries, replacing, sync_folder
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.store.frames import BrokenRange

_NOTE_SUFFIX = ".json"
_MAX_COPY_BYTES = 1 << 26  # of a range that is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A file that was damaged, and what became of its rows."""

    name: str  # of the file that was damaged
    detail: str  # which bytes
    rows: int | None = None  # lost; None: unknown
    restored: int = 0  # rows that were made again from archive records
    queued_again: int = 0  # pages that are to be fetched again
    missing: int | None = None  # pages whose rows can be neither restored nor fetched; None: not yet known

    @property
    def table(self) -> str:
        """Whose rows it held."""
        return names.table_of_name(self.name)

    def loss(self) -> str:
        """Return what is lost, in words; empty if nothing is."""
        rows = "its rows" if self.rows is None else count(self.rows, "row")
        if self.missing is None:
            return f"{self.detail}, {rows}: the next start restores what it can"
        if self.table in (names.REQUESTS, names.FIGURES, names.TICKS):
            return f"{self.detail}, {rows}, cannot be restored"
        return f"{self.detail}, rows of {count(self.missing, 'page')} cannot be restored" if self.missing else ""


def quarantine_ranges(journal: Path, file: BinaryIO, ranges: Sequence[BrokenRange]) -> Quarantined:
    """Copy the broken ranges of a journal into quarantine, and note them. It may be repeated."""
    folder = _folder(journal.parents[1])
    for broken in ranges:
        file.seek(broken.offset)
        with replacing(folder / f"{journal.name}.{broken.offset}") as copy:
            copy.write(file.read(min(broken.length, _MAX_COPY_BYTES)))
    rows = [broken.rows for broken in ranges if broken.rows is not None]
    quarantined = Quarantined(
        name=journal.name,
        detail=", ".join(f"bytes {broken.offset} to {broken.offset + broken.length}" for broken in ranges),
        rows=sum(rows) if len(rows) == len(ranges) else None,
    )
    note(journal.parents[1], quarantined)
    return quarantined


def note(crawl_folder: Path, quarantined: Quarantined) -> None:
    """Write the note about a damaged file."""
    with replacing(_folder(crawl_folder) / f"{quarantined.name}{_NOTE_SUFFIX}") as file:
        file.write(json.dumps(asdict(quarantined)).encode())


def read_quarantine(crawl_folder: Path) -> list[Quarantined]:
    """Return everything in quarantine, also what the operator has moved there and no start has seen yet."""
    found = []
    for path in sorted(entries(crawl_folder / names.QUARANTINE)):
        if path.suffix == names.PART_SUFFIX and names.worker_of(path):
            found.append(Quarantined(name=path.name, detail="the whole file"))
        elif path.suffix == _NOTE_SUFFIX and names.worker_of(path):
            found.append(_read(path))
    noted = {each.name for each in found if each.missing is not None}
    return [each for each in found if each.missing is not None or each.name not in noted]


def _read(path: Path) -> Quarantined:
    unknown = Quarantined(name=path.name.removesuffix(_NOTE_SUFFIX), detail="unknown bytes")
    try:
        said = json.loads(path.read_bytes())
        return replace(
            unknown, **{name: said[name] for name in ("detail", "rows", "restored", "queued_again", "missing")}
        )
    except (OSError, ValueError, KeyError, TypeError):
        return unknown


def _folder(crawl_folder: Path) -> Path:
    folder = crawl_folder / names.QUARANTINE
    if not folder.is_dir():
        make_folder(folder)
        sync_folder(crawl_folder)
    return folder
