"""A crawl of good sites and of traps: it ends, having spent little on each trap and missed nothing of the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from chaos.manners import crawl_traps
from gossamer_simweb import plain_web
from gossamer_simweb.traps import TRAPS
from tests.end_to_end.crawls import Crawl, said, wait_until

if TYPE_CHECKING:
    from pathlib import Path


def test_traps_cost_little_across_a_stop_too_and_good_sites_are_visited_whole(tmp_path: Path, frontier: str) -> None:
    web = plain_web(sites=4, pages=15, traps=1)
    verdict = crawl_traps(web, tmp_path / "data", workers=2, frontier=frontier, stops=1)
    assert verdict.ok, verdict.summary()
    assert len(verdict.trap_pages) == len(TRAPS) > 10
    assert min(verdict.trap_pages.values()) > 2, verdict.trap_pages


def test_status_names_the_limits_that_bit(tmp_path: Path) -> None:
    with simweb.serve(plain_web(sites=1, pages=300, traps=1)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1)
        with crawl.start():
            crawl.wait_for_requests(1)
            wait_until(lambda: "repeated_segments" in traps(crawl.folder), "a trap to show in status")
            assert traps(crawl.folder)["repeated_segments"] == 1


def traps(folder: Path) -> dict[str, int]:
    status = json.loads(said("status", "--json", "--data-dir", str(folder)))
    return dict(status.get("traps", {}))
