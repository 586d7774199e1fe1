"""Moving a crawl's frontier to another database: copy, check, switch. Safe to kill at any moment, and to run again.

In this order, each step on the disk before the next (docs/decisions/0015):

1. the source is marked as leaving: nothing else writes to it from here on;
2. the copy is written, under a mark or a name that keeps everybody away from it;
3. both sides are compared, and the copy is audited;
4. the source is marked as moved, naming the target: this is the switch. Before it, the crawl can stay; after it, never;
5. the copy goes live;
6. the folder's settings and its note name the target.

A start between any two of them is refused and told what to do. Running the move again goes on: before the switch it
copies anew, after it does what is left.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from gossamer.commands import to_type
from gossamer.crawl.engines import home_of, open_frontier
from gossamer.crawl.folder import FRONTIER_FILE, SETTINGS_FILE, gather_settings, read_settings, write_settings
from gossamer.crawl.own_frontier import Own, Place, find_own, note_own
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.moving import COUNTERS, SMALL, Destination, MovedError, State, Sum
from gossamer.frontier.settings import FrontierSettings
from gossamer.frontier.sqlite.moving import SqliteSource, SqliteTarget, place_of
from gossamer.supervisor.lock import hold_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Protocol

    from gossamer.crawl.settings import Settings
    from gossamer.frontier.moving import Row, Source, Standing, Target

    class Audience(Protocol):
        """Whoever waits for a move."""

        def say(self, line: str) -> None:
            """Hear what happens."""

        def show(self, done: str, urls: int, of_urls: int) -> None:
            """See how many URLs were copied, or checked; called often."""


SQLITE: Final = "sqlite"  # how the file in the crawl's folder is called
_URLS: Final = ("seen", "barred")  # tables with a row per known URL


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What became of a move."""

    place: str  # where the frontier is now
    urls: int | None  # that were carried there; None: it was there before
    kept: tuple[str, ...]  # frontiers that were left behind, and are kept


def move(folder: Path, to: str | None, crawl_name: str | None, audience: Audience, *, delete_old: bool) -> Moved:
    """Move the frontier of the crawl in a folder to a database, or to a file in the folder; or only delete old ones."""
    _find(folder)  # before a lock file is made where no crawl is
    with hold_folder(folder):
        own, settings = _find(folder), _settings(folder)
        try:
            urls = None
            if to is not None:
                wanted = FrontierSettings(
                    frontier="" if to == SQLITE else to,
                    crawl_name=crawl_name or own.crawl_name,
                    lease_s=settings.frontier.lease_s,
                )
                own, urls = _Move(folder, own, settings, wanted, audience).run()
            if delete_old:
                own = _delete_old(folder, own, settings, audience)
        except (FrontierError, OSError) as error:
            raise GossamerError(
                f"The move was cut off ({error}): see to that, and run the same command again."
            ) from error
    kept = tuple(_destination(folder, place).place for place in own.moved_from)
    return Moved(place=_destination(folder, own.place).place, urls=urls, kept=kept)


class _Move:
    """One run of `gossamer move`."""

    def __init__(
        self, folder: Path, own: Own, settings: Settings, wanted: FrontierSettings, audience: Audience
    ) -> None:
        self._folder = folder
        self._own = own
        self._settings = settings
        self._wanted = wanted
        self._place = Place(wanted.frontier, wanted.crawl_name if wanted.frontier else "")
        self._to = _destination(folder, self._place)
        self._audience = audience

    def run(self) -> tuple[Own, int | None]:
        """Return the folder's own frontier as it is then, and how many URLs were carried."""
        with closing(_open_source(self._folder, self._settings.frontier, self._own.place)) as source:
            standing = source.standing()
            if self._own.identity not in (None, standing.identity):
                raise GossamerError(
                    "The folder's frontier holds another crawl than the folder: look where it has gone."
                )
            if self._place == self._own.place:
                return self._stay(source, standing), None
            with closing(_open_target(self._folder, self._wanted)) as target:
                urls = None
                if standing.state is not State.MOVED:
                    move, urls = self._copy(source, target, standing)
                elif standing.to == self._to and standing.move is not None:
                    move = standing.move
                else:
                    raise self._gone(standing)
                target.go_live(move)
        return self._write_down(standing.identity), urls

    def _stay(self, source: Source, standing: Standing) -> Own:
        """Call off a move that was cut off, if there was one: the crawl is to be where it is."""
        if standing.state is State.LEAVING:
            source.stay()
            SqliteTarget(self._folder / FRONTIER_FILE).discard()
            self._audience.say("The move that was cut off is called off: the crawl stays where it is.")
        elif standing.state is not State.LIVE:
            raise self._gone(standing)
        write_settings(self._folder, replace(self._settings, frontier=self._wanted))
        return self._own

    def _gone(self, standing: Standing) -> MovedError:
        here = _destination(self._folder, self._own.place)
        return MovedError(here.place, standing, here=here.frontier or SQLITE, folders=[self._folder])

    def _copy(self, source: Source, target: Target, standing: Standing) -> tuple[str, int]:
        """Copy, check and switch; return the move's number, and how many URLs were copied."""
        target.refuse_if_taken(standing.identity)
        if standing.state is State.LIVE:
            source.settle(self._audience.say)
        move = uuid4().hex
        source.leave(move, self._to)
        try:
            urls = self._write(source, target, move)
            source.mark_moved(move)
        except BaseException:  # but not a kill: then the next run goes on, or calls it off
            with suppress(FrontierError, MovedError):
                source.stay()
                target.discard()
            raise
        return move, urls

    def _write(self, source: Source, target: Target, move: str) -> int:
        crawl = source.crawl()
        known: int = crawl.counters[COUNTERS.index("known")]
        target.prepare(move, crawl)
        copied: defaultdict[str, Sum] = defaultdict(Sum)
        for table, rows in self._watched(_all_rows(source), "Copied", known):
            copied[table].add(rows)
            target.write(table, rows)
        target.finish()
        if target.crawl() != crawl:
            raise GossamerError(_differing("crawl", crawl, target.crawl()))
        written: defaultdict[str, Sum] = defaultdict(Sum)
        for table, rows in self._watched(_all_rows(target), "Checked", known):
            written[table].add(rows)
        for table in copied.keys() | written.keys():
            if copied[table] != written[table]:
                raise GossamerError(_differing(table, copied[table], written[table]))
        self._audience.say("Checking that the copy contradicts itself nowhere.")
        if problems := target.audit():
            verify = to_type("verify", folders=self._folder)
            raise GossamerError(f"The frontier contradicts itself ({problems[0]}): see `{verify}`, then move it.")
        return known

    def _watched(
        self, chunks: Iterator[tuple[str, Sequence[Row]]], done: str, known: int
    ) -> Iterator[tuple[str, Sequence[Row]]]:
        urls = 0
        for table, rows in chunks:
            yield table, rows
            urls += len(rows) if table in _URLS else 0
            self._audience.show(done, urls, known)

    def _write_down(self, identity: str) -> Own:
        """Let the folder's settings name the target, and then its note, which is what starts obey."""
        write_settings(self._folder, replace(self._settings, frontier=self._wanted))
        left = [place for place in (*self._own.moved_from, self._own.place) if place != self._place]
        own = Own(
            frontier=self._wanted.frontier,
            crawl_name=self._wanted.crawl_name,
            identity=identity,
            moved_from=tuple(dict.fromkeys(left)),
        )
        note_own(self._folder, own)
        return own


def _all_rows(frontier: Source | Target) -> Iterator[tuple[str, Sequence[Row]]]:
    for table in SMALL:
        for rows in frontier.rows(table):
            yield table, rows
    yield from frontier.large_rows()


def _differing(table: str, here: object, there: object) -> str:
    return f"The copy differs from the frontier in {table} ({here}; {there}): nothing was switched. Run it again."


def _delete_old(folder: Path, own: Own, settings: Settings, audience: Audience) -> Own:
    """Delete the frontiers that the crawl was moved away from; the crawl must be found where it is now."""
    with open_frontier(folder, own.within(settings.frontier), begin=False) as frontier:
        if frontier.identity != own.identity:
            raise GossamerError("The folder's frontier holds another crawl than the folder: nothing is deleted.")
    for place in own.moved_from:
        name = _destination(folder, place).place
        if place.frontier or (folder / FRONTIER_FILE).is_file():
            with closing(_open_source(folder, settings.frontier, place)) as old:
                standing = old.standing()
                if standing.state is not State.MOVED or standing.identity != own.identity:
                    raise GossamerError(f"{name} is not what the crawl was moved away from: it is not deleted.")
                old.delete()
        own = replace(own, moved_from=tuple(each for each in own.moved_from if each != place))
        note_own(folder, own)
        audience.say(f"Deleted {name}.")
    return own


def _find(folder: Path) -> Own:
    own = find_own(folder)
    if own is None:
        raise GossamerError(f"No crawl in {folder}: name its folder with --data-dir.")
    return own


def _settings(folder: Path) -> Settings:
    file = folder / SETTINGS_FILE
    return read_settings(folder) if file.is_file() else gather_settings(None, environment={}, flags={})


def _destination(folder: Path, place: Place) -> Destination:
    if not place.frontier:
        return Destination(frontier="", crawl_name="", place=place_of(folder / FRONTIER_FILE))
    named = f"the crawl {place.crawl_name} in the database {place.frontier}"
    return Destination(frontier=place.frontier, crawl_name=place.crawl_name, place=named)


def _open_source(folder: Path, settings: FrontierSettings, place: Place) -> Source:
    if not place.frontier:
        return SqliteSource(folder / FRONTIER_FILE)
    from gossamer.frontier.postgres.moving import PostgresSource

    return PostgresSource(place.frontier, place.crawl_name, home=home_of(folder), lease_s=settings.lease_s)


def _open_target(folder: Path, settings: FrontierSettings) -> Target:
    if not settings.frontier:
        return SqliteTarget(folder / FRONTIER_FILE)
    from gossamer.frontier.postgres.moving import PostgresTarget

    return PostgresTarget(settings.frontier, settings.crawl_name)
