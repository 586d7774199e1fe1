"""The audit names every kind of damage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gossamer.records import Batch, Release, Visit
from tests.frontier.samples import claim, complete, link

if TYPE_CHECKING:
    import psycopg

    from tests.frontier.labs import PostgresLab


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM queue WHERE url LIKE '%later%'", "of later.test is neither settled nor queued"),
        ("DELETE FROM seen WHERE outcome IS NULL", "https://later.test/1 is queued but not among the accepted URLs"),
        ("UPDATE seen SET outcome = '' WHERE outcome IS NULL", "https://later.test/1 is queued though it is settled"),
        ("UPDATE seen SET outcome = 'tired' WHERE outcome = ''", "a reason that does not exist: tired"),
        ("DELETE FROM site WHERE name = 'later.test'", "belongs to a site that is not there"),
        (
            "UPDATE site SET has_work = false WHERE name = 'later.test'",
            "site later.test has queued URLs or an owner but",
        ),
        ("UPDATE site SET ready_at = ready_at + 900000000 WHERE name = 'later.test'", "later.test is due later than"),
        ("UPDATE site SET owner = NULL WHERE name = 'held.test'", "site held.test has URLs in hand but no owner"),
        ("UPDATE site SET owner = 99999 WHERE name = 'held.test'", "site held.test is owned by a worker that never"),
        ("UPDATE site SET excluded = true WHERE name = 'later.test'", "site later.test is marked as excluded or not"),
        ("UPDATE tally SET done = done + 1 WHERE done > 0", "counter done says 2, and 1 were found"),
        ("UPDATE tally SET known = known - 1 WHERE known > 0", "counter known says 2, and 3 were found"),
        ("UPDATE tally SET in_hand = 0 WHERE in_hand > 0", "counter in_hand says 0, and 1 were found"),
    ],
)
def test_every_kind_of_damage_is_named(
    lab: PostgresLab, outsider: psycopg.Connection[Any], statement: str, sentence: str
) -> None:
    frontier, _ = lab.join()
    frontier.add([link(f"{site}.test/1") for site in ("done", "later", "held")])
    by_site = {one.site: one for one in claim(frontier)}
    complete(frontier, by_site["done.test"])
    frontier.complete(Batch(visits=[Visit(site="later.test", epoch=1, release=Release(wait_s=70))]))
    assert frontier.audit() == []
    crawl = frontier._database.crawl
    assert outsider.execute(f"{statement} AND crawl = {crawl}".encode()).rowcount > 0
    assert sentence in "\n".join(frontier.audit())
