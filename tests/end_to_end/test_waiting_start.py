"""A start on a machine that waits to see whether the workers of another one are alive."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.frontier.postgres import PostgresFrontier
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl
from tests.frontier.postgres_server import new_database
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEASE_S = 4


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    """A small crawl on whose database another machine has worked, and died."""
    address = new_database()
    with PostgresFrontier(address, "crawl", home="there") as there:
        there.join("vm:18556")
    with simweb.serve(plain_web(sites=1, pages=3)) as server:
        yield Crawl(server, tmp_path / "data", delay_s=0.1, workers=1, frontier=address)


def test_where_there_is_no_terminal_one_line_says_for_whom_it_waits(crawl: Crawl) -> None:
    said = crawl.finish("--lease", str(LEASE_S))
    waits = [line for line in said.splitlines() if line.startswith("Waiting")]
    assert waits == [f"Waiting up to {LEASE_S} s to see whether vm:18556 is alive"]
    assert "3 pages in" in said


def test_on_a_terminal_it_counts_down_in_place(crawl: Crawl) -> None:
    _, *arguments = crawl.command()
    with Terminal([*arguments, "--lease", str(LEASE_S)]) as terminal:
        screen = terminal.wait_for("to see whether vm:18556 is alive")
        assert screen.text.count("Waiting up to") == 1
        screen = terminal.wait_for("Staying on the seeds' sites")
        assert "Waiting" not in screen.text
        assert terminal.end() == 0
        shown = [int(seconds) for seconds in re.findall(r"Waiting up to (\d+) s", terminal.written)]
    assert shown[0] == LEASE_S
    assert len(set(shown)) > 1
    assert shown == sorted(shown, reverse=True)
