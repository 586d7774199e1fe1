"""Segments hold complete records at the places that rows and indexes name."""

from __future__ import annotations

import gzip
import io
import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from warcio.archiveiterator import ArchiveIterator

from gossamer.store.cdxj import index_line, read_line, surt, with_checksum, without_checksum
from gossamer.store.names import index_of, open_index_of
from gossamer.store.scanning import Damage, Record, scan
from gossamer.store.segments import finish_segment
from gossamer.store.store import Store, StoreSettings
from tests.store.samples import fetched, keep, new_store, refusals, segments

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was stopped after 60 pages; a segment holds about ten."""
    folder = tmp_path_factory.mktemp("crawl")
    with new_store(folder, segment_size_bytes=9_000) as store:
        for number in range(60):
            keep(store, number)
            if number % 4 == 3:
                store.sync()
    return folder


@pytest.fixture
def torn(tmp_path: Path) -> tuple[Path, list[int]]:
    """A segment whose worker was killed, and where each of its records ends."""
    store = new_store(tmp_path)
    for number in range(8):
        keep(store, number)
        if number != 7:
            store.sync()
    store.sync()
    store._segments.close()
    (segment,) = segments(tmp_path)
    ends = [found.offset + found.length for found in scan(segment)]
    assert len(ends) == 17
    return segment, ends


def test_every_segment_passes_the_checks_of_others(crawl: Path) -> None:
    assert len(segments(crawl)) >= 5
    for segment in segments(crawl)[:2]:
        assert segment.stat().st_size <= 9_000
        assert refusals(segment) == {}


def test_a_segment_begins_by_saying_who_wrote_it(crawl: Path) -> None:
    for segment in segments(crawl):
        with segment.open("rb") as file:
            first = next(iter(ArchiveIterator(file)))
            about = first.content_stream().read().decode()
        assert first.rec_type == "warcinfo"
        assert first.rec_headers["WARC-Filename"] == segment.name
        assert "operator: you@example.org\r\n" in about
        assert "http-header-user-agent: Test/1 (+mailto:a@b.test)\r\n" in about
        assert "software: Gossamer/" in about
        assert "format: WARC File Format 1.1\r\n" in about
        assert "robots: obeyed" in about


def test_what_the_operator_tells_is_in_the_first_record_and_in_the_name(tmp_path: Path) -> None:
    settings = StoreSettings(warc_prefix="NEWS-2026", hostname="crawler1.example.org")
    agent = {"operator": "you@example.org", "user_agent": "Test/1"}
    with Store(tmp_path, "w7", settings, **agent, crawl_name="news", clock=lambda: 1_767_225_600.0) as store:
        keep(store, 0)
    (segment,) = segments(tmp_path)
    assert segment.name == "NEWS-2026-20260101000000000-00001-crawler1.example.org~w7.warc.gz"
    info = next(found for found in scan(segment) if isinstance(found, Record))
    fields = dict(line.split(": ", 1) for line in info.block.decode().splitlines())
    assert fields["hostname"] == "crawler1.example.org"
    assert fields["isPartOf"] == "news"
    assert fields["http-header-from"] == "you@example.org"


def test_a_machine_is_not_named_unless_the_operator_names_it(crawl: Path) -> None:
    for segment in segments(crawl):
        assert "-localhost~" in segment.name
        info = next(found for found in scan(segment) if isinstance(found, Record))
        assert b"hostname" not in info.block


@pytest.mark.parametrize("settings", [{"warc_prefix": ""}, {"warc_prefix": "a/b"}, {"hostname": "my machine"}])
def test_what_cannot_be_in_the_name_of_a_file_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"use letters|write it like"):
        StoreSettings(**settings)  # type: ignore[arg-type]


def test_every_record_names_the_warcinfo_record_of_its_segment(crawl: Path) -> None:
    ids = set()
    for segment in segments(crawl):
        info, *others = [found for found in scan(segment) if isinstance(found, Record)]
        ids.add(info.headers["warc-record-id"])
        assert {record.headers["warc-warcinfo-id"] for record in others} == {info.headers["warc-record-id"]}
    assert len(ids) == len(segments(crawl)) >= 5


def test_the_index_leads_others_to_every_record_by_seeking(crawl: Path) -> None:
    found = set()
    for segment in segments(crawl):
        lines = index_of(segment).read_bytes().splitlines(keepends=True)
        assert lines == sorted(lines)
        for line in lines:
            key, moment, details = line.decode().split(" ", 2)
            entry = json.loads(details)
            with segment.open("rb") as file:
                file.seek(int(entry["offset"]))
                member = file.read(int(entry["length"]))
            gzip.decompress(member)  # exactly one whole member
            record = next(iter(ArchiveIterator(io.BytesIO(member))))
            assert record.rec_type == "response"
            assert record.rec_headers["WARC-Target-URI"] == entry["url"]
            assert record.rec_headers["WARC-Payload-Digest"] == entry["digest"]
            assert record.rec_headers["WARC-Date"].translate(str.maketrans("", "", "-:T")).startswith(moment)
            assert (entry["mime"], entry["status"], entry["filename"]) == ("text/html", "200", segment.name)
            assert key == surt(entry["url"])
            found.add(entry["url"])
    assert found == {fetched(number).url for number in range(60)}


def test_half_a_line_is_no_line() -> None:
    line = index_line(
        url="https://example.org/", at=0.0, status=200, content_type="", digest="", offset=12, length=34, filename="a"
    )
    assert (read_line(line) or {})["offset"] == "12"
    assert read_line(line.replace(b'"12"', b'"-12"')) is None
    assert read_line(line.replace(b'"url"', b'"uzl"')) is None
    assert read_line(with_checksum(line)) == read_line(line)
    assert read_line(with_checksum(line).replace(b'"12"', b'"13"')) is None
    for cut in range(len(line)):
        assert read_line(line[:cut]) is None
    assert read_line(b"a b {}\n") is None
    assert read_line(b"\0" * 50 + b"\n") is None


@pytest.mark.parametrize("knows", ["all", "some", "nothing"], ids=lambda knows: f"open-index-knows-{knows}")
def test_a_segment_cut_anywhere_keeps_exactly_its_whole_records(torn: tuple[Path, list[int]], knows: str) -> None:
    segment, ends = torn
    whole, lines = segment.read_bytes(), open_index_of(segment).read_bytes()
    draw = random.Random(3)
    for size in [0, 1, *ends, *(draw.randrange(len(whole)) for _ in range(300))]:
        segment.write_bytes(whole[:size])
        if knows == "nothing":
            open_index_of(segment).unlink(missing_ok=True)
        else:
            # A kill -9 cuts the index anywhere, too; some of its last line may be there.
            known = lines if knows == "all" else lines[: draw.randrange(len(lines))]
            open_index_of(segment).write_bytes(known)
        expected = max((end for end in ends if end <= size), default=0)
        assert finish_segment(segment) == size - expected
        assert not open_index_of(segment).exists()
        if expected == 0:
            assert not segment.exists()
            assert not index_of(segment).exists()
            continue
        assert segment.read_bytes() == whole[:expected]
        indexed = index_of(segment).read_bytes().splitlines()
        offsets = [int(json.loads(line.split(b" ", 2)[2])["offset"]) for line in indexed]
        # Responses are every second record after the first: they begin where the requests end.
        assert sorted(offsets) == [begin for begin, end in zip(ends[1::2], ends[2::2], strict=True) if end <= expected]
        index_of(segment).unlink()


def test_an_index_written_by_a_scan_is_the_one_the_rows_make(torn: tuple[Path, list[int]]) -> None:
    segment, _ = torn
    lines = open_index_of(segment).read_bytes()
    finish_segment(segment)
    from_rows = index_of(segment).read_bytes()
    index_of(segment).unlink()
    finish_segment(segment)
    assert index_of(segment).read_bytes() == from_rows
    bare = [without_checksum(line) for line in lines.splitlines(keepends=True)]
    assert sorted(filter(None, bare)) == from_rows.splitlines(keepends=True)


@pytest.mark.parametrize("tail", [b"\0" * 5_000, random.Random(1).randbytes(5_000), b"\x1f\x8b\x08\x00" * 1_000])
def test_garbage_at_the_end_is_cut_off(torn: tuple[Path, list[int]], tail: bytes) -> None:
    segment, ends = torn
    with segment.open("ab") as file:
        file.write(tail)
    for is_known in (True, False):
        if not is_known:
            index_of(segment).unlink()
            with segment.open("ab") as file:
                file.write(tail)
        assert finish_segment(segment) == len(tail)
        assert segment.stat().st_size == ends[-1]


def test_damage_inside_a_segment_costs_no_record_behind_it(torn: tuple[Path, list[int]]) -> None:
    segment, ends = torn
    data = bytearray(segment.read_bytes())
    data[ends[4] + 40] ^= 0xFF
    segment.write_bytes(data)
    open_index_of(segment).unlink()
    assert finish_segment(segment) == 0
    assert segment.read_bytes() == data
    assert len(index_of(segment).read_bytes().splitlines()) >= 7
    found = list(scan(segment))
    assert [thing for thing in found if isinstance(thing, Damage)] == [
        Damage(offset=ends[4], length=ends[5] - ends[4], is_tail=False)
    ]
    assert len([thing for thing in found if isinstance(thing, Record)]) == 16


@pytest.mark.parametrize("size", [b"5", b"6", b"x", b""])
def test_a_member_that_is_no_whole_record_is_damage(tmp_path: Path, size: bytes) -> None:
    segment = tmp_path / "a.warc.gz"
    segment.write_bytes(
        gzip.compress(b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: " + size + b"\r\n\r\nhello\r\n\r\n")
    )
    (found,) = scan(segment)
    assert isinstance(found, Record if size == b"5" else Damage)


def test_finishing_a_finished_segment_changes_nothing(torn: tuple[Path, list[int]]) -> None:
    segment, _ = torn
    finish_segment(segment)
    before = {path.name: path.read_bytes() for path in segment.parent.iterdir()}
    finish_segment(segment)
    assert {path.name: path.read_bytes() for path in segment.parent.iterdir()} == before


def test_what_the_open_index_knows_is_not_read_again(torn: tuple[Path, list[int]]) -> None:
    segment, ends = torn
    with segment.open("rb+") as file:  # if it were read, this would be found to be damaged
        file.write(b"\0" * ends[3])
    finish_segment(segment)
    assert len(index_of(segment).read_bytes().splitlines()) == 8


def test_scanning_needs_no_pyarrow() -> None:
    code = "import sys, gossamer.store.segments; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
