"""What a worker counts and records for its observers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from gossamer.worker import Figures
from gossamer.worker.figures import memory_bytes


def test_what_is_in_hand_is_asked_for_when_the_figures_are_wanted() -> None:
    figures, turns = Figures(), [1]
    assert "turns" not in figures.snapshot()
    figures.watch_load(lambda: {"turns": len(turns)})
    assert figures.snapshot()["turns"] == 1
    turns.append(2)
    assert figures.snapshot()["turns"] == 2


async def block_then_rest(figures: Figures) -> float:
    watch = asyncio.create_task(figures.watch_loop())
    await asyncio.sleep(0.02)
    time.sleep(0.25)  # noqa: ASYNC251 - a loop that is held up is what is measured
    await asyncio.sleep(0.15)
    held_up_s = figures.snapshot()["loop_lag_s"]
    async with asyncio.timeout(30):
        while figures.snapshot()["loop_lag_s"] >= held_up_s:  # noqa: ASYNC110 - there is no event when it is forgotten
            await asyncio.sleep(0.05)
    watch.cancel()
    return held_up_s


def test_the_lag_of_late_is_forgotten_and_the_worst_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.worker.figures.LAG_WINDOW_S", 0.15)
    figures = Figures()
    held_up_s = asyncio.run(block_then_rest(figures))
    assert held_up_s > 0.1
    assert figures.snapshot()["max_loop_lag_s"] >= held_up_s


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what children take")
def test_memory_is_that_of_the_worker_and_of_its_page_process() -> None:
    before = memory_bytes()
    assert before > 10_000_000
    script = "held = b'x' * 50_000_000; print('ready', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert memory_bytes() - before > 40_000_000
        child.communicate(b"\n")
