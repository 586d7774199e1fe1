"""Crawls for faults to be inflicted on: of which web, and when to strike."""

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

PATIENCE_S = 600.0  # for machines that have other things to do


def web(run: Run, **settings: Any) -> WebSpec:
    """Return a web with all that makes sites differ; pages that always fail take long to be given up."""
    terms = {"sites": run.size.sites, "pages": run.size.pages, "seed": run.seed, "slow_s": 0.1, "broken": 0}
    return WebSpec(**{**terms, **settings})


@contextmanager
def crawl_of(run: Run, *, frontier: str | None = None, **settings: Any) -> Iterator[Crawl]:
    """Serve a web and give a crawl of it that has not begun."""
    with simweb.serve(web(run, **settings)) as server:
        address = run.new_frontier() if frontier is None else frontier
        yield Crawl(server, run.folder / "data", delay_s=DELAY_S, frontier=address)


def instants(run: Run, crawl: Crawl, *, until: float = 0.9) -> list[int]:
    """Return when to strike, as numbers of answered requests: what else happens on the machine changes nothing."""
    pages = len(simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer").depths)
    return sorted(run.dice.randrange(1, int(until * pages)) for _ in range(run.size.faults))


def wait_for(crawl: Crawl, start: Start, requests: int) -> None:
    """Wait until the server has answered so many requests."""

    def there() -> bool:
        assert start.status is None, f"it ended with {start.status}: {start.said[-500:]}"
        return crawl.server.answered() >= requests

    wait_until(there, f"{requests} requests", patience_s=PATIENCE_S)


def linger(run: Run, at_most_s: float = 0.5) -> None:
    """Let a random moment pass: not to wait for anything, but for the instant to be any."""
    time.sleep(run.dice.uniform(0, at_most_s))


def is_under_way(crawl: Crawl, start: Start, requests: int, workers: int = 2) -> bool:
    """Wait for so many requests, and for every worker to have its page process; say no if the crawl is over first."""

    def there() -> bool:
        if start.status is not None:
            return True
        return crawl.server.answered() >= requests and len(start.page_processes()) == workers

    wait_until(there, f"{requests} requests", patience_s=PATIENCE_S)
    assert not start.status, f"it ended with {start.status}: {start.said[-500:]}"
    return start.status is None
