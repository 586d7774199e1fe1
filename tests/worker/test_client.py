"""What a worker reports reaches the frontier as it was meant, also if the database fails on the way."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.frontier import FrontierError
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Claim, Claimed, Link, Retry
from gossamer.rules.scope import Exclusions
from gossamer.store.disk import DiskWatch
from gossamer.store.store import Store, StoreSettings
from gossamer.turn import Effects
from gossamer.urls import identify
from gossamer.workbench import SiteInHand, Workbench, WorkbenchSettings
from gossamer.worker.client import FrontierClient
from gossamer.worker.membership import Membership

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gossamer.records import Batch, Completion, Gone

PAGE = identify("https://a.test/")
RETRY_AFTER_S = 3_600.0


class FailingFrontier(SqliteFrontier):
    """A frontier whose next completions fail before anything has happened."""

    failures = 0
    reason = "connection lost"

    def complete(self, batch: Batch) -> Completion:
        """Fail, or complete."""
        if self.failures:
            self.failures -= 1
            raise FrontierError(self.reason)
        return super().complete(batch)


@contextmanager
def office(
    folder: Path, clock: Callable[[], float], engine: type[FailingFrontier] = FailingFrontier
) -> Iterator[tuple[FailingFrontier, Workbench, FrontierClient, Membership]]:
    """A frontier that knows one page, a worker's client and membership, and the workbench that the client fills."""
    with engine(folder / "frontier.sqlite", clock=clock) as frontier:
        frontier.resume(delay_s=0.5)
        frontier.add([Link(*PAGE, 0)])
        bench = Workbench(WorkbenchSettings())
        thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")
        membership = Membership(
            frontier=frontier,
            thread=thread,
            label="test",
            heartbeat_s=0.05,
            own_exclusions=Exclusions(),
            clock=clock,
            figures=dict,
            died=bench.clear,
        )
        client = FrontierClient(
            frontier=frontier,
            thread=thread,
            membership=membership,
            store=Store(folder, "w1", StoreSettings(), operator="", user_agent=""),
            bench=bench,
            disk=DiskWatch(folder, 0),
            batch_s=0.05,
            clock=clock,
        )
        yield frontier, bench, client, membership
        thread.shutdown()


def site_in_hand(epoch: int) -> SiteInHand:
    return SiteInHand(Claim(site="a.test", epoch=epoch, delay_s=0.5, urls=(), hosts={}))


def retried() -> Effects:
    """What a turn reports whose page is to be tried again."""
    return Effects(outcomes={PAGE.url_hash: Retry(wait_s=0)})


def nothing() -> None:
    """Hear that something changed."""


def test_a_wait_that_a_site_asked_for_survives_a_report_that_failed(tmp_path: Path) -> None:
    asyncio.run(_report_through_a_failure(tmp_path))


async def _report_through_a_failure(folder: Path) -> None:
    clock_s = 1_000.0
    with office(folder, lambda: clock_s) as (frontier, bench, client, _membership):
        frontier.join("test")
        claimed = frontier.claim(1)
        assert isinstance(claimed, Claimed)
        bench.take_in(claimed.claims[0], clock_s)
        site = bench.next_turn(clock_s)
        assert site is not None
        site.urls.clear()
        bench.finish(site, clock_s + RETRY_AFTER_S)
        client.note(site, retried())
        client.release(site, clock_s + RETRY_AFTER_S, "test")
        frontier.failures = 1
        await client.finish()
        state = frontier.find_site("a.test")
        assert state is not None
        assert state.owner is None
        assert state.wait_s == RETRY_AFTER_S


def test_a_stop_while_reports_fail_for_long_already_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.worker.client.MAX_BACKOFF_S", 0.05)
    with pytest.raises(FrontierError):
        asyncio.run(_stop_while_reports_fail(tmp_path))


async def _stop_while_reports_fail(folder: Path) -> None:
    with office(folder, lambda: 1_000.0) as (frontier, _, client, _membership):
        frontier.join("test")
        frontier.failures = many = 10**9
        client.note(site_in_hand(1), retried())
        rhythm = asyncio.create_task(client.serve(nothing))
        await _until(lambda: many - frontier.failures > 3)
        client.close()
        await asyncio.wait_for(rhythm, 30)


def test_another_reason_why_reports_fail_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gossamer.worker.client.MAX_BACKOFF_S", 0.05)
    asyncio.run(_fail_for_two_reasons(tmp_path))
    told = [record.getMessage() for record in caplog.records if "Reports cannot" in record.getMessage()]
    assert ["connection lost" in told[0], "disk full" in told[1], len(told)] == [True, True, 2]


async def _fail_for_two_reasons(folder: Path) -> None:
    with office(folder, lambda: 1_000.0) as (frontier, _, client, _membership):
        frontier.join("test")
        frontier.failures = 6
        client.note(site_in_hand(1), retried())
        rhythm = asyncio.create_task(client.serve(nothing))
        await _until(lambda: frontier.failures < 4)
        frontier.reason = "disk full"
        await _until(lambda: frontier.failures == 0 and not client.trouble)
        client.close()
        await rhythm
        await client.finish()


def test_a_late_report_of_what_was_lost_leaves_in_hand_what_was_claimed_again(tmp_path: Path) -> None:
    """Or else the site would be owned for good by a worker that has forgotten it."""
    asyncio.run(_report_late(tmp_path))


async def _report_late(folder: Path) -> None:
    clock_s = 1_000.0
    with office(folder, lambda: clock_s) as (frontier, bench, client, membership):
        worker = frontier.join("test")
        rhythm = [
            asyncio.create_task(client.serve(nothing)),
            asyncio.create_task(membership.beat(nothing)),
        ]
        await _until(lambda: bench.held() == {"a.test": 1})
        site = bench.next_turn(clock_s)
        assert site is not None
        with SqliteFrontier(folder / "frontier.sqlite", clock=lambda: clock_s) as other:
            assert other.recover(worker) == 1
        clock_s += 1.0
        await _until(lambda: bench.held() == {"a.test": 2})
        client.note(site, retried())
        client.release(site, clock_s, "test")
        await client.commit(site, Effects(), urgent=True)
        assert bench.held() == {"a.test": 2}
        client.close()
        membership.close()
        await asyncio.gather(*rhythm)
        await client.finish()


def test_a_worker_that_hears_twice_of_its_death_joins_again_once(tmp_path: Path) -> None:
    asyncio.run(_hear_twice(tmp_path))


async def _hear_twice(folder: Path) -> None:
    with office(folder, lambda: 1_000.0) as (frontier, _, client, membership):
        dead = frontier.join("test")
        assert all(await asyncio.gather(membership.rejoin(0), membership.rejoin(0)))
        await client.finish()
        assert frontier.join("next") == dead + 2


class SlowFrontier(FailingFrontier):
    """A frontier whose claims end only when the test lets them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_claiming = threading.Event()
        self.may_answer = threading.Event()

    def claim(self, sites: int) -> Claimed | Gone:
        """Claim, but do not answer yet."""
        claimed = super().claim(sites)
        self.is_claiming.set()
        assert self.may_answer.wait(30)
        return claimed


def test_a_site_that_is_released_during_an_empty_claim_is_claimed_with_the_next_batch(tmp_path: Path) -> None:
    """Not two seconds later: at the end of a crawl, most claims are empty."""
    asyncio.run(_release_during_a_claim(tmp_path))


async def _release_during_a_claim(folder: Path) -> None:
    clock_s = 1_000.0
    with office(folder, lambda: clock_s, SlowFrontier) as (frontier, bench, client, _membership):
        assert isinstance(frontier, SlowFrontier)
        frontier.join("test")
        frontier.may_answer.set()
        claimed = frontier.claim(1)
        assert isinstance(claimed, Claimed)
        bench.take_in(claimed.claims[0], clock_s)
        site = bench.next_turn(clock_s)
        assert site is not None
        frontier.is_claiming.clear()
        frontier.may_answer.clear()
        rhythm = asyncio.create_task(client.serve(nothing))
        await _until(frontier.is_claiming.is_set)  # and finds nothing, because the site is in hand
        site.urls.clear()
        bench.finish(site, clock_s)
        client.release(site, clock_s, "test")
        frontier.may_answer.set()
        await _until(lambda: bench.held() == {"a.test": 2}, 1.0)  # the clock stands still: a wait would never end
        client.close()
        await rhythm
        await client.finish()


async def _until(happened: Callable[[], bool], within_s: float = 30.0) -> None:
    async with asyncio.timeout(within_s):
        while not happened():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.01)
