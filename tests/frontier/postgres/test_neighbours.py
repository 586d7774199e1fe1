"""Workers, processes and crawls that share one database: they come at once, and take nothing from each other."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psycopg

from bench import claimers
from gossamer import metrics
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.records import Orders
from tests.frontier import postgres_server
from tests.frontier.postgres.moments import when
from tests.frontier.samples import all_at_once, claim, complete, link, links, names

if TYPE_CHECKING:
    from tests.frontier.labs import PostgresLab


def test_ten_first_comers_create_one_schema_and_one_crawl(version: str) -> None:
    address = postgres_server.new_database(version)

    def come() -> None:
        with PostgresFrontier(address, "the crawl") as frontier:
            frontier.add(links("a.test", 3))

    all_at_once(10, come)
    with PostgresFrontier(address, "the crawl") as frontier, PostgresFrontier(address, "another") as other:
        assert frontier.stats().known == 3
        assert other.stats().known == 0


def test_a_hundred_workers_that_start_in_one_second_do_not_stampede_and_none_starves() -> None:
    """Nobody has made the schema or the crawl before; the first who is in brings the seeds."""
    workers, sites_each = 100, 5
    address = postgres_server.new_database(postgres_server.versions()[-1])
    seeds = [link(f"s{number}.test/", 0) for number in range(workers * sites_each)]
    barrier = threading.Barrier(workers)
    seeded = threading.Event()
    connections: list[int] = []

    def work(number: int) -> tuple[float, int, list[str]]:
        barrier.wait()
        began_s = time.monotonic()
        with PostgresFrontier(address, "the crawl", home=f"machine {number % 4}") as frontier:
            frontier.join(f"worker {number}")
            assert isinstance(frontier.heartbeat({}), Orders)
            if number == 0:
                frontier.add(seeds)
                seeded.set()
            ready_s = time.monotonic() - began_s
            barrier.wait()  # as many as there are: what is fair depends on it
            assert seeded.wait(10)
            asked = 1
            while not (mine := names(claim(frontier, 50))) and asked < 10:
                asked += 1  # all that it looked at was being taken by others
            assert isinstance(frontier.heartbeat({}), Orders)
            barrier.wait()
            return ready_s, asked, mine

    def count_connections() -> None:
        with psycopg.connect(address, autocommit=True) as outside:
            count = (  # without the server's own, such as autovacuum
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend'"
            )
            is_over = False
            while not is_over:
                is_over = seeded.wait(0.02)
                connections.append((outside.execute(count).fetchone() or (0,))[0])

    before = metrics.snapshot()
    counting = threading.Thread(target=count_connections)
    counting.start()
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(work, range(workers)))
    counting.join()
    after = metrics.snapshot()
    counted = [name for name in after if name.startswith("gossamer_frontier_statement_seconds_count")]
    statements = sum(after[name] - before.get(name, 0) for name in counted) / workers
    ready_s, asked, mine = zip(*found, strict=True)
    claimed = [site for sites in mine for site in sites]
    shares = [len(sites) for sites in mine]
    print(
        f"ready within {max(ready_s):.1f} s; {min(shares)} to {max(shares)} sites with {max(asked)} claims at most; "
        f"{max(connections)} connections at most; {statements:.0f} statements each"
    )
    assert len(set(claimed)) == len(claimed)
    assert min(shares) >= 1
    assert max(shares) <= 2 * sites_each
    assert max(connections) <= workers
    assert statements < 40


def test_crawls_in_one_database_know_nothing_of_each_other(lab: PostgresLab) -> None:
    first, _ = lab.join()
    first.add(links("a.test", 3))
    with PostgresFrontier(lab.address, lab.crawl + " too", clock=lab.clock, server_clock=lambda: 1e12) as other:
        other.resume(delay_s=1)
        assert other.find_site("a.test") is None
        assert other.drained()
        other.exclude(["a.test"])
        other.join("there")
        assert [state.worker for state in first.workers()] != [state.worker for state in other.workers()]
    assert names(claim(first)) == ["a.test"]


def test_many_processes_own_no_site_twice_lose_nothing_and_leave_no_site_asleep(lab: PostgresLab) -> None:
    lab.crawl += " of many"
    history = claimers.run(lab.opener(), processes=4, turns_each=600)
    assert history.turns >= 2_400
    assert history.owned_twice == []
    assert (history.lost, history.settled_twice) == (0, 0)
    with lab.opener()() as frontier:
        assert frontier.audit() == []


def test_a_site_whose_claim_is_not_committed_is_nobody_elses(lab: PostgresLab) -> None:
    here, there = lab.join()[0], lab.join()[0]
    here.add([link("a.test/1")])
    claimed: list[object] = []
    thread = threading.Thread(target=lambda: claimed.append(claim(there)))

    def claim_meanwhile() -> None:
        thread.start()
        thread.join(1)  # were the site not locked but only changed, it would wait for us

    when(here, "save_tally", claim_meanwhile)
    assert names(claim(here)) == ["a.test"]
    thread.join()
    assert claimed == [()]


def test_a_transaction_that_deadlocks_is_tried_again(lab: PostgresLab, outsider: psycopg.Connection[Any]) -> None:
    frontier, worker = lab.join()
    frontier.add(links("a.test", 2))
    (owned,) = claim(frontier)
    outsider.execute("SET deadlock_timeout = '60s'")  # so that it is not the one that gives way
    has_locked = threading.Event()
    when(frontier, "save_tally", has_locked.set)
    done: list[object] = []
    with outsider.transaction():
        outsider.execute("SELECT 1 FROM tally WHERE worker = %s FOR UPDATE", (worker,))
        thread = threading.Thread(target=lambda: done.append(complete(frontier, owned)))
        thread.start()
        has_locked.wait()  # it holds the site's row and is about to wait for ours
        outsider.execute("UPDATE site SET failures = failures WHERE name = 'a.test'")
    thread.join()
    assert done
    assert frontier.stats().done == 1
    assert frontier.audit() == []
