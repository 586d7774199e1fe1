"""The frontier as anybody would write it without a database: dictionaries, loops, no cleverness. The yardstick."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.frontier import urls_per_claim
from gossamer.records import Done, GivenUp, Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records import Batch, Claim, HostState, Link, Reason


@dataclass
class Page:
    """A known URL."""

    link: Link
    seq: int
    depth: int
    tries: int = 0
    not_before: float = 0.0
    outcome: str | None = None


@dataclass
class Site:
    """A known site."""

    paced: float
    own_delay: float = 0.0
    epoch: int = 0
    owner: int | None = None
    reserved: int = 0
    pages: dict[bytes, Page] = field(default_factory=dict)
    blocks: dict[str, float] = field(default_factory=dict)
    given_up: dict[str, Reason | None] = field(default_factory=dict)  # hosts, while they are blocked


@dataclass
class Model:
    """All of it."""

    delay: float
    limit: int | None
    now: float = 0.0
    arrivals: int = 0
    pages_done: int = 0
    sites: dict[str, Site] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    live: set[int] = field(default_factory=set)

    def add(self, links: Sequence[Link]) -> int:
        new = 0
        for link in links:
            self.arrivals += 1
            site = self.sites.setdefault(link.site, Site(paced=self.now))
            page = site.pages.get(link.url_hash)
            if page is None:
                site.pages[link.url_hash] = Page(link=link, seq=self.arrivals, depth=link.depth)
                new += 1
            elif page.outcome is None:
                page.depth = min(page.depth, link.depth)
        return new

    def queued(self, name: str) -> list[Page]:
        return [page for page in self.sites[name].pages.values() if page.outcome is None]

    def eligible_at(self, name: str, page: Page) -> float:
        return max(page.not_before, self.sites[name].blocks.get(page.link.host, 0.0))

    def ready_at(self, name: str) -> float | None:
        """When a free site may be claimed; None if never as things stand."""
        pages = self.queued(name)
        if self.sites[name].owner is not None or name in self.excluded or not pages:
            return None
        return max(self.sites[name].paced, min(self.eligible_at(name, page) for page in pages))

    def due(self) -> set[str]:
        return {name for name in self.sites if (at := self.ready_at(name)) is not None and at <= self.now}

    def site_delay(self, name: str) -> float:
        return max(self.delay, self.sites[name].own_delay)

    def next_pages(self, name: str) -> list[Page]:
        pages = [page for page in self.queued(name) if self.eligible_at(name, page) <= self.now]
        pages.sort(key=lambda page: (page.link.rank, page.depth, page.seq))
        return pages[: urls_per_claim(self.site_delay(name))]

    def pages_left(self) -> int | None:
        reserved = sum(site.reserved for site in self.sites.values())
        return None if self.limit is None else max(0, self.limit - self.pages_done - reserved)

    def busy(self) -> int:
        """How many sites are held or have something queued."""
        return sum(bool(site.owner) or bool(self.queued(name)) for name, site in self.sites.items())

    def share(self, worker: int) -> int:
        """How many more sites a worker may hold."""
        busy = self.busy()
        mine = sum(site.owner == worker for site in self.sites.values())
        return max(0, -(-busy // len(self.live)) - mine)

    def own(self, worker: int, claim: Claim) -> None:
        site = self.sites[claim.site]
        site.owner = worker
        site.epoch += 1
        site.reserved = len(claim.urls)

    def complete(self, worker: int, batch: Batch) -> tuple[tuple[str, int], ...]:
        self.add(batch.links)
        lost = []
        for visit in batch.visits:
            site = self.sites[visit.site]
            mine = site.owner == worker and site.epoch == visit.epoch
            for url_hash, outcome in visit.outcomes:
                page = site.pages[url_hash]
                if page.outcome is not None:
                    continue
                if isinstance(outcome, Retry):
                    if mine:
                        page.not_before = self.now + outcome.wait_s
                        page.tries += outcome.counted
                else:
                    page.outcome = outcome.reason if isinstance(outcome, GivenUp) else "done"
                    self.pages_done += isinstance(outcome, Done) and outcome.page
            for host in visit.hosts:
                self.keep_host(visit.site, host, mine=mine)
            if not mine:
                lost.append((visit.site, visit.epoch))
            elif visit.release:
                site.own_delay = visit.release.own_delay_s
                self.free(visit.site, visit.release.wait_s)
        return tuple(lost)

    def keep_host(self, name: str, host: HostState, *, mine: bool) -> None:
        site = self.sites[name]
        site.blocks[host.host] = self.now + host.blocked_s if host.blocked_s else 0.0
        site.given_up[host.host] = host.given_up
        for page in self.queued(name) if mine and host.given_up else []:
            if page.link.host == host.host:
                page.outcome = host.given_up

    def may_be_given_up(self, name: str, page: Page) -> Reason | None:
        """Why a claim that meets a page settles it; whether one has met it yet is the engine's to say."""
        site = self.sites[name]
        is_blocked = site.blocks.get(page.link.host, 0.0) > self.now
        return site.given_up.get(page.link.host) if is_blocked and page.outcome is None else None

    def free(self, name: str, wait: float) -> None:
        site = self.sites[name]
        site.owner, site.reserved, site.paced = None, 0, self.now + wait

    def recover(self, worker: int) -> int:
        self.live.discard(worker)
        names = [name for name, site in self.sites.items() if site.owner == worker]
        for name in names:
            self.free(name, self.site_delay(name))
        return len(names)

    def drained(self) -> bool:
        return not any(
            site.owner is not None or (self.queued(name) and name not in self.excluded)
            for name, site in self.sites.items()
        )
