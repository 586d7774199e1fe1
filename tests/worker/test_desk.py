"""What a worker reports reaches the frontier as it was meant, also if the database fails on the way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gossamer.frontier import FrontierError
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.politeness.scope import Exclusions
from gossamer.records import Claimed, Link, Retry
from gossamer.store.store import Store, StoreSettings
from gossamer.urls import identify
from gossamer.workbench import Workbench, WorkbenchSettings
from gossamer.worker import Desk, WorkerSettings

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.records import Batch, Completion

PAGE = identify("https://a.test/")
RETRY_AFTER_S = 3_600.0


class FailingFrontier(SqliteFrontier):
    """A frontier whose next completions fail before anything has happened."""

    failures = 0

    def complete(self, batch: Batch) -> Completion:
        """Fail, or complete."""
        if self.failures:
            self.failures -= 1
            raise FrontierError("connection lost")
        return super().complete(batch)


def test_a_wait_that_a_site_asked_for_survives_a_report_that_failed(tmp_path: Path) -> None:
    asyncio.run(_report_through_a_failure(tmp_path))


async def _report_through_a_failure(folder: Path) -> None:
    clock_s = 1_000.0
    with FailingFrontier(folder / "frontier.sqlite", clock=lambda: clock_s) as frontier:
        frontier.resume(delay_s=0.5)
        frontier.add([Link(*PAGE, 0)])
        frontier.join("test")
        bench = Workbench(WorkbenchSettings())
        desk = Desk(
            frontier=frontier,
            store=Store(folder, "w1", StoreSettings(), operator="", user_agent=""),
            bench=bench,
            exclusions=Exclusions(),
            label="test",
            folder=folder,
            min_free_bytes=0,
            settings=WorkerSettings(batch_s=0.05),
            clock=lambda: clock_s,
            figures=dict,
        )
        claimed = frontier.claim(1)
        assert isinstance(claimed, Claimed)
        bench.take_in(claimed.claims[0], clock_s)
        site = bench.next_turn(clock_s)
        assert site is not None
        site.urls.clear()
        bench.finish(site, clock_s + RETRY_AFTER_S)
        desk.ledger.note_outcome("a.test", site.epoch, PAGE.url_hash, Retry(wait_s=0))
        desk.give_back(site, clock_s + RETRY_AFTER_S)
        frontier.failures = 1
        await desk.finish()
        state = frontier.find_site("a.test")
        assert state is not None
        assert state.owner is None
        assert state.wait_s == RETRY_AFTER_S
