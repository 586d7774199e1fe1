"""The worker believes nothing that the page process sends but what has the layout of a reply."""

from __future__ import annotations

import gzip
import marshal
import os
import random
import resource
import struct
import subprocess
import sys
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.page_process import starting
from gossamer.page_process.frames import (
    LENGTH_BYTES,
    PageTerms,
    Payload,
    Reply,
    bug_reply,
    drop_sent,
    failed_reply,
    max_reply_bytes,
    pack_page,
    pack_reply,
    pack_terms,
    parsed_reply,
    sitemap_reply,
    unpack_reply,
    unpack_terms,
)
from gossamer.page_process.layouts import (
    BYTES,
    HASH,
    INT16,
    LONG_TEXT,
    MAX_ITEMS,
    TEXT,
    TEXTS,
    TIME,
    FrameError,
    Layout,
)
from gossamer.page_process.process import PageProcess
from gossamer.page_process.settings import PageSettings
from gossamer.parse import links, sitemaps
from gossamer.parse.sitemaps import SitemapContent, read_sitemap
from gossamer.records import Anchor, PageRow, ParsedPage, ParsedSitemap, ParseFailed, Reason, RequestKind
from gossamer.store.schemas import PAGES
from gossamer.store.warc import digest, encode_around_body
from gossamer.urls import Url, identify
from tests.parse.pages import answer
from tests.test_page_process import LINUX, SETTINGS, assert_is, on_a_loop, page, until

PAGE, SITEMAP = RequestKind.PAGE, RequestKind.SITEMAP
ROW = PageRow(url_hash=b"h" * 16, url="https://a.test/", title="Größe", text="x\0y", simhash=2**64 - 1, fetched_at=1e9)
PARSED = ParsedPage(
    row=ROW,
    links=[Url(*identify(f"https://a.test/{number}")) for number in range(3)],
    anchors=[Anchor("https://a.test/1", "one\ntwo", "nofollow")],
    refresh="https://b.test/",
    noindex=False,
    nofollow=True,
    noai=True,
    links_cut=True,
)


def payload(reply: Payload, **opening: Any) -> bytes:
    """The frame of a reply, without its length."""
    return b"".join(pack_reply(reply, **{"retiring": False, "cpu_s": 1.5, **opening}))[LENGTH_BYTES:]


def test_a_parsed_page_comes_back_as_it_is() -> None:
    around = encode_around_body(page(1))
    with_records = PARSED._replace(
        archive=around.before, response_offset=around.response_offset, payload_digest=around.payload_digest
    )
    assert unpack_reply(payload(parsed_reply(PARSED, around)), PAGE, b"") == Reply(False, False, 1.5, with_records)
    bare = PARSED._replace(links=[], anchors=[])
    assert unpack_reply(payload(parsed_reply(bare, None), retiring=True), PAGE, b"") == Reply(True, False, 1.5, bare)


@pytest.mark.parametrize("size_bytes", [0, 1, 0xFFFF, 0x10000, 3_000_000])
def test_a_body_that_came_compressed_goes_only_one_way(size_bytes: int) -> None:
    body = random.Random(size_bytes).randbytes(size_bytes)
    fetched = answer(body, headers=("Content-Encoding: gzip",))
    frame = payload(parsed_reply(PARSED, encode_around_body(fetched)))
    assert len(frame) < 5_000
    found = unpack_reply(frame, PAGE, body).result
    assert isinstance(found, ParsedPage)
    response = gzip.decompress(found.archive[found.response_offset :])
    assert response.endswith(fetched.head + body + b"\r\n\r\n")
    assert f"WARC-Payload-Digest: {digest(body)}\r\n".encode() in response


def test_pieces_that_the_kernel_takes_in_part_are_sent_on_from_there() -> None:
    unsent = deque(memoryview(piece) for piece in (b"abc", b"", b"defg", b"h"))
    sent = b""
    for sent_bytes in (1, 3, 0, 2, 2):
        sent += b"".join(unsent)[:sent_bytes]
        drop_sent(unsent, sent_bytes)
    assert (sent, [*unsent]) == (b"abcdefgh", [])


def test_a_sitemap_a_failure_and_a_bug_come_back_as_they_are() -> None:
    read = read_sitemap(answer("https://example.org/a\nhttps://example.org/b", "text/plain"), agent="x")
    assert isinstance(read, SitemapContent)
    sitemap = unpack_reply(payload(sitemap_reply(read, None)), SITEMAP, b"").result
    assert isinstance(sitemap, ParsedSitemap)
    assert [*sitemap.urls] == ["https://example.org/a", "https://example.org/b"]
    assert [*sitemap.ranks] == [0, 0]
    failed = ParseFailed(reason=Reason.BAD_ENCODING, detail="Größe")
    assert unpack_reply(payload(failed_reply(failed)), PAGE, b"").result == failed
    bug = unpack_reply(payload(bug_reply("Traceback")), SITEMAP, b"").result
    assert isinstance(bug, RuntimeError)
    assert "Traceback" in str(bug)


def test_a_list_takes_as_many_items_as_a_page_or_sitemap_may_have() -> None:
    assert max(links.MAX_LINKS, links.MAX_ANCHORS, sitemaps.MAX_ENTRIES) <= MAX_ITEMS


@given(st.binary(), st.sampled_from([PAGE, SITEMAP]))
def test_any_bytes_are_a_reply_or_refused(data: bytes, asked: RequestKind) -> None:
    with suppress(FrameError):
        unpack_reply(data, asked, b"")


@given(st.data(), st.integers(0, 3))
def test_what_is_left_of_a_broken_reply_can_be_stored(data: st.DataObject, changes: int) -> None:
    frame = bytearray(payload(parsed_reply(PARSED, None)))
    for _ in range(changes):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = unpack_reply(bytes(frame), PAGE, b"").result
    except FrameError:
        return
    if isinstance(found, ParsedPage):
        assert isinstance(found.row.fetched_at, float)
        values = found.row._replace(fetched_at=int(found.row.fetched_at * 1e6))
        pa.RecordBatch.from_arrays(
            [pa.array([value], column.type) for value, column in zip(values, PAGES.columns, strict=True)],
            schema=PAGES.schema,
        )


HOSTILE_VALUES: dict[str, tuple[Layout, bytes]] = {
    "a text that is not UTF-8": (Layout(LONG_TEXT), struct.pack("<II", 0, 1) + b"\xff"),
    "half of a surrogate pair": (Layout(LONG_TEXT), struct.pack("<II", 0, 3) + b"\xed\xa0\x80"),
    "a short text that is not UTF-8": (Layout(TEXT), struct.pack("<I", 2) + b"\xff\0"),
    "one text too many": (Layout(TEXT), struct.pack("<I", 2) + b"\0\0"),
    "one text too few": (Layout(TEXT, TEXT), struct.pack("<I", 1) + b"\0"),
    "a short text without its end": (Layout(TEXT), struct.pack("<I", 2) + b"\0x"),
    "a hash that is too short": (Layout(HASH), struct.pack("<II", 0, 1) + b"x"),
    "a time that is not a number": (Layout(TIME), struct.pack("<dI", float("nan"), 0)),
    "a time beyond all calendars": (Layout(TIME), struct.pack("<dI", 1e12, 0)),
    "a time before all computers": (Layout(TIME), struct.pack("<dI", -1.0, 0)),
    "too many items": (Layout(TEXTS), struct.pack("<II", 0, MAX_ITEMS + 1) + b"\0" * (MAX_ITEMS + 1)),
    "a list without its end": (Layout(TEXTS), struct.pack("<II", 0, 1) + b"x"),
    "a length beyond the end": (Layout(BYTES, BYTES), struct.pack("<III", 0, 1, 2**32 - 1) + b"xy"),
    "a length before the end": (Layout(BYTES), struct.pack("<II", 0, 1) + b"xy"),
    "too short": (Layout(INT16), b"\0"),
    "nothing": (Layout(BYTES), b""),
}


@pytest.mark.parametrize("what", HOSTILE_VALUES)
def test_a_value_that_is_none_of_its_type_is_refused(what: str) -> None:
    layout, message = HOSTILE_VALUES[what]
    with pytest.raises(FrameError):
        layout.unpack(memoryview(message))


def test_links_without_all_of_their_parts_or_too_long_are_refused() -> None:
    long = PARSED._replace(links=[Url("https://a.test/" + "x" * 2_000, b"h" * 16, "a.test", "https://a.test")])
    short_hash = PARSED._replace(links=[Url("https://a.test/", b"h", "a.test", "https://a.test")])
    for broken in (long, short_hash):
        with pytest.raises(FrameError):
            unpack_reply(payload(parsed_reply(broken, None)), PAGE, b"")
    with pytest.raises(FrameError, match="another kind"):
        unpack_reply(payload(parsed_reply(PARSED, None)), SITEMAP, b"")


TERMS = PageTerms(1.5, 512_000_000, 48_000_000, 8_000_000, "Größe", "fast", True, False)


def test_the_settings_reach_the_process_as_they_are() -> None:
    assert unpack_terms(b"".join(pack_terms(TERMS))[LENGTH_BYTES:]) == TERMS


# ---------------------------------------------------------------------- a process that was taken over

# Greets, takes a page, and sends what it likes.
TAKEN_OVER = """
import socket, sys
worker = socket.socket(fileno=0)
def take():
    size = int.from_bytes(worker.recv(4, socket.MSG_WAITALL), "little")
    return worker.recv(size, socket.MSG_WAITALL)
take()
worker.sendall(bytes(4))
if sys.argv[1] != "unasked":
    take()
worker.sendall(bytes.fromhex(sys.argv[2]))
while worker.recv(1 << 16):
    pass
"""


def framed(message: bytes) -> bytes:
    """A message with its length."""
    return len(message).to_bytes(LENGTH_BYTES, "little") + message


HOSTILE_FRAMES: dict[str, bytes] = {
    "the greatest length": b"\xff" * 4,
    "a length of 900 MB": (900_000_000).to_bytes(4, "little") + b"x" * 100,
    "nothing": framed(b""),
    "noise": framed(os.urandom(1_000)),
    "code": framed(marshal.dumps(compile("1/0", "x", "exec"))),
    "deep nesting": framed(b"(\1\0\0\0" * 10_000),
    "a reply that is cut off": framed(payload(bug_reply("x"))[:-1]),
    "one reply too many": framed(payload(failed_reply(ParseFailed(reason=Reason.BAD_ENCODING)))) * 2,
    "unasked": framed(payload(bug_reply(""))),
}


@pytest.mark.parametrize("what", HOSTILE_FRAMES)
@on_a_loop
async def test_a_process_that_was_taken_over_costs_its_page_and_itself(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn, spawned = starting._spawn, []

    def spawn_hostile(theirs: Any, *arguments: str) -> subprocess.Popen[bytes]:
        spawned.append(theirs)
        if len(spawned) > 1:
            return spawn(theirs, *arguments)
        command = [sys.executable, "-I", "-S", "-c", TAKEN_OVER, what, HOSTILE_FRAMES[what].hex()]
        return subprocess.Popen(command, stdin=theirs.fileno())

    monkeypatch.setattr(starting, "_spawn", spawn_hostile)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        if what == "unasked":
            await until(lambda: pages.replaced)
        found = await pages.read(page(0), archive=True)
        assert_is(await pages.read(page(1), archive=True), 1)
        assert pages.replaced == 1
    if what == "unasked":
        assert_is(found, 0)
    elif what == "one reply too many":
        assert found == ParseFailed(reason=Reason.BAD_ENCODING)
    else:
        assert isinstance(found, ParseFailed)
        assert found.reason is Reason.PARSE_CRASHED
        assert found.detail.startswith("the page process sent what is no reply: ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 50_000


def test_a_reply_may_be_as_long_as_a_page_can_make_it() -> None:
    frame = pack_page(page(1, 1_000_000), kind=PAGE, archive=True)
    assert sum(map(len, frame)) + 4 * TERMS.max_bytes < max_reply_bytes(TERMS, frame, PAGE) < 150_000_000


# ---------------------------------------------------------------------- what the process may do and know


def status_of(pid: int, file: str) -> str:
    return Path(f"/proc/{pid}/{file}").read_text()


@LINUX
@on_a_loop
async def test_the_process_knows_nothing_of_the_database_and_has_its_own_allocator_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GOSSAMER_FRONTIER", "PGPASSWORD", "PGPASSFILE", "PGUSER", "AWS_SECRET_ACCESS_KEY", "HOME", "PATH"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "1")
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        assert pages.pid is not None
        found = dict(entry.split("=", 1) for entry in status_of(pages.pid, "environ").split("\0") if entry)
    assert "secret" not in found.values()
    assert {name for name in found if not name.startswith(("PYTHON", "MALLOC_", "LC_", "LD_"))} <= {"LANG", "TZ"}
    assert found["MALLOC_MMAP_THRESHOLD_"] == str(8 << 20)
    assert (found["LC_ALL"], found["LD_LIBRARY_PATH"], found["PYTHONHASHSEED"]) == ("C.UTF-8", "/nowhere", "7")


@LINUX
@on_a_loop
async def test_the_process_cannot_raise_its_limits() -> None:
    async with PageProcess(PageSettings(parse_memory_bytes=64_000_000), agent="gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        assert pages.pid is not None
        limits = {
            what: resource.prlimit(pages.pid, what)
            for what in (resource.RLIMIT_DATA, resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)
        }
        used_kb = next(line for line in status_of(pages.pid, "status").splitlines() if line.startswith("VmData"))
    assert all(soft == hard for soft, hard in limits.values())
    assert limits[resource.RLIMIT_CORE] == (0, 0)
    assert limits[resource.RLIMIT_DATA][1] < int(used_kb.split()[1]) * 1024 + 64_000_000 + 8_000_000
    assert limits[resource.RLIMIT_AS][1] < 2_000_000_000
