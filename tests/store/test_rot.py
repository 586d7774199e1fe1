"""A disk that rots: every change to a stored file is found, costs only what it hit, and is told from a torn end."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from gossamer.store import names
from gossamer.store.checking import Flaw, check
from gossamer.store.damage import DamagedError
from gossamer.store.frames import BrokenRange
from gossamer.store.journal_files import JournalFile
from gossamer.store.journals import HEADER_BYTES
from gossamer.store.parts import check_part, open_part
from gossamer.store.quarantine import read_quarantine
from gossamer.store.reading import pages, row_files
from gossamer.store.repair import repair
from gossamer.store.schemas import PAGES
from tests.store.samples import keep, new_store, numbers

if TYPE_CHECKING:
    from pathlib import Path

SYNCS, ROWS = 8, 3


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The journal of `pages` that a killed worker left: eight frames of three rows."""
    store = new_store(tmp_path)
    for number in range(SYNCS):
        for row in range(ROWS):
            keep(store, ROWS * number + row)
        store.sync()
    store.abandon()
    (found,) = (tmp_path / "journal").glob("pages-*")
    return found


def read(journal: Path) -> tuple[list[str], list[BrokenRange]]:
    """The URLs of sound batches, and the broken ranges."""
    with JournalFile(journal) as file:
        found = list(file.read())
    urls = [url for each in found if isinstance(each, pa.RecordBatch) for url in each["url"].to_pylist()]
    return urls, [each for each in found if isinstance(each, BrokenRange)]


def flip(data: bytes, draw: random.Random, bits: int) -> bytes:
    changed = bytearray(data)
    for _ in range(bits):
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def test_a_flipped_bit_costs_one_batch_and_is_told_with_its_range(journal: Path) -> None:
    whole, data, draw = read(journal)[0], journal.read_bytes(), random.Random(1)
    assert len(whole) == SYNCS * ROWS
    for _ in range(300):
        place = draw.randrange(len(data) - HEADER_BYTES)  # behind that, the end of the last sync is noted
        journal.write_bytes(data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :])
        urls, (broken,) = read(journal)
        assert broken.is_rot
        assert broken.offset <= place < broken.offset + broken.length
        lost = [url for url in whole if url not in urls]
        assert len(lost) == ROWS
        assert broken.rows in (ROWS, None)
        assert urls == [url for url in whole if url not in lost]


def test_whatever_happens_to_a_journal_no_wrong_row_is_read(journal: Path) -> None:
    whole, data, draw = read(journal)[0], journal.read_bytes(), random.Random(2)
    for _ in range(300):
        match draw.randrange(4):
            case 0:
                rotten = flip(data, draw, draw.randrange(2, 31))
            case 1:  # a sector of zeros
                start = draw.randrange(0, len(data), 512)
                rotten = data[:start] + bytes(len(data[start : start + 512])) + data[start + 512 :]
            case 2:
                rotten = data[: draw.randrange(len(data))]
            case _:  # another place of the same file, as from a sector that was misdirected
                start = draw.randrange(len(data))
                rotten = data + data[start : start + draw.randrange(10_000)]
        journal.write_bytes(rotten)
        urls, broken = read(journal)
        assert [url for url in whole if url in urls] == urls
        if len(urls) < len(whole) and len(rotten) == len(data):
            assert broken


def test_a_torn_end_is_not_taken_for_rot(journal: Path) -> None:
    data = journal.read_bytes()
    for size in range(0, len(data), 97):
        journal.write_bytes(data[:size])
        assert not any(broken.is_rot for broken in read(journal)[1])
        assert all(broken.is_cut for broken in read(journal)[1])


def test_a_write_of_several_frames_that_a_power_failure_tears_is_no_rot(tmp_path: Path) -> None:
    """Frames that failed syncs have left are written at once: of these, a later one may survive without an earlier."""
    from gossamer.store.frames import JournalFrames
    from gossamer.store.journals import encode_frame, end_frame

    first = encode_frame([b"first"], offset=0, synced=0, rows=1)
    second = encode_frame([b"second"], offset=len(first), synced=0, rows=1)
    file = tmp_path / "frames"
    file.write_bytes(bytes(len(first)) + second)
    with file.open("rb") as stream:
        broken, frame = sorted(JournalFrames(stream).read(), key=lambda found: found.offset)
    assert isinstance(broken, BrokenRange)
    assert not broken.is_rot
    assert frame.rows == 1
    file.write_bytes(bytes(len(first)) + second + end_frame(len(first + second)))
    with file.open("rb") as stream:
        assert [found.is_rot for found in JournalFrames(stream).read() if isinstance(found, BrokenRange)] == [True]


def test_a_repair_puts_rot_into_quarantine_and_goes_on(journal: Path, tmp_path: Path) -> None:
    data = journal.read_bytes()
    journal.write_bytes(data[:100] + b"rot" + data[103:])
    assert Flaw.DAMAGED_JOURNAL in {problem.flaw for problem in check(tmp_path).problems}
    repair(tmp_path)
    assert numbers(pages(tmp_path)) == list(range(ROWS, SYNCS * ROWS))
    (quarantined,) = read_quarantine(tmp_path)
    assert (quarantined.name, quarantined.table, quarantined.rows) == (journal.name, "pages", ROWS)
    copy = tmp_path / "quarantine" / f"{journal.name}.0"
    assert copy.read_bytes() == (data[:100] + b"rot" + data[103:])[: copy.stat().st_size]
    (problem,) = check(tmp_path).problems
    assert problem.flaw is Flaw.LOST_ROWS


def test_an_old_journal_never_crashes_the_process_that_reads_it(journal: Path) -> None:
    with JournalFile(journal) as file:
        batches = [each for each in file.read() if isinstance(each, pa.RecordBatch)]
    old = journal.with_suffix(names.OLD_JOURNAL_SUFFIX)
    with pa.OSFile(str(old), "wb") as written, pa.ipc.new_stream(written, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    data, draw, whole = old.read_bytes(), random.Random(3), read(journal)[0]
    assert read(old) == (whole, [])
    for _ in range(4):
        old.write_bytes(flip(data, draw, 20))
        urls, broken = read(old)
        assert broken
        assert len(urls) <= len(whole)


def test_every_change_to_a_part_is_found_before_its_rows_are_used(tmp_path: Path) -> None:
    with new_store(tmp_path) as store:
        for number in range(50):
            keep(store, number)
    (part,) = (tmp_path / "pages").glob("*.parquet")
    check_part(part)
    data, draw = part.read_bytes(), random.Random(4)
    (source,) = row_files(tmp_path, PAGES)
    whole = list(pages(tmp_path))
    for _ in range(60):
        place = draw.randrange(len(data))
        part.write_bytes(data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :])
        with suppress(DamagedError):
            assert list(pages(tmp_path)) == whole  # such as its first bytes, which are never read
        with pytest.raises(DamagedError):
            check_part(part)
        assert Flaw.UNREADABLE_TABLE in {problem.flaw for problem in check(tmp_path).problems}
    part.unlink()
    part.mkdir()
    with pytest.raises(DamagedError, match="directory"):
        list(source.batches())
    assert Flaw.UNREADABLE_TABLE in {problem.flaw for problem in check(tmp_path).problems}


def test_any_reader_understands_a_part_with_its_checksums(tmp_path: Path) -> None:
    import duckdb

    with new_store(tmp_path) as store:
        for number in range(5):
            keep(store, number)
    (part,) = (tmp_path / "pages").glob("*.parquet")
    with open_part(part) as file:
        assert file.metadata.num_rows == 5
    assert duckdb.execute("select count(*) from read_parquet(?)", [str(part)]).fetchall() == [(5,)]
