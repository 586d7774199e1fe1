"""Notes which frontier belongs to a folder, at every start, so that no start uses another one by mistake.

Settings say where a start looks for the frontier. The operator may change them by mistake, such as by a variable that
was exported for another crawl. This note says which crawl the folder's pages belong to.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.crawl.folder import FRONTIER_FILE, SETTINGS_FILE, read_settings
from gossamer.frontier.sqlite.moving import is_in_use
from gossamer.store.files import replacing
from gossamer.store.notes import DamagedNoteError, damaged_note, encode_note, read_note

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier.settings import FrontierSettings

log = logging.getLogger(__name__)

NOTE_FILE: Final = "frontier.json"


class Place(NamedTuple):
    """Where a frontier is, as written in the settings."""

    frontier: str
    crawl_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A folder's own frontier."""

    frontier: str  # a database's address without password; empty: the file in the folder
    crawl_name: str
    identity: str | None  # of the crawl; None: an older version began the crawl
    moved_from: tuple[Place, ...] = ()  # kept until `gossamer move --delete-old`

    @property
    def place(self) -> Place:
        """Where the frontier is."""
        return Place(self.frontier, self.crawl_name if self.frontier else "")

    def within(self, settings: FrontierSettings) -> FrontierSettings:
        """Return settings that name this frontier."""
        return replace(settings, frontier=self.frontier, crawl_name=self.crawl_name)


def find_own(folder: Path) -> Own | None:
    """Return a folder's own frontier; None if the folder holds no crawl.

    Without a note, a frontier file in use wins over a database in the settings: the operator named that one later.
    """
    try:
        if own := read_own(folder):
            return own
    except DamagedNoteError as error:
        log.warning("%s: the settings say which frontier belongs to the crawl.", error)
    has_file = (folder / FRONTIER_FILE).is_file()
    if not (folder / SETTINGS_FILE).is_file():
        return Own(frontier="", crawl_name="crawl", identity=None) if has_file else None
    settings = read_settings(folder).frontier
    if settings.frontier and not (has_file and is_in_use(folder / FRONTIER_FILE)):
        return Own(frontier=settings.frontier, crawl_name=settings.crawl_name, identity=None)
    return Own(frontier="", crawl_name=settings.crawl_name, identity=None) if has_file else None


def read_own(folder: Path) -> Own | None:
    """Return what the note says; None if there is none. Raise DamagedNoteError if it has changed on the disk."""
    said = read_note(folder / NOTE_FILE)
    if said is None:
        return None
    try:
        return Own(**{**said, "moved_from": tuple(Place(*place) for place in said["moved_from"])})
    except (TypeError, LookupError) as error:
        raise damaged_note(folder / NOTE_FILE, error) from None


def note_own(folder: Path, own: Own) -> None:
    """Note which frontier is the folder's own."""
    if find_own(folder) != own:
        with replacing(folder / NOTE_FILE) as file:
            file.write(encode_note(asdict(own)).encode())
