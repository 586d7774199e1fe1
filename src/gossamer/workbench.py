"""The workbench: the sites that a worker has in hand, ordered by when each may be visited next. Pure.

Times are seconds of any monotonic clock, passed in. This module knows order and bounds. It does not know why a site is
due at a time, nor what happens in a turn.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer.records import Claim, HostState, QueuedUrl

RATE_WINDOW_S: Final = 5.0  # the turn rate is measured over about this time
STOCK_S: Final = 1.0  # claim more when the due sites last for less than this
LEAST_STOCK_SITES: Final = 100  # even before there were any turns
RECENT_CLAIMS: Final = 50  # the size of the next claim is estimated from about this many
MAX_STALE: Final = 1_000  # stale entries in the heaps, unless valid ones outnumber them


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbenchSettings:
    """How many sites and URLs a worker holds at once."""

    max_sites_in_hand: int = field(
        default=10_000,
        metadata={
            "help": "The most sites that one worker holds. Lower it so that several workers share few sites evenly.",
            "minimum": 1,
        },
    )
    max_urls_in_hand: int = field(
        default=50_000,
        metadata={
            "help": "The most URLs that one worker holds. Lower it on a machine with little memory.",
            "minimum": 1,
        },
    )
    max_in_hand_bytes: int = field(
        default=64_000_000,
        metadata={
            "help": "The most memory for the URLs and the robots rules that one worker holds. "
            "Lower it on a machine with little memory.",
            "minimum": 1,
        },
    )


class SiteInHand:
    """A site that this worker owns. The code of its turn may change the attributes above the line."""

    __slots__ = (
        "address", "delay_s", "due_s", "epoch", "failures", "first_bytes", "hosts", "is_due", "is_used", "kept_bytes",
        "kept_urls", "lanes", "own_delay_s", "pages", "site", "ticket", "turns", "url_bytes", "urls",
    )  # fmt: skip

    def __init__(self, claim: Claim) -> None:
        self.site = claim.site
        self.epoch = claim.epoch
        self.delay_s = claim.delay_s  # between two turns
        self.own_delay_s = claim.own_delay_s  # what its robots.txt asks for, as far as known
        self.urls: deque[QueuedUrl] = deque(claim.urls)  # in the order in which to fetch them
        self.hosts: dict[str, HostState] = dict(claim.hosts)
        self.failures = claim.failures  # in a row
        self.pages = claim.pages  # stored so far
        self.is_used = False  # it has had a turn
        self.lanes = 1  # turns that may be under way at once
        # -- for the workbench only
        self.due_s = 0.0  # when its next turn may begin
        self.turns = 0  # under way
        self.is_due = False
        self.ticket = 0  # of its only valid entry in the heaps and lines; 0: it has none
        self.address = ""  # the one that it waits for; empty: it does not
        self.kept_urls = 0  # counted before the turn
        self.kept_bytes = 0
        self.url_bytes = 0  # of those, without the rules of hosts
        self.first_bytes = 0  # of those, the first URL, when its turn began

    def take_urls_of(self, host: str) -> list[QueuedUrl]:
        """Remove and return all URLs of a host: a decision about the host applies to them."""
        taken = [url for url in self.urls if url.host == host]
        if taken:
            self.urls = deque(url for url in self.urls if url.host != host)
        return taken

    def drop_foreign(self, rank: int) -> None:
        """Leave the URLs of this rank and above, which other sites have linked to, in the queue."""
        if self.urls and self.urls[-1].rank >= rank:
            self.urls = deque(url for url in self.urls if url.rank < rank)

    def __repr__(self) -> str:
        return f"<{self.site}, epoch {self.epoch}, {len(self.urls)} in hand>"


class _Line:
    """The sites that wait for one address."""

    __slots__ = ("places", "sites")

    def __init__(self) -> None:
        self.places: deque[tuple[int, SiteInHand]] = deque()  # by ticket; some are stale
        self.sites = 0


class Workbench:
    """The sites in hand.

    Invariant: a site has at most `lanes` turns under way, which is one unless the operator owns the site, and its next
    turn begins no earlier than the due times given to `finish`. This also holds if a site is lost and claimed again:
    the new claim waits until the old turns have ended.

    Waiting sites are in one heap by due time, due sites in another; both are cleaned lazily. A turn costs O(log n).
    Sites that are due, but whose address is not, are parked in a line for each address, first come, first served.
    """

    def __init__(self, settings: WorkbenchSettings) -> None:
        self._settings = settings
        self._sites: dict[str, SiteInHand] = {}
        self._dropped: dict[str, SiteInHand] = {}  # no longer in hand, but their turn is under way
        self._waiting: list[tuple[float, int, SiteInHand]] = []
        self._due: list[tuple[float, int, SiteInHand]] = []
        self._lines: dict[str, _Line] = {}  # by address
        self._parked = 0
        self._tickets = 0
        self._urls = 0
        self._bytes = 0
        self._busy = 0
        self._due_sites = 0
        self._urls_per_claim = 1.0  # recent averages
        self._bytes_per_claim = 100.0
        self._turns = 0.0  # recent turns, decayed: older ones count less
        self._turns_s = -math.inf  # when they were counted

    def __len__(self) -> int:
        """Return how many sites are in hand, busy ones included."""
        return len(self._sites)

    @property
    def urls(self) -> int:
        """How many URLs are in hand; a busy site counts as before its turn."""
        return self._urls

    @property
    def busy(self) -> int:
        """How many sites in hand have a turn under way."""
        return self._busy

    @property
    def due(self) -> int:
        """How many sites were due and had no turn at the last call that takes a time."""
        return self._due_sites

    @property
    def parked(self) -> int:
        """How many sites wait for an address."""
        return self._parked

    @property
    def next_due_s(self) -> float | None:
        """When the first waiting site is due; None if no site waits."""
        return self._waiting[0][0] if self._waiting else None

    def held(self) -> dict[str, int]:
        """Return the epoch of every site in hand."""
        return {name: site.epoch for name, site in self._sites.items()}

    def find(self, name: str) -> SiteInHand | None:
        """Return a site in hand; None if it is not."""
        return self._sites.get(name)

    def idle_sites(self) -> list[SiteInHand]:
        """Return the sites in hand without a turn under way, of this claim or a former one."""
        return [site for site in self._sites.values() if site.ticket and not site.turns]

    def take_in(self, claim: Claim, now_s: float) -> None:
        """Take a claimed site in hand; it is due now. This replaces a former claim of the same site."""
        self.remove(claim.site)
        site = SiteInHand(claim)
        self._sites[site.site] = site
        self._count(site)
        self._urls_per_claim += (site.kept_urls - self._urls_per_claim) / RECENT_CLAIMS
        self._bytes_per_claim += (site.kept_bytes - self._bytes_per_claim) / RECENT_CLAIMS
        if site.site not in self._dropped:
            self._enqueue(site, now_s)

    def next_turn(self, now_s: float) -> SiteInHand | None:
        """Begin the turn of the most overdue site; None if none is due. The site is busy until `finish`."""
        self._move_due(now_s)
        while self._due:
            _, ticket, site = heappop(self._due)
            if site.ticket == ticket:
                self._withdraw(site)
                if site.urls:
                    self._begin(site, now_s)
                    return site
        return None

    def open_lane(self, site: SiteInHand, now_s: float) -> None:
        """Let another turn of a site begin, beside those under way, if it has a lane and a URL for one."""
        is_held = self._sites.get(site.site) is site
        if is_held and not site.ticket and site.urls and site.turns < site.lanes:
            self._enqueue(site, max(now_s, site.due_s))

    def refill(self, site: SiteInHand, urls: Iterable[QueuedUrl], hosts: Mapping[str, HostState]) -> None:
        """Give a site in hand more URLs, and what is known of further hosts."""
        self._uncount(site)
        site.urls.extend(urls)
        site.hosts = {**hosts, **site.hosts}
        self._count(site)

    def park(self, site: SiteInHand, address: str) -> None:
        """End a turn before it began: the site waits until `next_parked` returns it."""
        self._turns = max(0.0, self._turns - 1.0)
        due_s = site.due_s
        if self._sites.get(site.site) is not site:
            self._end_dropped(site, due_s)
            return
        self._end(site)
        self._tickets += 1
        site.ticket = self._tickets
        site.address = address
        line = self._lines.setdefault(address, _Line())
        line.places.append((site.ticket, site))
        line.sites += 1
        self._parked += 1

    def next_parked(self, address: str, now_s: float) -> SiteInHand | None:
        """Begin the turn of the site that has waited longest for an address; None if none waits."""
        line = self._lines.get(address)
        while line is not None and line.places:
            ticket, site = line.places.popleft()
            if site.ticket == ticket:
                self._unpark(site)
                site.ticket = 0
                self._begin(site, now_s)
                return site
        return None

    def is_parked(self, address: str) -> bool:
        """Return whether a site waits for an address."""
        return address in self._lines

    def parked_at(self, address: str) -> int:
        """Return how many sites wait for an address."""
        line = self._lines.get(address)
        return line.sites if line else 0

    @property
    def has_room_to_park(self) -> bool:
        """Whether parked sites take less than half of the workbench: the other half is for sites that need not wait."""
        return 2 * self._parked < self._settings.max_sites_in_hand

    def parked_addresses(self) -> list[str]:
        """Return the addresses that sites wait for."""
        return list(self._lines)

    def finish(self, site: SiteInHand, due_s: float) -> bool:
        """End a turn; the next one of this site may begin at `due_s`.

        Returns whether the site is still in hand. It is not if it was removed meanwhile, or if it has no URLs left
        and no other turn under way; in that case the caller has to release it, at its due time.
        """
        if self._sites.get(site.site) is not site:
            self._end_dropped(site, due_s)
            return False
        self._end(site)
        self._uncount(site)
        site.due_s = max(site.due_s, due_s)
        if site.ticket:  # another turn could have begun
            self._withdraw(site)
        if not site.urls and not site.turns:
            del self._sites[site.site]
            return False
        self._count(site)
        if site.urls and site.turns < site.lanes:  # plant: too-many-lanes
            self._enqueue(site, site.due_s)
        return True

    def remove(self, name: str) -> SiteInHand | None:
        """Drop a site that was lost or excluded; a turn under way must still be finished."""
        site = self._sites.pop(name, None)
        if site is None:
            return None
        self._uncount(site)
        if site.turns:
            self._busy -= 1
            self._dropped[name] = site  # plant: second-turn-of-busy-site
        if site.address:
            self._unpark(site)
        self._withdraw(site)
        self._sweep()
        return site

    def clear(self) -> None:
        """Drop everything."""
        for name in list(self._sites):
            self.remove(name)

    def until_due(self, now_s: float) -> float | None:
        """Return how long until a site is due: 0 if one is due, None if none waits."""
        self._move_due(now_s)
        if self._due_sites:
            return 0.0
        return self._waiting[0][0] - now_s if self._waiting else None

    def wants(self, now_s: float) -> int:
        """Return how many sites to claim: enough for the next seconds at the recent rate, within the bounds.

        A claim cannot be undone, so its size is estimated from former ones. The bounds on URLs and bytes can be
        exceeded by the error of that estimate.
        """
        self._move_due(now_s)
        stock = max(LEAST_STOCK_SITES, math.ceil(STOCK_S * self._recent_turns(now_s) / RATE_WINDOW_S))
        if self._due_sites >= stock:
            return 0
        settings = self._settings
        room = min(
            settings.max_sites_in_hand - len(self._sites),
            (settings.max_urls_in_hand - self._urls) / self._urls_per_claim,
            (settings.max_in_hand_bytes - self._bytes) / self._bytes_per_claim,
        )
        return max(0, min(2 * stock - self._due_sites, int(room)))

    def _begin(self, site: SiteInHand, now_s: float) -> None:
        self._busy += not site.turns
        site.turns += 1
        site.first_bytes = len(site.urls[0].url)
        self._turns = self._recent_turns(now_s) + 1.0
        self._turns_s = now_s

    def _end(self, site: SiteInHand) -> None:
        assert site.turns, f"{site} has no turn to finish"
        site.turns -= 1
        self._busy -= not site.turns

    def _withdraw(self, site: SiteInHand) -> None:
        """Make the entry of a site in the heaps stale, or note that it was taken."""
        self._due_sites -= site.is_due
        site.is_due = False
        site.ticket = 0

    def _unpark(self, site: SiteInHand) -> None:
        """Take a site out of its line; its place there becomes stale, or was taken."""
        line = self._lines[site.address]
        line.sites -= 1
        self._parked -= 1
        if not line.sites:
            del self._lines[site.address]
        site.address = ""

    def _enqueue(self, site: SiteInHand, due_s: float) -> None:
        self._tickets += 1
        site.due_s = due_s
        site.ticket = self._tickets
        heappush(self._waiting, (due_s, site.ticket, site))

    def _move_due(self, now_s: float) -> None:
        """Move sites that have become due from one heap to the other; drop stale entries at the head of the first."""
        waiting = self._waiting
        while waiting:
            due_s, ticket, site = waiting[0]
            is_valid = site.ticket == ticket
            if is_valid and due_s > now_s:
                return
            entry = heappop(waiting)
            if is_valid:
                heappush(self._due, entry)
                site.is_due = True
                self._due_sites += 1

    def _sweep(self) -> None:
        """Remove stale entries from the heaps when they outnumber the valid ones."""
        live = len(self._sites) - self._busy
        if len(self._waiting) + len(self._due) <= 2 * live + MAX_STALE:
            return
        for heap in (self._waiting, self._due):
            heap[:] = [entry for entry in heap if entry[2].ticket == entry[1]]
            heapify(heap)

    def _end_dropped(self, site: SiteInHand, due_s: float) -> None:
        """Start a newer claim of the same site that waits for the end of this turn."""
        site.turns -= 1
        site.due_s = max(site.due_s, due_s)
        if self._dropped.get(site.site) is not site or site.turns:
            return
        del self._dropped[site.site]
        if newer := self._sites.get(site.site):
            self._enqueue(newer, site.due_s)

    def _count(self, site: SiteInHand) -> None:
        if len(site.urls) == site.kept_urls - 1 and site.lanes == 1:  # a turn has taken the first one, and no other
            site.url_bytes -= site.first_bytes
        else:
            site.url_bytes = sum(len(url.url) for url in site.urls)
        site.kept_urls = len(site.urls)
        site.kept_bytes = site.url_bytes
        for host in site.hosts.values():
            site.kept_bytes += len(host.rules)
        self._urls += site.kept_urls
        self._bytes += site.kept_bytes

    def _uncount(self, site: SiteInHand) -> None:
        self._urls -= site.kept_urls
        self._bytes -= site.kept_bytes

    def _recent_turns(self, now_s: float) -> float:
        return self._turns * math.exp(min(0.0, self._turns_s - now_s) / RATE_WINDOW_S) if self._turns else 0.0
