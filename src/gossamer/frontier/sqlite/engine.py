"""The frontier's contract on SQLite. `Frontier` says what each operation promises; this module says how."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from gossamer.frontier import NO_TERMS, FrontierError
from gossamer.frontier.batches import RecentLinks, count_links, note_claims, note_completion, ports_of
from gossamer.frontier.clock import boot_seconds
from gossamer.frontier.moving import MovedError, State
from gossamer.frontier.settings import SLOW_S
from gossamer.frontier.shares import UNCHANGED
from gossamer.frontier.sqlite.adding import add_links, add_seed_ports, within_scope
from gossamer.frontier.sqlite.auditing import audit, walk_queued, walk_settled
from gossamer.frontier.sqlite.barring import forget_done, unbar, wake_spent, walk_all_queued, walk_barred
from gossamer.frontier.sqlite.claiming import claim_due, look_ahead, until_claimable
from gossamer.frontier.sqlite.completing import free_site, owned_sites, record_visit
from gossamer.frontier.sqlite.database import SQL, Readable, SqliteDatabase, SqliteTransaction
from gossamer.frontier.sqlite.listing import list_queue, list_site_queue, list_sites
from gossamer.frontier.sqlite.reader import SqliteReader
from gossamer.frontier.sqlite.reading import crawl_stats, find_hosts, find_site, find_url
from gossamer.frontier.sqlite.sharing import share_out
from gossamer.records import GONE, Claimed, Completion, CrawlState, Orders, Scope, SeedOutcome, WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gossamer.frontier.clock import Clock
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
        UrlState,
        Waiting,
    )

ADD_LINKS = 2_000  # per transaction of `add`: about 30 ms, so that heartbeats get through
FREE_SITES = 2_000  # per transaction of `recover`


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the contract's error for an error of SQLite."""
    try:
        yield
    except sqlite3.Error as error:
        raise FrontierError(str(error)) from error


@contextmanager
def _read() -> Iterator[None]:
    """Raise the contract's error for an error of SQLite, and for a row that the disk has damaged."""
    try:
        with _translated():
            yield
    except (ValueError, TypeError, OverflowError) as error:
        raise FrontierError(f"a row is damaged: {error}") from error


class SqliteFrontier:
    """The frontier in one file."""

    lease_s: float | None = None  # only the supervisor ends its workers

    def __init__(
        self, path: Path, *, clock: Clock = boot_seconds, to_read: bool = False, slow_s: float = SLOW_S
    ) -> None:
        """Open the frontier in this file: to work, creating or upgrading it as needed, or only to read."""
        self._database: Readable = (SqliteReader if to_read else SqliteDatabase)(path, clock, slow_s)
        standing = self._database.standing()
        self.identity = standing.identity
        if standing.state is State.MOVED:
            self._database.close()
            raise MovedError(str(path), standing, here="sqlite", folders=[path.parent])
        self.recent = RecentLinks()
        self._worker = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    @contextmanager
    def _transaction(self, operation: str) -> Iterator[SqliteTransaction]:
        try:
            with _translated(), self._database.transaction(operation) as tx:
                yield tx
        except FrontierError:
            self.recent.clear()  # plant: links-not-forgotten-on-error
            raise

    # ------------------------------------------------------------------ the crawl

    def resume(
        self,
        *,
        delay_s: float,
        page_limit: int | None = None,
        site_limit: int | None = None,
        scope: Scope = Scope.WEB,
        terms: Mapping[str, str] = NO_TERMS,  # noqa: ARG002 - no other machine shares them
        show_wait: Callable[[Waiting], None] | None = None,  # noqa: ARG002 - no other machine to wait for
    ) -> None:
        with self._transaction("resume") as tx:
            tx.execute(SQL["resume"], {
                "delay_ms": math.ceil(delay_s * 1000),
                "page_limit": page_limit,
                "site_limit": site_limit,
                "scope": scope,
                "clock_offset_ms": tx.restart_clock(),
            })  # fmt: skip
        for worker in self.workers():
            if not worker.gone or worker.sites:
                self.recover(worker.worker)
        woken = FREE_SITES
        while woken == FREE_SITES:
            with self._transaction("resume") as tx:
                woken = wake_spent(tx, FREE_SITES)

    def order(self, state: CrawlState) -> None:
        with self._transaction("order") as tx:
            tx.execute(SQL["order"], {"state": state})

    def exclude(self, entries: Iterable[str]) -> None:
        self._change_exclusions(entries, "add_exclusion", "exclude_site")

    def readmit(self, entries: Iterable[str]) -> None:
        self._change_exclusions(entries, "remove_exclusion", "readmit_site")

    @_read()
    def exclusions(self) -> frozenset[str]:
        return frozenset(row["site"] for row in self._database.rows("exclusions"))

    @_read()
    def seed_ports(self) -> frozenset[int]:
        return ports_of(self._database.rows("crawl")[0]["seed_ports"])

    @_read()
    def readmissions(self) -> int:
        return int(self._database.rows("crawl")[0]["readmissions"])

    def _change_exclusions(self, entries: Iterable[str], change_list: str, change_site: str) -> None:
        names = sorted(set(entries))
        with self._transaction("exclude") as tx:
            for change in (change_list, change_site):
                tx.executemany(SQL[change], [{"site": name} for name in names])
            tx.execute(SQL["count_exclusion_change"], {"readmissions": change_site == "readmit_site"})

    @_read()
    def seeds_loaded(self, digest: str) -> bool:
        return bool(self._database.rows("seeds_loaded", digest=digest))

    def mark_seeds_loaded(self, digest: str) -> None:
        with self._transaction("mark_seeds_loaded") as tx:
            tx.execute(SQL["mark_seeds_loaded"], {"digest": digest})

    # ------------------------------------------------------------------ rules that changed

    def all_queued(self) -> Iterator[Link]:
        with _translated():
            yield from walk_all_queued(self._database)

    @_read()
    def in_scope(self, links: Sequence[Link]) -> list[Link]:
        with self._database.snapshot() as tx:
            return within_scope(tx, links)

    def barred(self) -> Iterator[tuple[Link, Reason]]:
        with _translated():
            yield from walk_barred(self._database)

    def admit(self, barred: Sequence[tuple[Link, Reason]]) -> int:
        with self._transaction("admit") as tx:
            admitted = within_scope(tx, [link for link, _ in barred])
            new = add_links(tx, admitted)
            hashes = {link.url_hash for link in admitted}
            unbar(tx, [(link, reason) for link, reason in barred if link.url_hash in hashes])
        return new

    def forget(self, barred: Sequence[tuple[Link, Reason]]) -> None:
        with self._transaction("forget") as tx:
            unbar(tx, barred)

    def reopen(self, done: Sequence[Link], *, pages: int) -> int:
        with self._transaction("reopen") as tx:
            reopened = forget_done(tx, done, pages=pages)
            add_links(tx, reopened)
        return len(reopened)

    # ------------------------------------------------------------------ a worker

    def join(self, label: str, terms: Mapping[str, str] = NO_TERMS) -> int:  # noqa: ARG002 - as above
        with self._transaction("join") as tx:
            worker = tx.execute(SQL["join"], {"label": label, "beat_at": time.time()}).lastrowid
        assert worker is not None
        self._worker = worker
        return worker

    def heartbeat(
        self, figures: Mapping[str, float], exclusions_version: int = 0, share: AddressShare = UNCHANGED
    ) -> Orders | Gone:
        with self._transaction("heartbeat") as tx:
            figures_text = json.dumps(dict(figures))
            beat = tx.execute(SQL["beat"], {"worker": self._worker, "figures": figures_text, "beat_at": time.time()})
            if not beat.rowcount:
                return GONE
            news = tx.exclusions != exclusions_version
            return Orders(
                state=CrawlState(tx.state),
                exclusions_version=tx.exclusions,
                excluded=self.exclusions() if news else None,
                share=share_out(tx, self._worker, share),
                seed_ports=tx.seed_ports,
            )

    def add(self, links: Sequence[Link]) -> int:
        unknown = self.recent.unknown(links)
        new = 0
        for start in range(0, len(unknown), ADD_LINKS):
            part = unknown[start : start + ADD_LINKS]
            with self._transaction("add") as tx:
                add_seed_ports(tx, part)
                admitted = within_scope(tx, part)
                new += add_links(tx, admitted)
            self.recent.remember(admitted)  # plant: refused-links-remembered
        count_links(len(links), new)
        return new

    def add_each(self, batches: Iterable[Sequence[Link]]) -> Iterator[int]:
        return map(self.add, batches)

    def claim(self, sites: int) -> Claimed | Gone:
        began_s = time.perf_counter()
        with self._transaction("claim") as tx:
            if tx.execute(SQL["is_gone"], {"worker": self._worker}).fetchone()["gone"]:  # plant: dead-worker-claims
                return GONE
            claims = claim_due(tx, self._worker, sites)
            wait_s = 0.0 if claims else until_claimable(tx)
        note_claims(claims, time.perf_counter() - began_s)
        return Claimed(claims=tuple(claims), wait_s=wait_s)

    def complete(self, batch: Batch) -> Completion:
        began_s = time.perf_counter()
        unknown = self.recent.unknown(batch.links)  # plant: links-remembered-before-commit
        with self._transaction("complete") as tx:
            admitted = within_scope(tx, unknown)
            new = add_links(tx, admitted)
            # plant: completion-not-atomic
            late = [visit for visit in batch.visits if not record_visit(tx, self._worker, visit)]
        self.recent.remember(admitted)
        note_completion(batch, new=new, lost=len(late), took_s=time.perf_counter() - began_s)
        return Completion(lost=tuple((visit.site, visit.epoch) for visit in late))

    @_read()
    def look_ahead(self, site: str, epoch: int, urls: int) -> list[QueuedUrl]:
        with self._database.snapshot() as tx:
            return look_ahead(tx, self._worker, site, epoch, urls)

    def reconcile(self, held: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        with self._transaction("reconcile") as tx:
            owned = owned_sites(tx, self._worker)
            for row in owned:
                if held.get(row["name"]) != row["epoch"]:
                    free_site(tx, row)
        still = {row["name"]: row["epoch"] for row in owned}
        return tuple((site, epoch) for site, epoch in held.items() if still.get(site) != epoch)

    def share_figures(self, figures: Sequence[SharedFigures], *, days: float) -> None:
        """Nothing: the folder of the only machine has them."""

    def recover(self, worker: int) -> int:
        with self._transaction("recover") as tx:
            tx.execute(SQL["declare_gone"], {"worker": worker})
        freed = 0
        while True:
            with self._transaction("recover") as tx:
                owned = owned_sites(tx, worker, at_most=FREE_SITES)
                for row in owned:
                    free_site(tx, row)
            freed += len(owned)
            if len(owned) < FREE_SITES:
                return freed

    # ------------------------------------------------------------------ reads

    @_read()
    def known(self, site: str, url_hash: bytes) -> bool:
        return bool(self._database.rows("find_seen", site=site, url_hash=url_hash))

    @_read()
    def find_url(self, site: str, url_hash: bytes) -> UrlState | None:
        return find_url(self._database, site, url_hash)

    @_read()
    def find_site(self, site: str) -> SiteState | None:
        return find_site(self._database, site)

    @_read()
    def find_hosts(self, site: str) -> list[HostState]:
        return find_hosts(self._database, site)

    def queued(self, site: str) -> Iterator[tuple[str, bytes]]:
        with _translated():
            yield from walk_queued(self._database, site)

    def list_queue(self, site: str | None = None) -> Iterator[QueueEntry]:
        with _read():
            yield from list_queue(self._database) if site is None else list_site_queue(self._database, site)

    def list_sites(self, *, with_queued: bool) -> Iterator[SiteState]:
        with _read():
            yield from list_sites(self._database, with_queued=with_queued)

    @_read()
    def workers(self) -> list[WorkerState]:
        now_at = time.time()
        return [
            WorkerState(
                worker=row["worker"],
                label=row["label"],
                beats=row["beats"],
                gone=bool(row["gone"]),
                sites=row["sites"],
                figures=json.loads(row["figures"]),
                silent_s=now_at - row["beat_at"] if row["beat_at"] else None,
            )
            for row in self._database.rows("workers")
        ]

    @_read()
    def stats(self) -> Stats:
        return crawl_stats(self._database)

    @_read()
    def seed_outcomes(self) -> list[SeedOutcome]:
        return [SeedOutcome.of(*row) for row in self._database.rows("seed_outcomes")]

    def upkeep(self) -> None:
        """Nothing: the write-ahead log, which the supervisor measures, says it all."""

    def shared_span(self) -> tuple[float, float] | None:
        return None

    def shared_figures(
        self,
        *,
        since_at: float,  # noqa: ARG002 - there are none
        until_at: float,  # noqa: ARG002
        without: Collection[str] = (),  # noqa: ARG002
    ) -> Iterator[SharedFigures]:
        return iter(())

    @_read()
    def drained(self) -> bool:
        ((unsettled,),) = self._database.rows("any_unsettled")
        return not unsettled

    def settled(self) -> Iterator[tuple[str, bytes, Reason | None]]:
        with _translated():
            yield from walk_settled(self._database)

    @_read()
    def audit(self) -> list[str]:
        return audit(self._database)
