"""A crawl that the operator pauses, restarts while it is paused, and resumes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, assert_nothing_lost, said, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer_simweb import WebServer


@pytest.fixture
def server() -> Iterator[WebServer]:
    with simweb.serve(plain_web(sites=6, pages=12, links_across=0.0)) as running:
        yield running


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_pause_outlives_a_restart_and_only_resume_ends_it(server: WebServer, tmp_path: Path, engine: str) -> None:
    frontier = new_database() if engine == "postgresql" else ""
    crawl = Crawl(server, tmp_path / "data", delay_s=0.3, frontier=frontier)
    here = ("--data-dir", str(crawl.folder))
    with crawl.start() as start:
        crawl.wait_for_requests(10)
        assert "is paused (it obeys within five seconds)" in said("pause", *here)
        wait_until(lambda: "; paused by the operator" in start.said, "the crawl to say so")
        wait_until(lambda: "The operator paused the crawl." in crawl.log, "the log to say so")
        asked = _answered_when_quiet(crawl)
        assert "is already paused" in said("pause", *here)
        assert json.loads(said("status", "--json", *here))["paused"]
        assert "by the operator, on all machines: nothing is begun until" in said("status", *here)
        assert "paused by the operator" in said("top", "--once", *here)
        assert "The operator paused the crawl: no turn begins until" in said("explain", crawl.seeds[0], *here)
        said("stop", *here)
        start.end()
    assert "is already paused (it is not running)" in said("pause", *here)
    with crawl.start() as start:
        wait_until(lambda: "The operator paused this crawl: `" in start.said, "the start to say so")
        wait_until(lambda: "pages (0.0/s)" in start.said, "the workers to have begun")
        assert server.answered() == asked
        assert "continues within five seconds" in said("resume", *here)
        assert "is not paused: it runs" in said("resume", *here, status=2)
        start.end()
    assert "The operator resumed the crawl." in crawl.log
    assert "is not paused: `" in said("resume", *here, status=2)
    assert_nothing_lost(crawl, kills=())


def _answered_when_quiet(crawl: Crawl) -> int:
    """Return how many requests were answered when the last worker has none under way any more."""

    def workers_are_idle() -> bool:
        workers = json.loads(said("status", "--json", "--data-dir", str(crawl.folder)))["workers"]
        return all(worker["figures"].get("paused_by_operator") and not worker["figures"]["turns"] for worker in workers)

    wait_until(workers_are_idle, "running requests to be finished")
    return crawl.server.answered()
