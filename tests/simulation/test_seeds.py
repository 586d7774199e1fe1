"""Simulated crawls hold what they must under every fault a seed may draw, and a seed always tells the same story."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from chaos.simulation.faults import Fault, draw_terms
from chaos.simulation.loop import Process, Scheduler
from chaos.simulation.run import simulate

ROOT = Path(__file__).parents[2]
SEEDS = range(1, 41)
TOLD_TWICE = (7, 12, 31)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_that_must_hold_holds(seed: int) -> None:
    assert not simulate(seed).broken


def test_the_seeds_that_are_tried_hold_every_fault() -> None:
    drawn = {event.fault for seed in SEEDS for event in draw_terms(Random(f"{seed} terms")).events}
    assert drawn == set(Fault)


@pytest.mark.parametrize("seed", TOLD_TWICE)
def test_the_same_seed_gives_the_same_trace(seed: int) -> None:
    first, second = simulate(seed, keep_trace=True), simulate(seed, keep_trace=True)
    assert first.requests
    assert first.trace == second.trace
    assert first.trace_hash == second.trace_hash


def test_another_process_tells_the_same_story_and_another_seed_another_one() -> None:
    command = [sys.executable, "-m", "chaos", "simulate", "--seed", "7"]
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "11"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert f"trace {simulate(7).trace_hash};" in run.stdout
    assert simulate(8).trace_hash not in run.stdout


def test_time_passes_only_when_no_process_is_ready() -> None:
    scheduler = Scheduler(Random(1))
    process = Process(scheduler, "p", has_thread=True)  # type: ignore[abstract]
    scheduler.processes.append(process)

    def work() -> str:
        process.in_thread_for(3_600)
        return "done"

    async def sleep() -> str:
        await asyncio.sleep(86_400)
        return await asyncio.get_running_loop().run_in_executor(None, work)

    task = process.create_task(sleep())
    while not task.done():
        assert scheduler.step()
    assert task.result() == "done"
    assert 90_000 <= scheduler.now_s < 90_001


def test_what_is_killed_never_takes_another_step_and_what_is_paused_takes_it_later() -> None:
    scheduler = Scheduler(Random(1))
    heard: list[str] = []
    for name in ("killed", "paused"):
        process = Process(scheduler, name, has_thread=False)  # type: ignore[abstract]
        scheduler.processes.append(process)
        process.call_later(1.0, heard.append, name)
    killed, paused = scheduler.processes
    scheduler.pause(paused)
    scheduler.at(0.5, killed.kill)
    scheduler.at(10.0, lambda: heard.append("ten"))
    scheduler.at(10.0, lambda: scheduler.go_on(paused))
    while scheduler.step():
        pass
    assert heard == ["ten", "paused"]
