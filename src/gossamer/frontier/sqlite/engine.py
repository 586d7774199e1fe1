"""The frontier's contract on SQLite. What each operation promises is said in `Frontier`; here is only how."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from gossamer import metrics
from gossamer.frontier import urls_per_claim
from gossamer.frontier.clock import boot_seconds
from gossamer.frontier.recent import RecentLinks
from gossamer.frontier.sqlite.database import SQL, Crawl, Database
from gossamer.records import (
    GONE,
    Batch,
    Claim,
    Claimed,
    Completion,
    CrawlState,
    Done,
    GivenUp,
    HostState,
    Link,
    Orders,
    QueuedUrl,
    Reason,
    Retry,
    SiteState,
    Stats,
    UrlState,
    UrlStatus,
    Visit,
    WorkerState,
)
from gossamer.urls import hash_site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gossamer.frontier.clock import Clock
    from gossamer.records import Gone

ADD_LINKS = 2_000  # per transaction of `add`: about 30 ms, so that heartbeats get through
FREE_SITES = 2_000  # per transaction of `recover`
MOVE_URLS = 1_000  # deferred or woken at a time: a site with a million of them costs many small steps
MOVE_ROUNDS = 8  # per site and claim
RECHECK_S = 1.0  # when a claim depends on what others give back
RECENT_LINKS = 100_000  # about 12 MB per worker


class SqliteFrontier:
    """The frontier in one file."""

    def __init__(self, path: Path, *, clock: Clock = boot_seconds) -> None:
        """Open the frontier in this file, creating or upgrading it as needed."""
        self._database = Database(path, clock)
        self._execute = self._database.connection.execute
        self._executemany = self._database.connection.executemany
        self._recent = RecentLinks(RECENT_LINKS)
        self._worker = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    @contextmanager
    def _transaction(self, operation: str) -> Iterator[Crawl]:
        try:
            with self._database.transaction(operation) as crawl:
                yield crawl
        except sqlite3.Error:
            self._recent.clear()
            raise

    # ------------------------------------------------------------------ the crawl

    def resume(self, *, delay_s: float, page_limit: int | None = None) -> None:
        with self._transaction("resume") as crawl:
            self._execute(SQL["resume"], {
                "delay_ms": math.ceil(delay_s * 1000),
                "page_limit": page_limit,
                "clock_offset_ms": crawl.restart_clock(),
            })  # fmt: skip
        for worker in self.workers():
            if not worker.gone or worker.sites:
                self.recover(worker.worker)

    def order(self, state: CrawlState) -> None:
        with self._transaction("order"):
            self._execute(SQL["order"], {"state": state})

    def exclude(self, sites: Iterable[str]) -> None:
        self._change_exclusions(sites, "add_exclusion", "exclude_site")

    def readmit(self, sites: Iterable[str]) -> None:
        self._change_exclusions(sites, "remove_exclusion", "readmit_site")

    def _change_exclusions(self, sites: Iterable[str], change_list: str, change_site: str) -> None:
        names = sorted(set(sites))
        with self._transaction("exclude"):
            self._executemany(SQL[change_list], [{"site": name} for name in names])
            self._executemany(SQL[change_site], [{"site_id": hash_site(name)} for name in names])
            self._execute(SQL["count_exclusion_change"])

    def seeds_loaded(self, digest: str) -> bool:
        return self._execute(SQL["seeds_loaded"], {"digest": digest}).fetchone() is not None

    def mark_seeds_loaded(self, digest: str) -> None:
        with self._transaction("mark_seeds_loaded"):
            self._execute(SQL["mark_seeds_loaded"], {"digest": digest})

    # ------------------------------------------------------------------ a worker

    def join(self, label: str) -> int:
        with self._transaction("join"):
            worker = self._execute(SQL["join"], {"label": label}).lastrowid
        assert worker is not None
        self._worker = worker
        return worker

    def heartbeat(self, figures: Mapping[str, float], exclusions_version: int = 0) -> Orders | Gone:
        with self._transaction("heartbeat") as crawl:
            beat = self._execute(SQL["beat"], {"worker": self._worker, "figures": json.dumps(dict(figures))})
            if not beat.rowcount:
                return GONE
            news = crawl.exclusions != exclusions_version
            return Orders(
                state=CrawlState(crawl.state),
                exclusions_version=crawl.exclusions,
                excluded=frozenset(site for (site,) in self._execute(SQL["exclusions"])) if news else None,
            )

    def add(self, links: Sequence[Link]) -> int:
        unknown = self._recent.unknown(links)
        new = 0
        for start in range(0, len(unknown), ADD_LINKS):
            part = unknown[start : start + ADD_LINKS]
            with self._transaction("add") as crawl:
                new += self._add(crawl, part)
            self._recent.remember(part)
        metrics.FRONTIER_LINKS_TOTAL.labels("new").inc(new)
        metrics.FRONTIER_LINKS_TOTAL.labels("known").inc(len(links) - new)
        return new

    def claim(self, sites: int) -> Claimed | Gone:
        with self._transaction("claim") as crawl:
            if self._execute(SQL["is_gone"], {"worker": self._worker}).fetchone()["gone"]:
                return GONE
            claims = self._claim_due(crawl, min(sites, self._fair_share(crawl)))
            wait_s = 0.0 if claims else self._until_claimable(crawl)
        metrics.FRONTIER_CLAIMED_SITES_TOTAL.inc(len(claims))
        metrics.FRONTIER_CLAIMED_URLS_TOTAL.inc(sum(len(claim.urls) for claim in claims))
        return Claimed(claims=tuple(claims), wait_s=wait_s)

    def complete(self, batch: Batch) -> Completion:
        unknown = self._recent.unknown(batch.links)
        with self._transaction("complete") as crawl:
            new = self._add(crawl, unknown)
            lost = tuple(visit.site for visit in batch.visits if not self._record(crawl, visit))
        self._recent.remember(unknown)
        metrics.FRONTIER_LINKS_TOTAL.labels("new").inc(new)
        metrics.FRONTIER_LINKS_TOTAL.labels("known").inc(len(batch.links) - new)
        return Completion(new_links=new, lost=lost)

    def reconcile(self, held: Mapping[str, int]) -> tuple[str, ...]:
        with self._transaction("reconcile") as crawl:
            owned = self._owned(crawl, self._worker)
            for row in owned:
                if held.get(row["name"]) != row["epoch"]:
                    self._free(crawl, row)
        still = {row["name"]: row["epoch"] for row in owned}
        return tuple(site for site, epoch in held.items() if still.get(site) != epoch)

    def recover(self, worker: int) -> int:
        with self._transaction("recover"):
            self._execute(SQL["declare_gone"], {"worker": worker})
        freed = 0
        while True:
            with self._transaction("recover") as crawl:
                owned = self._owned(crawl, worker, at_most=FREE_SITES)
                for row in owned:
                    self._free(crawl, row)
            freed += len(owned)
            if len(owned) < FREE_SITES:
                return freed

    # ------------------------------------------------------------------ reads

    def known(self, site: str, url_hash: bytes) -> bool:
        return self._find(site, url_hash) is not None

    def find_url(self, site: str, url_hash: bytes) -> UrlState | None:
        with self._database.snapshot() as crawl:
            row = self._find(site, url_hash)
            if row is None:
                return None
            if row["outcome"] is not None:
                reason = Reason(row["outcome"]) if row["outcome"] else None
                status = UrlStatus.GIVEN_UP if reason else UrlStatus.DONE
                return UrlState(status=status, depth=row["depth"], reason=reason)
            return UrlState(
                status=UrlStatus.QUEUED,
                depth=row["depth"],
                rank=row["rank"],
                tries=row["tries"],
                via=row["via"],
                wait_s=crawl.wait_s(row["not_before"]),
            )

    def _find(self, site: str, url_hash: bytes) -> sqlite3.Row | None:
        key = {"site_id": hash_site(site), "url_hash": url_hash}
        row: sqlite3.Row | None = self._execute(SQL["find_seen"], key).fetchone()
        return row

    def find_site(self, site: str) -> SiteState | None:
        with self._database.snapshot() as crawl:
            row = self._execute(SQL["find_site"], {"site_id": hash_site(site)}).fetchone()
            if row is None:
                return None
            asleep = row["excluded"] or not row["has_work"]
            return SiteState(
                site=row["name"],
                wait_s=None if asleep else crawl.wait_s(row["ready_at"]),
                owner=row["owner"],
                epoch=row["epoch"],
                own_delay_s=row["delay_ms"] / 1000,
                seeded=bool(row["seeded"]),
                excluded=bool(row["excluded"]),
                queued=row["queued"],
            )

    def workers(self) -> list[WorkerState]:
        return [
            WorkerState(
                worker=row["worker"],
                label=row["label"],
                beats=row["beats"],
                gone=bool(row["gone"]),
                sites=row["sites"],
                figures=json.loads(row["figures"]),
            )
            for row in self._execute(SQL["workers"])
        ]

    def stats(self) -> Stats:
        with self._database.snapshot() as crawl:
            given_up = {Reason(row["reason"]): row["urls"] for row in self._execute(SQL["given_up"])}
            (in_hand,) = self._execute(SQL["sites_in_hand"]).fetchone()
            return Stats(
                sites=crawl.sites,
                sites_with_work=crawl.sites_with_work,
                sites_in_hand=in_hand,
                known=crawl.known,
                queued=crawl.known - crawl.done - crawl.given_up,
                done=crawl.done,
                given_up=MappingProxyType(given_up),
                pages_left=crawl.pages_left,
                wait_s=self._until_next(crawl),
            )

    def drained(self) -> bool:
        (unsettled,) = self._execute(SQL["any_unsettled"]).fetchone()
        return not unsettled

    # ------------------------------------------------------------------ steps inside a transaction

    def _add(self, crawl: Crawl, links: Sequence[Link]) -> int:
        if not links:
            return 0
        self._execute(SQL["clear_stage"])
        site_ids = {site: hash_site(site) for site in {link.site for link in links}}
        self._executemany(SQL["stage_link"], [
            (seq, site_ids[link.site], link.url_hash, link.site, link.url, link.depth, link.rank, link.seeded,
             link.hops, link.via, link.kind)
            for seq, link in enumerate(links, start=crawl.next_seq)
        ])  # fmt: skip
        crawl.next_seq += len(links)
        crawl.sites += self._execute(SQL["add_sites"], {"now_ms": crawl.wait_from_ms}).rowcount
        if any(link.seeded for link in links):
            self._execute(SQL["mark_seeded"])
        changed = self._execute(SQL["add_seen"]).rowcount
        new = self._execute(SQL["mark_fresh"]).rowcount
        if changed > new:
            self._execute(SQL["lower_depths"])
        if new:
            self._execute(SQL["add_queue"])
            crawl.sites_with_work += self._execute(SQL["wake_idle_sites"]).rowcount
            self._execute(SQL["advance_deferred_sites"])
        crawl.known += new
        return new

    def _fair_share(self, crawl: Crawl) -> int:
        """Return how many more sites this worker may hold: a greedy one would starve its peers."""
        (live,) = self._execute(SQL["count_live_workers"]).fetchone()
        (mine,) = self._execute(SQL["count_owned"], {"worker": self._worker}).fetchone()
        return max(0, math.ceil(crawl.sites_with_work / live) - mine)

    def _claim_due(self, crawl: Crawl, sites: int) -> list[Claim]:
        claims: list[Claim] = []
        while len(claims) < sites and crawl.pages_left != 0:
            due = self._execute(SQL["due_sites"], {
                "delay_ms": crawl.delay_ms, "now_ms": crawl.now_ms, "sites": sites - len(claims),
            }).fetchall()  # fmt: skip
            if not due:
                break
            for site in due:
                if crawl.pages_left != 0 and (claim := self._claim_site(crawl, site)):
                    claims.append(claim)
        return claims

    def _claim_site(self, crawl: Crawl, site: sqlite3.Row) -> Claim | None:
        """Own a due site if it has an eligible URL; if not, put it to rest until it has."""
        delay_s = site["delay_ms"] / 1000
        rows = self._eligible(crawl, site["site_id"], urls_per_claim(delay_s))
        if crawl.pages_left is not None:
            rows = rows[: crawl.pages_left]
        if not rows:
            self._rest(crawl, site["site_id"])
            return None
        epoch = site["epoch"] + 1
        self._execute(SQL["own_site"], {
            "site_id": site["site_id"], "worker": self._worker, "epoch": epoch, "urls": len(rows),
        })  # fmt: skip
        crawl.in_hand += len(rows)
        return Claim(
            site=site["name"],
            epoch=epoch,
            delay_s=delay_s,
            seeded=bool(site["seeded"]),
            urls=tuple(QueuedUrl(*tuple(row)[:8]) for row in rows),
            hosts={row["host"]: _host_state(row) for row in rows if row["name"] is not None},
        )

    def _eligible(self, crawl: Crawl, site_id: int, urls: int) -> list[sqlite3.Row]:
        """Return a site's next URLs, after moving those that wake up in and those of blocked hosts out."""
        self._execute(SQL["wake_deferred"], {
            "site_id": site_id, "now_ms": crawl.now_ms, "at_most": MOVE_URLS,
        })  # fmt: skip
        for _ in range(MOVE_ROUNDS):
            rows = self._execute(SQL["next_urls"], {"site_id": site_id, "urls": urls}).fetchall()
            blocked = {row["host"]: row["blocked_until"] for row in rows if _is_blocked(row, crawl.now_ms)}
            if not blocked:
                return rows
            for host, until_ms in blocked.items():
                self._execute(SQL["defer_blocked"], {
                    "site_id": site_id, "host": host, "blocked_until": until_ms, "at_most": MOVE_URLS,
                })  # fmt: skip
        return []  # the next claim moves on: a transaction must stay short

    def _rest(self, crawl: Crawl, site_id: int) -> None:
        first_ms = self._first_queued(site_id)
        self._execute(SQL["rest_site"], {
            "site_id": site_id,
            "has_work": first_ms is not None,
            "ready_at": max(crawl.now_ms + 1, first_ms or 0),
        })  # fmt: skip
        crawl.sites_with_work -= first_ms is None

    def _record(self, crawl: Crawl, visit: Visit) -> bool:
        """Enter a visit; return whether the site was still this worker's."""
        site_id = hash_site(visit.site)
        site = self._execute(SQL["visited_site"], {"site_id": site_id}).fetchone()
        mine = site is not None and (site["owner"], site["epoch"]) == (self._worker, visit.epoch)
        self._settle(crawl, site_id, visit)
        for host in visit.hosts:
            self._execute(SQL["keep_host"], {
                "site_id": site_id, "name": host.host, "rules": host.rules, "expires_at": host.expires_at,
                "failures": host.failures, "failing_since": host.failing_since,
                "blocked_until": crawl.after_ms(host.blocked_s) if host.blocked_s else 0,
            })  # fmt: skip
        if mine:
            self._put_back(crawl, site_id, visit)
            if visit.release:
                own_delay_ms = math.ceil(visit.release.own_delay_s * 1000)
                self._release(
                    crawl, site_id, site["in_hand"], crawl.after_ms(visit.release.wait_s), own_delay_ms
                )
        return mine

    def _settle(self, crawl: Crawl, site_id: int, visit: Visit) -> None:
        given_up: Counter[str] = Counter()
        for url_hash, outcome in visit.outcomes:
            if isinstance(outcome, Retry):
                continue
            key = {"site_id": site_id, "url_hash": url_hash}
            text = outcome.reason.value if isinstance(outcome, GivenUp) else ""
            if not self._execute(SQL["settle_seen"], {**key, "outcome": text}).rowcount:
                continue  # settled before: a repeat after a crash, or a late completion
            self._execute(SQL["settle_queue"], key)
            if isinstance(outcome, Done):
                crawl.done += 1
                crawl.pages += outcome.page
            else:
                given_up[text] += 1
        crawl.given_up += given_up.total()
        for reason, urls in given_up.items():
            self._execute(SQL["count_given_up"], {"reason": reason, "urls": urls})

    def _put_back(self, crawl: Crawl, site_id: int, visit: Visit) -> None:
        for url_hash, outcome in visit.outcomes:
            if isinstance(outcome, Retry):
                self._execute(SQL["retry_later"], {
                    "site_id": site_id, "url_hash": url_hash, "counted": outcome.counted,
                    "not_before": crawl.after_ms(outcome.wait_s),
                })  # fmt: skip

    def _release(self, crawl: Crawl, site_id: int, in_hand: int, paced_ms: int, own_delay_ms: int) -> None:
        """Free a site. What was reserved for it from the page limit goes back; its pages were counted."""
        first_ms = self._first_queued(site_id)
        self._execute(SQL["release_site"], {
            "site_id": site_id, "delay_ms": own_delay_ms, "paced_at": paced_ms,
            "has_work": first_ms is not None, "ready_at": max(paced_ms, first_ms or 0),
        })  # fmt: skip
        crawl.in_hand -= in_hand
        crawl.sites_with_work -= first_ms is None

    def _owned(self, crawl: Crawl, worker: int, at_most: int = -1) -> list[sqlite3.Row]:
        return self._execute(SQL["owned_sites"], {
            "worker": worker, "delay_ms": crawl.delay_ms, "at_most": at_most,
        }).fetchall()  # fmt: skip

    def _free(self, crawl: Crawl, site: sqlite3.Row) -> None:
        """Free a site whose last request is unknown: it cannot have been later than now, so a full delay is safe."""
        paced_ms = crawl.after_ms(site["delay_ms"] / 1000)
        self._release(crawl, site["site_id"], site["in_hand"], paced_ms, site["own_delay_ms"])

    def _first_queued(self, site_id: int) -> int | None:
        row = self._execute(SQL["first_queued"], {"site_id": site_id}).fetchone()
        return None if row is None else row["not_before"]

    def _until_claimable(self, crawl: Crawl) -> float | None:
        """Return how long it is no use to claim, after a claim that yielded nothing."""
        if crawl.pages_left == 0:
            return RECHECK_S if crawl.in_hand else None
        wait_s = self._until_next(crawl)
        return wait_s or (None if wait_s is None else RECHECK_S)  # due, but beyond this worker's share

    def _until_next(self, crawl: Crawl) -> float | None:
        (ready_ms,) = self._execute(SQL["next_ready"]).fetchone()
        return None if ready_ms is None else crawl.wait_s(ready_ms)


def _is_blocked(row: sqlite3.Row, now_ms: int) -> bool:
    return row["blocked_until"] is not None and row["blocked_until"] > now_ms


def _host_state(row: sqlite3.Row) -> HostState:
    return HostState(
        host=row["name"],
        rules=row["rules"],
        expires_at=row["expires_at"],
        failures=row["failures"],
        failing_since=row["failing_since"],
    )
