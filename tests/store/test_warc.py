"""Archive records conform to WARC 1.1, and hold what the server sent."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING, Any

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.records import Truncation
from gossamer.store.segments import with_warcinfo
from gossamer.store.warc import digest, encode_exchange, new_record_id, opening, warcinfo
from tests.store.samples import HTML, fetched, kinds_seen_by_fastwarc, refusals, warcio_apart

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.records import Fetched

ENCODED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
ID = "6b8ef1f7-3c7f-4d6c-8f0e-0123456789ab"
NOISE = zlib.compress(bytes(range(256)) * 4_000 + HTML, 9) * 60

ANSWERS = {
    "plain": fetched(),
    "gzip": fetched(head=ENCODED, body=gzip.compress(HTML)),
    "zstd": fetched(head=ENCODED.replace(b"gzip", b"zstd"), body=zstandard.compress(HTML)),
    "several stored blocks": fetched(head=ENCODED, body=NOISE),
    "exactly one stored block": fetched(head=ENCODED, body=NOISE[:0xFFFF]),
    "said to be gzip but plain": fetched(head=ENCODED, body=HTML),
    "said to be gzip but empty": fetched(head=ENCODED, body=b""),
    "identity": fetched(head=ENCODED.replace(b"gzip", b"identity")),
    "empty": fetched(head=b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", body=b""),
    "204": fetched(head=b"HTTP/1.1 204 No Content\r\n\r\n", body=b"", status=204),
    "404": fetched(head=b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n", status=404),
    "no reason phrase": fetched(head=b"HTTP/2 200\r\ncontent-type: text/html\r\n\r\n"),
    "bare line feeds": fetched(head=b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n"),
    "bytes beyond ASCII": fetched(head=b"HTTP/1.1 200 OK\r\nX-N\xe4me: v\xc3\xa4lue\r\nX-Raw: \xff\r\n\r\n"),
    "huge head": fetched(head=b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000 + b"\r\n" + b"B: c\r\n" * 9_000 + b"\r\n"),
    "chunked": fetched(
        head=b"HTTP/1.1 200 OK\r\ntransfer-encoding : chunked\r\nTE: x\r\nTransfer-Encoding: gzip\r\n\r\n"
    ),
    "shorter than announced": fetched(
        head=b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", truncated=Truncation.DISCONNECT
    ),
    "cut at our cap": fetched(truncated=Truncation.LENGTH),
    "cut at our time limit": fetched(truncated=Truncation.TIME),
    "type refused": fetched(body=b"", type_refused=True),
    "looks like a record": fetched(body=encode_exchange(fetched()).archive + b"\r\n\r\nWARC/1.1\r\n\r\n"),
}  # fmt: skip


def records(archive: bytes) -> list[tuple[Any, bytes]]:
    """What warcio reads: each record's headers and block."""
    stream = ArchiveIterator(io.BytesIO(archive), no_record_parse=True)
    return [(record.rec_headers, record.raw_stream.read()) for record in stream]


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_exchange_is_a_request_and_a_response_that_name_each_other(answer: Fetched) -> None:
    encoded = encode_exchange(answer)
    (request, sent), (response, _) = records(encoded.archive)
    assert sent == answer.request_head
    assert request["WARC-Type"] == "request"
    assert response["WARC-Type"] == "response"
    assert request["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    assert response["WARC-Concurrent-To"] == request["WARC-Record-ID"]
    assert request["Content-Type"] == "application/http;msgtype=request"
    assert response["Content-Type"] == "application/http;msgtype=response"
    for headers in (request, response):
        assert headers.protocol == "WARC/1.1"
        assert headers["WARC-Target-URI"] == answer.url
        assert headers["WARC-Date"] == "2026-01-01T00:00:00.250000Z"
        assert headers["WARC-IP-Address"] == "192.0.2.7"


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "chunked"])
def test_a_response_record_holds_exactly_what_the_server_sent(name: str) -> None:
    answer = ANSWERS[name]
    encoded = encode_exchange(answer)
    ((response, block),) = records(encoded.archive[encoded.response_offset :])
    assert block == answer.head + answer.body
    assert response["WARC-Payload-Digest"] == encoded.payload_digest == digest(answer.body)
    assert response["WARC-Block-Digest"] == digest(block)


def test_a_chunked_answer_is_kept_without_the_header_that_would_mislead_readers() -> None:
    encoded = encode_exchange(ANSWERS["chunked"])
    _, (_, block) = records(encoded.archive)
    assert block == (
        b"HTTP/1.1 200 OK\r\n"
        b"X-Crawler-transfer-encoding : chunked\r\n"
        b"TE: x\r\n"
        b"X-Crawler-Transfer-Encoding: gzip\r\n\r\n" + HTML
    )
    record = next(iter(ArchiveIterator(io.BytesIO(encoded.archive[encoded.response_offset :]))))
    assert record.content_stream().read() == HTML


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("plain", None),
        ("cut at our cap", "length"),
        ("cut at our time limit", "time"),
        ("shorter than announced", "disconnect"),
        ("type refused", "unspecified"),
    ],
)
def test_an_incomplete_body_is_marked(name: str, mark: str | None) -> None:
    (request, _), (response, _) = records(encode_exchange(ANSWERS[name]).archive)
    assert response["WARC-Truncated"] == mark
    assert request["WARC-Truncated"] is None


def test_a_body_that_is_compressed_already_is_stored_as_it_is() -> None:
    body = zlib.compress(HTML * 3, 9)
    assert body in encode_exchange(fetched(head=ENCODED, body=body)).archive
    assert body not in encode_exchange(fetched(body=body)).archive
    # ... and its headers are deflated all the same.
    assert b"Content-Encoding" not in encode_exchange(fetched(head=ENCODED, body=body)).archive


def test_programs_of_others_accept_a_segment_of_all_these(tmp_path: Path) -> None:
    segment = tmp_path / "all.warc.gz"
    info = warcinfo(segment.name, 1_767_225_600.0, {"software": "Test/1", "format": "WARC File Format 1.1"}, ID)
    segment.write_bytes(info + b"".join(encode_exchange(answer).archive for answer in ANSWERS.values()))
    assert refusals(segment) == {}
    assert kinds_seen_by_fastwarc(segment) == ["warcinfo", *["request", "response"] * len(ANSWERS)]


def test_warcio_checks_a_page_that_came_in_brotli_in_the_environment_of_the_documentation(tmp_path: Path) -> None:
    segment = tmp_path / "br.warc.gz"
    body = brotli.compress(HTML)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\n"
    segment.write_bytes(encode_exchange(fetched(head=head, body=body)).archive)
    assert refusals(segment) == {}
    seen = warcio_apart("check", "-v", segment)
    assert (seen.returncode, seen.stdout.count("digest pass")) == (0, 2)
    plain = gzip.decompress(segment.read_bytes())
    segment.write_bytes(gzip.compress(plain.replace(body, body[:-1] + b"?")))
    assert warcio_apart("check", segment).returncode == 1


def test_a_check_by_others_would_notice_a_changed_body(tmp_path: Path) -> None:
    # Without this, the acceptance above could be the silence of programs that check nothing.
    segment = tmp_path / "spoilt.warc.gz"
    plain = gzip.decompress(encode_exchange(fetched()).archive)
    segment.write_bytes(gzip.compress(plain.replace(b"more words", b"less words")))
    assert set(refusals(segment)) == {"warcio", "fastwarc"}
    segment.write_bytes(encode_exchange(fetched()).archive[:-9])
    assert "gzip" in refusals(segment)


def test_a_warcinfo_record_says_who_wrote_the_segment() -> None:
    record = warcinfo("a.warc.gz", 1_767_225_600.5, {"operator": "you@example.org", "software": "Gossamer/1"}, ID)
    ((headers, block),) = records(record)
    assert headers["WARC-Type"] == "warcinfo"
    assert headers["WARC-Record-ID"] == f"<urn:uuid:{ID}>"
    assert headers["WARC-Filename"] == "a.warc.gz"
    assert headers["WARC-Date"] == "2026-01-01T00:00:00.500000Z"
    assert headers["Content-Type"] == "application/warc-fields"
    assert block == b"operator: you@example.org\r\nsoftware: Gossamer/1\r\n"


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_record_names_its_warcinfo_record_without_being_deflated_again(answer: Fetched) -> None:
    before = encode_exchange(answer)
    after = with_warcinfo(before.archive, before.response_offset, opening(ID))
    assert len(after) == len(before.archive)
    empty = b"00000000-0000-0000-0000-000000000000"
    for part in (slice(0, before.response_offset), slice(before.response_offset, None)):
        ((headers, _),) = records(after[part])  # and its checksum is right
        assert headers["WARC-Warcinfo-ID"] == f"<urn:uuid:{ID}>"
        assert gzip.decompress(after[part]) == gzip.decompress(before.archive[part]).replace(empty, ID.encode(), 1)


@pytest.mark.parametrize("archive", [b"", b"\x1f\x8b", b"x" * 500, gzip.compress(b"WARC/1.1\r\n", mtime=0)])
def test_bytes_that_are_no_records_of_ours_stay_as_they_are(archive: bytes) -> None:
    for offset in (0, 5, 1_000):
        assert with_warcinfo(archive, offset, opening(ID)) == archive
    sound = encode_exchange(fetched())
    assert with_warcinfo(sound.archive + archive, len(sound.archive), opening(ID)) == sound.archive + archive
    for offset in (0, -len(sound.archive), 5):
        assert with_warcinfo(sound.archive, offset, opening(ID)) == sound.archive


@pytest.mark.parametrize(
    ("answer", "found", "named"),
    [
        (fetched(), None, "text/html"),
        (fetched(), "application/rss+xml", "application/rss+xml"),
        (fetched(head=ENCODED, body=gzip.compress(HTML)), "text/html", "text/html"),
        (fetched(head=ENCODED, body=gzip.compress(HTML)), None, None),  # only the inflated body would tell
        (fetched(body=b""), None, None),
    ],
)
def test_a_response_names_the_type_of_its_payload(answer: Fetched, found: str | None, named: str | None) -> None:
    (request, _), (response, _) = records(encode_exchange(answer, found).archive)
    assert response["WARC-Identified-Payload-Type"] == named
    assert request["WARC-Identified-Payload-Type"] is None


@pytest.mark.parametrize(("line", "protocol"), [(b"HTTP/1.0 200 OK", "http/1.0"), (b"HTTP/1.1 200 OK", "http/1.1")])
def test_records_name_the_protocol_of_the_answer(line: bytes, protocol: str) -> None:
    for headers, _ in records(encode_exchange(fetched(head=line + b"\r\n\r\n")).archive):
        assert headers["WARC-Protocol"] == protocol


def test_no_two_records_share_an_id() -> None:
    archive = b"".join(encode_exchange(fetched()).archive for _ in range(500))
    ids = [headers["WARC-Record-ID"] for headers, _ in records(archive)]
    assert len({*ids, new_record_id()}) == 1_001
    version_4 = re.compile("<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>")
    assert all(version_4.fullmatch(name) for name in ids)


@given(head=st.binary(max_size=300), body=st.binary(max_size=3_000), encoded=st.booleans())
def test_whatever_bytes_come_they_are_kept(head: bytes, body: bytes, encoded: bool) -> None:
    start = ENCODED[:-2] if encoded else b"HTTP/1.1 200 OK\r\n"
    answer = fetched(head=start + b"X: " + head.replace(b"\n", b"") + b"\r\n\r\n", body=body)
    (_, _), (headers, block) = records(encode_exchange(answer).archive)
    assert block == answer.head + answer.body
    assert headers["WARC-Payload-Digest"] == digest(body)


def test_encoding_needs_neither_pyarrow_nor_asyncio() -> None:
    code = "import sys, gossamer.store.warc; sys.exit(bool({'pyarrow', 'asyncio', 'fastwarc'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
