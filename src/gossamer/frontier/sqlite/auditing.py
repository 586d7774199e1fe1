"""Walking over everything the frontier holds, in steps so short that a crawl goes on meanwhile; writes nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from gossamer.frontier import FrontierError
from gossamer.frontier.auditing import SETTLED, UP_AND_DOWN, Contradictions
from gossamer.records import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.frontier.sqlite.database import Readable

STEP_ROWS = 5_000  # read at a time: about 10 ms, so that the write-ahead log can be emptied in between

_FIRST = -(1 << 63)


def walk_settled(database: Readable) -> Iterator[tuple[str, bytes, Reason | None]]:
    """Yield site, hash and reason of what is settled; rows that the audit finds wrong are left out."""
    for row in _walk_urls(database, "walk_seen"):
        if row["outcome"] in SETTLED and row["name"] is not None:
            yield row["name"], row["url_hash"], SETTLED[row["outcome"]]


def walk_queued(database: Readable, site: str) -> Iterator[tuple[str, bytes]]:
    """Yield URL and hash of what is queued of a site."""
    after = {"not_before": -1, "rank": 0, "depth": 0, "seq": 0}
    while True:
        with _translating():
            rows = database.rows("walk_queue", site=site, rows=STEP_ROWS, **after)
        yield from ((row["url"], row["url_hash"]) for row in rows)
        if len(rows) < STEP_ROWS:
            return
        after = {name: rows[-1][name] for name in after}


def audit(database: Readable) -> list[str]:
    """Return all contradictions.

    Others may write between two steps. Each step is one snapshot, so what it compares row by row is exact. Known
    and settled URLs are never forgotten: a count of them lies between the counters as they were before and after.
    Counters that also fall are compared only if nothing was written meanwhile.
    """
    with _translating():
        version = database.version()
        before = database.rows("audit_counters")[0]
        found = Contradictions()
        barred = _barred(database)
        counted = _audit_seen(database, found)
        counted.update(barred)
        counted["known"] += barred.total()
        counted["given_up"] += barred.total()
        _audit_queue(database, found)
        counted |= _audit_sites(database, found)
        given_up = {row["reason"]: row["urls"] for row in database.rows("given_up")}
        after = database.rows("audit_counters")[0]
        moved = abs(_barred(database).total() - barred.total())  # between what is accepted and what is barred
        is_still = version == database.version()
    for name in before.keys():  # noqa: SIM118 - iterating over a row gives its values
        if is_still or name not in UP_AND_DOWN:
            found.compare(name, before[name], counted[name], after[name], moved=moved)
    if is_still:
        for reason in Reason:
            urls = given_up.get(reason, 0)
            found.compare(f"given_up as {reason}", urls, counted[reason], urls)
    return found.sentences()


def _walk_urls(database: Readable, statement: str) -> Iterator[sqlite3.Row]:
    site_id, url_hash = _FIRST, b""
    while True:
        with _translating():
            rows = database.rows(statement, site_id=site_id, url_hash=url_hash, rows=STEP_ROWS)
        yield from rows
        if len(rows) < STEP_ROWS:
            return
        site_id, url_hash = rows[-1]["site_id"], rows[-1]["url_hash"]


def _walk(database: Readable, statement: str, key: str) -> Iterator[sqlite3.Row]:
    after = _FIRST
    while True:
        rows = database.rows(statement, after=after, rows=STEP_ROWS)
        yield from rows
        if len(rows) < STEP_ROWS:
            return
        after = rows[-1][key]


def _audit_seen(database: Readable, found: Contradictions) -> Counter[str]:
    """Every accepted URL is queued, done, or given up with a reason. Return how many there are of each."""
    counted: Counter[str] = Counter(known=0, done=0, given_up=0)
    for row in _walk_urls(database, "walk_seen"):
        counted["known"] += 1
        outcome = row["outcome"]
        if outcome is not None:
            counted["given_up" if outcome else "done"] += 1
            if outcome:
                counted[outcome] += 1
        if row["name"] is None:
            found.note(_name(row), "belongs to a site that is not there")
        elif outcome is None and row["queued"] is None:
            found.note(_name(row), "is neither settled nor queued")
        elif outcome is not None and outcome not in SETTLED:
            found.note(_name(row), f"was given up for a reason that does not exist: {outcome}")
    return counted


def _audit_queue(database: Readable, found: Contradictions) -> None:
    """What is queued is known, once, and not settled."""
    for row in _walk(database, "audit_queue", "seq"):
        if row["known_as"] != row["seq"]:
            found.note(row["url"], "is queued but not among the accepted URLs")
        elif row["outcome"] is not None:
            found.note(row["url"], "is queued though it is settled")


def _audit_sites(database: Readable, found: Contradictions) -> Counter[str]:
    """Check that claims find every site with queued URLs, and that every site in hand has an owner."""
    counted: Counter[str] = Counter(sites=0, sites_with_work=0, in_hand=0)
    for row in _walk(database, "audit_sites", "site_id"):
        counted["sites"] += 1
        counted["sites_with_work"] += row["has_work"]
        counted["in_hand"] += row["in_hand"]
        site = f"site {row['name']}"
        if not row["has_work"] and ((row["has_queued"] and not row["spent"]) or row["owner"] is not None):
            found.note(site, "has queued URLs or an owner but is marked as having no work")
        if row["sleeps_too_long"]:
            found.note(site, "is due later than its pace and its queue ask for")
        if row["owner"] is None and row["in_hand"]:
            found.note(site, "has URLs in hand but no owner")
        if row["owner_unknown"]:
            found.note(site, "is owned by a worker that never joined")
        if row["exclusion_differs"]:
            found.note(site, "is marked as excluded or not, against the list of exclusions")
    return counted


def _barred(database: Readable) -> Counter[str]:
    return Counter(row["reason"] for row in _walk_urls(database, "audit_barred"))


def _name(row: sqlite3.Row) -> str:
    """Name a URL of which only the hash is left."""
    site = row["name"] or f"site {row['site_id']}"
    return f"the URL with hash {row['url_hash'].hex()} of {site}"


@contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise FrontierError(str(error)) from error


def find_damage(path: Path) -> str:
    """Return what SQLite's own check finds wrong with a frontier's file, in one line; empty if nothing."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes a damaged name as it is
        return str(error)
    return "" if found == "ok" else str(found).splitlines()[-1]
