"""The error about a stored file that cannot be read, and the warnings about ranges that are left out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gossamer.commands import to_type
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.store.frames import BrokenRange

_LOG = logging.getLogger(__name__)
_warned: set[tuple[Path, int]] = set()  # in this process, which may read a file again and again


class DamagedError(GossamerError):
    """A stored file cannot be read. A command ends with its sentence; `verify` and a start go on."""

    def __init__(self, path: Path, what: str) -> None:
        self.what = what
        super().__init__(f"{path} is damaged: {what}; `{to_type('verify', folders=path.parents[1])}` lists all damage.")


def damaged_by(path: Path, error: Exception) -> GossamerError:
    """Return the error about a file, given what reading it raised."""
    if isinstance(error, PermissionError):
        return GossamerError(f"You may not read {path}: become the user who crawls, or ask them to let you read it.")
    what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DamagedError(path, (what.splitlines() or [type(error).__name__])[0].rstrip("."))


def warn_of(path: Path, broken: BrokenRange) -> None:
    """Warn once that a range of a journal is left out."""
    if (path, broken.offset) in _warned:
        return
    _warned.add((path, broken.offset))
    _LOG.warning(
        "%s is damaged: bytes %d to %d are left out; `%s` lists all damage.",
        path,
        broken.offset,
        broken.offset + broken.length,
        to_type("verify", folders=path.parents[1]),
    )
