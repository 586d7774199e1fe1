"""Moves of the frontier in the middle of a crawl, from SQLite to PostgreSQL and back, killed again and again.

    python -m chaos moves                             10 crawls of 60 sites x 30 pages, moved 4 times each
    python -m chaos moves --runs 1 --seed 7

Before each move the crawl is killed or stopped. Each move is killed after a random number of steps, up to four times,
with a start in between, which resumes the crawl or is refused; then the move is run to its end. The crawl ends with
exactly the pages of an undisturbed one, requests nothing too early, and repeats only what was under way or not yet
reported when the crawl itself was killed.
"""

from __future__ import annotations

import signal

from chaos.campaign import Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, instants, is_under_way, linger
from chaos.judging import Loss, judge_all, loss
from tests.end_to_end.moving import kill_moves, move
from tests.frontier.postgres_server import new_database


def move_often(run: Run) -> None:
    """Crawl a web, moving the frontier on the way."""
    losses: list[Loss] = []
    killed = moves = 0
    database = new_database()
    with crawl_of(run, frontier="") as crawl:
        for requests in instants(run, crawl):
            with crawl.start() as start:
                if not is_under_way(crawl, start, max(requests, crawl.server.answered() + 1)):
                    break  # it is small, and was too fast for us
                linger(run)
                if run.dice.random() < 0.5:
                    start.kill_group()
                    losses.append(loss(crawl, whole=True))
                else:
                    start.signal(signal.SIGTERM)
                    start.end()
            to = "sqlite" if moves % 2 else database
            killed += kill_moves(crawl, to, run.dice, run.dice.randrange(1, 5))
            move(crawl, to)
            moves += 1
        with crawl.start() as start:
            start.end(timeout_s=TIMEOUT_S)
        run.check(moves >= 1, "it was never moved")
        run.facts.append(f"{moves} moves, killed {killed} times; {len(losses)} kills of the crawl")
        judge_all(run, crawl, losses=losses)


CAMPAIGN = Campaign(
    name="moves", about=__doc__, full=Size(runs=10, faults=4, sites=60, pages=30),
    short=Size(runs=1, faults=2, sites=8, pages=8), run=move_often, faults="moves", engines=("sqlite",),
)  # fmt: skip
main = CAMPAIGN.main
