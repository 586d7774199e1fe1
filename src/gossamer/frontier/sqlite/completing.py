"""The steps of `complete`, and of giving sites back, inside a transaction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gossamer.frontier.sqlite.barring import bar, count_given_up, is_spent
from gossamer.frontier.sqlite.claiming import first_queued, give_up_host, put_to_rest
from gossamer.frontier.sqlite.database import SQL
from gossamer.records import Barred, Done, GivenUp, Retry

if TYPE_CHECKING:
    import sqlite3

    from gossamer.frontier.sqlite.database import SqliteTransaction
    from gossamer.records import Visit


def record_visit(tx: SqliteTransaction, worker: int, visit: Visit) -> bool:
    """Enter what happened at a site; return whether it was still this worker's."""
    site = tx.execute(SQL["visited_site"], {"site": visit.site}).fetchone()
    if site is None:
        return False
    site_id: int = site["site_id"]
    mine: bool = (site["owner"], site["epoch"]) == (worker, visit.epoch)  # plant: no-epoch-check, no-owner-check
    pages = _settle(tx, site_id, visit)
    for host in visit.hosts:
        tx.execute(SQL["keep_host"], {
            "site_id": site_id, "name": host.host, "rules": host.rules, "expires_at": host.expires_at,
            "failures": host.failures, "failing_since": host.failing_since,
            "blocked_until": tx.after_ms(host.blocked_s) if host.blocked_s else 0,
            "silent": host.silent, "given_up": host.given_up,
        })  # fmt: skip
        if mine and host.given_up:
            give_up_host(tx, site_id, host.host, host.given_up)
    if visit.own_delay_s:  # a fact like the rules it comes from
        tx.execute(SQL["keep_delay"], {"site_id": site_id, "delay_ms": math.ceil(visit.own_delay_s * 1000)})
    if mine:
        _put_back(tx, site_id, visit)
        if release := visit.release:
            _release(
                tx,
                site,
                paced_ms=tx.after_ms(release.wait_s),
                own_delay_ms=math.ceil(release.own_delay_s * 1000),
                failures=release.failures,
                pages=site["pages"] + pages,
            )
    elif site["owner"] is None and site["has_work"] and first_queued(tx, site_id) is None:
        put_to_rest(tx, site_id)  # a late report has settled all that it had
    return mine


def owned_sites(tx: SqliteTransaction, worker: int, at_most: int = -1) -> list[sqlite3.Row]:
    """Return what a worker owns."""
    key = {"worker": worker, "delay_ms": tx.delay_ms, "at_most": at_most}
    return tx.execute(SQL["owned_sites"], key).fetchall()


def free_site(tx: SqliteTransaction, site: sqlite3.Row) -> None:
    """Free a site whose last request is unknown: it cannot have been later than now, so a full delay is safe."""
    paced_ms = tx.after_ms(site["delay_ms"] / 1000)  # plant: recovery-without-delay
    _release(
        tx, site, paced_ms=paced_ms, own_delay_ms=site["own_delay_ms"], failures=site["failures"], pages=site["pages"]
    )


def _settle(tx: SqliteTransaction, site_id: int, visit: Visit) -> int:
    """Settle what was not settled before, and count it; return how many pages of the site came with it."""
    first: dict[bytes, Done | GivenUp | Barred] = {}  # a redirect may have led to a URL that then had its own turn
    for url_hash, outcome in visit.outcomes:
        if not isinstance(outcome, Retry):
            first.setdefault(url_hash, outcome)
    settled: dict[tuple[str, bool], list[bytes]] = {}  # hashes by reason, and whether they are pages
    for url_hash, outcome in first.items():
        if isinstance(outcome, Barred):
            bar(tx, site_id, url_hash, outcome.reason)
            continue
        kind = ("", outcome.page) if isinstance(outcome, Done) else (outcome.reason.value, False)
        settled.setdefault(kind, []).append(url_hash)
    pages = sum(_settle_all(tx, site_id, *kind, b"".join(hashes)) for kind, hashes in settled.items())
    if pages:
        tx.pages += pages
        tx.execute(SQL["count_pages"], {"site_id": site_id, "pages": pages})
    return pages


def _settle_all(tx: SqliteTransaction, site_id: int, reason: str, is_page: bool, hashes: bytes) -> int:
    """Settle URLs of a site that were given up for this reason, or, without one, are done; return the new pages."""
    key = {"site_id": site_id, "hashes": hashes}
    # What was settled before does not count: a repeat after a crash, or a late completion.
    urls = tx.execute(SQL["settle_all_seen"], {**key, "outcome": reason}).rowcount
    if reason or is_page:
        for row in tx.execute(SQL["queued_seeds"], key).fetchall():
            tx.execute(SQL["count_seed"], {"outcome": reason, "url": row["url"]})
    tx.execute(SQL["settle_all_queued"], key)
    if not reason:
        tx.done += urls
    elif urls:
        count_given_up(tx, reason, urls)
    return urls if is_page else 0


def _put_back(tx: SqliteTransaction, site_id: int, visit: Visit) -> None:
    for url_hash, outcome in visit.outcomes:
        if isinstance(outcome, Retry):
            tx.execute(SQL["retry_later"], {
                "site_id": site_id, "url_hash": url_hash, "counted": outcome.counted,
                "not_before": tx.after_ms(outcome.wait_s),
            })  # fmt: skip


def _release(
    tx: SqliteTransaction, site: sqlite3.Row, *, paced_ms: int, own_delay_ms: int, failures: int, pages: int
) -> None:
    """Free a site. What was reserved for it from the page limit goes back; its pages were counted."""
    first_ms = first_queued(tx, site["site_id"])
    spent = is_spent(tx, pages)
    has_work = first_ms is not None and not spent
    tx.execute(SQL["release_site"], {
        "site_id": site["site_id"], "delay_ms": own_delay_ms, "failures": failures, "paced_at": paced_ms,
        "has_work": has_work, "ready_at": max(paced_ms, first_ms or 0), "spent": spent,
    })  # fmt: skip
    tx.in_hand -= site["in_hand"]  # plant: page-limit-not-given-back
    tx.sites_with_work -= not has_work
