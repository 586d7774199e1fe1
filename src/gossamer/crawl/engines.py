"""Which engine a crawl's frontier has: the only place that knows."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from gossamer.crawl.folder import FRONTIER_FILE, HOME_FILE, SETTINGS_FILE, read_settings
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.settings import FrontierSettings
from gossamer.frontier.sqlite import SqliteFrontier

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping
    from pathlib import Path

    from gossamer.frontier import Frontier

ADDRESS_VARIABLE: Final = "GOSSAMER_FRONTIER"
PASSWORD_VARIABLE: Final = "PGPASSWORD"  # where libpq looks for it  # noqa: S105


def open_frontier(folder: Path, settings: FrontierSettings) -> Frontier:
    """Open the frontier of the crawl in this folder, beginning one if there is none."""
    if not settings.frontier:
        return SqliteFrontier(folder / FRONTIER_FILE)
    from gossamer.frontier.postgres import PostgresFrontier

    return PostgresFrontier(settings.frontier, settings.crawl_name, home=_home(folder), lease_s=settings.lease_s)


@contextmanager
def open_existing(folder: Path, *others: Path) -> Iterator[Frontier]:
    """Open the frontier of a crawl that was begun before, for whoever only reads; never begins one.

    `others` are the folders of more machines on the same crawl. A database is where GOSSAMER_FRONTIER says, else where
    the crawl itself found it.
    """
    settings = frontier_of(folder, *others)
    if settings.frontier:
        settings = replace(settings, frontier=os.environ.get(ADDRESS_VARIABLE) or settings.frontier)
        _check_database(settings)
    try:
        with open_frontier(folder, settings) as frontier:
            yield frontier
    except FrontierError as error:
        raise GossamerError(f"The frontier cannot be read ({error}): see that it is there, and try again.") from error


def frontier_of(folder: Path, *others: Path) -> FrontierSettings:
    """Return where the frontier of the crawl with these folders is; refuse a folder without one, or of another."""
    settings = _settings_of(folder)
    if len({each.resolve() for each in (folder, *others)}) <= len(others):
        raise GossamerError("A folder is named twice: every --data-dir must be another machine's.")
    for other in others:
        theirs = _settings_of(other)
        if not settings.frontier or not theirs.frontier or settings.crawl_name != theirs.crawl_name:
            raise GossamerError(f"{folder} and {other} are not of one crawl on several machines: name them one by one.")
    return settings


def _settings_of(folder: Path) -> FrontierSettings:
    settings = read_settings(folder).frontier if (folder / SETTINGS_FILE).is_file() else FrontierSettings()
    if not settings.frontier and not (folder / FRONTIER_FILE).is_file():
        raise GossamerError(f"No crawl in {folder}: name its folder with --data-dir, or begin one with gossamer crawl.")
    return settings


def _check_database(settings: FrontierSettings) -> None:
    """Refuse a database that does not hold the crawl: opening it would begin one there."""
    from gossamer.frontier.postgres.administering import look

    contents = look(settings.frontier)
    if settings.crawl_name not in {crawl.name for crawl in contents.crawls}:
        raise GossamerError(
            f"There is no crawl called {settings.crawl_name} in {contents.place}: name its database in "
            f"{ADDRESS_VARIABLE}, as in postgresql://user@host/database."
        )


def hide_password(environment: MutableMapping[str, str]) -> None:
    """Move the password of the frontier's address to where libpq, and libpq alone, looks for it.

    From there our own processes inherit it, and it gets into no setting, file or message.
    """
    if address := environment.get(ADDRESS_VARIABLE):
        from gossamer.frontier.postgres.address import split_password

        environment[ADDRESS_VARIABLE], password = split_password(address)
        if password:
            environment[PASSWORD_VARIABLE] = password


def _home(folder: Path) -> str:
    """Return a name for this folder that no other has, nor a copy of it: its lock vouches only for its own workers."""
    file = folder / HOME_FILE
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        pass
    else:
        with os.fdopen(descriptor, "w") as new:
            new.write(uuid4().hex)
    return f"{socket.gethostname()}:{file.stat().st_ino}:{file.read_text()}"
