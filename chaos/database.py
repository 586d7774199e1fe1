"""A PostgreSQL that crashes, hangs, has no connection left, or cuts a claim off, under a running crawl.

    python -m chaos database                          3 crawls of 60 sites x 30 pages, 5 faults each

No worker ends, requests continue within ten seconds of the database's return, and the crawl ends with exactly the pages
of an undisturbed one, none requested too early.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from chaos.campaign import Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, instants, is_under_way, linger, wait_for
from chaos.judging import Loss, judge_all, loss
from tests.end_to_end.crawls import wait_until
from tests.end_to_end.test_database_faults import crashed, crowded, paused
from tests.frontier import postgres_server
from tests.frontier.postgres_server import SETTINGS, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.end_to_end.crawls import Crawl, Start

BACK_S = 10.0  # from the database's return to the next request
CLAIMING = """
    SELECT pid FROM pg_stat_activity
    WHERE application_name = 'gossamer' AND wait_event_type = 'Lock' AND query LIKE '%SKIP LOCKED%'
"""


@contextmanager
def cut_off(server: Server) -> Iterator[None]:
    """Terminate a backend in the middle of a claim, which waits for a lock of ours."""
    with psycopg.connect(server.address) as outside:

        def one_claims() -> bool:
            outside.execute("LOCK TABLE gossamer.site IN EXCLUSIVE MODE")
            time.sleep(0.3)  # until a worker waits for the lock
            for (pid,) in outside.execute(CLAIMING).fetchall():
                outside.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
                outside.commit()
                return True
            outside.commit()  # no claim waits: try again
            return False

        wait_until(one_claims, "a claim to be cut off", timeout_s=TIMEOUT_S)
    yield


FAULTS: dict[str, Callable[[Server], AbstractContextManager[None]]] = {
    "crash": crashed, "pause": paused, "no connection left": crowded, "claim cut off": cut_off,
}  # fmt: skip


def disturb(run: Run) -> None:
    """Crawl a web while its database is disturbed."""
    losses: list[Loss] = []
    returns_s: list[float] = []
    struck: list[str] = []
    settings = {**SETTINGS, "max_connections": "30"}
    programs = postgres_server.binaries_of(postgres_server.versions()[-1])
    with (
        Server(programs, settings) as server,
        crawl_of(run, frontier=server.address) as crawl,
        crawl.start("--lease", "30") as start,
    ):
        names = [*FAULTS] * run.size.faults
        for number, requests in enumerate(instants(run, crawl, until=0.5)):
            assert is_under_way(crawl, start, requests), "it was over too soon"
            workers = start.workers()
            linger(run)
            name = names[(number + run.seed) % len(names)]
            with FAULTS[name](server):
                time.sleep(run.dice.uniform(1, 6))  # the fault's length
            struck.append(name)
            losses.append(loss(crawl))
            returns_s.append(_return(run, crawl, start, name))
            run.check(start.workers() == workers, f"{name}: a worker ended")
        start.end(timeout_s=TIMEOUT_S)
        run.facts.append(f"{', '.join(struck)}: asked again after {max(returns_s):.1f} s at most")
        judge_all(run, crawl, losses=losses)


def _return(run: Run, crawl: Crawl, start: Start, name: str) -> float:
    """Return how long after the database's return the next sites were asked."""
    back_s = time.monotonic()
    wait_for(crawl, start, crawl.server.answered() + 1)
    took_s = time.monotonic() - back_s
    run.check(took_s < BACK_S, f"{name}: nothing was asked for {took_s:.1f} s")
    return took_s


CAMPAIGN = Campaign(
    name="database", about=__doc__, full=Size(runs=3, faults=5, sites=60, pages=30),
    short=Size(runs=1, faults=2, sites=8, pages=24), run=disturb, faults="faults", engines=("postgres",),
)  # fmt: skip
main = CAMPAIGN.main
