"""Finds out whether a crawl runs in a folder, by its lock: a crash may leave a file alone."""

from __future__ import annotations

import fcntl
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.store.notes import decode_note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gossamer.frontier import FrontierReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A crawl that runs."""

    pid: int | None  # of its supervisor; None if that has not been written yet
    started_at: float | None  # Unix seconds
    troubles: tuple[str, ...] = ()  # why nothing new is started on this machine
    counted: Mapping[str, float] = field(default_factory=dict)  # by this start; empty if not known
    uploads: str = ""  # how uploads go; empty if the crawl has no store


def is_under_way(frontier: FrontierReader, *folders: Path) -> bool:
    """Return whether a crawl runs here or on other machines, whose workers count until they are declared dead."""
    if any(find_running(folder) for folder in folders):
        return True
    return frontier.lease_s is not None and any(not worker.gone for worker in frontier.workers())


def find_running(folder: Path) -> Running | None:
    """Return the crawl that holds the folder's lock, or None if no crawl does."""
    try:
        file = (folder / "lock").open("rb")
    except (FileNotFoundError, IsADirectoryError):  # a folder in its place: no crawl can hold it
        return None
    with file:
        try:
            # Shared, and released at once: two readers never mistake each other for a crawl.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, started_at, uploads = None, None, ""
            troubles: tuple[str, ...] = ()
            counted: dict[str, float] = {}
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                said = decode_note(file.read())
                pid, started_at = int(said["pid"]), float(said["started_at"])
                troubles = tuple(map(str, said["troubles"]))
                uploads = str(said.get("uploads", ""))
                counted = {name: float(number) for name, number in said["counted"].items()}
            return Running(pid=pid, started_at=started_at, troubles=troubles, counted=counted, uploads=uploads)
    return None
