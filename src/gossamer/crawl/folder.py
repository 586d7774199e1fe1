"""A crawl's folder: whether it may be used, and its settings. The store owns the archives and tables in it."""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer import safe_files
from gossamer.commands import to_type
from gossamer.config import as_toml, gather
from gossamer.crawl.log import LOG_FILE
from gossamer.crawl.settings import SECTIONS, Settings
from gossamer.errors import GossamerError
from gossamer.inspect.address_conduct import FILE as ADDRESS_DELAYS_FILE
from gossamer.inspect.address_conduct import (
    AddressDelay,
    address_delay_line,
    damaged_address_delays,
    read_address_delays,
)
from gossamer.inspect.delays import DELAYS_FILE, damaged_lines, delay_line, read_delays
from gossamer.rules.address_pace import address_delay_s
from gossamer.store.files import replacing
from gossamer.store.names import FOLDERS, HOME, TEMPORARY_SUFFIX
from gossamer.supervisor.lock import FILE_NAME as LOCK_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gossamer.rules.pace import PaceSettings

log = logging.getLogger(__name__)

SETTINGS_FILE: Final = "crawl.toml"
FRONTIER_FILE: Final = "frontier.sqlite"

_WRITTEN: Final = (*FOLDERS, FRONTIER_FILE, LOCK_FILE, HOME, LOG_FILE, DELAYS_FILE)
_BEFORE_A_CRAWL: Final = {LOCK_FILE, HOME, "logs"}  # an interrupted start may leave these


def holds_crawl(folder: Path) -> bool:
    """Return whether a crawl was started in a folder before."""
    return any((folder / name).exists() for name in (SETTINGS_FILE, FRONTIER_FILE))


def make_folder(folder: Path) -> None:
    """Make the folder of a new crawl; refuse a folder that holds other files."""
    try:
        if not folder.is_dir():  # the operator may name a link to one
            safe_files.make_folder(folder)
        strangers = {path.name for path in folder.iterdir() if path.suffix != TEMPORARY_SUFFIX} - _BEFORE_A_CRAWL
        if strangers and not holds_crawl(folder):
            raise GossamerError(f"{folder} holds files but no crawl: name a new or an empty folder with --data-dir.")
        logs = (folder / LOG_FILE).parent
        _refuse_links(logs, *(folder / name for name in _WRITTEN))
        safe_files.make_folder(logs)
    except (FileExistsError, NotADirectoryError) as error:
        raise GossamerError(f"{_existing(Path(error.filename))} is a file: name a folder with --data-dir.") from None
    except OSError as error:
        raise GossamerError(
            f"{folder} cannot be the crawl's folder ({error.strerror}): name another with --data-dir."
        ) from None


def _refuse_links(*paths: Path) -> None:
    """Refuse a symbolic link in place of anything that a crawl writes, before the crawl writes any of it."""
    for path in paths:
        if path.is_symlink():
            raise GossamerError(
                f"{path} is a symbolic link, which a crawl does not follow: remove it, or name another folder with "
                "--data-dir (that may be a link itself)."
            )


def _existing(path: Path) -> Path:
    """Return a path, or its nearest parent, that exists."""
    return next(each for each in (path, *path.parents) if os.path.lexists(each))


def gather_settings(
    file: Path | None,
    *,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    spell: Callable[[str], str] | None = None,
    note: Callable[[str], object] = lambda _line: None,
) -> Settings:
    """Gather a crawl's settings. Paths become absolute: the operator may resume the crawl from another folder."""
    sections = gather(SECTIONS, file=file, environment=environment, flags=flags, spell=spell, note=note)
    for name, section in sections.items():
        paths = {field.name: getattr(section, field.name) for field in dataclasses.fields(section)}
        absolute = {key: path.absolute() for key, path in paths.items() if isinstance(path, Path)}
        sections[name] = dataclasses.replace(section, **absolute)
    return Settings(**sections)


def write_settings(folder: Path, settings: Settings) -> None:
    """Write the settings that the crawl runs with."""
    text = as_toml({name: getattr(settings, name) for name in SECTIONS})
    with replacing(folder / SETTINGS_FILE) as file:
        file.write(text.encode())
    _note_delay(folder, settings.pace.delay_s)
    _note_address_delay(folder, settings.pace)


def _note_delay(folder: Path, delay_s: float) -> None:
    """Note since when a delay holds, so that `verify` can check every wait against the delay of its time."""
    before = read_delays(folder)
    damaged = damaged_lines(folder)
    if damaged:
        log.warning("%s: the disk has damaged line %s; it is left out.", folder / DELAYS_FILE, damaged[0])
        with replacing(folder / DELAYS_FILE) as file:
            file.writelines(delay_line(*delay).encode() for delay in before)
    if not before or before[-1][1] != delay_s:
        with safe_files.open_file(folder / DELAYS_FILE, "ab") as file:
            file.write(delay_line(time.time(), delay_s).encode())


def _note_address_delay(folder: Path, pace: PaceSettings) -> None:
    """Note since when a delay of addresses holds, and whether it applies to the operator's own networks."""
    path = folder / ADDRESS_DELAYS_FILE
    before = read_address_delays(folder)
    if damaged := damaged_address_delays(folder):
        log.warning("%s: the disk has damaged line %s; it is left out.", path, damaged[0])
        with replacing(path) as file:
            file.writelines(address_delay_line(delay).encode() for delay in before)
    now = AddressDelay(since_at=time.time(), delay_s=address_delay_s(pace), for_all=pace.address_delay_s is not None)
    if not before or (before[-1].delay_s, before[-1].for_all) != (now.delay_s, now.for_all):
        with path.open("a", encoding="utf-8") as lines:
            lines.write(address_delay_line(now))


def read_settings(folder: Path) -> Settings:
    """Read the settings that the crawl runs with, from its file only: all its processes must have the same."""
    if not (folder / SETTINGS_FILE).exists():
        raise GossamerError(
            f"There is no {SETTINGS_FILE} in {folder}: `{to_type('crawl', folders=folder)}` writes it when it starts."
        )
    return Settings(**gather(SECTIONS, file=folder / SETTINGS_FILE, environment={}, flags={}))
