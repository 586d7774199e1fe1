"""Reads journals of version 0.1, which have no checksums, in a process that may crash.

    python -m gossamer.store.old_journals <table> < journal

Arrow trusts a stream: a flipped bit can crash the process that reads it. So a process of its own reads the journal,
validates every batch in full and writes what is sound as frames, with a note after each about how far it has come.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from gossamer.store.frames import BrokenRange, Frame, JournalFrames
from gossamer.store.journals import as_frame, encode_frame
from gossamer.store.schemas import TABLES, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

_MESSAGE_START = b"\xff\xff\xff\xff"  # of every message of an Arrow stream, at a multiple of eight bytes
_STREAM_END = _MESSAGE_START + bytes(4)  # optional
_NOTE_START = b"{"


def read_old_journal(file: BinaryIO, table: Table) -> Iterator[pa.RecordBatch | BrokenRange]:
    """Yield the sound batches of a journal of version 0.1, and the ranges that hold none."""
    file.seek(0)
    command = [sys.executable, "-m", __name__, table.name]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile() as sound:
        ended = subprocess.run(  # noqa: S603 - our own module
            command, stdin=file, stdout=sound, stderr=subprocess.DEVNULL, env=environment, check=False
        )
        read_to = 0
        for found in JournalFrames(sound).read():
            if isinstance(found, Frame) and found.payload.startswith(_NOTE_START):
                note = json.loads(found.payload)
                read_to = note.pop("read_to")
                if note:
                    yield BrokenRange(**note, rows=None)
            elif isinstance(found, Frame):
                with pa.ipc.open_stream(pa.py_buffer(found.payload)) as stream:
                    yield from stream
    size = os.fstat(file.fileno()).st_size
    if ended.returncode and read_to < size:
        yield BrokenRange(offset=read_to, length=size - read_to, rows=None, is_rot=True)


class _Sound:
    """What is sound in an old journal, as frames on an output."""

    def __init__(self, output: BinaryIO) -> None:
        self._output = output
        self._length = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._write(as_frame([batch], offset=self._length, synced=self._length))

    def note(self, read_to: int, broken: BrokenRange | None = None) -> None:
        """Note how far the journal is read, and which range before that is broken."""
        note: dict[str, object] = {"read_to": read_to}
        if broken is not None:
            note |= {"offset": broken.offset, "length": broken.length, "is_rot": broken.is_rot, "is_cut": broken.is_cut}
        self._write(encode_frame([json.dumps(note).encode()], offset=self._length, synced=self._length, rows=0))

    def _write(self, frame: bytes) -> None:
        self._output.write(frame)
        self._output.flush()
        self._length += len(frame)


def _read(data: bytes, table: Table, sound: _Sound) -> None:
    schema, at = _read_schema(data, table)
    torn_at: int | None = None if at else 0
    while at < len(data) and data[at:] != _STREAM_END:
        found = _batch_at(data, at, schema)
        if found is None:
            torn_at = at if torn_at is None else torn_at
            following = data.find(_MESSAGE_START, at + 1)
            while following % 8 and following > 0:
                following = data.find(_MESSAGE_START, following + 1)
            at = following if following > 0 else len(data)
            continue
        batch, end = found
        if torn_at is not None:  # a batch follows, so this is no torn end
            sound.note(at, BrokenRange(offset=torn_at, length=at - torn_at, rows=None, is_rot=True))
            torn_at = None
        sound.add(batch)
        sound.note(end)
        at = end
    if torn_at is not None:
        torn = BrokenRange(offset=torn_at, length=at - torn_at, rows=None, is_rot=False, is_cut=True)
        sound.note(at, torn)


def _read_schema(data: bytes, table: Table) -> tuple[pa.Schema, int]:
    """Return the journal's schema and where it ends; the table's, and zero, if the journal's is damaged."""
    reader = pa.BufferReader(data)
    try:
        schema = pa.ipc.read_schema(reader)
        known = [pa.field(column.name, column.type, nullable=False) for column in table.columns]
        if all(field in known for field in schema):
            return schema, reader.tell()
    except (pa.ArrowException, OSError, EOFError):
        pass
    return table.schema, 0


def _batch_at(data: bytes, at: int, schema: pa.Schema) -> tuple[pa.RecordBatch, int] | None:
    """Return the batch that begins at an offset, and its end; None if there is no sound one."""
    if not data.startswith(_MESSAGE_START, at):
        return None
    reader = pa.BufferReader(pa.py_buffer(data).slice(at))
    try:
        message = pa.ipc.read_message(reader)
        batch = pa.ipc.read_record_batch(message, schema)
        batch.validate(full=True)
    except (pa.ArrowException, OSError, EOFError):
        return None
    return batch, at + reader.tell()


def main() -> None:
    """Read the journal on standard input."""
    with open(0, "rb", closefd=False) as journal:
        _read(journal.read(), TABLES[sys.argv[1]], _Sound(sys.stdout.buffer))


if __name__ == "__main__":
    main()
