"""Many links of one page wait apart: their turn waits, the reports of other sites do not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from gossamer.records import Done, Link
from gossamer.turn import Effects
from gossamer.urls import identify
from gossamer.worker.link_lane import (
    HEAVY_LINKS,
    LANE_LINKS,
    LANE_SHARE,
    LEAST_PORTION,
    MAX_HELD_LINKS,
    MAX_REST_S,
    LinkLane,
)
from tests.worker.test_client import PAGE, FailingFrontier, nothing, office, site_in_hand

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.records import Batch, Completion

FLOOD = 10_000


class CountingFrontier(FailingFrontier):
    """A frontier that notes how many links and outcomes each batch had."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self.batches: list[tuple[int, int]] = []

    def complete(self, batch: Batch) -> Completion:
        """Note the batch, and complete it."""
        self.batches.append((len(batch.links), sum(len(visit.outcomes) for visit in batch.visits)))
        return super().complete(batch)


def flooded(links: int = FLOOD) -> Effects:
    """What a turn reports whose page has many links."""
    found = [Link(*identify(f"https://a.test/{number}"), 1) for number in range(links)]
    return Effects(outcomes={PAGE.url_hash: Done()}, links=found)


def test_each_turn_in_the_lane_gets_the_same_part_of_a_batch() -> None:
    async def crowd(turns: int) -> list[int]:
        lane = LinkLane()
        await lane.enter()  # takes what the first batch has
        waiting = [asyncio.create_task(lane.enter()) for _ in range(turns)]
        await asyncio.sleep(0)
        lane.open(0.0)
        await asyncio.sleep(0)
        taken = [task.result() for task in waiting if task.done()]
        for task in waiting:
            task.cancel()
        return taken

    assert asyncio.run(crowd(1)) == [LANE_LINKS]
    assert asyncio.run(crowd(4)) == [LANE_LINKS // 4] * 4
    assert asyncio.run(crowd(500)) == [LEAST_PORTION] * (LANE_LINKS // LEAST_PORTION)


def test_the_lane_rests_after_a_batch_for_which_others_waited() -> None:
    async def rest() -> None:
        lane = LinkLane()
        await lane.enter()
        lane.rest(0.1, now_s=10.0)
        place = asyncio.create_task(lane.enter())
        await asyncio.sleep(0)
        lane.open(10.0 + 0.1 * (LANE_SHARE - 1) - 0.01)
        await asyncio.sleep(0)
        assert not place.done()
        lane.open(10.0 + 0.1 * (LANE_SHARE - 1))
        assert await place == LANE_LINKS
        lane.rest(1_000.0, now_s=20.0)  # the database was away
        lane.open(20.0 + MAX_REST_S)
        assert await lane.enter() == LANE_LINKS

    asyncio.run(rest())


def test_a_turn_that_was_cancelled_leaves_its_place_to_the_next() -> None:
    async def cancel() -> None:
        lane = LinkLane()
        await lane.enter()
        first, second = asyncio.create_task(lane.enter()), asyncio.create_task(lane.enter())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        lane.open(0.0)
        assert await second == LANE_LINKS // 2

    asyncio.run(cancel())


def test_the_lane_has_room_for_one_turn_and_for_few_links_always() -> None:
    lane = LinkLane()
    assert lane.has_room(10 * MAX_HELD_LINKS)
    with lane.holding(MAX_HELD_LINKS):
        assert lane.has_room(HEAVY_LINKS)
        assert not lane.has_room(HEAVY_LINKS + 1)
    assert lane.has_room(HEAVY_LINKS + 1)


def test_a_flood_of_links_reaches_the_frontier_in_portions_before_the_outcome_of_its_page(tmp_path: Path) -> None:
    asyncio.run(_flood(tmp_path))


async def _flood(folder: Path) -> None:
    with office(folder, asyncio.get_running_loop().time, CountingFrontier) as (frontier, _, client, _membership):
        assert isinstance(frontier, CountingFrontier)
        frontier.join("test")
        frontier.claim(1)
        serving = asyncio.create_task(client.serve(nothing))
        flood = asyncio.create_task(client.commit(site_in_hand(1), flooded(), urgent=True))
        await asyncio.sleep(0)
        few = Effects(links=[Link(*identify("https://b.test/"), 1)])
        await client.commit(site_in_hand(2), few, urgent=True)
        assert not flood.done(), "an ordinary site waits for one batch, the flood for all of its portions"
        assert client.links_waiting <= LANE_LINKS
        await flood
        client.close()
        await serving
        assert client.lane.held == 0
        assert max(links for links, _ in frontier.batches) <= LANE_LINKS + HEAVY_LINKS
        assert [outcomes for _, outcomes in frontier.batches if outcomes] == [1], "with the last links"
        assert frontier.stats().known == 1 + FLOOD + 1


def test_a_cancelled_flood_is_reported_at_once(tmp_path: Path) -> None:
    asyncio.run(_cancel_flood(tmp_path))


async def _cancel_flood(folder: Path) -> None:
    with office(folder, asyncio.get_running_loop().time, CountingFrontier) as (frontier, _, client, _membership):
        frontier.join("test")
        frontier.claim(1)
        flood = asyncio.create_task(client.commit(site_in_hand(1), flooded(), urgent=True))
        await asyncio.sleep(0)
        flood.cancel()
        with pytest.raises(asyncio.CancelledError):
            await flood
        await client.finish()
        assert frontier.stats().known == 1 + FLOOD
        assert client.lane.held == 0
