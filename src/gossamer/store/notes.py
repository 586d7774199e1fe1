"""Small files of a crawl's folder with a checksum, so that a note that has changed on the disk is not believed.

Version 0.1 wrote notes without a checksum; they are read as they are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from xxhash import xxh3_64_hexdigest

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KEY: Final = "checksum"
_PREFIX: Final = "xxh3:"
_UNSOUND: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


class DamagedNoteError(GossamerError):
    """A note has changed on the disk."""


def encode_note(said: Mapping[str, Any]) -> str:
    """Return a note as JSON with its checksum."""
    return json.dumps({**said, _KEY: _PREFIX + xxh3_64_hexdigest(json.dumps(said).encode())})


def decode_note(text: bytes) -> dict[str, Any]:
    """Return a note; raise ValueError if it has changed."""
    try:
        said = json.loads(text)
        checksum = said.pop(_KEY, None)
        if checksum is None and _PREFIX.encode() not in text:
            return dict(said)
        if checksum == _PREFIX + xxh3_64_hexdigest(json.dumps(said).encode()):
            return dict(said)
    except _UNSOUND as error:
        raise ValueError("it is no note") from error
    raise ValueError("its checksum does not match")


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the note in a file, or None if there is no file; raise DamagedNoteError if it has changed."""
    try:
        return decode_note(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged_note(path, error) from None


def damaged_note(path: Path, error: Exception) -> DamagedNoteError:
    """Return the error about a note that cannot be read."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DamagedNoteError(f"{path} is damaged ({why})")


def read_lines(path: Path) -> list[str] | None:
    """Return the lines of a file, each without its checksum; none if there is no file; None if a line has changed."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return []
    except OSError:
        return None
    found = [decode_line(line) for line in lines if line]
    return None if None in found else [line for line in found if line is not None]


def encode_line(fields: str) -> str:
    """Return a line of tab-separated fields with its checksum as the last field."""
    return f"{fields}\t{_PREFIX}{xxh3_64_hexdigest(fields.encode())[:8]}\n"


def decode_line(line: str) -> str | None:
    """Return the fields of a line without its checksum; None if it has changed."""
    fields, tab, checksum = line.rpartition("\t")
    if _PREFIX not in line and not checksum.startswith(_PREFIX[:2]):
        return line  # of version 0.1
    return fields if tab and checksum == _PREFIX + xxh3_64_hexdigest(fields.encode())[:8] else None
