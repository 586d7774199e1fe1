"""Reads archive records: a segment from any record on, or a single record. Reads only."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

from isal import igzip_lib, isal_zlib

from gossamer.store.cdxj import REVISIT_TYPE, index_line
from gossamer.store.warc import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_BUFFER_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 15  # inflated at a time; the bytes behind a record are copied
_HEAD_BYTES = 1 << 10  # deflated; the headers of nearly all records
_MEMBER_START = b"\x1f\x8b\x08\x00"
_END = b"\r\n\r\n"
_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{3})")
_CONTENT_TYPE = re.compile(rb"^content-type[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_INFLATE_ERROR: type[Exception] = igzip_lib.IsalError  # type: ignore[assignment]  # its stubs are wrong
_FOLD = re.compile(rb"\r?\n[ \t]+")
_HEAD_END = re.compile(rb"\n\r?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of a segment."""

    offset: int
    length: int  # in the segment, deflated
    headers: Mapping[str, str]  # names in lower case
    block: bytes

    @property
    def payload(self) -> bytes:
        """The body of an HTTP message, as sent."""
        return self.block[self._head_end() :]

    @property
    def is_revisit(self) -> bool:
        """Whether it is an answer whose payload is in another record."""
        return self.headers.get("warc-type") == "revisit"

    @property
    def is_answer(self) -> bool:
        """Whether it holds a server's answer, with or without its payload."""
        return self.is_revisit or self.headers.get("warc-type") == "response"

    def index_line(self, filename: str) -> bytes | None:
        """Return the record's line for the index of its segment, or None if it is not an answer."""
        if not self.is_answer:
            return None
        head = _FOLD.sub(b" ", self.block[: self._head_end()])
        status, content_type = _STATUS.match(head), _CONTENT_TYPE.search(head)
        return index_line(
            url=self.headers.get("warc-target-uri", ""),
            at=datetime.fromisoformat(self.headers["warc-date"]).timestamp(),
            status=int(status[1]) if status else 0,
            content_type=REVISIT_TYPE if self.is_revisit else content_type[1].decode("latin-1") if content_type else "",
            digest=self.headers.get("warc-payload-digest", ""),
            offset=self.offset,
            length=self.length,
            filename=filename,
        )

    def wrong_digests(self) -> list[str]:
        """Return the names of the headers whose digest does not match the content."""
        contents = {"warc-block-digest": self.block}
        if self.headers.get("warc-type") == "response":
            contents["warc-payload-digest"] = self.payload
        return [name for name, content in contents.items() if self.headers.get(name) != digest(content)]

    def _head_end(self) -> int:
        end = _HEAD_END.search(self.block)
        return end.end() if end else len(self.block)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A range of a segment that holds no complete record."""

    offset: int
    length: int
    is_tail: bool  # no complete record follows


def scan(segment: Path, start: int = 0) -> Iterator[Record | Damage]:
    """Yield the records and damage of a segment from `start` on, where a record must begin."""
    with segment.open("rb", buffering=_BUFFER_BYTES) as file:
        size = file.seek(0, os.SEEK_END)
        offset = start
        while offset < size:
            try:
                found = record_at(file, offset)
            except EOFError:
                yield Damage(offset=offset, length=size - offset, is_tail=True)
                return
            if found is not None:
                yield found
                offset += found.length
                continue
            end = _next_record(file, offset + 1, size)
            yield Damage(offset=offset, length=end - offset, is_tail=end == size)
            offset = end


def record_at(file: BinaryIO, offset: int) -> Record | None:
    """Return the record that begins at `offset`, or None; raise EOFError if the file ends inside it."""
    file.seek(offset)
    inflate = isal_zlib.decompressobj(wbits=31)
    plain: list[bytes] = []
    taken = 0
    while not inflate.eof:
        chunk = file.read(_CHUNK_BYTES)
        if not chunk:
            raise EOFError
        taken += len(chunk)
        try:
            plain.append(inflate.decompress(chunk))
        except _INFLATE_ERROR:
            return None
    return _parse(b"".join(plain), offset, taken - len(inflate.unused_data))


def headers_at(segment: Path, offset: int) -> Mapping[str, str]:
    """Return the headers of the record that begins at `offset` without reading its block; none if it is damaged."""
    inflate = isal_zlib.decompressobj(wbits=31)
    plain = b""
    try:
        with segment.open("rb", buffering=0) as file:
            file.seek(offset)
            while _END not in plain and (chunk := file.read(_HEAD_BYTES)):
                plain += inflate.decompress(chunk)
    except (OSError, _INFLATE_ERROR):
        return {}
    return _read_headers(plain.partition(_END)[0])


def _read_headers(head: bytes) -> dict[str, str]:
    """Return the headers of a record, with names in lower case; none if this is no record."""
    lines = head.decode("utf-8", "replace").split("\r\n")
    if not lines[0].startswith("WARC/1."):
        return {}
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return headers


def _parse(plain: bytes, offset: int, length: int) -> Record | None:
    head, _, rest = plain.partition(_END)
    headers = _read_headers(head)
    size = headers.get("content-length", "")
    if not size.isdecimal() or rest[int(size) :] != _END:
        return None
    return Record(offset=offset, length=length, headers=headers, block=rest[: int(size)])


def _next_record(file: BinaryIO, start: int, size: int) -> int:
    """Return where the next complete record begins, or the file's end."""
    while start < size:
        file.seek(start)
        window = file.read(_BUFFER_BYTES)
        place = window.find(_MEMBER_START)
        if place < 0:
            start += max(1, len(window) - len(_MEMBER_START) + 1)
            continue
        start += place
        try:
            if record_at(file, start) is not None:
                return start
        except EOFError:
            pass
        start += 1
    return size
