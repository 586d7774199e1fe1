"""Archive records: WARC 1.1, one gzip member each. Pure; runs in the page process.

An exchange becomes two records that name each other: the request, then the response. Heads are kept byte for
byte, with one exception: fetching has removed the chunking, so a `Transfer-Encoding` header would make readers
look for chunks that do not exist. It is kept as `X-Crawler-Transfer-Encoding`.

A revisit record may replace a response whose payload is already archived: the head, and where the payload is.

A record is deflated before it is known to which segment it goes, but names the segment's `warcinfo` record. So its
first lines are stored, not deflated, with an empty id in them, and the segment writes its own over it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from isal import igzip_lib, isal_zlib

from gossamer.media_types import media_type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.records.pages import Fetched
    from gossamer.records.rows import PageRow

# Level 1 of isal: a fifth of zlib's cost at nearly the same size. Archives are written once and read rarely.
_LEVEL = 1
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # no name, no time, unknown system
GZIP_TRAILER = Struct("<II")  # checksum and length
_STORED_BLOCK = Struct("<BHH")  # not the last one; length, and its complement
_STORED_BLOCK_BYTES = 0xFFFF  # the largest stored block of deflate
_END = b"\r\n\r\n"  # after every record's block
_NO_ID = b"00000000-0000-0000-0000-000000000000"
_FIRST_LINES = b"WARC/1.1\r\nWARC-Warcinfo-ID: <urn:uuid:%b>\r\n"
_OPENING = _FIRST_LINES % _NO_ID
_OPENING_CRC = isal_zlib.crc32(_OPENING)
OPENING_BYTES = len(_OPENING)
# Of a gzip member, with a stored block.
EMPTY_OPENING = _GZIP_HEADER + _STORED_BLOCK.pack(0, OPENING_BYTES, OPENING_BYTES ^ 0xFFFF) + _OPENING
_LAST_BLOCK = b"\x01\x04\x00\xfb\xff" + _END  # `_END` as the last block of deflate, stored

_TRANSFER_ENCODING = re.compile(rb"^(transfer-encoding[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_CONTENT_TYPE = re.compile(rb"^content-type[ \t]*:([^;\r\n]*)", re.IGNORECASE | re.MULTILINE)
_CONTENT_ENCODING = re.compile(
    rb"^content-encoding[ \t]*:[ \t]*(?:br|compress|deflate|gzip|x-gzip|zstd)\b", re.IGNORECASE | re.MULTILINE
)

_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32_PAIRS = [first + second for first in _BASE32 for second in _BASE32]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedExchange:
    """The records of one request and its response, ready to append to a segment."""

    archive: bytes  # two gzip members
    response_offset: int  # where the second one, the response, begins
    payload_digest: str  # of the body as sent: `sha1:…`


class ExchangeAroundBody(NamedTuple):
    """The records of one exchange without the body, if that is stored as it came: the worker has it already."""

    before: bytes  # the body; everything if the body is deflated
    behind: bytes  # the body; empty if it is deflated
    response_offset: int
    payload_digest: str


def encode_exchange(fetched: Fetched, payload_type: str | None = None) -> EncodedExchange:
    """Return the request and response records of an answer. It accepts any bytes from a server.

    `payload_type` is the media type that was found in the inflated body; None: look for it, if the body is plain.
    """
    around = encode_around_body(fetched, payload_type)
    return EncodedExchange(
        archive=put_together(around.before, fetched.body, around.behind),
        response_offset=around.response_offset,
        payload_digest=around.payload_digest,
    )


def put_together(before: bytes, body: bytes, behind: bytes) -> bytes:
    """Return the records of an exchange: what `encode_around_body` returned, with the body in stored blocks."""
    return b"".join((before, *_stored_blocks(body), behind)) if behind else before


def encode_around_body(fetched: Fetched, payload_type: str | None = None) -> ExchangeAroundBody:
    """Return what `encode_exchange` returns, without the body if that came compressed."""
    head, body = _unchunked_head(fetched.head), fetched.body
    block_digest = sha1(head, usedforsecurity=False)
    block_digest.update(body)
    payload_digest = digest(body)
    is_compressed = _is_compressed(head)
    if payload_type is None:
        payload_type = "" if is_compressed else media_type_of(body, declared_type(head))
    request, response_start = _starts(fetched, "response", payload_type)
    response = (
        f"{response_start}"
        f"WARC-Payload-Digest: {payload_digest}\r\n"
        f"WARC-Block-Digest: sha1:{_base32(block_digest.digest())}\r\n"
        f"{_truncation(fetched)}"
        "Content-Type: application/http;msgtype=response\r\n"
        f"Content-Length: {len(head) + len(body)}\r\n\r\n"
    ).encode()
    opening = response + head
    if is_compressed:
        return ExchangeAroundBody(request + _opened(opening), _closed(opening, body), len(request), payload_digest)
    return ExchangeAroundBody(request + _deflated(opening, body), b"", len(request), payload_digest)


def encode_revisit(fetched: Fetched, row: PageRow, *, same_as: str, same_at: float) -> EncodedExchange:
    """Return the records of a page whose payload is that of `same_as`, archived at `same_at` (Unix seconds)."""
    head = _unchunked_head(fetched.head)
    request, revisit_start = _starts(fetched, "revisit", row.mime_detected)
    revisit = (
        f"{revisit_start}"
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
        f"WARC-Refers-To-Target-URI: {same_as}\r\n"
        f"WARC-Refers-To-Date: {warc_date(same_at)}\r\n"
        f"WARC-Payload-Digest: {row.payload_digest}\r\n"
        f"WARC-Block-Digest: {digest(head)}\r\n"
        "Content-Type: application/http;msgtype=response\r\n"
        f"Content-Length: {len(head)}\r\n\r\n"
    ).encode()
    archive = request + _deflated(revisit, head)
    return EncodedExchange(archive=archive, response_offset=len(request), payload_digest=row.payload_digest)


def _starts(fetched: Fetched, type_: str, payload_type: str) -> tuple[bytes, str]:
    """Return the request's record, and the beginning of the answer's record."""
    protocol = "http/1.0" if fetched.head.startswith(b"HTTP/1.0") else "http/1.1"
    identified = f"WARC-Identified-Payload-Type: {payload_type}\r\n" if payload_type else ""
    request_id, response_id = _record_ids()
    # Both belong to one exchange, so both have its start time and the address that answered.
    common = (
        f"WARC-Target-URI: {fetched.url}\r\n"
        f"WARC-Date: {warc_date(fetched.started_at)}\r\n"
        f"WARC-IP-Address: {fetched.address}\r\n"
        f"WARC-Protocol: {protocol}\r\n"
    )
    request = (
        "WARC-Type: request\r\n"
        f"WARC-Record-ID: <urn:uuid:{request_id}>\r\n"
        f"WARC-Concurrent-To: <urn:uuid:{response_id}>\r\n"
        f"{common}"
        f"WARC-Block-Digest: {digest(fetched.request_head)}\r\n"
        "Content-Type: application/http;msgtype=request\r\n"
        f"Content-Length: {len(fetched.request_head)}\r\n\r\n"
    ).encode()
    start = (
        f"WARC-Type: {type_}\r\n"
        f"WARC-Record-ID: <urn:uuid:{response_id}>\r\n"
        f"WARC-Concurrent-To: <urn:uuid:{request_id}>\r\n"
        f"{common}{identified}"
    )
    return _deflated(request, fetched.request_head), start


class RecordOpening(NamedTuple):
    """How the records of a segment begin: all name its `warcinfo` record."""

    member: bytes  # the beginning of a gzip member
    crc_change: int  # by which the checksum of these lines differs from that of the lines with an empty id


def opening(warcinfo_id: str) -> RecordOpening:
    """Return how records begin that name a `warcinfo` record."""
    written = warcinfo_id.encode()
    return RecordOpening(EMPTY_OPENING.replace(_NO_ID, written), _OPENING_CRC ^ isal_zlib.crc32(_FIRST_LINES % written))


def warcinfo(filename: str, at: float, fields: Mapping[str, str], record_id: str) -> bytes:
    """Return the record that opens the segment `filename`: who made it, how, and when (Unix seconds)."""
    block = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode()
    header = (
        "WARC/1.1\r\nWARC-Type: warcinfo\r\n"
        f"WARC-Record-ID: <urn:uuid:{record_id}>\r\n"
        f"WARC-Date: {warc_date(at)}\r\n"
        f"WARC-Filename: {filename}\r\n"
        f"WARC-Block-Digest: {digest(block)}\r\n"
        "Content-Type: application/warc-fields\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    ).encode()
    return to_member(header, block)


def digest(data: bytes) -> str:
    """Return a digest as WARC writes it: `sha1:` and base 32."""
    return "sha1:" + _base32(sha1(data, usedforsecurity=False).digest())


def warc_date(at: float) -> str:
    """Return Unix seconds as WARC 1.1 writes them: UTC, with microseconds."""
    second, micros = divmod(round(at * 1_000_000), 1_000_000)
    return f"{_warc_second(second)}.{micros:06}Z"


@lru_cache(maxsize=64)
def _warc_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _unchunked_head(head: bytes) -> bytes:
    if b"transfer-encoding" not in head.lower():  # a plain search is far cheaper than the regular expression
        return head
    return _TRANSFER_ENCODING.sub(rb"X-Crawler-\1", head)


def _truncation(fetched: Fetched) -> str:
    if fetched.truncated is not None:
        return f"WARC-Truncated: {fetched.truncated}\r\n"
    # Cut after the headers on purpose: WARC has no value for that.
    return "WARC-Truncated: unspecified\r\n" if fetched.type_refused else ""


def _is_compressed(head: bytes) -> bool:
    return b"content-encoding" in head.lower() and _CONTENT_ENCODING.search(head) is not None


def to_member(header: bytes, block: bytes) -> bytes:
    """Return a record as a gzip member: its header with the empty line, then its block."""
    return igzip_lib.compress(b"".join((header, block, _END)), _LEVEL, igzip_lib.COMP_GZIP)


def declared_type(head: bytes) -> str:
    """Return the media type that a head declares, in lower case and without parameters; empty if none."""
    found = _CONTENT_TYPE.search(head)
    return found[1].decode("latin-1").strip().lower() if found else ""


def _deflated(header: bytes, block: bytes) -> bytes:
    """Return a record as a gzip member with an empty `warcinfo` id; `header` follows the first two lines."""
    rest = b"".join((header, block, _END))
    deflated = igzip_lib.compress(rest, _LEVEL, igzip_lib.COMP_DEFLATE)
    return b"".join((EMPTY_OPENING, deflated, _trailer(isal_zlib.crc32(rest, _OPENING_CRC), len(rest))))


def _opened(header: bytes) -> bytes:
    """Return the beginning of a gzip member like that of `_deflated`, up to a body that is stored.

    Deflating a body that is compressed already would save nothing.
    """
    deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    return b"".join((EMPTY_OPENING, deflate.compress(header), deflate.flush(isal_zlib.Z_SYNC_FLUSH)))


def _stored_blocks(body: bytes) -> Iterator[bytes | memoryview]:
    """Yield a body as stored blocks of deflate."""
    rest = memoryview(body)
    while rest:
        piece, rest = rest[:_STORED_BLOCK_BYTES], rest[_STORED_BLOCK_BYTES:]
        yield _STORED_BLOCK.pack(0, len(piece), len(piece) ^ 0xFFFF)
        yield piece


def _closed(header: bytes, body: bytes) -> bytes:
    """Return the end of a gzip member whose body is stored."""
    crc = isal_zlib.crc32(_END, isal_zlib.crc32(body, isal_zlib.crc32(header, _OPENING_CRC)))
    return _LAST_BLOCK + _trailer(crc, len(header) + len(body) + len(_END))


def _trailer(crc: int, rest_bytes: int) -> bytes:
    """Return the end of a gzip member: checksum and length of the record."""
    return GZIP_TRAILER.pack(crc, OPENING_BYTES + rest_bytes & 0xFFFFFFFF)


def _base32(sha1_digest: bytes) -> str:
    """Return 20 bytes in base 32, in half the time of the standard library."""
    number = int.from_bytes(sha1_digest, "big")
    return "".join([_BASE32_PAIRS[number >> shift & 0x3FF] for shift in range(150, -1, -10)])


def new_record_id() -> str:
    """Return a random UUID (version 4)."""
    return _uuid(os.urandom(16).hex())


def _record_ids() -> tuple[str, str]:
    """Return two random UUIDs (version 4)."""
    digits = os.urandom(32).hex()
    return _uuid(digits[:32]), _uuid(digits[32:])


def _uuid(digits: str) -> str:
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
