"""Opens files for writing: never through a symbolic link, and never so that other users may write to them.

Every file and folder that a crawl creates or changes is opened here, except by SQLite. Otherwise another user who may
write to the crawl's folder, or who created it first, could plant a link with the name of a file that we will write, and
let us overwrite any file of the crawl's user.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

if TYPE_CHECKING:
    from pathlib import Path

FILE_MODE: Final = 0o644  # the umask may take away more
FOLDER_MODE: Final = 0o755
WRITABLE_BY_OTHERS: Final = 0o022  # group and all

_LINK: Final = "a symbolic link, which Gossamer does not follow here"
_LINK_ERRORS: Final = {errno.ELOOP, errno.EMLINK}  # of O_NOFOLLOW; FreeBSD uses the second


def protect_from_others() -> None:
    """Let this process, and those that it starts, create nothing that other users may write to."""
    os.umask(os.umask(WRITABLE_BY_OTHERS) | WRITABLE_BY_OTHERS)


def open_descriptor(path: Path, flags: int, mode: int = FILE_MODE) -> int:
    """Open a regular file for writing; raise OSError for a symbolic link, a pipe or a device.

    Takes the right to write from all users if an existing file of ours gives it.
    """
    try:
        # A pipe without a reader would block.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, mode)
    except OSError as error:
        if error.errno in _LINK_ERRORS and path.is_symlink():
            raise OSError(errno.ELOOP, _LINK, str(path)) from None
        if error.errno == errno.ENXIO:
            raise OSError(errno.EINVAL, "not a regular file", str(path)) from None
        raise
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if about.st_mode & stat.S_IWOTH and about.st_uid == os.geteuid():
            os.fchmod(descriptor, stat.S_IMODE(about.st_mode) & ~stat.S_IWOTH)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_file(path: Path, mode: Literal["wb", "xb", "ab", "r+b"]) -> BinaryIO:
    """Open a file as `Path.open` does, with the promises of `open_descriptor`."""
    return open(path, mode, opener=lambda _, flags: open_descriptor(path, flags))


def make_folder(path: Path) -> None:
    """Make a folder that only we may write to, unless it exists; raise OSError if a link is in its place.

    Parents that do not exist are made, too.
    """
    try:
        path.mkdir(FOLDER_MODE)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(FOLDER_MODE)
    except FileExistsError:
        refuse_link(path)
        if not path.is_dir():
            raise


def refuse_link(path: Path) -> None:
    """Raise OSError if there is a symbolic link at this path."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, _LINK, str(path))
