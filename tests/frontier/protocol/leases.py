"""Ownership of sites by workers that may pause, crash, be cut off, or be told late: who may ask a site, and when.

One site, two processes, a database, whole seconds. Every second each worker that is awake and connected

- sends its **heartbeat**: the database counts it and keeps the worker's crawl time, or answers `gone` to the dead;
- **watches** the others: who does not count on for a lease is marked dead, and the sites of the dead are freed, one
  full delay from now; who could not look for a while may begin to count anew;
- **reconciles**: what the database says it owns, and it does not hold, it gives back, one full delay from now.

In between, in any order, a worker claims the site when its crawl clock says that it is due; starts a turn if its last
acknowledged heartbeat is younger than half a lease; connects, for any time; checks the same again and sends the
request, which arrives within a second; and gives the site back, due a delay later.

**Crawl time** is begun by the first worker, from the database's clock, and from then on carried forward by each
worker's own clock, which counts on while the machine sleeps. A worker knows it between two bounds: it claims by the
lower and writes by the upper one. Who joins, or is told `gone` and joins anew, takes it from the living: from the
*second* heartbeat of one of them that it sees come in, since only that one was surely sent after it began to look. If
nobody lives, it begins crawl time anew from the database's clock, and what was not due yet when crawl time was last
saved waits a full delay.

Faults: a process pauses, its machine sleeps, it crashes and is started again, it loses the database for any time; a
statement takes effect late or twice, or its reply is late or lost; the database's clock jumps.

Promises: the server sees no two requests closer than the delay; and a site whose owner cannot work comes back within
two leases of the last fault if anybody works. (So nothing is lost: a URL leaves the queue only with the completion of
its request.)

`PROTOCOL` holds the rules by name, numbered as in decision record 7; a test leaves each out and is shown what happens.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

# Seconds.
LEASE = 3
HALF_LEASE = 1
TRANSIT = 1  # from the last check to the arrival of a request: less than LEASE - HALF_LEASE
DELAY = 2  # unless said otherwise
JUMP = 4  # of the database's clock, either way


class Rule(Enum):
    """What the protocol demands; the text says what is done where the rule is left out."""

    LEASE_FROM_SEND = "1: a lease counts from the reply to the heartbeat"
    RECOVERY_COMPARES = "2: recovery does not look whether the counter has moved since"
    DEAD_STAY_DEAD = "2: the heartbeat of a dead worker is taken"
    IDS_ARE_NEW = "2: the id of a dead worker is given out again"
    BOOT_CLOCK = "3: the lease clock stands still while the machine sleeps"
    FENCED_BY_OWNER = "4: giving back names the site only"
    FENCED_BY_TOKEN = "4: giving back names site and owner, not the claim"
    WATCH_BY_OWN_CLOCK = "5: the database's clock says how old a heartbeat is"
    CARRY_TIME = "5: the database's clock is crawl time"
    CLAIM_BY_LOWER_BOUND = "5: claims use the upper bound of crawl time"
    WRITE_UPPER_BOUND = "5: sites are given back by the lower bound of crawl time"
    JOIN_BY_SECOND_BEAT = "5: who joins takes crawl time from the first heartbeat that it sees"
    JOIN_FROM_THE_LIVING = "5: who joins takes crawl time from the database's clock"
    GONE_FORGETS_TIME = "5: who is told `gone` keeps the crawl time that it knew"
    BEGIN_WITH_A_DELAY = "5: when nobody lives, ready times are believed as they stand"
    CHECK_BEFORE_SENDING = "6: the lease is checked only when a turn starts"
    ARRIVE_IN_TIME = "6: a request may take any time to arrive"
    NO_FREEZE_AT_SEND = "6: the process may freeze between the last check and the request"
    RECONCILE = "7: nobody asks what he owns"
    RECOVER_AGAIN = "8: a dead worker's sites are freed once"

    __hash__ = object.__hash__  # asked for in every step, and that of an enumeration is slow; here and below


PROTOCOL = frozenset(Rule)


class Fault(Enum):
    """What may go wrong."""

    PAUSE = "pauses"
    SLEEP = "sleeps with its machine"
    CRASH = "crashes"
    CUT = "loses the database"
    JUMP = "the database's clock jumps"
    LATE_HEARTBEAT = "takes effect late"
    LATE_REPLY = "is answered late"
    LATE_RECOVERY = "recovery takes effect late"
    LATE_CLAIM = "claim takes effect late, and its reply is lost"
    LOST_CLAIM = "the reply to a claim is lost"
    LATE_RELEASE = "giving back takes effect late"
    SECOND_RELEASE = "giving back takes effect twice"

    __hash__ = object.__hash__


class Site(NamedTuple):
    """The row of the site."""

    ready_at: int  # crawl time
    owner: int | None = None
    token: int = 0


class Member(NamedTuple):
    """The row of a worker; its id is its place."""

    beat: int  # a counter; the second in which it was raised serves as well
    crawl_now: int | None = None  # None: has no crawl time yet
    stamped: int | None = None  # the database's clock at the beat; used only where a rule is left out
    dead: bool = False


class Watched(NamedTuple):
    """What a worker remembers of another one."""

    beat: int
    since: int  # own clock


class Stage(Enum):
    """How far a turn is."""

    HELD = "in hand"
    CONNECTING = "connecting"
    CHECKED = "about to send"
    SENT = "sent"
    ANSWERED = "answered"

    __hash__ = object.__hash__


class Process(NamedTuple):
    """A worker as it knows itself. Times are real seconds, from which all clocks derive."""

    running: bool = False
    awake: bool = True
    suspended: bool = False  # asleep with its machine
    slept: int = 0  # how far CLOCK_MONOTONIC is behind
    connected: bool = True
    id: int = -1
    leased: int = 0  # lease clock at the last acknowledged heartbeat
    waits_for_reply: bool = False  # to a heartbeat
    joined: bool = False  # has crawl time
    joins_since: int = 0
    lower: int = 0  # crawl time minus real time, at least
    upper: int = 0  # at most
    token: int | None = None  # of the site in hand
    stage: Stage = Stage.HELD
    watched: tuple[tuple[int, Watched], ...] = ()
    stuck_s: int = 0  # how long it worked, since the last fault, while the site's owner could not

    @property
    def acts(self) -> bool:
        """Whether it can do anything to the database."""
        return self.running and self.awake and self.connected


class Letter(NamedTuple):
    """Something under way that takes effect at any later time."""

    kind: str
    process: int
    id: int
    sent: int = 0
    number: int = 0  # token, or counter
    time: int | None = None  # crawl time: the site is due, or it is now
    gone: bool = False  # what a reply says


class World(NamedTuple):
    """Everything."""

    now: int
    site: Site
    members: tuple[Member, ...]
    processes: tuple[Process, ...]
    letters: frozenset[Letter] = frozenset()
    jump: int = 0  # the database's clock minus real time
    delay: int = DELAY
    asked_at: int = -9  # the last request as the server saw it
    faults: frozenset[Fault] = frozenset()  # that may still happen, once each
    wrong: str | None = None

    def put(self, place: int, process: Process) -> World:
        return self._replace(processes=(*self.processes[:place], process, *self.processes[place + 1 :]))

    def enrol(self, id_: int, member: Member) -> World:
        return self._replace(members=(*self.members[:id_], member, *self.members[id_ + 1 :]))

    def post(self, letter: Letter) -> World:
        return self._replace(letters=self.letters | {letter})


NAMES = "AB"


def start(faults: frozenset[Fault], *, both: bool = False, delay: int = DELAY) -> World:
    """One worker runs; another one may join, or has joined (`both`)."""
    first = Process(running=True, id=0, joined=True)
    alone = World(0, Site(0), (Member(0, 0),), (first, Process()), delay=delay, faults=faults)
    return alone.put(1, first._replace(id=1, upper=1)).enrol(1, Member(0, 0)) if both else alone
