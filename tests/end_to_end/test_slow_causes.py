"""Planted causes of a slow crawl: the log, the metrics and their history name each one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import psycopg

import gossamer
import gossamer_simweb as simweb
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.postgres.administering import prepare
from gossamer.records import OpenTransaction
from gossamer.supervisor.upkeep import EVERY_S, UpkeepWatch, long_transaction
from gossamer_simweb import PlantedPage
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.frontier.postgres_server import new_database
from tests.frontier.samples import links

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NAP_S = 0.4
LINKS = 3_000


def history(folder: Path, name: str, labels: str = "") -> float:
    """Return the largest value of a metric in the history of a crawl."""
    found = gossamer.open(folder).query(
        f"select max(value) as most from figures where name = '{name}' and labels = '{labels}'"
    )
    return float(next(iter(found))["most"] or 0)


def test_claims_that_come_back_unused_are_named(tmp_path: Path) -> None:
    """Many sites on one address: they are claimed, cannot begin, and are given back."""
    with simweb.serve(simweb.plain_web(sites=200, pages=2, crowded=1.0)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1, address_delay_s=2.0)
        with crawl.start("--log-level", "debug") as start:
            crawl.wait_for_requests(1)
            wait_until(lambda: "used=False" in crawl.log, "a site to be given back unused")
            assert "waiting for an address that others share" in said("status", "--data-dir", str(crawl.folder))
            start.interrupt()
            start.end()
    assert re.search(r'release site=\S+ epoch=\d+ why="its address is not due for long" used=False', crawl.log)
    assert history(crawl.folder, "gossamer_frontier_releases_total", "use=unused") > 0


def test_a_slow_statement_is_named(tmp_path: Path) -> None:
    address = new_database()
    prepare(address)
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(
            f"CREATE FUNCTION gossamer.nap() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM pg_sleep({NAP_S}); RETURN NULL; END $$".encode()
        )
        server.execute(
            "CREATE TRIGGER nap AFTER UPDATE OF owner ON gossamer.site FOR EACH STATEMENT "
            "EXECUTE FUNCTION gossamer.nap()"
        )
    with simweb.serve(simweb.plain_web(sites=2, pages=2)) as web:
        crawl = Crawl(web, tmp_path / "data", delay_s=0.1, workers=1, frontier=address)
        crawl.finish("--set", f"slow_operation={NAP_S / 2}", "--log-level", "debug")
    slow = re.search(r"The operation claim held its connection for .* its statements: claim (\d\.\d+) s", crawl.log)
    assert slow, crawl.log
    assert float(slow[1]) >= NAP_S
    assert max(float(took) for took in re.findall(r"DEBUG .*: claim .* took_s=([\d.]+)", crawl.log)) >= NAP_S
    assert history(crawl.folder, "gossamer_frontier_statement_seconds_sum", "statement=claim") >= NAP_S
    assert history(crawl.folder, "gossamer_frontier_held_seconds_sum", "operation=claim") >= NAP_S


def stats(address: str) -> Any:
    return json.loads(said("db", "stats", "--json", "--frontier", address))


def test_a_table_that_a_long_transaction_bloats_is_named_with_the_transaction() -> None:
    address = new_database()
    with (
        PostgresFrontier(address, "crawl") as frontier,
        psycopg.connect(address, application_name="a forgotten report") as reader,
        psycopg.connect(address, autocommit=True) as other,
    ):
        frontier.resume(delay_s=0)
        frontier.join("here:1")
        frontier.add(links("a.test", 5))
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1 FROM gossamer.crawl")  # and it never ends
        for _ in range(60):
            other.execute("UPDATE gossamer.site SET failures = failures + 1")  # as claims and releases do
        other.execute("VACUUM gossamer.site")
        found = stats(address)
        (site,) = [table for table in found["tables"] if table["name"] == "site"]
        assert site["dead_rows"] >= 50, "which a vacuum of just now has left"
        assert site["vacuumed_at"] is not None
        assert found["oldest_transaction"]["application"] == "a forgotten report"
        assert found["oldest_transaction"]["pid"] == reader.info.backend_pid
        reader.rollback()
        other.execute("VACUUM gossamer.site")
        (site,) = [table for table in stats(address)["tables"] if table["name"] == "site"]
        assert site["dead_rows"] == 0


def test_a_crawl_measures_the_transaction_that_bloats_its_tables(tmp_path: Path) -> None:
    address = new_database()
    prepare(address)
    with (
        psycopg.connect(address, application_name="a forgotten report") as reader,
        psycopg.connect(address, autocommit=True) as other,
        simweb.serve(simweb.plain_web(sites=2, pages=3)) as web,
    ):
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1 FROM gossamer.crawl")  # and it never ends
        other.execute("INSERT INTO gossamer.seen SELECT g, 0, 0, 99, int4send(g) FROM generate_series(1, 500) g")
        other.execute("DELETE FROM gossamer.seen")
        other.execute("VACUUM gossamer.seen")  # which cannot remove them
        crawl = Crawl(web, tmp_path / "data", delay_s=0.5, workers=1, frontier=address)
        crawl.finish()
        assert history(crawl.folder, "gossamer_frontier_oldest_transaction_seconds") > 0.5
        assert history(crawl.folder, "gossamer_frontier_dead_rows", "table=seen") >= 500


def test_the_log_names_a_long_transaction_once(caplog: pytest.LogCaptureFixture) -> None:
    address = new_database()
    now_s = [0.0]
    watch = UpkeepWatch(long_s=0.0, clock=lambda: now_s[0])
    with (
        PostgresFrontier(address, "crawl") as frontier,
        psycopg.connect(address, application_name="a forgotten report") as reader,
    ):
        reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.execute("SELECT 1 FROM gossamer.crawl")
        for _ in range(3):
            now_s[0] += EVERY_S
            watch.look(frontier)
        assert caplog.text.count(f"The transaction of a forgotten report (pid {reader.info.backend_pid}, idle in") == 1
        reader.rollback()
        watch.look(frontier)
        assert watch.figures["oldest_transaction_s"] > 0, "it asks once a minute"
        now_s[0] += EVERY_S
        watch.look(frontier)
        assert watch.figures["oldest_transaction_s"] == 0


def test_a_long_transaction_is_told_in_one_sentence() -> None:
    open_ = OpenTransaction(pid=7, application="pg_dump", state="active", age_s=7_200)
    assert long_transaction(open_).startswith(
        "The transaction of pg_dump (pid 7, active) has been open for 2 h 0 min: "
    )


def new_links(log: str) -> list[int]:
    """Return how many new links each completion brought, as far as the log tells."""
    return [int(new) for new in re.findall(r"completion .* links=\d+ new=(\d+)", log)]


def test_a_burst_of_links_of_one_site_is_named(tmp_path: Path) -> None:
    body = "".join(f"<p><a href='/{number}'>{number}</a></p>" for number in range(LINKS)).encode()
    web = simweb.plain_web(sites=2, pages=2, planted=(PlantedPage(host="burst.test", body=body),))
    with simweb.serve(web) as server:
        seed = f"http://burst.test:{server.port}/"
        crawl = Crawl(server, tmp_path / "data", seed, delay_s=0.1, workers=1)
        with crawl.start("--log-level", "debug", "--no-trap-limits") as start:
            crawl.wait_for_requests(1)
            wait_until(lambda: sum(new_links(crawl.log)) >= LINKS, "the links")
            start.interrupt()
            start.end()
    assert 500 < max(new_links(crawl.log)) < LINKS, "they come in portions"
    assert history(crawl.folder, "gossamer_frontier_links_total", "result=new") >= LINKS


def test_too_few_descriptors_are_named(tmp_path: Path) -> None:
    with simweb.serve(simweb.plain_web(sites=1, pages=2)) as server:
        few = ["sh", "-c", 'ulimit -n 300; exec "$@"', "sh"]
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1, wrapper=few)
        crawl.finish()
    assert "so each worker makes at most 161 and not 1,000 requests at once" in crawl.log
    assert history(crawl.folder, "gossamer_max_descriptors") == 300
    assert 0 < history(crawl.folder, "gossamer_open_descriptors") < 300
