"""The crawls on which campaigns inflict faults: their web, and the instants of the faults."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import gossamer_simweb as simweb
from chaos.campaign import DELAY_S
from gossamer_simweb import WebSpec
from tests.end_to_end.crawls import Crawl, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.campaign import Run
    from tests.end_to_end.crawls import Start

TIMEOUT_S = 600.0  # enough for a busy machine


def web(run: Run, **settings: Any) -> WebSpec:
    """Return a web with sites of every kind, but without pages that always fail: giving these up takes long."""
    terms = {"sites": run.size.sites, "pages": run.size.pages, "seed": run.seed, "slow_s": 0.1, "broken": 0}
    return WebSpec(**{**terms, **settings})


@contextmanager
def crawl_of(run: Run, *, frontier: str | None = None, **settings: Any) -> Iterator[Crawl]:
    """Serve a web, and return a crawl of it that has not started."""
    with simweb.serve(web(run, **settings)) as server:
        address = run.new_frontier() if frontier is None else frontier
        yield Crawl(server, run.folder / "data", delay_s=DELAY_S, frontier=address)


def instants(run: Run, crawl: Crawl, *, until: float = 0.9) -> list[int]:
    """Return the instants of the faults, as numbers of answered requests: these do not depend on the machine's load."""
    pages = len(simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer").depths)
    return sorted(run.dice.randrange(1, int(until * pages)) for _ in range(run.size.faults))


def wait_for(crawl: Crawl, start: Start, requests: int) -> None:
    """Wait until the server has answered this many requests."""

    def there() -> bool:
        assert start.status is None, f"it ended with {start.status}: {start.said[-500:]}"
        return crawl.server.answered() >= requests

    wait_until(there, f"{requests} requests", timeout_s=TIMEOUT_S)


def linger(run: Run, at_most_s: float = 0.5) -> None:
    """Sleep for a random time: not to wait for an event, but to hit any instant."""
    time.sleep(run.dice.uniform(0, at_most_s))


def is_under_way(crawl: Crawl, start: Start, requests: int, workers: int = 2) -> bool:
    """Wait for this many requests and every worker's page process; return False if the crawl is over before that."""

    def there() -> bool:
        if start.status is not None:
            return True
        return crawl.server.answered() >= requests and len(start.page_processes()) == workers

    wait_until(there, f"{requests} requests", timeout_s=TIMEOUT_S)
    assert not start.status, f"it ended with {start.status}: {start.said[-500:]}"
    return start.status is None
