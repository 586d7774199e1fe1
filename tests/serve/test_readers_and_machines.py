"""The dashboard of a user who may only read, and of a crawl on several machines."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.frontier.settings import FrontierSettings
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, wait_until
from tests.end_to_end.reading_user import listing
from tests.frontier.postgres_server import new_database
from tests.serve.dashboards import dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator

IS_ROOT = os.geteuid() == 0
# Root without capabilities is a user like any other.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if IS_ROOT else ()


@pytest.fixture
def read_only(crawled: Path, tmp_path: Path) -> Iterator[Path]:
    """A crawl that nobody may write to."""
    folder = Path(shutil.copytree(crawled, tmp_path / "read-only"))
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    yield folder
    for path in paths:
        path.chmod(path.stat().st_mode | 0o200)


@pytest.mark.skipif(IS_ROOT and shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_user_who_may_only_read_serves_all_pages_and_changes_nothing(read_only: Path, tmp_path: Path) -> None:
    before = listing(read_only)
    with dashboard(read_only, tmp_path / "keys" / "tokens", wrapper=WITHOUT_RIGHTS) as served:
        for path in ("/", "/sites", "/site?name=a.test", "/url?url=https://a.test/1", "/report", "/history"):
            assert served.ask(path, as_="viewer").status == 200, path
        refused = served.ask("/order", as_="operator", method="POST", body="what=pause")
        assert refused.status == 409
        assert re.search('<p class="card">[^<]+</p>', refused.body)
    assert listing(read_only) == before


def test_all_machines_of_a_crawl_are_seen_and_a_dead_one_is_named_within_its_lease(tmp_path: Path) -> None:
    address = new_database()
    with simweb.serve(plain_web(sites=8, pages=200, links_across=0.0)) as web:
        one, other = (
            Crawl(web, tmp_path / name, delay_s=0.5, workers=1, frontier=address) for name in ("one", "other")
        )
        with one.start() as here, other.start() as there:
            for crawl in (one, other):
                wait_until(lambda: any(crawl.folder.glob("warc/*")), "both to have pages")  # noqa: B023
            labels = [f":{worker}</td>" for start in (here, there) for worker in start.workers()]
            with dashboard(one.folder, tmp_path / "keys" / "tokens") as served:

                def page() -> str:
                    return served.ask("/", as_="viewer").body

                wait_until(lambda: all(label in page() for label in labels), "both machines to be shown")
                there.kill_group()
                killed_s = time.monotonic()
                wait_until(
                    lambda: "1 worker silent: stopped, cut off from the frontier, or dead" in page(), "its silence"
                )
                assert time.monotonic() - killed_s < FrontierSettings().lease_s
