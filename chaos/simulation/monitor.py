"""The invariants of a crawl, checked at every event, independently of the crawler.

The monitor is told of every commit to the frontier and of every request, as the database and the servers saw them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from gossamer.records import Done, Retry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.records import Batch, Claim
    from gossamer_simweb import LoggedRequest

UNNOTICED: Final = 2  # failures that may count before three sites together look like an outage
MAX_CONNECTING_S: Final = 0.8  # a request that was under way when a worker got an order arrives within this time
ADDRESS_WINDOW_S: Final = 10.0
EPSILON_S: Final = 1e-6  # rounding errors of sums of seconds


class Broken(AssertionError):  # noqa: N818 - a verdict
    """An invariant does not hold."""


@dataclass(slots=True)
class Ticket:
    """A request that a server has received."""

    process: str
    site: str
    url: str
    request: LoggedRequest
    is_page: bool
    is_outside: bool  # of the site's turns: another one's robots.txt redirects there
    address: str = ""
    lane: str = ""  # if the site may get several requests at once: the URL

    @property
    def place(self) -> tuple[str, str]:
        """What may have one request at a time: a site or a lane of it; outside of its turns a site and a process."""
        return self.site, self.process if self.is_outside else self.lane


@dataclass(slots=True)
class Monitor:
    """Checks the invariants at every event."""

    delay_s: float
    inner_gap_s: float
    in_flight_limit: int
    address_delay_s: float = 0.0
    lanes: int = 1  # requests at once that a site may get
    keep_trace: bool = False
    broken: str = ""  # the first invariant that did not hold
    is_outage: bool = False  # no server can be reached
    now_s: float = 0.0
    lines: list[str] = field(default_factory=list)
    log: list[LoggedRequest] = field(default_factory=list)  # requests that have ended
    fenced: int = 0  # reports of visits to sites that the worker no longer owned
    _hash: blake2b = field(default_factory=lambda: blake2b(digest_size=8))
    _owner: dict[str, tuple[int, int]] = field(default_factory=dict)  # site: worker and epoch
    _epochs: dict[str, int] = field(default_factory=dict)
    _workers: dict[int, str] = field(default_factory=dict)  # by number: the process
    _gone: set[int] = field(default_factory=set)
    _tries_in_outage: int = 0
    _settled: dict[bytes, object] = field(default_factory=dict)
    _in_hand: dict[bytes, tuple[int, int] | None] = field(default_factory=dict)  # settled by late reports: whose it was
    _ruled: set[str] = field(default_factory=set)  # hosts whose robots rules are committed
    _under_way: dict[tuple[str, str], Ticket] = field(default_factory=dict)  # by place
    _ended_s: dict[tuple[str, str], float] = field(default_factory=dict)  # by place: the end of its last request
    _found: set[tuple[str, str]] = field(
        default_factory=set
    )  # processes, and the URLs that they fetched outside of turns
    _in_flight: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # by process
    _asked_s: dict[str, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))  # by address
    _excluded: dict[str, tuple[float, frozenset[str]]] = field(
        default_factory=dict
    )  # by process: its excluded sites, and since when

    # ------------------------------------------------------------------ the trace

    def note(self, who: str, what: str) -> None:
        """Add a line to the trace."""
        line = f"{self.now_s:.6f} {who}: {what}"
        self._hash.update(line.encode())
        if self.keep_trace:
            self.lines.append(line)

    @property
    def trace_hash(self) -> str:
        """A hash of the trace: equal for equal histories only."""
        return self._hash.hexdigest()

    def fail(self, why: str) -> None:
        """Record a broken invariant and raise Broken; the record stays even if the caller swallows the exception."""
        self.broken = self.broken or f"at {self.now_s:.3f} s: {why}"
        raise Broken(self.broken)

    # ------------------------------------------------------------------ commits of the frontier

    def joined(self, process: str, worker: int) -> None:
        """A process has joined as a worker."""
        if worker in self._workers:
            self.fail(f"the number {worker} of {self._workers[worker]} was given to {process}, too")
        self._workers[worker] = process
        self.note(process, f"joins as {worker}")

    def claimed(self, worker: int, claims: tuple[Claim, ...]) -> None:
        """A worker owns sites."""
        for claim in claims:
            if (owner := self._owner.get(claim.site)) is not None:
                self.fail(f"{claim.site} of worker {owner[0]} was claimed by {worker}, too")
            if claim.epoch <= self._epochs.get(claim.site, 0):
                self.fail(f"{claim.site} was claimed under epoch {claim.epoch} before")
            if worker in self._gone:
                self.fail(f"worker {worker}, which is dead, has claimed {claim.site}")
            for url in claim.urls:
                if url.url_hash in self._settled:
                    self.fail(f"{url.url} is settled and was handed out")
            self._owner[claim.site] = (worker, claim.epoch)
            self._epochs[claim.site] = claim.epoch

    def completed(self, worker: int, batch: Batch, durable: set[bytes]) -> None:
        """A report is committed; `durable` are the pages that the worker has on disk."""
        for visit in batch.visits:
            self._ruled.update(host.host for host in visit.hosts)
            mine = self._owner.get(visit.site) == (worker, visit.epoch)
            self.fenced += not mine
            for url_hash, outcome in visit.outcomes:
                if isinstance(outcome, Retry):
                    self._look_at_retry(visit.site, outcome)
                    continue
                if isinstance(outcome, Done) and outcome.page and url_hash not in durable:
                    self.fail(f"a page of {visit.site} was completed before it was on disk")
                self._settled[url_hash] = outcome
                if not mine:
                    self._in_hand[url_hash] = self._owner.get(visit.site)
            if mine and visit.release is not None:
                del self._owner[visit.site]

    def _look_at_retry(self, site: str, retry: Retry) -> None:
        if not retry.counted:
            return
        if not retry.wait_s:
            self.fail(f"a page of {site} that failed may be asked for again at once")
        self._tries_in_outage += self.is_outage
        if self._tries_in_outage > UNNOTICED:
            self.fail(f"an outage of ours has cost a page of {site} one of its tries")

    def reconciled(self, worker: int, held: Mapping[str, int]) -> None:
        """A worker has released the sites that it owned but did not hold."""
        for site, (owner, epoch) in list(self._owner.items()):
            if owner == worker and held.get(site) != epoch:
                del self._owner[site]

    def recovered(self, worker: int) -> None:
        """A worker was declared dead."""
        self._gone.add(worker)
        for site, (owner, _) in list(self._owner.items()):
            if owner == worker:
                del self._owner[site]

    def hears(self, process: str, excluded: frozenset[str]) -> None:
        """A process is about to learn what is excluded: it may request readmitted sites at once."""
        heard_s, heard = self._excluded.get(process, (0.0, frozenset()))
        self._excluded[process] = (heard_s, heard & excluded)

    def heard(self, process: str, excluded: frozenset[str], now_s: float) -> None:
        """A process has learned what is excluded."""
        self.now_s = now_s
        self._excluded[process] = (self.now_s, excluded)

    @property
    def owned(self) -> Mapping[str, tuple[int, int]]:
        """The worker and epoch of every owned site."""
        return self._owner

    @property
    def workers(self) -> int:
        """How many workers there were."""
        return len(self._workers)

    # ------------------------------------------------------------------ requests, as the servers see them

    def arrived(self, ticket: Ticket, url_hash: bytes) -> None:
        """A request has reached its server."""
        site, process = ticket.site, ticket.process
        self.note(process, f"asks {ticket.url}")
        self._look_at_place(ticket)
        self._look_at_address(ticket)
        owner = self._owner.get(site)
        if not ticket.is_outside and (owner is None or self._workers[owner[0]] != process):
            self.fail(f"{process} asks {ticket.url}, whose site is not its own ({owner})")
        if ticket.is_page:
            if url_hash in self._settled and self._in_hand.get(url_hash) != owner:
                self.fail(f"{process} asks {ticket.url}, which was settled before")
            if ticket.url[: ticket.url.index("/", len("http://"))] not in self._ruled:
                self.fail(f"{process} asks {ticket.url} before the rules of its host are written down")
            heard_s, excluded = self._excluded.get(process, (0.0, frozenset()))
            if site in excluded and self.now_s > heard_s + MAX_CONNECTING_S:
                self.fail(f"{process} asks {ticket.url}, though it has heard that {site} is excluded")
            self._in_flight[process] += 1
            if self._in_flight[process] > self.in_flight_limit:
                self.fail(f"{process} has {self._in_flight[process]} pages in flight")
        self._under_way[ticket.place] = ticket

    def _look_at_address(self, ticket: Ticket) -> None:
        """Check that all workers together keep their promise to an address, whatever the sites and the names."""
        if not self.address_delay_s:
            return
        asked = self._asked_s[ticket.address]
        asked.append((self.now_s, ticket.process))
        for first in range(len(asked) - 1, -1, -1):
            began_s = asked[first][0]
            if began_s < self.now_s - ADDRESS_WINDOW_S:
                break
            processes = {process for _, process in asked[first:]}
            if len(asked) - first > (self.now_s - began_s) / self.address_delay_s + len(processes) + EPSILON_S:
                self.fail(f"{ticket.address} got {len(asked) - first} requests within {self.now_s - began_s:.3f} s")

    def _look_at_place(self, ticket: Ticket) -> None:
        """Check that a request is the only one, not too early and, outside of turns, for a URL not fetched before."""
        process = ticket.process
        if self.lanes > 1 and not ticket.is_outside:
            ticket.lane = ticket.url
            theirs = [each for each in self._under_way.values() if each.site == ticket.site and not each.is_outside]
            if len(theirs) >= self.lanes:
                self.fail(f"{process} asks {ticket.url} while {len(theirs)} requests to its site are under way")
        if (other := self._under_way.get(ticket.place)) is not None:
            self.fail(f"{process} asks {ticket.url} while {other.process} is asking {other.url}")
        gap_s = self.now_s - self._ended_s.get(ticket.place, -1e9)
        needed_s = self.delay_s if ticket.is_outside else min(self.inner_gap_s, self.delay_s)
        if gap_s < needed_s - EPSILON_S:
            self.fail(f"{process} asks {ticket.url} only {gap_s:.3f} s after the request before")
        if ticket.is_outside and (process, ticket.url) in self._found:
            self.fail(f"{process} asks {ticket.url}, which it knows")

    def ended(self, ticket: Ticket, **facts: object) -> None:
        """A request has ended for its server."""
        if self._under_way.get(ticket.place) is not ticket:
            return
        del self._under_way[ticket.place]
        self.cancelled(ticket)
        self._ended_s[ticket.place] = self.now_s
        request = ticket.request._replace(ended=self.now_s, **facts)  # type: ignore[arg-type]
        if ticket.is_outside and not request.retryable:
            self._found.add((ticket.process, ticket.url))
        self.log.append(request)
        self.note(ticket.process, f"{request.status} for {ticket.url}")

    def cancelled(self, ticket: Ticket) -> None:
        """The process no longer waits for the answer."""
        self._in_flight[ticket.process] -= ticket.is_page
        ticket.is_page = False

    def hung_up(self, process: str) -> None:
        """A process is dead: its connections are closed."""
        for ticket in [ticket for ticket in self._under_way.values() if ticket.process == process]:
            self.ended(ticket, status=0, retryable=True, leads_to="", wait_s=0.0)
