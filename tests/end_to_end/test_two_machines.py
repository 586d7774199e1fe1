"""Two machines, each with its folder and supervisor, on one crawl in one database."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psycopg

from gossamer import simweb
from gossamer.crawl.engines import open_existing
from gossamer.simweb import WebSpec
from gossamer.store.checking import check
from gossamer.store.repair import repair
from tests.end_to_end.crawls import Crawl, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

SITES = 12
OWNERS = "SELECT owner, count(*) FROM gossamer.site WHERE owner IS NOT NULL GROUP BY owner"


def test_two_machines_share_a_crawl_and_when_one_dies_the_other_takes_over(tmp_path: Path) -> None:
    address = new_database()
    spec = WebSpec(sites=SITES, pages=30, slow_s=0.1, crawl_delay_s=0.4, broken=0)
    with simweb.serve(spec) as server, psycopg.connect(address, autocommit=True) as database:
        one, other = (
            Crawl(server, tmp_path / name, delay_s=0.2, workers=1, frontier=address) for name in ("one", "other")
        )
        with one.start("--lease", "4") as survivor, other.start("--lease", "4") as victim:
            for crawl in (one, other):
                wait_until(lambda: any(crawl.folder.glob("warc/*")), "both to have pages")  # noqa: B023
            wait_until(lambda: len(database.execute(OWNERS).fetchall()) == 2, "both to have sites")
            killed = time.monotonic()
            victim.kill_group()
            orphaned = database.execute(OWNERS).fetchall()
            assert len(orphaned) == 2, "the dead one's sites are still its own"
            assert "Nothing is left to fetch" in survivor.end()
        verdict = one.judge(allowed_repeats=3 * SITES, kills=[killed])
        assert verdict.ok, verdict.summary()
        assert verdict.repeats < verdict.requests / 4
        assert database.execute(OWNERS).fetchall() == []
    assert check(one.folder).problems == []
    repair(other.folder)
    assert check(other.folder).problems == []
    assert check(other.folder).records, "it did its share"


def test_a_machine_with_other_settings_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    address = new_database()
    with simweb.serve(WebSpec(sites=4, pages=30, broken=0)) as server:
        one, other = (
            Crawl(server, tmp_path / name, delay_s=0.5, workers=1, frontier=address) for name in ("one", "other")
        )
        with one.start() as start:
            one.wait_for_requests(8)
            for flags, said in (
                (("--delay", "0.1"), "with delay = 0.5, here it would be 0.1: give all machines the same, or stop it"),
                (("--lease", "10"), "with lease = 60.0, here it would be 10.0"),
            ):
                with other.start(*flags) as refused:
                    assert said in refused.end(status=2)
            assert not (other.folder / "crawl.toml").exists()
            with open_existing(one.folder) as frontier:
                assert [worker.gone for worker in frontier.workers()] == [False]
            assert start.status is None
