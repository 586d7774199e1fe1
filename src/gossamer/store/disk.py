"""Room on the disk: how much there is, and whether to go on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_RESUME_FACTOR = 1.1  # so that a crawl at the limit does not stop and start all the time


def free_space(folder: Path) -> int:
    """Return how many bytes can still be written to the folder's file system."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


class DiskGuard:
    """Says whether the crawl is to pause for want of room. Pure: it is told what is free.

    It pauses below `min_free_bytes` and goes on when a tenth more than that is free.
    """

    def __init__(self, min_free_bytes: int) -> None:
        self._min_free_bytes = min_free_bytes
        self.is_paused = False

    def look(self, free_bytes: int) -> bool:
        """Take note of what is free, and tell whether to pause."""
        limit = self._min_free_bytes * (_RESUME_FACTOR if self.is_paused else 1)
        self.is_paused = free_bytes < limit
        return self.is_paused
