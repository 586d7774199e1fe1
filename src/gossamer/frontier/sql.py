"""The SQL files of an engine: its named statements, and when its schema may be upgraded.

A reader never upgrades a schema; other commands do so only while no worker of an older version is running.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError
from gossamer.frontier.clock import boot_seconds
from gossamer.story import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from importlib.resources.abc import Traversable

log = logging.getLogger("gossamer.frontier")
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)
LOOK_S = 0.25  # between two looks at the heartbeats


def read_statements(file: Traversable) -> dict[str, str]:
    """Return the statements of a file by the name each carries in its `-- name:` line."""
    _, *named = _NAME.split(file.read_text(encoding="utf-8"))
    names, texts = named[::2], named[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"{file.name} gives one name to two statements")
    return {name: _COMMENT.sub("", text).strip() for name, text in zip(names, texts, strict=True)}


def note_migration(place: str, before: int, after: int) -> None:
    """Log that a schema was created or upgraded."""
    if before:
        log.info("The frontier in %s was upgraded from schema version %d to %d.", place, before, after)
    else:
        tell(log, "migration", place=place, before=before, after=after)


def refuse_older_workers(place: str, beats: Callable[[], Mapping[int, int]], silence_s: float) -> None:
    """Raise GossamerError if a worker of an older version shows life.

    `beats` reads the heartbeat counters of all workers that are not declared dead. If there are any, this waits until
    one counter moves, or until none has moved for `silence_s`: a crash leaves workers that only look alive.
    """
    before, began_s = beats(), boot_seconds()
    is_over = not before
    while not is_over:
        time.sleep(LOOK_S)
        is_over = boot_seconds() - began_s >= silence_s  # known before the last look: we may have been paused ourselves
        if any(before.get(worker) != count for worker, count in beats().items()):
            raise GossamerError(
                f"The frontier in {place} has to be upgraded, and workers of an older Gossamer are at work in it: stop "
                "that crawl on all machines, then start again."
            )


def refuse_other_schema(place: str, version: int, newest: int) -> None:
    """Raise GossamerError unless a frontier's schema is the one that this version reads: a reader upgrades nothing."""
    if version > newest:
        raise GossamerError(f"The frontier in {place} was written by a newer Gossamer: upgrade this one to read it.")
    if version < newest:
        raise GossamerError(
            f"The frontier in {place} was written by an older Gossamer: resume its crawl once with this version, "
            "which upgrades it, or read it with the older version."
        )
