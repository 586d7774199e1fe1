"""Limits of the system that a crawl reaches: 256 open files, and workers that get no more memory.

    python -m chaos limits                            4 crawls of 600 sites x 6 pages, one limit each

With few descriptors a crawl is only slower. A worker that gets no memory may fail or end; once it gets some again, it
recovers by itself. Either way the crawl ends with exactly the pages of an undisturbed one.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import replace
from pathlib import Path

from chaos.campaign import DELAY_S, ENGINES, Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, is_under_way
from chaos.judging import judge_all, loss
from tests.end_to_end.crawls import Crawl, is_running

FILES = 256
SHORT_S = 10.0  # how long memory is short


def limit(run: Run) -> None:
    """Crawl a web under a limit."""
    if run.seed // len(ENGINES) % 2 == 0:  # each limit on each engine
        with crawl_of(run, slow=0.55, slow_s=4.0) as crawl:  # more requests at once than files
            _few_files(run, crawl)
    else:
        with crawl_of(run, profile="large", sites=max(8, run.size.sites // 8)) as crawl:  # needs memory
            _no_memory(run, crawl)


def _few_files(run: Run, crawl: Crawl) -> None:
    limited = Crawl(
        crawl.server, crawl.folder, delay_s=DELAY_S, frontier=run.new_frontier(),
        wrapper=("prlimit", f"--nofile={FILES}:{FILES}"),
    )  # fmt: skip
    most = 0
    with limited.start() as start:
        while start.status is None:
            for worker in start.workers():
                most = max(most, _open_files(worker))
            time.sleep(0.2)
        start.end()
    run.facts.append(f"at most {most} of {FILES} files open")
    run.check(most > FILES / 2 or run.size.sites < 2 * FILES, "the limit was not felt")
    run.check("Too many open files" not in limited.log, "a worker ran out of descriptors")
    judge_all(run, limited)


def _open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
    except OSError:  # it has just ended
        return 0


def _no_memory(run: Run, crawl: Crawl) -> None:
    with crawl.start() as start:
        assert is_under_way(crawl, start, 2 * len(crawl.seeds)), "it was over too soon"
        victim = run.dice.choice(start.workers())
        size_bytes = int(Path(f"/proc/{victim}/statm").read_text().split()[0]) * resource.getpagesize()
        short_from_s = time.monotonic()
        resource.prlimit(victim, resource.RLIMIT_AS, (size_bytes, resource.RLIM_INFINITY))
        time.sleep(SHORT_S)
        lived = is_running(victim)
        if lived:
            resource.prlimit(victim, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        losses = [replace(loss(crawl), at=short_from_s)]  # requests that failed meanwhile are repeated
        start.end(timeout_s=TIMEOUT_S)
    felt = crawl.log.count("MemoryError") + crawl.log.count("Cannot allocate memory")
    run.facts.append(f"no memory for {SHORT_S:.0f} s: the worker {'lived' if lived else 'ended'}, {felt} complaints")
    run.check(felt > 0 or not lived, "the limit was not felt")
    judge_all(run, crawl, losses=losses)


CAMPAIGN = Campaign(
    name="limits", about=__doc__, full=Size(runs=4, faults=1, sites=600, pages=6),
    short=Size(runs=1, faults=1, sites=60, pages=4), run=limit, faults="limits",
)  # fmt: skip
main = CAMPAIGN.main
