"""Many names that lead to one address: the address gets what the crawl promises, however many workers there are."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer_simweb import AddressLimit, plain_web
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer_simweb import WebServer
    from tests.end_to_end.crawls import Start

ADDRESS_DELAY_S = 0.1
WORKERS = 4
VICTIM = plain_web(sites=200, pages=3, crowded=1.0)
# The promise holds for any time; a short one needs a short crawl. A busy server stamps arrivals late, and so together.
WINDOW_S, STAMPED_LATE_S = 4.0, 0.5


def judge(server: WebServer) -> None:
    """Check, by the server's log, that the address got no more than promised."""
    limit = AddressLimit(
        delay_s=ADDRESS_DELAY_S,
        workers=WORKERS + int(STAMPED_LATE_S / ADDRESS_DELAY_S),
        address_of=server.web.address,
        window_s=WINDOW_S,
    )
    verdict = simweb.judge(server.log(), delay_s=1.0, expected=None, address_limit=limit, allowed_repeats=1_000)
    assert verdict.ok, verdict.summary()
    assert len({server.web.address(request.host.partition(":")[0]) for request in server.log()}) == 1


def kill_one(start: Start) -> None:
    """Kill a worker, and wait for the one that replaces it."""
    before = start.workers()
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: before[0] not in (after := start.workers()) and len(after) == len(before), "another worker")


def test_an_address_with_many_names_gets_no_more_than_promised_also_across_a_kill(tmp_path: Path) -> None:
    with simweb.serve(VICTIM) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=1.0, workers=WORKERS, address_delay_s=ADDRESS_DELAY_S)
        with crawl.start() as start:
            crawl.wait_for_requests(25)
            assert "waiting for an address that others share" in said("status", "--data-dir", str(crawl.folder))
            kill_one(start)
            crawl.wait_for_requests(70)
            start.interrupt()
            start.end()
        judge(server)
        assert "No problems." in said("verify", "--data-dir", str(crawl.folder))


def test_two_machines_share_what_an_address_may_get(tmp_path: Path) -> None:
    database = new_database()
    with simweb.serve(VICTIM) as server:
        crawls = [
            Crawl(
                server, tmp_path / name, delay_s=1.0, workers=WORKERS // 2, frontier=database,
                address_delay_s=ADDRESS_DELAY_S,
            )
            for name in ("one", "other")
        ]  # fmt: skip
        with crawls[0].start() as here, crawls[1].start() as there:
            crawls[0].wait_for_requests(30)
            kill_one(there)
            crawls[0].wait_for_requests(70)
            for start in (here, there):
                start.interrupt()
            for start in (here, there):
                start.end()
        judge(server)
        folders = [flag for crawl in crawls for flag in ("--data-dir", str(crawl.folder))]
        assert "No problems." in said("verify", *folders)
