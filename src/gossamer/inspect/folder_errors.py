"""Errors about a folder without a crawl, or with missing or damaged files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.commands import to_type
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def no_crawl(folder: Path) -> GossamerError:
    """Return an error that says how to name the right folder, or how to start a crawl in this one."""
    if folder.exists() and not folder.is_dir():
        return GossamerError(f"{folder} is a file: name the crawl's folder with --data-dir.")
    begin = to_type("crawl", "seeds.txt", "--email", "you@example.org", folders=folder)
    return GossamerError(f"No crawl in {folder}: name its folder with --data-dir, or start one with `{begin}`.")


def damaged(what: str, folders: Sequence[Path] | Path) -> GossamerError:
    """Return an error that says what is wrong, and which command finds all other damage."""
    return GossamerError(f"{what}; `{to_type('verify', folders=folders)}` lists all damage.")
