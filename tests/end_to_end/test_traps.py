"""A crawl of good sites and of traps: it ends, having spent little on each trap and missed nothing of the others."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gossamer import simweb
from gossamer.simweb import plain_web
from gossamer.simweb.spec import PlantedName
from tests.end_to_end.crawls import Crawl, environment, wait_until
from tests.end_to_end.traps import FLOOD_HOSTS, TRAPS, TrapServer, serve_traps

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMITS = {"max_parameter_sets": 15, "max_hosts_per_site": 20, "same_content_patience": 20, "site_budget": 30}
WORKERS = 2  # each with a memory of its own
MOST_PAGES = {
    "longer.test": 15,
    "deeper.test": 32,
    "again.test": 4,
    "parameters.test": 23,
    "filters.test": 2 + WORKERS * 15,
    "session.test": 2,
    "later.test": 50,  # until ten years from now; it begins a little before
    "earlier.test": 50,  # until 200 years ago; it begins a little after
    "same.test": 2 + WORKERS * 25,
    "novel.test": 2 + WORKERS * 31,
    "flood.test": 2 + WORKERS * 21,
    "redirect.test": 12,  # a seed may redirect wherever it likes, but not for ever
}


@pytest.fixture
def traps() -> Iterator[TrapServer]:
    with serve_traps() as server:
        yield server


def test_traps_cost_little_and_good_sites_are_visited_whole(traps: TrapServer, tmp_path: Path) -> None:
    names = [*TRAPS, *(f"h{number}.flood.test" for number in range(FLOOD_HOSTS))]
    planted = tuple(PlantedName(name=name, addresses=("127.0.0.1",)) for name in names)
    with simweb.serve(plain_web(sites=4, pages=15, planted_names=planted)) as server:
        crawl = Crawl(server, tmp_path / "data", *traps.seeds(), delay_s=0.0, workers=WORKERS)
        crawl.seeds = server.seeds()  # the only ones the simulated web knows of
        crawl.finish(*(flag for name, value in LIMITS.items() for flag in ("--set", f"{name}={value}")))
        verdict = crawl.judge()
        assert verdict.ok, verdict.summary()
    assert {name for name, most in MOST_PAGES.items() if traps.asked[name] > most} == set(), traps.asked
    assert all(traps.asked[name] >= 2 for name in TRAPS), traps.asked


def test_status_names_the_limits_that_bit(traps: TrapServer, tmp_path: Path) -> None:
    planted = (PlantedName(name="again.test", addresses=("127.0.0.1",)),)
    with simweb.serve(plain_web(sites=1, pages=300, planted_names=planted)) as server:
        crawl = Crawl(server, tmp_path / "data", f"http://again.test:{traps.server_port}/", delay_s=0.1, workers=1)
        with crawl.start():
            wait_until(lambda: bool(status(crawl.folder).get("traps")), "a trap to show in status")
            assert status(crawl.folder)["traps"] == {"repeated_segments": 1}


def status(folder: Path) -> dict[str, dict[str, int]]:
    command = [sys.executable, "-m", "gossamer", "status", "--json", "--data-dir", str(folder)]
    ran = subprocess.run(command, capture_output=True, env=environment(), check=False)
    found: dict[str, dict[str, int]] = json.loads(ran.stdout) if ran.returncode == 0 else {}
    return found
