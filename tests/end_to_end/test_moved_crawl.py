"""A crawl that is moved twice in the middle, with kills on the way, and judged by the server's own log."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer_simweb import WebSpec
from tests.end_to_end.crawls import Crawl, assert_nothing_lost, said
from tests.end_to_end.moving import kill_moves, move
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

SPEC = WebSpec(sites=6, pages=10, slow_s=0.1, crawl_delay_s=0.5, broken=0)


def test_a_crawl_that_is_moved_twice_visits_the_same_pages_and_none_too_early(tmp_path: Path) -> None:
    dice = random.Random(11)
    database = new_database()
    kills, killed_moves = [], 0
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.3)
        with crawl.start() as start:
            crawl.wait_for_requests(12)
            kills.append(time.monotonic())
            start.kill_group()  # with sites in hand
        killed_moves += kill_moves(crawl, database, dice, 2)
        assert "with " in move(crawl, database) or killed_moves
        with open_existing(crawl.folder) as frontier:
            assert isinstance(frontier, PostgresFrontier)
        before = server.answered()
        with crawl.start() as start:
            crawl.wait_for_requests(before + 12)
            start.signal(signal.SIGTERM)
            start.end()
        killed_moves += kill_moves(crawl, "sqlite", dice, 2)
        move(crawl, "sqlite")
        with open_existing(crawl.folder) as frontier:
            assert isinstance(frontier, SqliteFrontier)
        crawl.finish()
        assert killed_moves >= 2
        assert_nothing_lost(crawl, kills=kills)
        assert "No problems" in said("verify", "--data-dir", str(crawl.folder))
