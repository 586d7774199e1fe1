"""The steps of `claim`, inside a transaction."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from gossamer.frontier import fair_pages, urls_per_claim
from gossamer.frontier.sqlite.barring import count_given_up, is_spent, spend_site
from gossamer.frontier.sqlite.database import SQL
from gossamer.records import Claim, HostState, QueuedUrl, Reason

if TYPE_CHECKING:
    import sqlite3

    from gossamer.frontier.sqlite.database import SqliteTransaction

MOVE_URLS = 1_000  # deferred or woken at a time: a site with a million of them costs many small steps
MOVE_ROUNDS = 8  # per site and claim
MORE_HOSTS = 8  # of a site, that come with a claim beside those of its URLs
RECHECK_S = 1.0  # when a claim depends on what others give back


def claim_due(tx: SqliteTransaction, worker: int, sites: int) -> list[Claim]:
    """Own at most `sites` due sites, within this worker's fair share and the page limit."""
    sites = min(sites, _fair_share(tx, worker))
    most_urls = None if tx.pages_left is None else fair_pages(tx.pages_left, tx.sites_with_work)
    claims: list[Claim] = []
    while len(claims) < sites and tx.pages_left != 0:
        due = tx.execute(SQL["due_sites"], {
            "delay_ms": tx.delay_ms, "now_ms": tx.now_ms, "sites": sites - len(claims),
        }).fetchall()  # fmt: skip
        if not due:
            break
        claims += [claim for site in due if tx.pages_left != 0 and (claim := _claim_site(tx, worker, site, most_urls))]
    return claims


def look_ahead(tx: SqliteTransaction, worker: int, site: str, epoch: int, urls: int) -> list[QueuedUrl]:
    """Return the first eligible URLs in the queue of a site that a worker owns, unless a limit of pages is set."""
    row = tx.execute(SQL["visited_site"], {"site": site}).fetchone()
    is_limited = tx.page_limit is not None or tx.site_limit is not None
    if is_limited or row is None or (row["owner"], row["epoch"]) != (worker, epoch):
        return []
    rows = tx.execute(SQL["next_urls"], {"site_id": row["site_id"], "urls": urls})
    return [QueuedUrl(*tuple(row)[:9]) for row in rows if (row["blocked_until"] or 0) <= tx.now_ms]


def until_claimable(tx: SqliteTransaction) -> float | None:
    """Return how long it is no use to claim, after a claim that yielded nothing."""
    if tx.pages_left == 0:
        return RECHECK_S if tx.in_hand else None
    wait_s = until_ready(tx)
    return RECHECK_S if wait_s == 0 else wait_s  # 0: due, but beyond this worker's share


def until_ready(tx: SqliteTransaction) -> float | None:
    """Return how long until the next free site is due; None if nothing waits."""
    (ready_ms,) = tx.execute(SQL["next_ready"]).fetchone()
    return None if ready_ms is None else tx.wait_s(ready_ms)


def first_queued(tx: SqliteTransaction, site_id: int) -> int | None:
    """Return when a site's first URL is eligible (0: now), or None if nothing is queued."""
    row: tuple[int] | None = tx.execute(SQL["first_queued"], {"site_id": site_id}).fetchone()
    return None if row is None else row[0]


def _fair_share(tx: SqliteTransaction, worker: int) -> int:
    """Return how many more sites this worker may hold: a greedy one would starve its peers."""
    live: int
    mine: int
    (live,) = tx.execute(SQL["count_live_workers"]).fetchone()
    (mine,) = tx.execute(SQL["count_owned"], {"worker": worker}).fetchone()
    return max(0, math.ceil(tx.sites_with_work / live) - mine)


def _claim_site(tx: SqliteTransaction, worker: int, site: sqlite3.Row, most_urls: int | None) -> Claim | None:
    """Own a due site if it has an eligible URL; if not, put it to rest until it has."""
    if is_spent(tx, site["pages"]):  # the limit was lowered, or a late report brought pages
        spend_site(tx, site["site_id"])
        return None
    delay_s = site["delay_ms"] / 1000
    urls = urls_per_claim(delay_s)
    if tx.site_limit is not None:
        urls = min(urls, tx.site_limit - site["pages"])
    if tx.pages_left is not None and most_urls is not None:
        urls = min(urls, tx.pages_left, most_urls)
    rows = _eligible(tx, site["site_id"], urls)
    if not rows:
        put_to_rest(tx, site["site_id"])
        return None
    epoch = site["epoch"] + 1
    tx.execute(SQL["own_site"], {
        "site_id": site["site_id"], "worker": worker, "epoch": epoch, "urls": len(rows),
    })  # fmt: skip
    tx.in_hand += len(rows)
    return Claim(
        site=site["name"],
        epoch=epoch,
        delay_s=delay_s,
        own_delay_s=site["own_delay_ms"] / 1000,
        failures=site["failures"],
        pages=site["pages"],
        urls=tuple(QueuedUrl(*tuple(row)[:9]) for row in rows),
        hosts=_known_hosts(tx, site["site_id"], {row["host"] for row in rows}),
    )


def _eligible(tx: SqliteTransaction, site_id: int, urls: int) -> list[sqlite3.Row]:
    """Return a site's next URLs, after moving those that wake up in and those of blocked hosts out."""
    tx.execute(SQL["wake_deferred"], {"site_id": site_id, "now_ms": tx.now_ms, "at_most": MOVE_URLS})
    for _ in range(MOVE_ROUNDS):
        rows = tx.execute(SQL["next_urls"], {"site_id": site_id, "urls": urls}).fetchall()
        # plant: blocked-hosts-ignored
        blocked = {row["host"]: row for row in rows if (row["blocked_until"] or 0) > tx.now_ms}
        if not blocked:
            return rows
        for host, row in blocked.items():
            if row["given_up"]:  # plant: given-up-host-waits
                give_up_host(tx, site_id, host, row["given_up"])
                continue
            tx.execute(SQL["defer_blocked"], {
                "site_id": site_id, "host": host, "blocked_until": row["blocked_until"], "at_most": MOVE_URLS,
            })  # fmt: skip
    return []  # the next claim moves on: a transaction must stay short


def give_up_host(tx: SqliteTransaction, site_id: int, host: str, reason: str) -> None:
    """Give up what is queued of a host, as far as it is near the head; claims meet the rest and give it up then."""
    doomed = tx.execute(SQL["head_of_host"], {"site_id": site_id, "host": host, "at_most": MOVE_URLS}).fetchall()
    keys = [{"site_id": site_id, "url_hash": row["url_hash"], "outcome": reason, "seq": row["seq"]} for row in doomed]
    tx.executemany(SQL["drop_queued"], keys)
    tx.executemany(SQL["settle_seen"], keys)
    tx.executemany(SQL["count_seed"], [{"outcome": reason, "url": row["url"]} for row in doomed if row["depth"] == 0])
    count_given_up(tx, reason, len(doomed))


def put_to_rest(tx: SqliteTransaction, site_id: int) -> None:
    """Let a free site with work wait until its first URL is eligible; if there is none, it has no work."""
    first_ms = first_queued(tx, site_id)
    tx.execute(SQL["rest_site"], {
        "site_id": site_id,
        "has_work": first_ms is not None,
        "ready_at": max(tx.now_ms + 1, first_ms or 0),
    })  # fmt: skip
    tx.sites_with_work -= first_ms is None


def _known_hosts(tx: SqliteTransaction, site_id: int, needed: set[str]) -> dict[str, HostState]:
    rows = tx.execute(SQL["known_hosts"], {
        "site_id": site_id, "hosts": json.dumps(sorted(needed)), "at_most": MORE_HOSTS + len(needed),
    })  # fmt: skip
    return {row["name"]: host_state(tx, row) for row in rows}


def host_state(tx: SqliteTransaction, row: sqlite3.Row) -> HostState:
    """Return what a row says about a host."""
    return HostState(
        host=row["name"],
        rules=row["rules"],
        expires_at=row["expires_at"],
        failures=row["failures"],
        failing_since=row["failing_since"],
        blocked_s=tx.wait_s(row["blocked_until"]),
        silent=row["silent"],
        given_up=None if row["given_up"] is None else Reason(row["given_up"]),
    )
