"""A worker gives every site back, whatever goes wrong in a turn, and holds no slot that it does not need."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gossamer.crawl.compose import worker_terms
from gossamer.crawl.settings import SECTIONS, Settings
from gossamer.fetch import FetchLoad
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.page_process.process import PageProcess
from gossamer.page_process.settings import PageSettings
from gossamer.records import Fetched, Link, RequestKind, SiteStanding
from gossamer.rules.pace import PaceSettings
from gossamer.store.store import Store, StoreSettings
from gossamer.urls import identify
from gossamer.workbench import Workbench, WorkbenchSettings
from gossamer.worker import Figures, Worker, WorkerParts
from gossamer.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from gossamer.records import UrlState
    from gossamer.turn import Effects

MOVED = "/moved"  # redirects to /target
DELAY_S = 0.05


class Web:
    """A network where every page is missing, or moved."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @property
    def load(self) -> FetchLoad:
        """Nothing is held."""
        return FetchLoad()

    def release(self, size_bytes: int) -> None:
        """Forget a body."""

    def recall(self, host: str) -> tuple[str, ...]:
        """All names lead to one address."""
        return ("192.0.2.1",)

    async def locate(self, url: str) -> tuple[str, ...]:
        """All names lead to one address."""
        return ("192.0.2.1",)

    def is_own(self, address: str) -> bool:
        """It has no pace."""
        return True

    async def fetch(
        self,
        url: str,
        *,
        address: str | None = None,
        kind: RequestKind = RequestKind.PAGE,
        for_links: bool = False,
        before_send: Callable[[], bool] | None = None,
        site: str = "",
        standing: SiteStanding = SiteStanding.ANSWERED,
    ) -> Fetched:
        """Answer at once."""
        self.asked.append(url)
        status, location = (302, b"Location: /target\r\n") if url.endswith(MOVED) else (404, b"")
        head = b"HTTP/1.1 %d Word\r\n%s\r\n" % (status, location)
        return Fetched(
            url=url, status=status, head=head, body=b"", address="192.0.2.1", request_head=b"",
            started_at=time.time(), duration_s=0.001,
        )  # fmt: skip


class BrokenFigures(Figures):
    """Figures that fail once, when a page was asked for."""

    is_broken = True

    def count(self, effects: Effects) -> None:
        """Fail, or count."""
        if effects.outcomes and self.is_broken:
            self.is_broken = False
            raise RuntimeError("a bug of ours")
        super().count(effects)


class SlowFrontier(SqliteFrontier):
    """A frontier that looks up URLs only when the test lets it."""

    may_look_up: threading.Event

    def find_url(self, site: str, url_hash: bytes) -> UrlState | None:
        """Wait, and look up."""
        assert self.may_look_up.wait(30)
        return super().find_url(site, url_hash)


@asynccontextmanager
async def working(
    folder: Path, *seeds: str, figures: Figures | None = None, in_flight: int = 10
) -> AsyncIterator[tuple[SlowFrontier, Web]]:
    """A worker at work on these seeds, in a network without a server."""
    sections = {name: section() for name, section in SECTIONS.items()}
    sections["pace"] = PaceSettings(delay_s=DELAY_S, step_gap_s=0.01)
    sections["worker"] = WorkerSettings(batch_s=0.05, stop_s=5.0)
    settings = Settings(**sections)
    with SlowFrontier(folder / "frontier.sqlite") as frontier:
        frontier.may_look_up = threading.Event()
        frontier.resume(delay_s=DELAY_S)
        frontier.add([Link(*identify(seed), 0, seeded=True) for seed in seeds])
        frontier.join("test")
        web = Web()
        terms = worker_terms(settings, name="w1", label="test", folder=folder, in_flight=in_flight)
        worker = Worker(
            WorkerParts(
                frontier=frontier,
                fetcher=web,
                pages=PageProcess(PageSettings(), agent="test"),
                store=Store(folder, "w1", StoreSettings(), operator="", user_agent=""),
                bench=Workbench(WorkbenchSettings()),
                figures=figures or Figures(time.monotonic),
            ),
            replace(terms, min_free_bytes=0),
        )
        running = asyncio.create_task(worker.run())
        try:
            yield frontier, web
        finally:
            frontier.may_look_up.set()
            worker.stop()
            await asyncio.wait_for(running, 30)


def test_a_bug_at_the_end_of_a_turn_does_not_keep_its_site_busy_for_ever(tmp_path: Path) -> None:
    asyncio.run(_fail_at_the_end(tmp_path))


async def _fail_at_the_end(folder: Path) -> None:
    async with working(folder, "https://a.test/1", "https://a.test/2", figures=BrokenFigures(time.monotonic)) as (
        frontier,
        web,
    ):
        await _until(frontier.drained)
        assert {"https://a.test/1", "https://a.test/2"} <= set(web.asked)


def test_a_redirect_whose_target_is_looked_up_holds_no_slot_of_a_request(tmp_path: Path) -> None:
    """The frontier may take its time; others can ask for pages meanwhile."""
    asyncio.run(_look_up_slowly(tmp_path))


async def _look_up_slowly(folder: Path) -> None:
    # Three turns can be under way. Their robots rules are durable before the first page, the redirect, is asked for.
    seeds = ["https://a.test" + MOVED, "https://b.test/", "https://c.test/"]
    async with working(folder, *seeds, in_flight=1) as (_frontier, web):
        await _until(lambda: set(seeds) <= set(web.asked))


def test_figures_tell_what_is_in_hand_and_under_way(tmp_path: Path) -> None:
    asyncio.run(_show_load(tmp_path))


async def _show_load(folder: Path) -> None:
    figures = Figures(time.monotonic)
    async with working(folder, "https://a.test" + MOVED, figures=figures) as (_frontier, web):
        await _until(lambda: "https://a.test" + MOVED in web.asked)  # its target is looked up meanwhile
        noted = figures.snapshot()
        assert (noted["turns"], noted["sites_in_hand"], noted["sites_due"], noted["in_flight"]) == (1, 1, 0, 0)
        assert noted["requests"] == 2


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not happened():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.01)
