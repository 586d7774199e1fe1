"""Two machines, each with its folder and supervisor, on one crawl in one database: what they must agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer import simweb
from gossamer.crawl.engines import open_existing
from gossamer.simweb import WebSpec
from tests.end_to_end.crawls import Crawl
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path


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
