"""Free space on the disk, and whether to pause the crawl for lack of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gossamer.wording import size

if TYPE_CHECKING:
    from pathlib import Path

_RESUME_FACTOR = 1.1  # so that a crawl at the limit does not pause and resume all the time


def free_space(folder: Path) -> int:
    """Return how many bytes are free on the folder's file system."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def mount_point(folder: Path) -> Path:
    """Return where the folder's file system is mounted: operators know the disk by that path."""
    path = folder.resolve()
    while not path.is_mount():
        path = path.parent
    return path


class DiskGuard:
    """Decides whether the crawl pauses for lack of space. Pure: the caller passes in the free space.

    The crawl pauses below `min_free_bytes` and resumes when a tenth more than that is free.
    """

    def __init__(self, min_free_bytes: int) -> None:
        self._min_free_bytes = min_free_bytes
        self.is_paused = False

    def complaint(self, disk: Path, free_bytes: int) -> str:
        """Return a message: which disk is nearly full, the free space, and the space needed."""
        goes_on = size(self._min_free_bytes * _RESUME_FACTOR)
        least = size(self._min_free_bytes)
        return f"disk nearly full: {size(free_bytes)} free on {disk}, at least {least} needed, {goes_on} to go on"

    def look(self, free_bytes: int) -> bool:
        """Record the free space, and return whether to pause."""
        limit = self._min_free_bytes * (_RESUME_FACTOR if self.is_paused else 1)
        self.is_paused = free_bytes < limit
        return self.is_paused


class DiskWatch:
    """Watches the disk of a crawl's folder."""

    def __init__(self, folder: Path, min_free_bytes: int) -> None:
        self._folder = folder
        self._guard = DiskGuard(min_free_bytes)

    def check(self) -> str:
        """Look at the disk; return what is wrong with the room on it, in a few words, or nothing."""
        free_bytes = free_space(self._folder)
        return self._guard.complaint(mount_point(self._folder), free_bytes) if self._guard.look(free_bytes) else ""
