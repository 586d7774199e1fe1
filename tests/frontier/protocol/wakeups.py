"""The wake-up protocol: a site is put to rest while a link for it arrives, and must not sleep for ever.

`site.has_work` says whether the ready list shows a site. Three parties change it:

- **Adding** links: insert the site row if there is none; insert the links that are not `seen`; take FOR KEY SHARE on
  the rows of sites with new links; *then*, in a statement of its own, wake those that sleep. All in one transaction.
- **Claiming**: take a free site with work, FOR NO KEY UPDATE SKIP LOCKED, in the statement that sets its owner.
- **Giving back** a site whose queue looked empty: take FOR UPDATE on the row; *then*, in a second statement, look at
  the queue and put the site to rest if it is empty. A queue that did not look empty needs neither.

Why it is right: KEY SHARE and UPDATE exclude each other. If the adder has its lock first, the releaser waits until the
links are committed, and looks after that. If the releaser has it first, the adder waits until the site sleeps, and
wakes it after that. KEY SHARE leaves adders alone with one another, and with claims, which take NO KEY UPDATE.

A completion does both in one transaction: links in, then sites given back. If it *waits* for FOR UPDATE there, two of
them that link to each other's sites deadlock. So it takes that lock with SKIP LOCKED: where an adder is at work, the
site is left awake, and should nothing come of it, the claim that finds its queue empty puts it to rest.

`PROTOCOL` holds the rules by name; a test leaves each out and is shown how a site sleeps, is owned twice or is locked
for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from tests.frontier.protocol.rows import Database, Link, Lock, Site

if TYPE_CHECKING:
    from collections.abc import Sequence


class Rule(Enum):
    """What the protocol demands; the text says what is done where the rule is left out."""

    ADDER_LOCKS = "the adder wakes by a conditional update alone, without FOR KEY SHARE"
    LOCK_BEFORE_WAKE = "the adder wakes first and locks afterwards"
    WAKE_IN_OWN_STATEMENT = "the adder locks and wakes in one statement"
    LINKS_WITH_WAKE = "the adder commits its links, then wakes in a second transaction"
    LINKS_BEFORE_WAKE_ENDS = "the adder wakes in a first transaction, then brings its links"
    RELEASER_LOCKS = "the releaser looks at the queue and rests without a lock of its own"
    RELEASER_EXCLUDES_ADDERS = "the releaser takes FOR NO KEY UPDATE"
    CHECK_IN_SECOND_STATEMENT = "the releaser locks and looks at the queue in one statement"
    CLAIM_LOCKS_ROWS = "the claim reads free sites without locking their rows"
    CLAIM_LETS_ADDERS_BE = "the claim takes FOR UPDATE"
    SORTED = "each transaction takes its sites in the order in which they came"
    COMPLETION_NEVER_WAITS = "a completion waits for FOR UPDATE after it has locked the sites of its links"


PROTOCOL = frozenset(Rule)

Act = Callable[[Database, int, int], Database | None]  # with session and site; None: must wait
Test = Callable[[Database, int, int], bool]


class Instruction(NamedTuple):
    """One thing that a program does to one site."""

    name: str
    site: int
    statement: str  # instructions with the same one share a view; "" needs none
    act: Act
    applies: Test


Program = tuple[Instruction, ...]


# When an instruction has something to do.


def always(db: Database, me: int, number: int) -> bool:
    return True


def brings_links(db: Database, me: int, number: int) -> bool:
    return any(link.site == number for link in db.sessions[me].added)


def brought_links_before(db: Database, me: int, number: int) -> bool:
    """For the second of two transactions: the process remembers what it brought."""
    return any(link.site == number for link in db.sessions[me].brought)


def has_in_hand(db: Database, me: int, number: int) -> bool:
    return number in db.sessions[me].in_hand


def may_rest(db: Database, me: int, number: int) -> bool:
    return has_in_hand(db, me, number) and number not in db.sessions[me].left_awake


def owned_by_my_former_self(db: Database, me: int, number: int) -> bool:
    site = db.sites[number]
    return site is not None and site.owner == me and number not in db.sessions[me].in_hand


# What the statements do.


def insert_site(db: Database, me: int, number: int) -> Database | None:
    """INSERT INTO site … ON CONFLICT DO NOTHING: waits for whoever is inserting the same key."""
    if (
        any(number in dict(other.written) for who, other in enumerate(db.sessions) if who != me)
        and not db.sites[number]
    ):
        return None
    return db if db.newest(me, number) else db.write(me, number, Site())


def insert_link(name: str) -> Act:
    """INSERT INTO seen … ON CONFLICT DO NOTHING RETURNING, and the new ones into queue."""

    def act(db: Database, me: int, number: int) -> Database | None:
        link = Link(number, name)
        if any(link in other.added for who, other in enumerate(db.sessions) if who != me):
            return None
        if link in db.seen:
            return db
        mine = db.sessions[me]
        return db.change(me, added=mine.added | {link}, brought=mine.brought | {link})

    return act


def lock(strength: Lock) -> Act:
    """SELECT … FOR …"""
    return lambda db, me, number: db.lock(me, number, strength)


def look(db: Database, me: int, number: int) -> Database:
    """SELECT EXISTS (SELECT FROM queue …): a site with links stays awake, which needs no lock."""
    return _leave_awake(db, me, number) if db.sessions[me].sees_links(number) else db


def lock_unless_busy(db: Database, me: int, number: int) -> Database:
    """SELECT … FOR UPDATE SKIP LOCKED: a site that somebody is adding to stays awake."""
    return db.lock(me, number, Lock.UPDATE) or _leave_awake(db, me, number)


def _leave_awake(db: Database, me: int, number: int) -> Database:
    return db.change(me, left_awake=db.sessions[me].left_awake | {number})


def wake(db: Database, me: int, number: int) -> Database | None:
    """UPDATE site SET has_work = true WHERE NOT has_work"""
    seen = db.sessions[me].sees(number)
    if seen is None or seen.has_work:
        return db
    after = db.lock(me, number, Lock.NO_KEY_UPDATE)
    if after is None:
        return None
    newest = after.newest(me, number)
    return after if newest is None or newest.has_work else after.write(me, number, newest._replace(has_work=True))


def claim(strength: Lock) -> Act:
    """The claim: SELECT … FOR … SKIP LOCKED and UPDATE … SET owner, in one statement, with the queue."""

    def act(db: Database, me: int, number: int) -> Database | None:
        if not _ready(db.sessions[me].sees(number)):
            return db
        busy = db.in_the_way(me, number, strength)
        if busy:
            return db._replace(hidden=db.hidden or (busy == {Lock.KEY_SHARE} and _ready(db.sites[number])))
        after = db.lock(me, number, strength)
        newest = db.newest(me, number)
        if after is None or newest is None or not _ready(newest):
            return after
        brought = db.sessions[me].sees_links(number)
        return after.change(me, brought=brought).write(me, number, newest._replace(owner=me))

    return act


def claim_without_lock(db: Database, me: int, number: int) -> Database | None:
    """The same with the rows not locked by the SELECT: after a wait, UPDATE tests only its own condition, the key."""
    if not _ready(db.sessions[me].sees(number)):
        return db
    after = db.lock(me, number, Lock.NO_KEY_UPDATE)
    newest = db.newest(me, number)
    if after is None or newest is None:
        return after
    return after.change(me, brought=db.sessions[me].sees_links(number)).write(me, number, newest._replace(owner=me))


def _ready(site: Site | None) -> bool:
    return site is not None and site.owner is None and site.has_work


def settle(db: Database, me: int, number: int) -> Database:
    """DELETE FROM queue: what the claim brought is done."""
    mine = db.sessions[me]
    return db.change(me, removed=mine.removed | {link for link in mine.brought if link.site == number})


def give_back(db: Database, me: int, number: int) -> Database | None:
    """UPDATE site SET owner = NULL, has_work = EXISTS (SELECT FROM queue …) WHERE owner = me"""
    mine = db.sessions[me]
    after = db.lock(me, number, Lock.NO_KEY_UPDATE)
    newest = db.newest(me, number)
    if after is None or newest is None or newest.owner != me:
        return after
    has_work = newest.has_work if number in mine.left_awake else bool(mine.sees_links(number))
    return after.write(me, number, Site(owner=None, has_work=has_work))


def recover(db: Database, me: int, number: int) -> Database | None:
    """UPDATE site SET owner = NULL WHERE owner = the dead one"""
    after = db.lock(me, number, Lock.NO_KEY_UPDATE)
    newest = db.newest(me, number)
    return after if after is None or newest is None else after.write(me, number, newest._replace(owner=None))


def in_transaction(db: Database, me: int, number: int) -> bool:
    return db.sessions[me].in_transaction


def commit(db: Database, me: int, number: int) -> Database:
    return db.commit(me)


COMMIT = Instruction("commits", 0, "", commit, in_transaction)


# The programs.


def adding(rules: frozenset[Rule], name: str, numbers: Sequence[int]) -> Program:
    """Bring one link, called `name`, to each of the sites."""
    numbers = sorted(numbers) if Rule.SORTED in rules else numbers
    one_statement = Rule.WAKE_IN_OWN_STATEMENT not in rules
    apart = Rule.LINKS_WITH_WAKE not in rules
    when = brought_links_before if apart else always if Rule.LINKS_BEFORE_WAKE_ENDS not in rules else brings_links
    links = [
        *(Instruction(f"inserts site {n}", n, "", insert_site, always) for n in numbers),
        *(Instruction(f"inserts link {name} to site {n}", n, "", insert_link(name), always) for n in numbers),
    ]
    locks = _rows("locks site {} FOR KEY SHARE", numbers, "lock", lock(Lock.KEY_SHARE), when)
    wakes = _rows("wakes site {}", numbers, "lock" if one_statement else "wake", wake, when)
    if Rule.ADDER_LOCKS not in rules:
        locks = []
    waking = locks + wakes if Rule.LOCK_BEFORE_WAKE in rules else wakes + locks
    if apart:
        return (*links, COMMIT, *waking, COMMIT)
    if Rule.LINKS_BEFORE_WAKE_ENDS not in rules:
        return (*waking, COMMIT, *links, COMMIT)
    return (*links, *waking, COMMIT)


def working(rules: frozenset[Rule], number: int, *, completes: Program = (), turns: int = 1) -> Program:
    """Claim a site, settle what came with it, give it back; `completes`: links that the completion brings."""
    claims = claim(Lock.NO_KEY_UPDATE if Rule.CLAIM_LETS_ADDERS_BE in rules else Lock.UPDATE)
    if Rule.CLAIM_LOCKS_ROWS not in rules:
        claims = claim_without_lock
    links = tuple(step._replace(applies=_if_in_hand(number, step.applies)) for step in completes if step is not COMMIT)
    turn = (
        Instruction(f"claims site {number}", number, "claim", claims, always),
        COMMIT,
        Instruction(f"settles what it fetched from site {number}", number, "", settle, has_in_hand),
        *links,
        *_giving_back(rules, number),
        COMMIT,
    )
    former = Instruction(f"recovers site {number}", number, "", recover, owned_by_my_former_self)
    return (former, COMMIT, *(turn * turns))


def _giving_back(rules: frozenset[Rule], number: int) -> list[Instruction]:
    looks = _rows("looks at the queue of site {}", [number], "look", look, has_in_hand)
    takes: Act = lock(Lock.UPDATE)
    if Rule.RELEASER_EXCLUDES_ADDERS not in rules:
        takes = lock(Lock.NO_KEY_UPDATE)
    elif Rule.COMPLETION_NEVER_WAITS in rules:
        takes = lock_unless_busy
    locks = _rows("locks site {} to give it back", [number], "lock", takes, may_rest)
    if Rule.RELEASER_LOCKS not in rules:
        locks = []
    statement = "give back" if Rule.CHECK_IN_SECOND_STATEMENT in rules else "lock"
    return looks + locks + _rows("gives site {} back", [number], statement, give_back, has_in_hand)


def _rows(name: str, numbers: Sequence[int], statement: str, act: Act, applies: Test) -> list[Instruction]:
    """Make the instructions of a statement that touches several rows, one after the other."""
    return [Instruction(name.format(number), number, statement, act, applies) for number in numbers]


def _if_in_hand(number: int, applies: Test) -> Test:
    return lambda db, me, other: has_in_hand(db, me, number) and applies(db, me, other)


# The model: programs side by side.


class Model:
    """Programs that run side by side, one per session."""

    def __init__(self, db: Database, programs: dict[str, Program]) -> None:
        self.names = list(programs)
        self.programs = list(programs.values())
        for me in range(len(programs)):
            db = self._move_on(db, me, 0)
        self.initial = db

    def steps(self, db: Database) -> list[tuple[str, Database]]:
        """List what may happen next: one step of one session, or a crash."""
        found = []
        for me, mine in enumerate(db.sessions):
            if self._ended(db, me):
                continue
            step = self._step(db, me)
            if step is not None:
                found.append(step)
            if db.crashes_left and mine != self.initial.sessions[me]:
                found.append((f"{self.names[me]} crashes", self._move_on(db.crash(me), me, 0)))
        return found

    def invariant(self, db: Database, ways: Sequence[tuple[str, Database]]) -> str | None:
        """Say what must never be."""
        at_rest = all(self._ended(db, me) for me in range(len(db.sessions)))
        for number, site in enumerate(db.sites):
            if sum(number in session.in_hand for session in db.sessions) > 1:
                return f"site {number} is owned twice"
            queued = any(link.site == number for link in db.queue)
            if queued and site is None:
                return f"site {number} has links but no row"
            if at_rest and queued and site is not None and site.owner is None and not site.has_work:
                return f"site {number} has links and sleeps"
        if db.hidden:
            return "a claim passed over a ready site because somebody was adding to it"
        if not at_rest and all(label.endswith("crashes") for label, _ in ways):
            return "deadlock"
        return None

    def _ended(self, db: Database, me: int) -> bool:
        return db.sessions[me].at == len(self.programs[me])

    def _step(self, db: Database, me: int) -> tuple[str, Database] | None:
        """Begin a statement, or do one thing of it; None while that must wait."""
        mine = db.sessions[me]
        instruction = self.programs[me][mine.at]
        if instruction.statement and instruction.statement != mine.statement:
            return f"{self.names[me]} begins: {instruction.name}", db.begin(me, instruction.statement)
        after = instruction.act(db, me, instruction.site)
        if after is None:
            return None
        return f"{self.names[me]} {instruction.name}", self._move_on(after, me, mine.at + 1)

    def _move_on(self, db: Database, me: int, at: int) -> Database:
        """Go to the next instruction that has something to do, and forget the view if it is of another statement."""
        program = self.programs[me]
        while at < len(program) and not program[at].applies(db, me, program[at].site):
            at += 1
        if at < len(program) and program[at].statement == db.sessions[me].statement:
            return db.change(me, at=at)
        return db.change(me, at=at, statement="", view=None)
