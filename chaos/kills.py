"""Kills at random instants, of a whole crawl, its supervisor, a worker or a page process.

    python -m chaos kills                             20 crawls of 200 sites x 50 pages, 10 kills each
    python -m chaos kills --runs 1 --seed 7 --engine sqlite

Each crawl ends with exactly the pages of an undisturbed one, requests nothing too early (restarts included), repeats
only what was under way or not yet reported at a kill, and leaves files that `gossamer verify` and other readers accept.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from chaos.campaign import Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, instants, is_under_way, linger
from chaos.judging import Loss, judge_all, loss
from tests.end_to_end.crawls import is_running, wait_until

if TYPE_CHECKING:
    from tests.end_to_end.crawls import Start

VICTIMS = ("group", "supervisor", "worker", "page process")


def strike(start: Start, victim: str, run: Run) -> None:
    """Kill processes, and wait until they are dead."""
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
    losses: list[Loss] = []
    with crawl_of(run) as crawl, ExitStack() as starts:
        start = starts.enter_context(crawl.start())
        for requests in instants(run, crawl):
            if not is_under_way(crawl, start, requests):
                break  # a small crawl can end before the last fault
            linger(run)
            victim = run.dice.choice(VICTIMS)
            strike(start, victim, run)
            struck[victim] += 1
            if victim != "page process":  # its death loses nothing
                losses.append(loss(crawl, whole=victim in ("group", "supervisor")))
            if victim in ("group", "supervisor"):
                start.kill_group()
                start = starts.enter_context(crawl.start())
        start.end(timeout_s=TIMEOUT_S)
        run.check(struck.total() >= run.size.faults / 2, f"only {struck.total()} kills")
        run.facts.append(f"{struck.total()} kills ({', '.join(f'{count} {name}' for name, count in struck.items())})")
        judge_all(run, crawl, losses=losses)


CAMPAIGN = Campaign(
    name="kills", about=__doc__, full=Size(runs=20, faults=10, sites=200, pages=50),
    short=Size(runs=2, faults=4, sites=12, pages=9), run=kill, faults="kills",
)  # fmt: skip
main = CAMPAIGN.main
