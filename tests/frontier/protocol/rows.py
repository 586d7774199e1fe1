"""As much of PostgreSQL as the wake-up protocol leans on: rows, row locks, and READ COMMITTED.

- A statement sees what was committed before it began (its *view*), and what its own transaction wrote.
- Row locks conflict as PostgreSQL's do, are held to the end of the transaction, and readers never wait for them.
- A statement that waited for a row sees that row's newest version once it has the lock, and tests its condition on it
  again; whatever else it reads, subqueries included, still comes from its view (PostgreSQL calls this EvalPlanQual).
- A commit is one step; a crash rolls back and frees all locks.

Taking the view and acting are two steps of the model, so that anything may happen between them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Lock(Enum):
    """The strengths of row locks that we use; an UPDATE that leaves the key alone takes NO_KEY_UPDATE."""

    KEY_SHARE = "FOR KEY SHARE"
    NO_KEY_UPDATE = "FOR NO KEY UPDATE"
    UPDATE = "FOR UPDATE"


# From the table "Conflicting Row-Level Locks" in PostgreSQL's documentation.
CONFLICTS = {
    Lock.KEY_SHARE: {Lock.UPDATE},
    Lock.NO_KEY_UPDATE: {Lock.NO_KEY_UPDATE, Lock.UPDATE},
    Lock.UPDATE: {Lock.KEY_SHARE, Lock.NO_KEY_UPDATE, Lock.UPDATE},
}


class Site(NamedTuple):
    """A row of `site`."""

    owner: int | None = None
    has_work: bool = False


class Link(NamedTuple):
    """A row of `queue`."""

    site: int
    name: str


Sites = tuple[Site | None, ...]  # by number; None where there is no row yet


class View(NamedTuple):
    """What a statement sees of other transactions."""

    sites: Sites
    queue: frozenset[Link]


class Session(NamedTuple):
    """A connection: how far its program is, and its open transaction."""

    at: int = 0  # the instruction that comes next
    statement: str = ""  # the one under way
    view: View | None = None  # what it sees
    locks: frozenset[tuple[int, Lock]] = frozenset()
    written: tuple[tuple[int, Site], ...] = ()  # versions of site rows that nobody else sees yet
    added: frozenset[Link] = frozenset()
    removed: frozenset[Link] = frozenset()
    brought: frozenset[Link] = frozenset()  # what the last claim brought
    in_hand: frozenset[int] = frozenset()  # sites that this process believes to own
    left_awake: frozenset[int] = frozenset()  # sites that this transaction will not put to rest

    @property
    def in_transaction(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.locks or self.written or self.added or self.removed)

    def sees(self, number: int) -> Site | None:
        """Return a site as the statement under way sees it."""
        assert self.view is not None
        return dict(self.written).get(number, self.view.sites[number])

    def sees_links(self, number: int) -> frozenset[Link]:
        """Return the queue of a site as the statement under way sees it."""
        assert self.view is not None
        return frozenset(link for link in (self.view.queue | self.added) - self.removed if link.site == number)


class Database(NamedTuple):
    """Everything that is committed, and everybody who is connected."""

    sites: Sites
    queue: frozenset[Link]
    seen: frozenset[Link]  # links that were ever accepted
    sessions: tuple[Session, ...]
    crashes_left: int
    hidden: bool = False  # a claim passed over a site that was ready, only because somebody was adding to it

    def newest(self, me: int, number: int) -> Site | None:
        """Return the newest version of a row: my own, else the committed one."""
        return dict(self.sessions[me].written).get(number, self.sites[number])

    def change(self, me: int, **changes: Any) -> Database:
        """Return the database with my session changed."""
        sessions = list(self.sessions)
        sessions[me] = sessions[me]._replace(**changes)
        return self._replace(sessions=tuple(sessions))

    def write(self, me: int, number: int, site: Site) -> Database:
        """Return the database with a new version of a row in my transaction."""
        written = {**dict(self.sessions[me].written), number: site}
        return self.change(me, written=tuple(sorted(written.items(), key=lambda item: item[0])))

    def in_the_way(self, me: int, number: int, lock: Lock) -> set[Lock]:
        """Return the locks of others that I would have to wait for."""
        held = (held for who, other in enumerate(self.sessions) if who != me for held in other.locks)
        return {strength for site, strength in held if site == number and strength in CONFLICTS[lock]}

    def lock(self, me: int, number: int, lock: Lock) -> Database | None:
        """Take a row lock, or return None: I must wait."""
        if self.in_the_way(me, number, lock):
            return None
        return self.change(me, locks=self.sessions[me].locks | {(number, lock)})

    def begin(self, me: int, statement: str) -> Database:
        """Begin a statement: see what is committed now."""
        return self.change(me, statement=statement, view=View(self.sites, self.queue))

    def commit(self, me: int) -> Database:
        """Make my transaction everybody's, and end it."""
        mine = self.sessions[me]
        sites, in_hand = list(self.sites), set(mine.in_hand)
        for number, site in mine.written:
            sites[number] = site
            if site.owner == me:
                in_hand.add(number)
            else:
                in_hand.discard(number)
        after = self._replace(
            sites=tuple(sites), queue=(self.queue | mine.added) - mine.removed, seen=self.seen | mine.added
        )
        return after.change(me, **Session(mine.at, brought=mine.brought, in_hand=frozenset(in_hand))._asdict())

    def crash(self, me: int) -> Database:
        """Lose my transaction and my memory; whoever replaces me begins my program again."""
        return self.change(me, **Session()._asdict())._replace(crashes_left=self.crashes_left - 1)


def database(*, sites: Iterable[Site | None], queue: Iterable[Link] = (), sessions: int, crashes: int) -> Database:
    """Make a database in which nothing is under way."""
    links = frozenset(queue)
    return Database(tuple(sites), links, links, (Session(),) * sessions, crashes)
