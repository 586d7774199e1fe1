"""Files that are whole or not there: appending that a failure cannot tear, replacing that a crash cannot halve."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from gossamer.store.names import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEVICES: Final = Path("/dev")


class GrowingFile:
    """A new file that only grows, and only by what is whole.

    `add` collects in memory; `sync` brings what was collected to the disk. If that fails (no space, an I/O
    error), the file is cut back to what was on disk for good, everything collected is still held, and the next
    `sync` writes the same bytes to the same place. Rewriting also makes up for an `fsync` that failed: the
    kernel reports such an error once and forgets the data.

    `add` and `sync` may be called from different threads, each from one at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0  # bytes on disk for good
        self._collected: list[bytes] = []  # `add` appends at the end, `sync` removes from the front
        self._descriptor: int | None = None
        self._is_torn = False  # there may be bytes beyond `length`
        self._is_listed = False  # the folder's entry is on disk, too

    def add(self, data: bytes) -> None:
        """Collect bytes for the next `sync`."""
        self._collected.append(data)

    def waiting(self) -> int:
        """Return how many additions the next `sync` would write."""
        return len(self._collected)

    def sync(self, count: int) -> None:
        """Bring the first `count` additions to the disk; raise OSError, and keep them, if that fails."""
        if not count:
            return
        data = b"".join(self._collected[:count])
        try:
            self._write(data)
        except OSError:
            self._is_torn = True
            with suppress(OSError):  # if not even this works, the next sync begins with it
                self._cut_back()
            raise
        self.length += len(data)
        del self._collected[:count]

    def close(self) -> None:
        """Close the file; what was not synced is gone."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, data: bytes) -> None:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags, 0o644)
        if self._is_torn:
            self._cut_back()
        view, at = memoryview(data), self.length
        while view:
            written = os.pwrite(self._descriptor, view, at)
            view, at = view[written:], at + written
        sync_data(self._descriptor)
        if not self._is_listed:
            sync_folder(self.path.parent)
            self._is_listed = True

    def _cut_back(self) -> None:
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, self.length)
        self._is_torn = False


def check_replaceable(path: Path) -> None:
    """Raise OSError unless a file of this name can be put in place: one that is renamed over a device destroys it."""
    path.parent.stat()
    if not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if (path.exists() and not path.is_file()) or path.parent.resolve() == _DEVICES:
        raise OSError(errno.EINVAL, "not a regular file", str(path))


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a whole file: under another name first, on disk, and then at once under its own."""
    check_replaceable(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def entries(folder: Path, pattern: str = "*") -> list[Path]:
    """Return what a folder holds under such names; nothing if it is not there.

    Raises PermissionError for a folder that may not be read, where `glob` finds nothing.
    """
    try:
        return [path for path in folder.iterdir() if fnmatchcase(path.name, pattern)]
    except FileNotFoundError:
        return []


def cut(path: Path, length: int) -> None:
    """Shorten a file to `length` bytes, for good."""
    with path.open("rb+") as file:
        file.truncate(length)
        os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Remove a file, if it is there, for good."""
    with suppress(FileNotFoundError):
        path.unlink()
        sync_folder(path.parent)


def sync_data(descriptor: int) -> None:
    """Bring a file's content to the disk, with as much of its metadata as reading it back needs."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # there, fsync leaves the data in the drive's own memory
    else:
        os.fdatasync(descriptor)


def sync_folder(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
