"""Workers that are stopped (SIGSTOP) for longer than their lease, and then resumed (SIGCONT).

    python -m chaos pauses                            4 crawls of 60 sites x 40 pages, 5 pauses each

With PostgreSQL, other workers take a paused worker's sites after its lease; its later reports change no schedule. With
SQLite, the supervisor kills a worker that is silent for that long. Either way no page is requested too early, none is
missed, and no site waits for longer than two leases.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from chaos.campaign import DELAY_S, Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, instants, is_under_way, linger
from chaos.judging import Loss, judge_all, loss
from gossamer.urls import site_of
from tests.end_to_end.crawls import is_running

if TYPE_CHECKING:
    from tests.end_to_end.crawls import Crawl

LEASE_S = 8.0
FENCED = "no longer this worker's"
TURN_S = 2.0  # for a turn to come about: the delay, what a site asks for itself, and a claim


def pause(run: Run) -> None:
    """Crawl a web, pausing workers on the way."""
    pauses: list[Loss] = []
    flags = ("--lease", str(LEASE_S), "--set", f"worker_silence={LEASE_S if run.engine == 'sqlite' else 60}")
    # Without links between sites, a site has work until all its pages are done.
    with crawl_of(run, links_across=0) as crawl, crawl.start(*flags) as start:
        for requests in instants(run, crawl, until=0.6):
            if not is_under_way(crawl, start, requests):
                break  # a small crawl can end before the last fault
            linger(run)
            victim = run.dice.choice(start.workers())
            os.kill(victim, signal.SIGSTOP)
            pauses.append(loss(crawl))
            time.sleep(run.dice.uniform(1.3, 2) * LEASE_S)  # the pause
            if is_running(victim):  # it was not killed meanwhile
                os.kill(victim, signal.SIGCONT)
        start.end(timeout_s=TIMEOUT_S)
        declared, silent = crawl.log.count("was declared dead"), crawl.log.count("was silent for")
        fenced = crawl.log.count(FENCED)
        run.facts.append(
            f"{len(pauses)} pauses: {declared} declared dead, {silent} killed, {fenced} late reports fenced"
        )
        run.check(declared + silent >= len(pauses) >= run.size.faults / 2, "a pause had no effect")
        run.check(run.engine == "sqlite" or fenced > 0, "no late report was seen")
        judge_all(run, crawl, losses=pauses)
        _look_for_stuck(run, crawl, [pause.at for pause in pauses])


def _look_for_stuck(run: Run, crawl: Crawl, pauses: list[float]) -> None:
    """Check that every site with work left got its next turn within two leases of a pause."""
    longest_s = 0.0
    last: dict[str, float] = {}
    for request in sorted(crawl.server.log(), key=lambda request: request.arrived):
        site = site_of(request.url)
        for paused in pauses:
            if last.get(site, paused) < paused <= request.arrived:
                longest_s = max(longest_s, request.arrived - paused)
        last[site] = request.arrived
    run.facts.append(f"{longest_s:.1f} s at most until a site's next turn")
    run.check(longest_s <= 2 * LEASE_S + DELAY_S + TURN_S, f"a site waited for {longest_s:.1f} s")


CAMPAIGN = Campaign(
    name="pauses", about=__doc__, full=Size(runs=4, faults=5, sites=60, pages=40),
    short=Size(runs=1, faults=1, sites=12, pages=14), run=pause, faults="pauses", engines=("postgres", "sqlite"),
)  # fmt: skip
main = CAMPAIGN.main
