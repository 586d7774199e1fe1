"""Campaigns in a tiny form, each in a process of its own as `make chaos` runs them. The full ones are commands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.end_to_end.crawls import environment

TINY = {
    "kills": "--runs 1 --faults 3 --sites 8 --pages 6 --engine sqlite",
    "moves": "--runs 1 --faults 2 --sites 6 --pages 8",
    "clock": "--runs 1 --faults 2 --sites 6 --pages 8 --engine postgres --seed 2",  # its database jumps, too
    "points": "--runs 1 --faults 2 --sites 6 --pages 10 --engine sqlite",
    "power": "--runs 1 --faults 12 --sites 4 --pages 5",
    "rot": "--runs 1 --faults 5 --sites 2 --pages 4",
}


@pytest.mark.parametrize("campaign", TINY)
def test_a_crawl_survives(campaign: str) -> None:
    command = [sys.executable, "-m", "chaos", campaign, *TINY[campaign].split()]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=280)
    print(ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 of 1 runs as they should be" in ran.stdout or "left out" in ran.stdout
