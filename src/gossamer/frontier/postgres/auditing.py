"""Walking over everything a crawl holds, shard by shard, in short steps while it goes on; writes nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gossamer.frontier.auditing import SETTLED, UP_AND_DOWN, Contradictions
from gossamer.records import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.frontier.postgres.database import PostgresDatabase, Row
    from gossamer.frontier.postgres.keys import SiteKey

STEP_ROWS = 5_000  # read at a time
FIRST_ID = -(1 << 63)  # no site has a smaller one
_COUNTERS = {"sites": "sites", "sites_with_work": "with_work", "known": "known", "done": "done", "in_hand": "in_hand"}


def walk_settled(database: PostgresDatabase) -> Iterator[tuple[str, bytes, Reason | None]]:
    """Yield site, hash and reason of what is settled; rows that the audit finds wrong are left out."""
    for row in walk(database, "walk_seen"):
        if row.outcome in SETTLED and row.name is not None:
            yield row.name, row.url_hash, SETTLED[row.outcome]


def walk_queued(database: PostgresDatabase, key: SiteKey) -> Iterator[tuple[str, bytes]]:
    """Yield URL and hash of what is queued of a site."""
    url_hash = b""
    while True:
        rows = database.rows("walk_queue", **key._asdict(), url_hash=url_hash, rows=STEP_ROWS)
        yield from ((row.url, row.url_hash) for row in rows)
        if len(rows) < STEP_ROWS:
            return
        url_hash = rows[-1].url_hash


def audit(database: PostgresDatabase) -> list[str]:
    """Return all contradictions.

    Others may write between two steps. Each step is one snapshot, so what it compares row by row is exact. Known
    and settled URLs are never forgotten: a count of them lies between the counters as they were before and after.
    Counters that also fall are compared only if nothing was written meanwhile.
    """
    writes, before, reasons_before = _counters(database)
    found = Contradictions()
    barred = _barred(database)
    counted = _audit_seen(database, found)
    counted.update(barred)
    counted["known"] += barred.total()
    counted["given_up"] += barred.total()
    _audit_queue(database, found)
    counted |= _audit_sites(database, found)
    writes_after, after, reasons_after = _counters(database)
    is_still = writes == writes_after
    moved = abs(_barred(database).total() - barred.total())  # between what is accepted and what is barred
    for name, least in before.items():
        if is_still or name not in UP_AND_DOWN:
            found.compare(name, least, counted[name], after[name], moved=moved)
    for reason in Reason:
        name = f"given_up as {reason}"
        found.compare(name, reasons_before[reason], counted[reason], reasons_after[reason], moved=moved)
    return found.sentences()


def _counters(database: PostgresDatabase) -> tuple[int, dict[str, int], Counter[str]]:
    with database.snapshot() as tx:
        (row,) = tx.run("figures")
        reasons = Counter({one.reason: one.urls for one in tx.run("given_up")})
    counters = {name: getattr(row, column) for name, column in _COUNTERS.items()}
    return row.writes, {**counters, "given_up": reasons.total()}, reasons


def walk(database: PostgresDatabase, statement: str) -> Iterator[Row]:
    """Yield the rows of a statement that walks over a shard by site and hash, for all shards of the crawl."""
    for one in database.rows("shards"):
        site_id, url_hash = FIRST_ID, b""
        while True:
            rows = database.rows(statement, shard=one.shard, site_id=site_id, url_hash=url_hash, rows=STEP_ROWS)
            yield from rows
            if len(rows) < STEP_ROWS:
                break
            site_id, url_hash = rows[-1].site_id, rows[-1].url_hash


def _walk_sites(database: PostgresDatabase) -> Iterator[Row]:
    for one in database.rows("shards"):
        site_id = FIRST_ID
        while True:
            with database.snapshot() as tx:
                rows = tx.run(
                    "audit_sites", shard=one.shard, site_id=site_id, now_ms=tx.wait_from_ms + 1, rows=STEP_ROWS
                )
            yield from rows
            if len(rows) < STEP_ROWS:
                break
            site_id = rows[-1].site_id


def _audit_seen(database: PostgresDatabase, found: Contradictions) -> Counter[str]:
    """Every accepted URL is queued, done, or given up with a reason. Return how many there are of each."""
    counted: Counter[str] = Counter(known=0, done=0, given_up=0)
    for row in walk(database, "walk_seen"):
        counted["known"] += 1
        outcome = row.outcome
        if outcome is not None:
            counted["given_up" if outcome else "done"] += 1
            if outcome:
                counted[outcome] += 1
        if row.name is None:
            found.note(_name(row), "belongs to a site that is not there")
        elif outcome is None and not row.queued:
            found.note(_name(row), "is neither settled nor queued")
        elif outcome is not None and outcome not in SETTLED:
            found.note(_name(row), f"was given up for a reason that does not exist: {outcome}")
    return counted


def _audit_queue(database: PostgresDatabase, found: Contradictions) -> None:
    """What is queued is known, and not settled."""
    for row in walk(database, "audit_queue"):
        if not row.known:
            found.note(row.url, "is queued but not among the accepted URLs")
        elif row.outcome is not None:
            found.note(row.url, "is queued though it is settled")


def _audit_sites(database: PostgresDatabase, found: Contradictions) -> Counter[str]:
    """Check that claims find every site with queued URLs, and that every site in hand has an owner."""
    counted: Counter[str] = Counter(sites=0, sites_with_work=0, in_hand=0)
    for row in _walk_sites(database):
        counted["sites"] += 1
        counted["sites_with_work"] += row.has_work
        counted["in_hand"] += row.in_hand
        site = f"site {row.name}"
        if not row.has_work and ((row.has_queued and not row.spent) or row.owner is not None):
            found.note(site, "has queued URLs or an owner but is marked as having no work")
        if row.sleeps_too_long:
            found.note(site, "is due later than its pace and its queue ask for")
        if row.owner is None and row.in_hand:
            found.note(site, "has URLs in hand but no owner")
        if row.owner_unknown:
            found.note(site, "is owned by a worker that never joined")
        if row.exclusion_differs:
            found.note(site, "is marked as excluded or not, against the list of exclusions")
    return counted


def _barred(database: PostgresDatabase) -> Counter[str]:
    return Counter({row.reason: row.urls for row in database.rows("audit_barred")})


def _name(row: Row) -> str:
    """Name a URL of which only the hash is left."""
    site = row.name or f"site {row.site_id}"
    return f"the URL with hash {row.url_hash.hex()} of {site}"
