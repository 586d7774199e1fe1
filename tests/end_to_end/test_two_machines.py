"""Two machines, each with its folder and supervisor, on one crawl in one database: their own, and what they share."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.frontier.settings import FrontierSettings
from gossamer_simweb import WebSpec
from tests.end_to_end.crawls import Crawl, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import FrontierReader


def stops_with_sites(worker: int, frontier: FrontierReader) -> bool:
    """Stop a worker for good, if it has sites in hand."""
    os.kill(worker, signal.SIGSTOP)
    if any(each.sites for each in frontier.workers() if each.label.endswith(f":{worker}")):
        return True
    os.kill(worker, signal.SIGCONT)
    return False


def test_a_supervisor_ends_its_own_dead_worker_at_once_and_no_other(tmp_path: Path) -> None:
    address = new_database()
    with simweb.serve(WebSpec(sites=8, pages=200, broken=0)) as server:
        one, other = (
            Crawl(server, tmp_path / name, delay_s=0.5, workers=1, frontier=address) for name in ("one", "other")
        )
        with one.start() as here, other.start() as there:
            for crawl in (one, other):
                wait_until(lambda: any(crawl.folder.glob("warc/*")), "both to have pages")  # noqa: B023
            (victim,), (bystander,) = here.workers(), there.workers()
            with open_existing(one.folder) as frontier:
                wait_until(lambda: stops_with_sites(victim, frontier), "a moment at which it has sites in hand")
                states = {int(each.label.rpartition(":")[2]): each for each in frontier.workers()}
                killed_s = time.monotonic()
                os.kill(victim, signal.SIGKILL)
                wait_until(lambda: here.workers() not in ([], [victim]), "another worker")
                wait_until(lambda: len(frontier.workers()) >= 3, "it to join")
                assert time.monotonic() - killed_s < FrontierSettings().lease_s / 2
                after = {each.worker: each for each in frontier.workers()}
                assert after[states[victim].worker].gone
                assert after[states[victim].worker].sites == 0
                assert not after[states[bystander].worker].gone
            assert " of the dead worker " in one.log
            assert there.workers() == [bystander]
        assert one.judge(kills=[killed_s]).early == ()


def test_a_machine_with_other_settings_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    address = new_database()
    with simweb.serve(WebSpec(sites=4, pages=30, broken=0)) as server:
        one, other = (
            Crawl(server, tmp_path / name, delay_s=0.5, workers=1, frontier=address) for name in ("one", "other")
        )
        with one.start() as start:
            one.wait_for_requests(8)
            for flags, said in (
                (("--delay", "0.1"), "with delay = 0.5, here it would be 0.1: give all machines the same, or stop it"),
                (("--lease", "10"), "with lease = 60.0, here it would be 10.0"),
            ):
                with other.start(*flags) as refused:
                    assert said in refused.end(status=2)
            assert not (other.folder / "crawl.toml").exists()
            with open_existing(one.folder) as frontier:
                assert [worker.gone for worker in frontier.workers()] == [False]
            assert start.status is None
