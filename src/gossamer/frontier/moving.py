"""What a move carries from one frontier to another, row by row, and what both engines say of a frontier on the move.

Rows here belong to no engine: a site is its name, times are the crawl clock's, which is carried too. Each engine reads
and writes them in its own `moving` module; what happens in which order is `crawl.moving`'s.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from marshal import dumps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from xxhash import xxh3_128_intdigest

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

CHUNK_ROWS: Final = 20_000  # read, and written in one transaction

# What is carried, by table: the columns that both engines have under the same name. Where a row belongs to a site, the
# site's name comes first; a queued URL's place in the order of arrival comes second. A new column is added here, and
# nowhere else; a test compares this with the tables that there are.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "crawl": (
        "identity", "normaliser", "suffix_list", "state", "delay_ms", "page_limit", "site_limit", "scope", "exclusions",
        "readmissions", "seed_ports",
    ),
    "site": (
        "name", "paced_at", "ready_at", "delay_ms", "epoch", "failures", "pages", "has_work", "seeded", "excluded",
        "spent",
    ),
    "host": (
        "name", "seeded", "rules", "expires_at", "failures", "failing_since", "blocked_until", "silent", "given_up",
    ),
    "barred": ("url_hash", "rank", "depth", "hops", "kind", "via", "reason", "url"),
    "seen": ("url_hash", "depth", "outcome"),
    "queue": ("not_before", "rank", "depth", "hops", "tries", "kind", "url_hash", "via", "url", "added_at"),
    "worker": ("worker", "label", "beats", "figures"),
    "exclusion": ("site",),
    "seeds_loaded": ("digest",),
    "given_up": ("reason", "urls"),
    "seed_outcome": ("outcome", "seeds", "example"),
}  # fmt: skip
FLAGS: Final = frozenset({"has_work", "seeded", "excluded", "spent"})  # true or false, in every table
COUNTERS: Final = ("sites", "sites_with_work", "known", "done", "pages")  # of the crawl as a whole
LARGE: Final = ("site", "host", "barred", "seen", "queue")  # tables that grow with the crawl, in the order of writing
SMALL: Final = ("worker", "exclusion", "seeds_loaded", "given_up", "seed_outcome")

Row = tuple[Any, ...]


class State(StrEnum):
    """Whether a frontier may be worked with."""

    LIVE = "live"
    LEAVING = "leaving"  # it is being copied; nothing else writes to it
    MOVED = "moved"  # the crawl goes on elsewhere, for good
    ARRIVING = "arriving"  # the copy, until it is complete and the crawl has left where it was


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a frontier goes: as `gossamer move` is told, and as people are."""

    frontier: str  # a database's address without password; empty: a file in a crawl's folder
    crawl_name: str
    place: str

    def command(self, folders: Sequence[Path] = ()) -> str:
        """Return the command that moves a crawl there."""
        named = ("--crawl-name", self.crawl_name) if self.frontier and self.crawl_name != "crawl" else ()
        return to_type("move", "--to", self.frontier or "sqlite", *named, folders=folders)

    def start(self, folders: Sequence[Path] = ()) -> str:
        """Return the command that crawls there, if it is a database."""
        named = ("--crawl-name", self.crawl_name) if self.crawl_name != "crawl" else ()
        return to_type("crawl", "--frontier", self.frontier, *named, folders=folders)

    def as_text(self) -> str:
        """Write it for the database."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a frontier's own database says of it."""

    identity: str  # of the crawl
    state: State
    move: str | None
    to: Destination | None

    @classmethod
    def of(cls, identity: str, state: str, move: str | None, moved_to: str | None) -> Standing:
        """Make sense of the four columns."""
        to = Destination(**json.loads(moved_to)) if moved_to else None
        return cls(identity=identity, state=State(state), move=move, to=to)


class MovedError(GossamerError):
    """This frontier takes no workers: its crawl went elsewhere, is on its way, or has not arrived yet."""

    def __init__(self, place: str, standing: Standing, *, here: str, folders: Sequence[Path] = ()) -> None:
        """Say what to do: `here` is what `gossamer move --to` calls this frontier."""
        super().__init__(_refusal(place, standing, here, folders))


def _refusal(place: str, standing: Standing, here: str, folders: Sequence[Path]) -> str:
    to = standing.to
    if to is None:
        return (
            f"The frontier in {place} is an unfinished copy: finish it with `{to_type('move')}`, in the folder where "
            "that was begun."
        )
    if standing.state is State.LEAVING:
        return (
            f"The frontier in {place} is being moved to {to.place}: if that was cut off, finish it with "
            f"`{to.command(folders)}`, or stay with `{to_type('move', '--to', here, folders=folders)}`."
        )
    advice = (
        f"go on with `{to.start(folders)}`, or finish the move with `{to.command(folders)}` where it was begun"
        if to.frontier
        else f"go on there, or finish the move there with `{to.command(folders)}`"
    )
    return f"The frontier in {place} was moved to {to.place}: {advice}."


class CarriedCrawl(NamedTuple):
    """The one row of a crawl, its clock and its counters."""

    terms: Row  # the columns of `crawl`
    clock_ms: int
    counters: Row  # those of COUNTERS


class Sum:
    """What a table holds, in two numbers that do not depend on the order of rows."""

    def __init__(self) -> None:
        self.rows = 0
        self._digest = 0

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows in. Equal rows are equal bytes: version 2 of the format knows no references."""
        digests = [xxh3_128_intdigest(dumps(row, 2)) for row in rows]
        self.rows += len(digests)
        self._digest = (self._digest + sum(digests)) & ((1 << 128) - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and (self.rows, self._digest) == (other.rows, other._digest)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __str__(self) -> str:
        return f"{count(self.rows, 'row')}, {self._digest:032x}"


def columns(table: str) -> str:
    """Return a table's carried columns for a statement that reads them."""
    return ", ".join(f"{table}.{name}" for name in COLUMNS.get(table, ()))


def names(table: str) -> str:
    """Return them for a statement that writes them."""
    return ", ".join(COLUMNS.get(table, ()))


class Source(Protocol):
    """The frontier that a crawl leaves. The caller holds the folder's lock."""

    def standing(self) -> Standing:
        """Return what its database says."""

    def settle(self, say: Callable[[str], None]) -> None:
        """Make sure that no worker lives, anywhere, and free the sites of dead workers with a full delay from now."""

    def leave(self, move: str, to: Destination) -> None:
        """Let nothing else write to it from now on. What was begun before is finished or undone."""

    def stay(self) -> None:
        """Take that back, unless the crawl has left."""

    def mark_moved(self, move: str) -> None:
        """The switch: refuse every worker and every start for good. Raises unless this very move may do so."""

    def crawl(self) -> CarriedCrawl:
        """Return the crawl's row, clock and counters."""

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        """Yield a small table, in chunks."""

    def large_rows(self) -> Iterator[tuple[str, Sequence[Row]]]:
        """Yield the large tables, in chunks: a site before all that belongs to it."""

    def delete(self) -> None:
        """Delete it; only once the crawl has left."""

    def close(self) -> None:
        """Close it."""


class Target(Protocol):
    """The frontier that a crawl goes to."""

    def refuse_if_taken(self, identity: str) -> None:
        """Raise GossamerError unless nothing is there, or what this very crawl left behind there."""

    def prepare(self, move: str, crawl: CarriedCrawl) -> None:
        """Remove what may be removed, and begin an unfinished copy."""

    def write(self, table: str, rows: Sequence[Row]) -> None:
        """Write rows of any table but `crawl`."""

    def finish(self) -> None:
        """Complete the copy: counters, indexes; everything is on the disk when this returns."""

    def crawl(self) -> CarriedCrawl:
        """Return what was written, as `Source` does."""

    def rows(self, table: str) -> Iterator[Sequence[Row]]:
        """Return what was written, as `Source` does."""

    def large_rows(self) -> Iterator[tuple[str, Sequence[Row]]]:
        """Return what was written, with the order of arrival that it came with."""

    def audit(self) -> list[str]:
        """Return what contradicts itself in the copy, a sentence each."""

    def go_live(self, move: str) -> None:
        """Let workers in, now that the crawl has left where it was. May be repeated; raises if it is not that copy."""

    def discard(self) -> None:
        """Delete an unfinished copy, if that is quick: the move was called off."""

    def close(self) -> None:
        """Close it."""
