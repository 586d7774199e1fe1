"""A victim with many names: its address gets no more requests than promised, by the log of its server.

    python -m chaos victim                       3,000 names at one address; one worker, four workers, two machines with
                                                 two workers each on one PostgreSQL; workers and everything killed
    python -m chaos victim --runs 1 --seed 7

In any ten seconds the address gets at most ten seconds / address_delay requests, and one for each worker. `verify`
agrees, over the folders of all machines.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import gossamer_simweb as simweb
from chaos.campaign import Campaign, Run, Size
from chaos.judging import verify
from gossamer_simweb import AddressLimit, plain_web
from tests.end_to_end.crawls import Crawl, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    import random

    from gossamer_simweb import WebServer
    from tests.end_to_end.crawls import Start

DELAY_S: Final = 2.0
ADDRESS_DELAY_S: Final = 0.1
SHAPES: Final = ((1, 1), (1, 4), (2, 2))  # machines, and workers of each
TIMEOUT_S: Final = 600.0


def run_victim(run: Run) -> None:
    """Crawl the victim for a while, with kills, and judge its server's log."""
    machines, workers = SHAPES[run.seed % len(SHAPES)]
    dice = run.dice
    with simweb.serve(plain_web(sites=run.size.sites, pages=run.size.pages, seed=run.seed, crowded=1.0)) as server:
        frontier = new_database() if machines > 1 else run.new_frontier()
        crawls = [
            Crawl(
                server, run.folder / f"data{number}", delay_s=DELAY_S, workers=workers, frontier=frontier,
                address_delay_s=ADDRESS_DELAY_S,
            )
            for number in range(machines)
        ]  # fmt: skip
        for fault in range(run.size.faults):
            _crawl_and_kill(server, crawls, dice, all_of_it=fault % 3 == 2)
        limit = AddressLimit(delay_s=ADDRESS_DELAY_S, workers=machines * workers, address_of=server.web.address)
        log = server.log()
    verdict = simweb.judge(
        log, delay_s=DELAY_S, expected=None, address_limit=limit, allowed_repeats=10_000, workers=100
    )
    run.check(not verdict.crowded, verdict.summary())
    ((_, (busiest, _)),) = simweb.busiest_windows(log, server.web.address).items()
    verify(run, *(crawl.folder for crawl in crawls))
    run.facts.append(
        f"{machines} x {workers} workers: {len(log):,} requests, busiest ten seconds {busiest} of {limit.requests:g}"
    )


def _crawl_and_kill(server: WebServer, crawls: list[Crawl], dice: random.Random, *, all_of_it: bool) -> None:
    """Crawl for about two windows, kill a worker or everything in the middle, and stop."""
    with ExitStack() as stack:
        starts = [stack.enter_context(crawl.start()) for crawl in crawls]
        crawls[0].wait_for_requests(server.answered() + dice.randrange(40, 120))
        victim = dice.choice(starts)
        if all_of_it:
            victim.kill_group()
            starts.remove(victim)
        else:
            _kill_worker(victim, dice)
        if starts:
            crawls[0].wait_for_requests(server.answered() + dice.randrange(40, 120))
        for start in starts:
            start.interrupt()
        for start in starts:
            start.end(timeout_s=TIMEOUT_S)


def _kill_worker(start: Start, dice: random.Random) -> None:
    before = start.workers()
    victim = dice.choice(before)
    time.sleep(dice.uniform(0, 0.2))  # not to wait for anything: this is the random instant
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: victim not in (now := start.workers()) and len(now) == len(before), "another worker")


VICTIM = Campaign(
    name="victim",
    about=__doc__ or "",
    full=Size(runs=6, faults=6, sites=3_000, pages=20),
    short=Size(runs=3, faults=1, sites=300, pages=5),
    run=run_victim,
    faults="kills in each run",
)
main = VICTIM.main
