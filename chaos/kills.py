"""Kills at random instants, of a whole crawl, its supervisor, a worker or a page process.

    python -m chaos kills                             20 crawls of 200 sites x 50 pages, 10 kills each
    python -m chaos kills --runs 1 --seed 7 --engine sqlite

Each crawl ends with exactly the pages of an undisturbed one, asks no site too early, across restarts too, repeats
only what was under way or not yet reported at a kill, and leaves files that `gossamer verify` and other readers accept.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from chaos.campaign import DELAY_S, Campaign, Run, Size
from chaos.judging import judge_all
from gossamer import simweb
from gossamer.simweb import WebSpec
from tests.end_to_end.crawls import Crawl, is_running, wait_until

if TYPE_CHECKING:
    from tests.end_to_end.crawls import Start

PATIENCE_S = 600.0  # for machines that have other things to do
VICTIMS = ("group", "supervisor", "worker", "page process")


def web(run: Run) -> WebSpec:
    """Return a web with all that makes sites differ; pages that always fail take long to be given up."""
    return WebSpec(sites=run.size.sites, pages=run.size.pages, seed=run.seed, slow_s=0.1, broken=0)


def instants(run: Run, crawl: Crawl) -> list[int]:
    """Return when to strike, as numbers of answered requests: what else happens on the machine changes nothing."""
    pages = len(simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer").depths)
    return sorted(run.dice.randrange(1, int(0.95 * pages)) for _ in range(run.size.faults))


def wait_for(crawl: Crawl, start: Start, requests: int) -> None:
    """Wait until the server has answered so many requests."""

    def there() -> bool:
        assert start.status is None, f"it ended with {start.status}: {start.said[-500:]}"
        return crawl.server.answered() >= requests

    wait_until(there, f"{requests} requests", patience_s=PATIENCE_S)


def strike(start: Start, victim: str, run: Run) -> None:
    """Kill, and see that it is dead."""
    workers, page_processes = start.workers(), start.page_processes()
    if victim == "group":
        doomed = [start.pid, *workers, *page_processes]
        start.kill_group()
    else:
        choice = {"supervisor": [start.pid], "worker": workers, "page process": page_processes}[victim]
        assert choice, f"there is no {victim}"
        doomed = [run.dice.choice(choice)]
        os.kill(doomed[0], signal.SIGKILL)
        if victim == "supervisor":
            doomed += [*workers, *page_processes]
    wait_until(lambda: not any(map(is_running, doomed)), f"the {victim} to die")


def kill(run: Run) -> None:
    """Crawl a web, killing on the way."""
    struck: Counter[str] = Counter()
    kills: list[float] = []
    with simweb.serve(web(run)) as server, ExitStack() as starts:
        crawl = Crawl(server, run.folder / "data", delay_s=DELAY_S, frontier=run.new_frontier())
        start = starts.enter_context(crawl.start())
        for requests in instants(run, crawl):
            wait_for(crawl, start, requests)
            time.sleep(run.dice.uniform(0, 0.5))  # not to wait for anything: this is the random instant
            victim = run.dice.choice(VICTIMS)
            wait_until(lambda start=start: len(start.page_processes()) == 2, "all processes")  # type: ignore[misc]
            if victim != "page process":  # that one costs nothing
                kills.append(time.monotonic())
            strike(start, victim, run)
            struck[victim] += 1
            if victim in ("group", "supervisor"):
                start.kill_group()
                start = starts.enter_context(crawl.start())
        start.end(patience_s=PATIENCE_S)
        run.facts.append(f"{struck.total()} kills ({', '.join(f'{count} {name}' for name, count in struck.items())})")
        judge_all(run, crawl, kills=kills)


CAMPAIGN = Campaign(
    name="kills", about=__doc__, full=Size(runs=20, faults=10, sites=200, pages=50),
    short=Size(runs=2, faults=4, sites=12, pages=9), run=kill, faults="kills",
)  # fmt: skip
main = CAMPAIGN.main
