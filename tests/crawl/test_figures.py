"""What a worker counts and records for its observers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from gossamer.records import Claim, QueuedUrl
from gossamer.workbench import Workbench, WorkbenchSettings
from gossamer.worker import Figures
from gossamer.worker.figures import memory_bytes


def claim(site: str) -> Claim:
    url = QueuedUrl(f"https://{site}/", b"0" * 16, f"https://{site}", 0, 0, 0, 0, 0)
    return Claim(site=site, epoch=1, delay_s=70, urls=(url, url), hosts={})


def test_requests_are_in_flight_until_they_have_ended_however_they_end() -> None:
    figures = Figures()
    with figures.under_way(), figures.under_way():
        assert figures.snapshot()["in_flight"] == 2
    with pytest.raises(TimeoutError), figures.under_way():
        raise TimeoutError
    assert figures.snapshot()["in_flight"] == 0


def test_figures_tell_which_sites_are_due_and_when_the_next_one_is() -> None:
    now_s = 100.0
    figures, bench = Figures(lambda: now_s), Workbench(WorkbenchSettings())
    bench.take_in(claim("a.test"), 100.0)
    bench.take_in(claim("b.test"), 100.0)
    site = bench.next_turn(100.0)
    assert site is not None
    figures.show_load(bench, turns=1)
    noted = figures.snapshot()
    assert (noted["sites_in_hand"], noted["sites_due"], noted["turns"]) == (2, 1, 1)
    assert "next_due_s" not in noted
    bench.finish(site, 170.0)
    bench.remove("b.test")
    figures.show_load(bench, turns=0)
    now_s = 130.0
    assert figures.snapshot()["next_due_s"] == 40.0
    now_s = 200.0
    assert figures.snapshot()["next_due_s"] == 0.0


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
