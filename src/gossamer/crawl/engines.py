"""Which engine a crawl's frontier has: the only place that knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError
from gossamer.frontier.sqlite import SqliteFrontier

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import Frontier

FRONTIER_FILE: Final = "frontier.sqlite"


def open_frontier(folder: Path) -> Frontier:
    """Open the frontier of the crawl in this folder, beginning one if there is none."""
    return SqliteFrontier(folder / FRONTIER_FILE)


def open_existing(folder: Path) -> Frontier:
    """Open the frontier of a crawl that was begun before, for whoever only reads; never begins one."""
    if not (folder / FRONTIER_FILE).is_file():
        raise GossamerError(f"No crawl in {folder}: name its folder with --data-dir, or begin one with gossamer crawl.")
    return open_frontier(folder)
