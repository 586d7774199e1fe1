"""The faults and the settings of a simulated crawl: all drawn from the seed. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

LAST_FAULT_S: Final = 8.0


class Fault(StrEnum):
    """The faults of a simulation."""

    KILL = "kill"  # one worker
    KILL_IN_STEPS = "kill in steps"  # one worker, after a number of steps: between any two
    CRASH = "crash"  # all workers and the supervisor
    REBOOT = "reboot"  # a crash, and the machine's monotonic clock restarts
    STOP = "stop"  # a graceful shutdown, and a start later
    STOP_ORDER = "stop order"  # the same, ordered through the frontier
    PAUSE = "pause"  # one worker takes no steps
    PAUSE_ORDER = "pause order"  # the operator pauses the crawl
    DATABASE = "database"  # some operations fail
    DATABASE_DOWN = "database down"  # all operations fail
    DISK = "disk full"
    EXCLUDE = "exclude"
    WALL_CLOCK = "wall clock"  # jumps
    OUTAGE = "outage"  # no server can be reached


# An outage uses up no tries if it is noticed: with many pages at their first try, and by a living process. So it comes
# at the beginning, and without other faults.
ALONE: Final = (Fault.OUTAGE,)
# Faults of the machine, which occur whether or not a crawl runs.
MACHINE: Final = (Fault.DATABASE, Fault.DATABASE_DOWN, Fault.DISK, Fault.WALL_CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fault."""

    at_s: float
    fault: Fault
    length_s: float  # how long it lasts, or how long nothing runs after it
    number: int  # selects the worker or the site, or is the number of steps

    def __str__(self) -> str:
        return f"{self.fault} at {self.at_s:.1f} s for {self.length_s:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The settings and faults of a simulated crawl."""

    workers: int
    sites: int
    max_pages: int  # of a site
    delay_s: float
    step_gap_s: float
    batch_s: float
    heartbeat_s: float
    stop_s: float
    in_flight: int
    max_sites_in_hand: int
    max_urls_in_hand: int
    lease_s: float | None
    page_limit: int | None
    has_threads: bool  # whether loops run while their threads work; slower
    checks_files: bool  # whether every stored byte is checked at the end; slower
    events: tuple[Event, ...]
    address_delay_s: float
    lanes: int  # requests at once of every site; more than 1: all sites are the operator's own, without a delay

    def holds(self, name: str) -> bool:
        """Return whether the crawl has a fault of this name, or a `lease`."""
        return any(event.fault == name for event in self.events) or (name == "lease" and self.lease_s is not None)

    @property
    def is_outage(self) -> bool:
        """Whether no server can be reached for a while."""
        return any(event.fault is Fault.OUTAGE for event in self.events)


def draw_terms(dice: Random) -> Terms:
    """Draw settings and faults."""
    is_outage = dice.random() < 0.06
    if is_outage:
        length_s = dice.uniform(3.0, 15.0)
        events = [Event(at_s=0.0, fault=Fault.OUTAGE, length_s=length_s, number=0)]
    else:
        kinds = [fault for fault in Fault if fault not in ALONE]
        events = [_draw_event(dice, kinds) for _ in range(dice.choice((0, 1, 1, 2, 2, 3, 4, 6)))]
    lease_s = dice.choice((None, None, None, 5.0))
    if lease_s and not is_outage and dice.random() < 0.5:  # by chance alone, few pauses would last this long
        length_s = lease_s * dice.uniform(0.8, 2.0)
        events.append(Event(at_s=dice.uniform(0, 3), fault=Fault.PAUSE, length_s=length_s, number=dice.randint(0, 9)))
    terms = Terms(
        workers=1 if is_outage else dice.choice((1, 1, 2, 2, 2, 3)),
        sites=dice.randint(8, 10) if is_outage else dice.randint(2, 7),
        max_pages=dice.randint(2, 5),
        delay_s=dice.choice((0.3, 0.5, 1.0)),
        step_gap_s=dice.choice((0.1, 0.2, 1.0)),
        batch_s=dice.choice((0.2, 0.5, 1.5)),
        heartbeat_s=dice.choice((1.0, 3.0)),
        stop_s=dice.choice((0.3, 1.0, 4.0)),
        in_flight=20 if is_outage else dice.choice((1, 2, 5, 20)),
        max_sites_in_hand=100 if is_outage else dice.choice((1, 3, 100)),
        max_urls_in_hand=dice.choice((10, 100)),
        lease_s=lease_s,
        page_limit=None if is_outage or dice.random() < 0.85 else dice.randint(1, 12),
        has_threads=dice.random() < 0.1,
        checks_files=dice.random() < 0.2,
        events=tuple(sorted(events, key=lambda event: event.at_s)),
        address_delay_s=dice.choice((0.05, 0.1, 0.25)),
        lanes=1,
    )
    if is_outage or dice.random() < 0.9:
        return terms
    return replace(terms, delay_s=0.0, lanes=dice.randint(2, 4), max_pages=dice.randint(5, 12))


def _draw_event(dice: Random, kinds: Sequence[Fault]) -> Event:
    return Event(
        at_s=dice.uniform(0.0, LAST_FAULT_S) ** 2 / LAST_FAULT_S,  # most work is done at the beginning
        fault=dice.choice(kinds),
        length_s=dice.choice((0.1, 0.5, 2.0, 8.0)) * dice.uniform(0.5, 1.5),
        number=dice.randint(0, 1_000),
    )
