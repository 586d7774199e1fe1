"""The frontier's contract on PostgreSQL. `Frontier` says what each operation promises; this module says how."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Self, TypeVar

from gossamer.frontier import NO_TERMS, FrontierError
from gossamer.frontier.batches import RecentLinks, count_links, note_claims, note_completion, odd_ports, ports_of
from gossamer.frontier.clock import boot_seconds
from gossamer.frontier.moving import MovedError, State
from gossamer.frontier.postgres.adding import EXCLUSIONS_LOCK, add_links, within_scope
from gossamer.frontier.postgres.address import Address
from gossamer.frontier.postgres.auditing import audit, walk_queued, walk_settled
from gossamer.frontier.postgres.barring import forget_done, unbar, wake_spent, walk_all_queued, walk_barred
from gossamer.frontier.postgres.claiming import Taken, claim_due, tidy
from gossamer.frontier.postgres.completing import record_visits
from gossamer.frontier.postgres.database import Opening, PostgresDatabase
from gossamer.frontier.postgres.history import share, shared_span, walk_shared
from gossamer.frontier.postgres.keys import by_shard, site_key, worker_shard
from gossamer.frontier.postgres.listing import list_queue, list_site_queue, list_sites
from gossamer.frontier.postgres.reading import crawl_stats, find_hosts, find_site, find_url, look_ahead, upkeep
from gossamer.frontier.postgres.recovering import (
    LeaseWatch,
    check_terms,
    free_all,
    reap,
    recover_dead_workers,
    silent_others,
    take_over,
)
from gossamer.frontier.postgres.releasing import free_sites, owned_sites
from gossamer.frontier.postgres.sharing import share_out
from gossamer.frontier.settings import SLOW_S
from gossamer.frontier.shares import UNCHANGED
from gossamer.records import GONE, Claimed, Completion, CrawlState, Orders, Scope, SeedOutcome, WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from gossamer.frontier.clock import Clock
    from gossamer.frontier.postgres.transaction import PostgresTransaction
    from gossamer.records import (
        AddressShare,
        Batch,
        Gone,
        HostState,
        Link,
        QueuedUrl,
        QueueEntry,
        Reason,
        SharedFigures,
        SiteState,
        Stats,
        Upkeep,
        UrlState,
        Waiting,
    )

T = TypeVar("T")

ADD_LINKS = 10_000  # per transaction of `add`: a fraction of a second, and a few dozen for each of the 256 shards
WAKE_SITES = 2_000  # per transaction, of those that rest, at a start with a larger limit
CLAIM_ROUNDS = 3  # with sites put in order in between
LEASE_S = 60.0
LEAST_TIMEOUT_S = 2.0  # with a single statement, however short the lease


class PostgresFrontier:
    """The frontier of one crawl in a PostgreSQL database.

    `home` names what a start can vouch for, such as one machine's crawl folder: the holder of its lock knows that
    every earlier worker of it is dead. `resume` declares those dead, and leaves all others to their lease.
    """

    def __init__(
        self,
        address: str,
        crawl: str,
        *,
        home: str = "",
        lease_s: float = LEASE_S,
        slow_s: float = SLOW_S,
        clock: Clock = boot_seconds,
        server_clock: Callable[[], float] | None = None,
        opening: Opening = Opening.BEGIN,
    ) -> None:
        """Open a crawl in a database."""
        self._open_another = partial(
            PostgresFrontier, address, crawl,
            home=home, lease_s=lease_s, slow_s=slow_s, clock=clock, server_clock=server_clock,
        )  # fmt: skip
        self._database = PostgresDatabase(
            Address(address, to_read=opening is Opening.READ),
            crawl,
            clock=clock,
            server_clock=server_clock,
            slow_s=slow_s,
            timeout_s=max(LEAST_TIMEOUT_S, lease_s / 3),
            opening=opening,
        )
        standing = self._database.standing()
        self.identity = standing.identity
        if standing.state in (State.MOVED, State.ARRIVING):
            self.close()
            there = self._database.address
            raise MovedError(there.place, standing, here=there.without_password)
        self._crawl = self._database.crawl
        self._home = home
        self.lease_s = lease_s
        self._clock = clock
        self._watch = LeaseWatch(lease_s)
        self.recent = RecentLinks()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next operation opens another."""
        self._database.close()

    def knows_home(self) -> bool:
        """Return whether a worker of this home ever joined this crawl."""
        return bool(self._database.rows("is_home", home=self._home))

    # ------------------------------------------------------------------ the crawl

    def resume(
        self,
        *,
        delay_s: float,
        page_limit: int | None = None,
        site_limit: int | None = None,
        scope: Scope = Scope.WEB,
        terms: Mapping[str, str] = NO_TERMS,
        show_wait: Callable[[Waiting], None] | None = None,
    ) -> None:
        silent = silent_others(self._database, self._home, self.lease_s, self._clock, show_wait)

        def work(tx: PostgresTransaction) -> None:
            take_over(tx, self._home, silent, terms)
            limits = {"page_limit": page_limit, "site_limit": site_limit}
            tx.run("resume", delay_ms=math.ceil(delay_s * 1000), scope=scope, **limits)

        self._database.run("resume", work)
        self._database.crawl_clock.forget()
        recover_dead_workers(self._database)
        while self._database.run("resume", lambda tx: wake_spent(tx, WAKE_SITES)) == WAKE_SITES:
            pass

    def order(self, state: CrawlState) -> None:
        self._database.run("order", lambda tx: tx.run("order", state=state))

    def exclude(self, entries: Iterable[str]) -> None:
        self._change_exclusions(entries, "add_exclusions", excluded=True)

    def readmit(self, entries: Iterable[str]) -> None:
        self._change_exclusions(entries, "remove_exclusions", excluded=False)

    def exclusions(self) -> frozenset[str]:
        return frozenset(row.site for row in self._database.rows("exclusions"))

    def seed_ports(self) -> frozenset[int]:
        return ports_of(self._database.rows("crawl")[0].seed_ports)

    def readmissions(self) -> int:
        (row,) = self._database.rows("readmissions")
        return int(row.readmissions)

    def _change_exclusions(self, entries: Iterable[str], change_list: str, *, excluded: bool) -> None:
        names = sorted(set(entries))
        shards = by_shard(site_key(self._crawl, name) for name in names)

        def work(tx: PostgresTransaction) -> None:
            tx.run("lock_exclusions", exclusions_lock=EXCLUSIONS_LOCK)
            tx.run(change_list, names=names)
            tx.each("mark_excluded", [{"shard": s, "sites": ids, "excluded": excluded} for s, ids in shards.items()])
            tx.run("count_exclusion_change", readmissions=int(not excluded))

        self._database.run("exclude", work)

    def seeds_loaded(self, digest: str) -> bool:
        return bool(self._database.rows("seeds_loaded", digest=digest))

    def mark_seeds_loaded(self, digest: str) -> None:
        self._database.run("mark_seeds_loaded", lambda tx: tx.run("mark_seeds_loaded", digest=digest))
        with suppress(FrontierError):  # the server finds out by itself, sooner or later; if it is away, others tell
            self._database.rows("analyze")

    # ------------------------------------------------------------------ rules that changed

    def all_queued(self) -> Iterator[Link]:
        return walk_all_queued(self._database)

    def in_scope(self, links: Sequence[Link]) -> list[Link]:
        with self._database.snapshot() as tx:
            return within_scope(tx, links)

    def barred(self) -> Iterator[tuple[Link, Reason]]:
        return walk_barred(self._database)

    def admit(self, barred: Sequence[tuple[Link, Reason]]) -> int:
        def work(tx: PostgresTransaction) -> int:
            admitted, new = _add(tx, [link for link, _ in barred])
            hashes = {link.url_hash for link in admitted}
            unbar(tx, [(link, reason) for link, reason in barred if link.url_hash in hashes])
            return new

        self._database.make_stage()
        return self._database.run("admit", work)

    def forget(self, barred: Sequence[tuple[Link, Reason]]) -> None:
        self._database.run("forget", lambda tx: unbar(tx, barred))

    def reopen(self, done: Sequence[Link], *, pages: int) -> int:
        def work(tx: PostgresTransaction) -> int:
            reopened = forget_done(tx, done, pages=pages)
            add_links(tx, reopened)
            return len(reopened)

        self._database.make_stage()
        return self._database.run("reopen", work)

    # ------------------------------------------------------------------ a worker

    def join(self, label: str, terms: Mapping[str, str] = NO_TERMS) -> int:
        def work(tx: PostgresTransaction) -> int:
            if terms:
                check_terms(tx, terms)
            worker: int
            ((worker,),) = tx.run("next_worker")
            tx.run("join", shard=worker_shard(worker), worker=worker, home=self._home, label=label)
            return worker

        self._database.crawl_clock.forget()
        self._database.worker = self._database.run("join", work)
        self._watch = LeaseWatch(self.lease_s)
        return self._database.worker

    def heartbeat(
        self, figures: Mapping[str, float], exclusions_version: int = 0, share: AddressShare = UNCHANGED
    ) -> Orders | Gone:
        def work(tx: PostgresTransaction) -> Orders | Gone:
            shard = worker_shard(tx.worker)
            if not tx.run("beat", shard=shard, worker=tx.worker, figures=json.dumps(dict(figures))):
                tx.has_written = False
                return GONE
            news = tx.exclusions != exclusions_version
            return Orders(
                state=CrawlState(tx.state),
                exclusions_version=tx.exclusions,
                excluded=frozenset(row.site for row in tx.run("exclusions")) if news else None,
                share=share_out(tx, share),
                seed_ports=tx.seed_ports,
            )

        orders = self._database.run("heartbeat", work)
        if orders is not GONE:
            reap(self._database, self._watch, self._clock)
        return orders

    def add(self, links: Sequence[Link]) -> int:
        unknown = self.recent.unknown(links)
        new = 0
        for start in range(0, len(unknown), ADD_LINKS):
            part = unknown[start : start + ADD_LINKS]
            self._add_seed_ports(part)
            self._database.make_stage()
            admitted, added = self._forgetting(lambda: self._database.run("add", lambda tx: _add(tx, part)))  # noqa: B023
            new += added
            self.recent.remember(admitted)
        count_links(len(links), new)
        return new

    def _add_seed_ports(self, links: Sequence[Link]) -> None:
        """Note the ports of seeds before the seeds, in a transaction of its own: claims may lock the crawl's row."""
        if not (ports := odd_ports(links)):
            return

        def work(tx: PostgresTransaction) -> None:
            tx.has_written = bool(new := ports - tx.seed_ports)
            if new:
                tx.run("add_seed_ports", ports=[*map(str, sorted(new))])

        self._database.run("add_seed_ports", work)

    def add_each(self, batches: Iterable[Sequence[Link]]) -> Iterator[int]:
        """Two at once: while the server works for one connection, the other one's batch is prepared."""
        with self._open_another() as another, ThreadPoolExecutor(2) as adders:
            added: deque[Future[int]] = deque()
            try:
                for frontier, batch in zip(cycle([self, another]), batches, strict=False):
                    if len(added) == 2:
                        yield added.popleft().result()  # by the very connection whose turn it is again
                    added.append(adders.submit(frontier.add, batch))
                while added:
                    yield added.popleft().result()
            except KeyboardInterrupt:
                for frontier in (self, another):
                    frontier.close()  # a thread that waits for a hanging server gives up
                raise

    def claim(self, sites: int) -> Claimed | Gone:
        taken, began_s = Taken(), time.perf_counter()
        for _ in range(CLAIM_ROUNDS):
            more = self._database.run("claim", lambda tx: claim_due(tx, sites - len(taken.claims)))
            if more.gone:
                return GONE
            taken.claims += more.claims
            taken.wait_s = more.wait_s
            if not more.untidy:
                break
            self._database.run("tidy", lambda tx: tidy(tx, more.untidy))  # noqa: B023 - run at once
        note_claims(taken.claims, time.perf_counter() - began_s, lambda site: site_key(self._crawl, site).shard)
        return Claimed(claims=tuple(taken.claims), wait_s=0.0 if taken.claims else taken.wait_s)

    def complete(self, batch: Batch) -> Completion:
        began_s = time.perf_counter()
        unknown = self.recent.unknown(batch.links)

        def work(tx: PostgresTransaction) -> tuple[list[Link], int, tuple[tuple[str, int], ...]]:
            admitted, new = _add(tx, unknown)
            return admitted, new, record_visits(tx, batch.visits)

        if unknown:
            self._database.make_stage()
        admitted, new, lost = self._forgetting(lambda: self._database.run("complete", work))
        self.recent.remember(admitted)
        note_completion(batch, new=new, lost=len(lost), took_s=time.perf_counter() - began_s)
        return Completion(lost=lost)

    def _forgetting(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except FrontierError:
            self.recent.clear()
            raise

    def look_ahead(self, site: str, epoch: int, urls: int) -> list[QueuedUrl]:
        return look_ahead(self._database, site, epoch, urls)

    def reconcile(self, held: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        def work(tx: PostgresTransaction) -> dict[str, int]:
            owned = owned_sites(tx, tx.worker)
            free_sites(tx, tx.worker, [row for row in owned if held.get(row.name) != row.epoch])
            return {row.name: row.epoch for row in owned}

        still = self._database.run("reconcile", work)
        return tuple((site, epoch) for site, epoch in held.items() if still.get(site) != epoch)

    def recover(self, worker: int) -> int:
        values = {"shard": worker_shard(worker), "worker": worker, "home": self._home}
        is_dead = self._database.run("recover", lambda tx: tx.run("declare_gone", **values))
        return free_all(self._database, worker) if is_dead else 0

    def share_figures(self, figures: Sequence[SharedFigures], *, days: float) -> None:
        share(self._database, self._home, figures, days=days)

    # ------------------------------------------------------------------ reads

    def known(self, site: str, url_hash: bytes) -> bool:
        return bool(self._database.rows("known", **site_key(self._crawl, site)._asdict(), url_hash=url_hash))

    def find_url(self, site: str, url_hash: bytes) -> UrlState | None:
        return find_url(self._database, site, url_hash)

    def find_site(self, site: str) -> SiteState | None:
        return find_site(self._database, site)

    def find_hosts(self, site: str) -> list[HostState]:
        return find_hosts(self._database, site)

    def queued(self, site: str) -> Iterator[tuple[str, bytes]]:
        return walk_queued(self._database, site_key(self._crawl, site))

    def list_queue(self, site: str | None = None) -> Iterator[QueueEntry]:
        return list_queue(self._database) if site is None else list_site_queue(self._database, site)

    def list_sites(self, *, with_queued: bool) -> Iterator[SiteState]:
        return list_sites(self._database, with_queued=with_queued)

    def workers(self) -> list[WorkerState]:
        return [WorkerState(**row._asdict()) for row in self._database.rows("workers")]

    def stats(self) -> Stats:
        return crawl_stats(self._database)

    def seed_outcomes(self) -> list[SeedOutcome]:
        return [SeedOutcome.of(*row) for row in self._database.rows("seed_outcomes")]

    def shared_span(self) -> tuple[float, float] | None:
        return shared_span(self._database)

    def shared_figures(
        self, *, since_at: float, until_at: float, without: Collection[str] = ()
    ) -> Iterator[SharedFigures]:
        return walk_shared(self._database, since_at=since_at, until_at=until_at, without=without)

    def upkeep(self) -> Upkeep:
        return upkeep(self._database)

    def drained(self) -> bool:
        (row,) = self._database.rows("any_unsettled")
        return not row.unsettled

    def settled(self) -> Iterator[tuple[str, bytes, Reason | None]]:
        return walk_settled(self._database)

    def audit(self) -> list[str]:
        return audit(self._database)


def _add(tx: PostgresTransaction, links: Sequence[Link]) -> tuple[list[Link], int]:
    admitted = within_scope(tx, links)
    return admitted, add_links(tx, admitted)
