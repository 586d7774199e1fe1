"""Gathers what the live screen shows: the crawl's progress, the end of its request log, and the disk space."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gossamer.cli.screen import View, draw
from gossamer.inspect.recent import Lately, Tail
from gossamer.inspect.status import sizes
from gossamer.store.disk import free_space

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console, Group

    from gossamer.supervisor import Progress

SIZING_SHARE: Final = 0.02  # of the time, at most: a long crawl has thousands of files


class CrawlView:
    """Collects, for one crawl, what its live screen shows."""

    def __init__(self, folder: Path, *, hint: str) -> None:
        self._folder = folder
        self._hint = hint
        self._tail = Tail(folder)
        self._used_bytes = 0
        self._size_again_s = 0.0  # when the files are measured next

    def look(self) -> Lately:
        """Read the end of the crawl's log."""
        return self._tail.look(time.time())

    def view(self, progress: Progress, lately: Lately) -> View:
        """Return what to show now."""
        now_s = time.monotonic()
        if now_s >= self._size_again_s:
            self._used_bytes = sum(sizes(self._folder).values())
            ended_s = time.monotonic()
            self._size_again_s = ended_s + (ended_s - now_s) / SIZING_SHARE
        return View(
            folder=self._folder,
            progress=progress,
            lately=lately,
            used_bytes=self._used_bytes,
            free_bytes=free_space(self._folder),
            hint=self._hint,
        )


def fill(console: Console, view: View, *, spare_lines: int = 0) -> Group:
    """Return a screen that fills a terminal except for `spare_lines`."""
    width, height = console.size
    return draw(view, width=width, height=max(1, height - spare_lines), ascii_only=console.options.ascii_only)
