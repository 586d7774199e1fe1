"""Checks that stored files are complete and that every row's record is where the row says. Reads only."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest, xxh3_128_digest

from gossamer.errors import GossamerError
from gossamer.store import names
from gossamer.store.cdxj import read_line, surt
from gossamer.store.damage import DamagedError
from gossamer.store.files import entries
from gossamer.store.old_keys import old_surt
from gossamer.store.parts import check_part
from gossamer.store.quarantine import read_quarantine
from gossamer.store.reading import find_record, row_files
from gossamer.store.scanning import Damage, Record, scan
from gossamer.store.schemas import FIGURES, LINKS, PAGES, REQUESTS, TICKS
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from gossamer.store.schemas import Table

_COLUMNS = ["url", "payload_digest", "warc_file", "warc_offset", "warc_length"]


class Flaw(StrEnum):
    """What can be wrong with stored files."""

    UNFINISHED = "unfinished"  # left by a crash, or being written: the next start repairs it
    TORN_SEGMENT = "torn_segment"  # ends inside a record
    DAMAGED_SEGMENT = "damaged_segment"  # holds bytes that are no record
    WRONG_DIGEST = "wrong_digest"  # the content of a record has changed
    WRONG_INDEX = "wrong_index"  # the index does not match the segment
    MISSING_SEGMENT = "missing_segment"  # rows name a segment that does not exist
    MISSING_RECORD = "missing_record"  # a row names a place that does not hold its record
    MISSING_PAYLOAD = "missing_payload"  # a duplicate's record refers to a record that does not exist
    UNREADABLE_TABLE = "unreadable_table"  # a part or journal that cannot be read
    DAMAGED_JOURNAL = "damaged_journal"  # a range of a journal has changed on the disk
    DAMAGED_END = "damaged_end"  # of a journal: it has changed, or a power failure left it incomplete
    LOST_ROWS = "lost_rows"  # rows of a damaged file are in quarantine, and not all of them are restored


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A flaw of a stored file."""

    flaw: Flaw
    file: str  # relative to the crawl's folder
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class Checked:
    """What a folder holds, and its flaws."""

    pages: int = 0  # rows
    requests: int = 0  # rows
    links: int = 0  # rows
    figures: int = 0  # rows
    records: int = 0  # archived answers
    is_running: bool = False  # the ends of journals are being written
    problems: list[Problem] = field(default_factory=list)

    def note(self, flaw: Flaw, path: Path, detail: str = "") -> None:
        """Add a problem."""
        self.problems.append(Problem(flaw=flaw, file=f"{path.parent.name}/{path.name}", detail=detail))


class _Payloads:
    """Which payloads are archived, in 8 bytes each, and which records refer to them."""

    def __init__(self) -> None:
        self._there = array("Q")
        self._wanted: dict[int, tuple[Path, str]] = {}

    def add(self, segment: Path, record: Record) -> None:
        """Record the payload of an answer, or its reference to one."""
        headers = record.headers
        digest = headers.get("warc-payload-digest")
        if record.is_revisit:
            url = headers.get("warc-refers-to-target-uri")
            detail = f"the record at {record.offset} refers to {url}, which is not archived with this payload"
            self._wanted[_payload_print(url, digest)] = segment, detail
        else:
            self._there.append(_payload_print(headers.get("warc-target-uri"), digest))

    def missing(self) -> Iterator[tuple[Path, str]]:
        """Yield each segment with a reference to a missing payload, and a description."""
        for print_ in self._there if self._wanted else ():
            self._wanted.pop(print_, None)
        yield from self._wanted.values()


class _Records:
    """The answers of one segment by offset, in 32 bytes each."""

    def __init__(self) -> None:
        self._offsets = array("q")
        self._prints = bytearray()
        self._lines = array("Q")

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, offset: int, print_: bytes, line: bytes) -> None:
        """Record an answer, and its line of the index. Offsets must increase."""
        self._offsets.append(offset)
        self._prints += print_
        self._lines.append(xxh3_64_intdigest(line))

    def holds(self, offset: int, print_: bytes) -> bool:
        """Return whether this answer is at this offset."""
        place = self._place(offset)
        return place is not None and self._prints[place * 16 : place * 16 + 16] == print_

    def has_line(self, offset: int, line: bytes) -> bool:
        """Return whether the answer at this offset has this line in the index."""
        place = self._place(offset)
        return place is not None and self._lines[place] == xxh3_64_intdigest(line)

    def _place(self, offset: int) -> int | None:
        place = bisect_left(self._offsets, offset)
        return place if place < len(self._offsets) and self._offsets[place] == offset else None


def check(folder: Path, *, is_running: bool = False) -> Checked:
    """Read all files of a folder and return their flaws.

    Files that a running crawl writes are reported as `unfinished`, and so are files that a crash left.
    """
    checked = Checked(is_running=is_running)
    for path in sorted(path for name in names.FOLDERS for path in entries(folder / name)):
        is_ours = names.worker_of(path) is not None
        if names.is_journal(path) or (is_ours and path.suffix == names.TEMPORARY_SUFFIX):
            checked.note(Flaw.UNFINISHED, path)
    segments, payloads = {}, _Payloads()
    for path in sorted(entries(folder / names.WARC, f"*{names.SEGMENT_SUFFIX}")):
        segments[path.name] = _check_segment(path, payloads, checked)
        checked.records += len(segments[path.name])
    for path, detail in payloads.missing():
        checked.note(Flaw.MISSING_PAYLOAD, path, detail)
    missing: Counter[str] = Counter()
    for batch in _batches(folder, PAGES, checked):
        checked.pages += batch.num_rows
        _check_rows(folder, batch, segments, missing, checked)
    for file, rows in missing.items():
        checked.note(Flaw.MISSING_SEGMENT, folder / names.WARC / file, f"named by {count(rows, 'row')}")
    checked.requests = sum(batch.num_rows for batch in _batches(folder, REQUESTS, checked))
    checked.links = sum(batch.num_rows for batch in _batches(folder, LINKS, checked))
    checked.figures = sum(batch.num_rows for table in (FIGURES, TICKS) for batch in _batches(folder, table, checked))
    for quarantined in read_quarantine(folder):
        if lost := quarantined.loss():
            checked.note(Flaw.LOST_ROWS, folder / names.QUARANTINE / quarantined.name, lost)
    return checked


def _check_segment(segment: Path, payloads: _Payloads, checked: Checked) -> _Records:
    records = _Records()
    is_closed = names.index_of(segment).exists()
    for found in scan(segment):
        if isinstance(found, Damage):
            flaw = Flaw.TORN_SEGMENT if found.is_tail else Flaw.DAMAGED_SEGMENT
            checked.note(
                flaw if is_closed or not found.is_tail else Flaw.UNFINISHED,
                segment,
                f"no record: {count(found.length, 'byte')} at {found.offset}",
            )
            continue
        for name in found.wrong_digests():
            checked.note(Flaw.WRONG_DIGEST, segment, f"{name} of the record at {found.offset}")
        if found.is_answer:
            records.add(found.offset, _print_of(found), _line_of(found, segment))
            payloads.add(segment, found)
    if is_closed:
        _check_index(segment, records, checked)
    else:
        checked.note(Flaw.UNFINISHED, segment, "it has no index yet")
    return records


def _check_index(segment: Path, records: _Records, checked: Checked) -> None:
    index = names.index_of(segment)
    number, previous = 0, b""
    if not index.is_file():
        checked.note(Flaw.WRONG_INDEX, index, "it is no file")
        return
    with index.open("rb") as file:
        for number, line in enumerate(file, start=1):
            details = read_line(line)
            if details is None or line < previous:
                checked.note(Flaw.WRONG_INDEX, index, f"line {number} is no entry, or not in order")
                return
            offset = int(details["offset"])
            if not (records.has_line(offset, line) or records.has_line(offset, _with_new_key(line, details["url"]))):
                checked.note(Flaw.WRONG_INDEX, index, f"line {number} does not match its record")
            previous = line
    if number != len(records):
        checked.note(Flaw.WRONG_INDEX, index, f"{count(number, 'line')} for {count(len(records), 'answer')}")


def _with_new_key(line: bytes, url: str) -> bytes:
    """Return a line of an index with the key that this version writes, if it has that of version 0.1."""
    key, _, rest = line.partition(b" ")
    return b"%s %s" % (surt(url).encode(), rest) if key == old_surt(url).encode() else line


def _batches(folder: Path, table: Table, checked: Checked) -> Iterator[pa.RecordBatch]:
    for source in row_files(folder, table):
        try:
            if source.path.suffix == names.PART_SUFFIX:
                check_part(source.path)
            yield from source.batches()
        except DamagedError as error:
            checked.note(Flaw.UNREADABLE_TABLE, source.path, error.what)
        except (OSError, GossamerError) as error:
            checked.note(Flaw.UNREADABLE_TABLE, source.path, str(error))
        for broken in source.broken:
            if broken.is_rot or not (broken.is_cut or checked.is_running):
                rows = "" if broken.rows is None else f", {count(broken.rows, 'row')}"
                flaw = Flaw.DAMAGED_JOURNAL if broken.is_rot else Flaw.DAMAGED_END
                end = broken.offset + broken.length
                checked.note(flaw, source.path, f"bytes {broken.offset} to {end}{rows}")


def _check_rows(
    folder: Path,
    batch: pa.RecordBatch,
    segments: dict[str, _Records],
    missing: Counter[str],  # rows by segments that do not exist
    checked: Checked,
) -> None:
    for url, digest, file, offset, length in zip(*batch.select(_COLUMNS).to_pydict().values(), strict=True):
        print_ = _print(url, digest, length)
        if not file or (file in segments and segments[file].holds(offset, print_)):
            continue
        try:  # a running crawl has written more since the segment was read
            is_there = _print_of(find_record(folder, file, offset)) == print_
        except FileNotFoundError:
            missing[file] += 1
            continue
        except ValueError:
            is_there = False
        if not is_there:
            checked.note(Flaw.MISSING_RECORD, folder / names.WARC / file, f"{url} is not at {offset}")


def _line_of(record: Record, segment: Path) -> bytes:
    """Return an answer's line of the index; nothing if its headers have changed so much that it has none."""
    try:
        return record.index_line(segment.name) or b""
    except (LookupError, ValueError):
        return b""


def _payload_print(url: str | None, digest: str | None) -> int:
    return xxh3_64_intdigest(f"{digest} {url}".encode())


def _print_of(record: Record) -> bytes:
    headers = record.headers
    return _print(headers.get("warc-target-uri"), headers.get("warc-payload-digest"), record.length)


def _print(url: str | None, digest: str | None, length: int) -> bytes:
    return xxh3_128_digest(f"{length} {digest} {url}".encode())
