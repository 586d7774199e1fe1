"""Every bound on what a worker has under way, in one table, and one function that says what may begin now."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.fetch.bodies import PAUSED_SHARE
from gossamer.fetch.names import MAX_SLOW_LOOKUPS
from gossamer.fetch.settings import FetchSettings
from gossamer.fetch.slots import NETWORK_SHARE
from gossamer.page_process.process import MAX_COSTLY_PAGES, PAGES_IN_PIPE
from gossamer.records import CrawlState
from gossamer.worker.client import FULL_LINKS, FULL_OUTCOMES
from gossamer.worker.link_lane import HEAVY_LINKS, MAX_HELD_LINKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.records import Fetched, RequestRow
    from gossamer.worker.addresses import Permit
    from gossamer.worker.link_lane import LinkLane

TURNS_PER_REQUEST: Final = 3  # many turns only wait for the step gap behind robots.txt
MAX_LINKS_WAITING: Final = 4 * FULL_LINKS  # more: the frontier cannot keep up
MAX_OUTCOMES_WAITING: Final = 4 * FULL_OUTCOMES
MAX_SITEMAP_BYTES: Final = 256_000_000  # of sitemaps that came and are still to be read
MAX_IDLE_S: Final = 60.0  # look again after this, whatever is known

_DEFAULTS: Final = FetchSettings()


class Bound(NamedTuple):
    """A bound on what is under way at once."""

    what: str
    default: int
    setting: str  # that changes it; empty: a constant
    metric: str  # the figure that shows how much of it is used
    beyond: str  # what happens when it is reached


BOUNDS: Final = (
    Bound("turns", TURNS_PER_REQUEST * _DEFAULTS.in_flight, "in_flight", "turns", "no turn begins"),
    Bound(
        "requests for pages, until the page is stored", _DEFAULTS.in_flight, "in_flight", "in_flight", "the turn waits"
    ),
    Bound("requests to one address", _DEFAULTS.per_address, "per_address", "in_flight", "the request waits"),
    Bound(
        "bytes of bodies, until they are stored",
        _DEFAULTS.max_held_bytes,
        "max_held_bytes",
        "held_bytes",
        "no request is sent",
    ),
    Bound(
        "bytes of large bodies",
        _DEFAULTS.max_held_bytes // 2,
        "max_held_bytes",
        "held_bytes",
        "the transfer is paused",
    ),
    Bound(
        "paused transfers",
        _DEFAULTS.in_flight // PAUSED_SHARE,
        "in_flight",
        "paused_transfers",
        "the body is cut (cut_large); its site backs off",
    ),
    Bound(
        "requests that may not be answered",
        _DEFAULTS.in_flight // 2,
        "in_flight",
        "silent_requests",
        "failed sites wait; the oldest request is cut (cut_silent) while others wait",
    ),
    Bound(
        "such requests to one network",
        _DEFAULTS.in_flight // NETWORK_SHARE,
        "in_flight",
        "wasteful_networks",
        "the site waits",
    ),
    Bound("lookups of more than half a second", MAX_SLOW_LOOKUPS, "", "slow_lookups", "the next lookups wait"),
    Bound("pages with the page process", PAGES_IN_PIPE, "", "pages_waiting", "the page waits"),
    Bound("costly pages", MAX_COSTLY_PAGES, "", "costly_pages", "the page is asked for again; its site backs off"),
    Bound("bytes of sitemaps", MAX_SITEMAP_BYTES, "", "sitemap_bytes_waiting", "the sitemap is asked for again later"),
    Bound(
        "links of pages and sitemaps with many",
        MAX_HELD_LINKS,
        "",
        "links_in_lane",
        "the page or sitemap is asked for again later; the page's site backs off",
    ),
    Bound("other links waiting for the frontier", MAX_LINKS_WAITING, "", "links_waiting", "no turn begins"),
    Bound("outcomes waiting for the frontier", MAX_OUTCOMES_WAITING, "", "outcomes_waiting", "no turn begins"),
)


class Hold(StrEnum):
    """Why no turn may begin now."""

    STOPPING = "the worker is stopping"
    PAUSED = "the operator paused the crawl"
    HALTED = "reports cannot be written"
    LEASE = "the lease is half over, or no heartbeat was answered yet"
    TURNS = "as many turns as allowed are under way"
    FRONTIER = "the frontier cannot keep up"
    OUTAGE = "no site can be reached"
    NOTHING_DUE = "no site is due"


class Load(NamedTuple):
    """What a worker has under way and knows, as far as it decides whether a turn may begin."""

    state: CrawlState
    is_stopping: bool
    is_halted: bool  # disk or database fail
    has_lease: bool
    turns: int
    max_turns: int
    links_waiting: int
    outcomes_waiting: int
    until_probe_s: float | None  # None: there is no outage
    until_due_s: float | None  # None: no site waits


class Admission(NamedTuple):
    """Whether turns may begin: now, if there is no hold, else perhaps after the wait."""

    hold: Hold | None
    wait_s: float = MAX_IDLE_S
    turns: int = 0  # that may begin before the next question


def admit(load: Load) -> Admission:
    """Say how many turns may begin now; if none, why, and when to look again unless something changes."""
    if load.is_stopping or load.state is CrawlState.STOPPING:
        return Admission(Hold.STOPPING)
    if load.state is CrawlState.PAUSED:
        return Admission(Hold.PAUSED)
    if load.is_halted:
        return Admission(Hold.HALTED)
    if not load.has_lease:
        return Admission(Hold.LEASE)
    if load.turns >= load.max_turns:
        return Admission(Hold.TURNS)
    if load.links_waiting >= MAX_LINKS_WAITING or load.outcomes_waiting >= MAX_OUTCOMES_WAITING:
        return Admission(Hold.FRONTIER)
    if load.until_probe_s:
        return Admission(Hold.OUTAGE, min(load.until_probe_s, MAX_IDLE_S))
    if load.until_due_s is None or load.until_due_s > 0:
        return Admission(
            Hold.NOTHING_DUE, MAX_IDLE_S if load.until_due_s is None else min(load.until_due_s, MAX_IDLE_S)
        )
    is_outage = load.until_probe_s is not None  # then a single turn probes
    return Admission(None, 0.0, 1 if is_outage else load.max_turns - load.turns)


class Room:
    """The slots that all turns of a worker share."""

    def __init__(self, in_flight: int, *, release_body: Callable[[int], None]) -> None:
        self.requests = asyncio.Semaphore(in_flight)  # plant: too-many-in-flight
        self.release_body = release_body
        self.sitemap_bytes = 0
        self.pages_waiting = 0  # for the page process, or with it


@dataclass(slots=True, kw_only=True)
class TurnSlots:
    """What one turn holds. It holds a request's slot while it has a body in hand."""

    room: Room
    permit: Permit | None  # for the first request; the turn began when its address was due
    unlogged: tuple[RequestRow, Fetched | None] | None = None  # see `Performer.log_last_request`
    holds: bool = False  # anything of the following
    body_bytes: int = 0  # of the body that a request has brought
    has_request: bool = False
    links: ExitStack | None = None  # holds the many links of a sitemap
    sitemap_bytes: int = 0

    async def take_request(self) -> None:
        """Wait for a request's slot, and hold it until `release`."""
        await self.room.requests.acquire()
        self.has_request = self.holds = True

    def take_sitemap(self, size_bytes: int) -> bool:
        """Hold a sitemap that came until `release`; return whether there was room."""
        room = self.room
        if room.sitemap_bytes and room.sitemap_bytes + size_bytes > MAX_SITEMAP_BYTES:
            return False
        room.sitemap_bytes += size_bytes
        self.sitemap_bytes, self.holds = size_bytes, True
        return True

    def hold_links(self, lane: LinkLane, links: int) -> bool:
        """Hold the many links of a sitemap until `release`; return whether there was room."""
        if not lane.has_room(links):
            return False
        if links > HEAVY_LINKS:
            self.links, self.holds = self.links or ExitStack(), True
            self.links.enter_context(lane.holding(links))
        return True

    def release_request(self) -> None:
        """Give back the slot of a request."""
        if self.has_request:
            self.has_request = False
            self.room.requests.release()

    def release(self) -> None:
        """Give back everything that the turn holds of the room."""
        self.holds = False
        if self.has_request:
            self.release_request()
        if self.links is not None:
            self.links.close()
        if self.body_bytes:
            size_bytes, self.body_bytes = self.body_bytes, 0
            self.room.release_body(size_bytes)
        self.room.sitemap_bytes -= self.sitemap_bytes
        self.sitemap_bytes = 0
