"""Opens the frontier of a crawl. This is the only place that picks an engine."""

from __future__ import annotations

import os
import re
import socket
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from gossamer.bucket.paths import is_remote_folder
from gossamer.crawl.folder import FRONTIER_FILE, SETTINGS_FILE, read_settings
from gossamer.crawl.own_frontier import Place, find_own
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.moving import Destination
from gossamer.frontier.settings import FrontierSettings
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.frontier.sqlite.auditing import find_damage
from gossamer.inspect.folder_errors import no_crawl
from gossamer.store.files import replacing
from gossamer.store.names import HOME

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence
    from pathlib import Path

    from gossamer.crawl.own_frontier import Own
    from gossamer.frontier import Frontier, FrontierReader, OperatorFrontier

ADDRESS_VARIABLE: Final = "GOSSAMER_FRONTIER"
_HOME: Final = re.compile("[0-9a-f]{32}")
PASSWORD_VARIABLE: Final = "PGPASSWORD"  # where libpq looks for it  # noqa: S105


def open_frontier(folder: Path, settings: FrontierSettings, *, to_read: bool = False, begin: bool = True) -> Frontier:
    """Open the frontier that the settings name, to write (which upgrades an old one) or only to read.

    With `begin`, create a missing frontier; without, refuse.
    """
    if not settings.frontier:
        file = folder / FRONTIER_FILE
        if not begin and not file.is_file():
            raise GossamerError(f"{file} is not there any more: put it back, or choose another folder.")
        return SqliteFrontier(file, to_read=to_read, slow_s=settings.slow_operation_s)
    from gossamer.frontier.postgres import Opening, PostgresFrontier

    return PostgresFrontier(
        settings.frontier,
        settings.crawl_name,
        home="" if to_read else home_of(folder),
        lease_s=settings.lease_s,
        slow_s=settings.slow_operation_s,
        opening=Opening.READ if to_read else Opening.BEGIN if begin else Opening.EXISTING,
    )


def open_for_start(folder: Path, wanted: FrontierSettings) -> Frontier:
    """Open the frontier that a start names. If the folder holds a crawl, it must be the frontier of that crawl.

    The address of a database may change: the identity of the crawl in it decides.
    """
    own = find_own(folder)
    if own is None or (own.frontier and own.identity is None and not (folder / HOME).exists()):
        return open_frontier(folder, wanted)  # no crawl has begun here, though settings may exist
    if bool(own.frontier) != bool(wanted.frontier):
        raise GossamerError(_changed(folder, own, wanted))
    is_unsure = own.identity is None and own.place == Place(
        wanted.frontier, wanted.crawl_name
    )  # it may never have begun
    frontier = open_frontier(folder, wanted, begin=is_unsure)
    if not _is_own(frontier, own, wanted):
        with frontier:
            raise GossamerError(_changed(folder, own, wanted))
    return frontier


def _is_own(frontier: FrontierReader, own: Own, wanted: FrontierSettings) -> bool:
    if own.identity is not None:
        return frontier.identity == own.identity
    if not own.frontier or own.place == Place(wanted.frontier, wanted.crawl_name):
        return True
    from gossamer.frontier.postgres import PostgresFrontier

    assert isinstance(frontier, PostgresFrontier)
    return frontier.knows_home()  # an older version began the crawl and noted no identity


def _changed(folder: Path, own: Own, wanted: FrontierSettings) -> str:
    to = Destination(frontier=wanted.frontier, crawl_name=wanted.crawl_name, place="")
    here = Destination(frontier=own.frontier, crawl_name=own.crawl_name, place="")
    if own.frontier:
        otherwise = f"go on with `{here.start([folder])}`"
    elif own.identity is None and read_settings(folder).frontier.frontier == wanted.frontier:
        otherwise = "delete that file if the crawl in the database is the one to resume"
    else:
        otherwise = f"start without --frontier and {ADDRESS_VARIABLE}"
    return (
        f"The frontier of the crawl in {folder} is {_name(folder, own)}, and this start names "
        f"{_name(folder, wanted)}: carry it over with `{to.command([folder])}`, or {otherwise}."
    )


def _name(folder: Path, where: Own | FrontierSettings) -> str:
    if not where.frontier:
        return f"the file {folder / FRONTIER_FILE}"
    return f"the crawl {where.crawl_name} in the database {where.frontier}"


@contextmanager
def open_existing(folder: Path, *others: Path) -> Iterator[FrontierReader]:
    """Open the frontier of an existing crawl to read. This changes nothing and needs no permission to write.

    `others` are the folders of the crawl's other machines. A database is looked for at GOSSAMER_FRONTIER, then at the
    address that the crawl itself used.
    """
    with _opened(folder, *others, to_read=True) as frontier:
        yield frontier


@contextmanager
def open_if_any(folders: Sequence[Path]) -> Iterator[FrontierReader | None]:
    """Open the frontier of an existing crawl to read; None if only the crawl's bucket is named."""
    if not has_frontier(folders):
        yield None
        return
    with open_existing(*folders) as frontier:
        yield frontier


@contextmanager
def change_existing(folder: Path) -> Iterator[OperatorFrontier]:
    """Open the frontier of an existing crawl to change it; never create one."""
    with _opened(folder, to_read=False) as frontier:
        yield frontier


@contextmanager
def _opened(folder: Path, *others: Path, to_read: bool) -> Iterator[Frontier]:
    own, settings = _own_of(folder, *others)
    folder = next(each for each in (folder, *others) if not is_remote_folder(each))
    try:
        with naming_damage(folder), _open_own(folder, own, settings, to_read=to_read) as frontier:
            yield frontier
    except FrontierError as error:
        raise GossamerError(f"The frontier cannot be read ({error}): see that it is there, and try again.") from error


@contextmanager
def naming_damage(folder: Path) -> Iterator[None]:
    """Raise an error that says so if a frontier's file is damaged; otherwise an exception is a bug, and propagates."""
    file = folder / FRONTIER_FILE
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        if file.is_file() and (damage := find_damage(file)):
            raise GossamerError(f"{file} is damaged ({damage}): restore a copy of it.") from error
        raise


def _open_own(folder: Path, own: Own, settings: FrontierSettings, *, to_read: bool) -> Frontier:
    if not own.frontier:
        return open_frontier(folder, settings, to_read=to_read, begin=False)
    first: GossamerError | None = None
    for address in dict.fromkeys(filter(None, (os.environ.get(ADDRESS_VARIABLE), own.frontier))):
        there = replace(settings, frontier=address)
        try:
            frontier = open_frontier(folder, there, to_read=to_read, begin=False)
        except GossamerError as error:
            first = first or error
            continue
        if own.identity in (None, frontier.identity):
            return frontier
        with frontier:
            first = first or GossamerError(_changed(folder, own, there))
    assert first is not None
    raise first


def frontier_of(folder: Path, *others: Path) -> FrontierSettings:
    """Return where the frontier of these folders' crawl is; refuse folders without a crawl or of different crawls."""
    return _own_of(folder, *others)[1]


def has_frontier(folders: Sequence[Path]) -> bool:
    """Return whether one of these folders has a frontier, or names its own: a bucket has neither."""
    return not all(map(is_remote_folder, folders))


def _own_of(*folders: Path) -> tuple[Own, FrontierSettings]:
    if not has_frontier(folders):
        raise GossamerError("A bucket holds no frontier: name the crawl's folder too, with --data-dir.")
    folder, *others = (each for each in folders if not is_remote_folder(each))
    own, settings = _read_own(folder)
    if len({each.resolve() for each in (folder, *others)}) <= len(others):
        raise GossamerError("A folder is named twice: every --data-dir must be another machine's.")
    for other in others:
        theirs, _ = _read_own(other)
        if own.identity and theirs.identity:
            is_one = own.identity == theirs.identity
        else:
            is_one = bool(own.frontier and theirs.frontier) and own.crawl_name == theirs.crawl_name
        if not is_one:
            raise GossamerError(f"{folder} and {other} are not of one crawl on several machines: name them one by one.")
    return own, settings


def _read_own(folder: Path) -> tuple[Own, FrontierSettings]:
    own = find_own(folder)
    if own is None:
        raise no_crawl(folder)
    settings = read_settings(folder).frontier if (folder / SETTINGS_FILE).is_file() else FrontierSettings()
    return own, own.within(settings)


def hide_password(environment: MutableMapping[str, str]) -> None:
    """Move the password of the frontier's address to the variable that only libpq reads.

    Our own processes inherit it there, and it never reaches a setting, a file or a message.
    """
    if address := environment.get(ADDRESS_VARIABLE):
        from gossamer.frontier.postgres.address import split_password

        environment[ADDRESS_VARIABLE], password = split_password(address)
        if password:
            environment[PASSWORD_VARIABLE] = password


def home_of(folder: Path) -> str:
    """Return a name that is unique to this folder; a copy gets another, because a lock covers only its own workers."""
    file = folder / HOME
    try:
        name = file.read_text(encoding="ascii")
    except (FileNotFoundError, UnicodeDecodeError):
        name = ""
    if not _HOME.fullmatch(name):  # there is none, or the disk has damaged it: then its workers' leases must end first
        name = uuid4().hex
        with replacing(file) as new:
            new.write(name.encode())
    return f"{socket.gethostname()}:{file.stat().st_ino}:{name}"
