"""Moves of a crawl's frontier as an operator types them, and moves that are killed on their way."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.crawl.moves import fatal_step
from tests.end_to_end.crawls import Start, environment, wait_until

if TYPE_CHECKING:
    import random

    from tests.end_to_end.crawls import Crawl

TIMEOUT_S = 120.0


def move(crawl: Crawl, to: str) -> str:
    """Move a crawl that does not run, to the end; return what was printed."""
    with Start(["move", "--to", to, "--data-dir", str(crawl.folder)]) as start:
        return start.end()


def kill_moves(crawl: Crawl, to: str, dice: random.Random, times: int) -> int:
    """Kill this many moves, each after a random number of steps; return how many did not end before that."""
    killed = 0
    for _ in range(times):
        command = [sys.executable, "-m", "tests.crawl.moves", str(crawl.folder), to, str(fatal_step(dice))]
        ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=TIMEOUT_S)
        assert ran.returncode in (0, -signal.SIGKILL), ran.stderr
        killed += ran.returncode != 0
    assert_one_way_on(crawl)
    return killed


def assert_one_way_on(crawl: Crawl) -> None:
    """Check that a start resumes the crawl, or says that the move has to be finished."""
    before = crawl.server.answered()
    with crawl.start() as start:
        wait_until(lambda: start.status is not None or crawl.server.answered() > before, "a request, or a refusal")
        if start.status is None:
            start.signal(signal.SIGTERM)
            start.end()
        elif start.status:
            assert "gossamer move --to" in start.end(status=2)
