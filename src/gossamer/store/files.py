"""Files that are never torn: appending that survives failures, and replacing that survives crashes."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from gossamer.safe_files import open_descriptor, open_file
from gossamer.store.names import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEVICES: Final = Path("/dev")


class GrowingFile:
    """A new file that only grows, and never holds a part of an addition.

    `add` collects in memory; `sync` writes and syncs what was collected. If that fails (no space, an I/O error), the
    file is truncated to what was synced before, everything collected is kept, and the next `sync` writes the same
    bytes to the same place. Rewriting also handles a failed `fsync`: the kernel reports such an error once and
    forgets the data.

    `add` and `sync` may be called from different threads, each from one at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0  # bytes synced
        self.size = 0  # bytes when everything collected is written
        self.seal = b""  # what to write, unsynced, behind all that is collected now; the next write overwrites it
        self._collected: list[bytes] = []  # `add` appends at the end, `sync` removes from the front
        self._descriptor: int | None = None
        self._is_torn = False  # there may be bytes beyond `length`
        self._is_listed = False  # the folder's entry is synced, too

    def add(self, data: bytes) -> None:
        """Collect bytes for the next `sync`."""
        self.size += len(data)
        self._collected.append(data)

    def waiting(self) -> int:
        """Return how many additions the next `sync` would write."""
        return len(self._collected)

    def sync(self, count: int) -> None:
        """Write and sync the first `count` additions; if that fails, raise OSError and keep them."""
        if not count:
            return
        data = b"".join(self._collected[:count])
        try:
            self._write(data)
        except OSError:
            self._is_torn = True
            with suppress(OSError):  # if this fails too, the next sync repeats it
                self._cut_back()
            raise
        self.length += len(data)
        del self._collected[:count]
        if self.seal and self._descriptor is not None:
            with suppress(OSError):  # the content is safe without it
                os.pwrite(self._descriptor, self.seal, self.length)

    def close(self) -> None:
        """Close the file; what was not synced is lost."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, data: bytes) -> None:
        if self._descriptor is None:
            self._descriptor = open_descriptor(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
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
    """Raise OSError unless a regular file can be at this path: renaming a file over a device destroys the device."""
    path.parent.stat()
    if not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if (path.exists() and not path.is_file()) or path.parent.resolve() == _DEVICES:
        raise OSError(errno.EINVAL, "not a regular file", str(path))


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Replace a file atomically: write and sync it under another name, then rename it."""
    check_replaceable(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        temporary.unlink(missing_ok=True)  # of an earlier process with the same number, or planted
        with open_file(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def entries(folder: Path, pattern: str = "*") -> list[Path]:
    """Return a folder's entries that match a pattern; none if the folder does not exist.

    Raises PermissionError for an unreadable folder, where `glob` would find nothing.
    """
    try:
        return [path for path in folder.iterdir() if fnmatchcase(path.name, pattern)]
    except FileNotFoundError:
        return []


def cut(path: Path, length: int) -> None:
    """Truncate a file to `length` bytes, and sync it."""
    with open_file(path, "r+b") as file:
        file.truncate(length)
        os.fsync(file.fileno())


def remove(path: Path) -> None:
    """Remove a file if it exists, and sync its folder."""
    with suppress(FileNotFoundError):
        path.unlink()
        sync_folder(path.parent)


def sync_data(descriptor: int) -> None:
    """Sync a file's content, and the metadata that reading it needs."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # on macOS, fsync leaves the data in the drive's cache
    else:
        os.fdatasync(descriptor)


def sync_folder(folder: Path) -> None:
    """Sync a folder's list of names."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
