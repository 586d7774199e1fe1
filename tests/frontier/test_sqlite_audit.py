"""An audit of a SQLite frontier that was damaged by hand names the damage."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from gossamer.frontier import FrontierError, auditing
from gossamer.records import Done, GivenUp, Reason, Retry
from tests.frontier.labs import SqliteLab
from tests.frontier.samples import claim, complete, link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[SqliteLab]:
    """Four sites: one done, one given up, one that waits for a retry, one in hand."""
    lab = SqliteLab(tmp_path)
    lab.open().resume(delay_s=70)
    frontier, _ = lab.join()
    frontier.add([link(f"{site}.test/1") for site in ("done", "bad", "later", "held")])
    by_site = {one.site: one for one in claim(frontier)}
    complete(frontier, by_site["done.test"], Done())
    complete(frontier, by_site["bad.test"], GivenUp(reason=Reason.TIMEOUT))
    complete(frontier, by_site["later.test"], Retry(wait_s=500))
    assert frontier.audit() == []
    yield lab
    lab.close()


def damage(lab: SqliteLab, statement: str) -> None:
    with sqlite3.connect(lab.path) as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM queue WHERE url LIKE '%later%'", "of later.test is neither settled nor queued"),
        ("DELETE FROM queue WHERE url LIKE '%held%'", "of held.test is neither settled nor queued"),
        ("DELETE FROM seen WHERE outcome IS NULL", "https://later.test/1 is queued but not among the accepted URLs"),
        ("DELETE FROM seen WHERE outcome = ''", "counter known says 4, and 3 were found"),
        ("UPDATE seen SET outcome = '' WHERE outcome IS NULL", "https://later.test/1 is queued though it is settled"),
        ("UPDATE seen SET outcome = 'tired' WHERE outcome = 'timeout'", "a reason that does not exist: tired"),
        ("UPDATE queue SET seq = seq + 100", "is queued but not among the accepted URLs"),
        ("DELETE FROM site WHERE name = 'later.test'", "belongs to a site that is not there"),
        ("UPDATE site SET has_work = 0 WHERE name = 'later.test'", "site later.test has queued URLs or an owner but"),
        ("UPDATE site SET has_work = 0 WHERE name = 'held.test'", "site held.test has queued URLs or an owner but"),
        ("UPDATE site SET ready_at = ready_at + 9e8 WHERE name = 'later.test'", "site later.test is due later than"),
        ("UPDATE site SET owner = NULL WHERE name = 'held.test'", "site held.test has URLs in hand but no owner"),
        ("UPDATE site SET owner = 99 WHERE name = 'held.test'", "site held.test is owned by a worker that never"),
        ("UPDATE site SET excluded = 1 WHERE name = 'later.test'", "site later.test is marked as excluded or not"),
        ("UPDATE crawl SET done = 2", "counter done says 2, and 1 were found"),
        ("UPDATE crawl SET known = 3", "counter known says 3, and 4 were found"),
        ("UPDATE crawl SET given_up = 0", "counter given_up says 0, and 1 were found"),
        ("UPDATE crawl SET sites = 5", "counter sites says 5, and 4 were found"),
        ("UPDATE crawl SET sites_with_work = 1", "counter sites_with_work says 1, and 2 were found"),
        ("UPDATE crawl SET in_hand = 0", "counter in_hand says 0, and 1 were found"),
        ("UPDATE given_up SET reason = 'no_such_name'", "counter given_up as no_such_name says 1, and 0 were found"),
    ],
)
def test_every_kind_of_damage_is_named(lab: SqliteLab, statement: str, sentence: str) -> None:
    damage(lab, statement)
    assert sentence in "\n".join(lab.open().audit())


def test_a_settled_row_that_is_wrong_is_not_said_to_be_settled(lab: SqliteLab) -> None:
    damage(lab, "UPDATE seen SET outcome = 'tired' WHERE outcome = 'timeout'")
    damage(lab, "DELETE FROM site WHERE name = 'done.test'")
    assert list(lab.open().settled()) == []


def test_much_damage_is_named_in_part_and_counted(lab: SqliteLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "MAX_NAMED", 1)
    damage(lab, "DELETE FROM queue")
    first, more = lab.open().audit()
    assert first.endswith(".test is neither settled nor queued")
    assert more == "1 more of: is neither settled nor queued"


def test_a_file_that_cannot_be_read_fails_as_a_frontier(lab: SqliteLab) -> None:
    frontier = lab.open()
    with sqlite3.connect(lab.path) as connection:
        connection.execute("DROP TABLE queue")
    connection.close()
    with pytest.raises(FrontierError, match="queue"):
        frontier.audit()
    with pytest.raises(FrontierError, match="queue"):
        list(frontier.settled())
