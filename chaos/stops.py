"""Graceful shutdowns under load: SIGTERM, again and again, at random instants.

    python -m chaos stops                             5 crawls of 100 sites x 40 pages, 10 stops each

Every stop ends with exit status 0 within ten seconds; no page is requested again, none too early, none is missed.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from chaos.campaign import Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, instants, linger, wait_for
from chaos.judging import judge_all

if TYPE_CHECKING:
    from tests.end_to_end.crawls import Start

LIMIT_S = 10.0


def stop(run: Run) -> None:
    """Crawl a web with stops on the way."""
    took_s: list[float] = []
    with crawl_of(run) as crawl:
        for requests in instants(run, crawl):
            with crawl.start() as start:
                wait_for(crawl, start, max(requests, crawl.server.answered() + 1))  # it is under way again
                linger(run)
                took_s.append(_stop(run, start))
        with crawl.start() as start:
            start.end(timeout_s=TIMEOUT_S)
        run.facts.append(
            f"{len(took_s)} stops, {sorted(took_s)[len(took_s) // 2]:.1f} s each, {max(took_s):.1f} s at most"
        )
        judge_all(run, crawl)


def _stop(run: Run, start: Start) -> float:
    """Stop the crawl; return how long that took."""
    begun_s = time.monotonic()
    start.signal(signal.SIGTERM)
    start.end()  # with status 0
    took_s = time.monotonic() - begun_s
    run.check(took_s < LIMIT_S, f"a stop took {took_s:.1f} s")
    return took_s


CAMPAIGN = Campaign(
    name="stops", about=__doc__, full=Size(runs=5, faults=10, sites=100, pages=40),
    short=Size(runs=1, faults=2, sites=8, pages=8), run=stop, faults="stops",
)  # fmt: skip
main = CAMPAIGN.main
