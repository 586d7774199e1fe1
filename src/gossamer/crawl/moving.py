"""Moves a crawl's frontier to another database: copy, check, switch. It can be killed at any moment and run again.

The steps, each durable before the next begins (docs/decisions/0015):

1. Mark the source as leaving: nothing else writes to it from here on.
2. Write the copy, under a mark or a name that no worker accepts.
3. Compare both sides, and audit the copy.
4. Mark the source as moved and name the target. This is the switch: after it, the move cannot be called off.
5. Make the copy live.
6. Write the target into the folder's settings and its note.

A start between two steps is refused with a message that says what to do. Running the move again continues it: before
the switch it copies from the beginning, after the switch it does the remaining steps.
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

    class MoveReporter(Protocol):
        """Receives the messages and the progress of a move."""

        def say(self, line: str) -> None:
            """Report a line of text."""

        def show(self, done: str, urls: int, of_urls: int) -> None:
            """Report how many URLs were copied or checked; called often."""


SQLITE: Final = "sqlite"  # stands for the file in the crawl's folder
_URLS: Final = ("seen", "barred")  # tables with a row per known URL


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveResult:
    """What a move has done."""

    place: str  # where the frontier is now
    urls: int | None  # how many were copied; None: the frontier was there before
    kept: tuple[str, ...]  # old frontiers, which are kept


def move(
    folder: Path, to: str | None, crawl_name: str | None, reporter: MoveReporter, *, delete_old: bool
) -> MoveResult:
    """Move the frontier of a folder's crawl to a database or into the folder; with `delete_old`, delete old ones."""
    _find(folder)  # before a lock file is created in a folder without a crawl
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
                own, urls = _Move(folder, own, settings, wanted, reporter).run()
            if delete_old:
                own = _delete_old(folder, own, settings, reporter)
        except (FrontierError, OSError) as error:
            raise GossamerError(
                f"The move was interrupted ({error}): fix that and run the same command again."
            ) from error
    kept = tuple(_destination(folder, place).place for place in own.moved_from)
    return MoveResult(place=_destination(folder, own.place).place, urls=urls, kept=kept)


class _Move:
    """One run of `gossamer move`."""

    def __init__(
        self, folder: Path, own: Own, settings: Settings, wanted: FrontierSettings, reporter: MoveReporter
    ) -> None:
        self._folder = folder
        self._own = own
        self._settings = settings
        self._wanted = wanted
        self._place = Place(wanted.frontier, wanted.crawl_name if wanted.frontier else "")
        self._to = _destination(folder, self._place)
        self._reporter = reporter

    def run(self) -> tuple[Own, int | None]:
        """Move; return the folder's own frontier afterwards, and how many URLs were copied."""
        with closing(_open_source(self._folder, self._settings.frontier, self._own.place)) as source:
            standing = source.standing()
            if self._own.identity not in (None, standing.identity):
                raise GossamerError(
                    "The folder's frontier holds another crawl than the folder: find the frontier of this one."
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
        """Call off an interrupted move, if there was one: the crawl stays where it is."""
        if standing.state is State.LEAVING:
            source.stay()
            SqliteTarget(self._folder / FRONTIER_FILE).discard()
            self._reporter.say("The interrupted move is called off: the crawl stays where it is.")
        elif standing.state is not State.LIVE:
            raise self._gone(standing)
        write_settings(self._folder, replace(self._settings, frontier=self._wanted))
        return self._own

    def _gone(self, standing: Standing) -> MovedError:
        here = _destination(self._folder, self._own.place)
        return MovedError(here.place, standing, here=here.frontier or SQLITE, folders=[self._folder])

    def _copy(self, source: Source, target: Target, standing: Standing) -> tuple[str, int]:
        """Copy, check and switch; return the id of the move, and how many URLs were copied."""
        target.refuse_if_taken(standing.identity)
        if standing.state is State.LIVE:
            source.settle(self._reporter.say)
        move = uuid4().hex
        source.leave(move, self._to)
        try:
            urls = self._write(source, target, move)
            source.mark_moved(move)
        except BaseException:  # a killed move is continued or called off by the next run
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
        self._reporter.say("Checking that the copy is consistent.")
        if problems := target.audit():
            verify = to_type("verify", folders=self._folder)
            raise GossamerError(f"The frontier is inconsistent ({problems[0]}): see `{verify}`, then move it.")
        return known

    def _watched(
        self, chunks: Iterator[tuple[str, Sequence[Row]]], done: str, known: int
    ) -> Iterator[tuple[str, Sequence[Row]]]:
        urls = 0
        for table, rows in chunks:
            yield table, rows
            urls += len(rows) if table in _URLS else 0
            self._reporter.show(done, urls, known)

    def _write_down(self, identity: str) -> Own:
        """Write the target into the folder's settings, and then into its note, which starts obey."""
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


def _delete_old(folder: Path, own: Own, settings: Settings, reporter: MoveReporter) -> Own:
    """Delete the frontiers that the crawl was moved away from, once the crawl is found at its present place."""
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
        reporter.say(f"Deleted {name}.")
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
