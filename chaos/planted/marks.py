"""Marks in the source: comments that name the place of a planted bug, so that files and names may change around it.

A mark ends a line (`# plant: no-epoch-check`) and is about that line, or it is the only thing in its line and is about
the next line of code. In SQL it is always in a line of its own (`-- plant: deferred-begin`), because comments that are
whole lines are not sent to the server. Names that share a place stand in one mark, separated by commas.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_MARK: Final = re.compile(r"(?:#|--) plant: (?P<names>[a-z0-9-]+(?:, [a-z0-9-]+)*)$")
_NO_CODE: Final = re.compile(r"\s*(?:(?:#|--).*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One name in the source, and the line of code that it is about."""

    name: str
    file: Path
    line: int  # the first line of a file is 1


def find_marks(source: Path) -> list[Mark]:
    """Return every mark in the Python and SQL files of a folder."""
    files = sorted(file for file in source.rglob("*") if file.suffix in (".py", ".sql"))
    return [mark for file in files for mark in _marks_of(file)]


def find_mark(source: Path, name: str) -> Mark:
    """Return the only mark with a name; raise LookupError if there is none, or more than one."""
    found = [mark for mark in find_marks(source) if mark.name == name]
    if len(found) != 1:
        places = ", ".join(f"{mark.file.relative_to(source)}:{mark.line}" for mark in found)
        raise LookupError(f"the mark 'plant: {name}' must stand in the source once: it is in {places or 'no file'}")
    return found[0]


def _marks_of(file: Path) -> list[Mark]:
    lines = file.read_text(encoding="utf-8").splitlines()
    marks = []
    for index, text in enumerate(lines):
        if (found := _MARK.search(text)) is None:
            continue
        line = next((at for at in range(index, len(lines)) if not _NO_CODE.match(lines[at])), index)
        marks += [Mark(name=name, file=file, line=line + 1) for name in found["names"].split(", ")]
    return marks
