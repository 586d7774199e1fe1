"""Recordings of py-spy, which samples the stacks of all processes of a crawl from outside, and what they say.

A sample counts for the innermost module of Gossamer on its stack, so that time in a library belongs to the module that
called it. Samples of imports are left out: they are the start, which benchmarks take off.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.process_tree import MAIN, Part, role_of, thread_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RATE_PER_S = 200
EVENT_LOOP = "event loop"
LIBRARIES = "Python and libraries"

_PROCESS = re.compile(r'process (\d+):"(.*)"')
_THREAD = re.compile(r"thread \((\d+)\)(?:: (.+))?")
_MODULE = re.compile(r".*/src/gossamer/([\w/]+?)(?:/__init__|/__main__)?\.py:\d+\)$")
_LOOP = re.compile(r"/(asyncio|uvloop)/\w+\.py:\d+\)$")


class Stack(NamedTuple):
    """Where a thread was, in one or more samples: the outermost frame first."""

    part: Part
    frames: tuple[str, ...]
    samples: int


def py_spy(output: Path, command: Sequence[str], *, rate_per_s: int = RATE_PER_S) -> list[str]:
    """Return the command that runs another one and records the stacks of it and of all processes below it."""
    spy = Path(sys.executable).parent / "py-spy"
    options = ["--subprocesses", "--threads", "--full-filenames", "--rate", str(rate_per_s), "--format", "raw"]
    return [str(spy), "record", *options, "--output", str(output), "--", *command]


def read(text: str) -> Iterator[Stack]:
    """Read a recording in py-spy's raw format: one stack per line, processes and threads as outermost frames."""
    for line in text.splitlines():
        stack, _, samples = line.rpartition(" ")
        frames = stack.split(";")
        commands: list[list[str]] = []
        process = 0
        while frames and (found := _PROCESS.fullmatch(frames[0])):
            process = int(found[1])
            commands.append(found[2].split())
            del frames[0]
        thread = _THREAD.fullmatch(frames.pop(0)) if frames else None
        if thread is None or not commands:
            continue
        name = MAIN if int(thread[1]) == process else thread_name(thread[2] or "")
        role = role_of(commands[-1], commands[-2] if len(commands) > 1 else ())
        yield Stack(Part(role, name), tuple(frames), int(samples))


def stage_of(frames: Sequence[str]) -> str | None:
    """Return the module of Gossamer that a stack counts for; None for an import."""
    if any("importlib._bootstrap" in frame for frame in frames):
        return None
    for frame in reversed(frames):
        if module := _MODULE.search(frame):
            return module[1]
        if _LOOP.search(frame):
            return EVENT_LOOP
    return LIBRARIES


def shares_of_stages(stacks: Iterable[Stack]) -> dict[Part, dict[str, float]]:
    """Return, for every thread that was sampled, which share of its samples each stage has."""
    counts: dict[Part, Counter[str]] = {}
    for part, frames, samples in stacks:
        if (stage := stage_of(frames)) is not None:
            counts.setdefault(part, Counter())[stage] += samples
    return {part: {stage: n / found.total() for stage, n in found.items()} for part, found in counts.items()}


def speedscope(name: str, stacks: Iterable[Stack]) -> dict[str, object]:
    """Return a process's flame graph in the format of speedscope, one graph per thread."""
    frames: dict[str, int] = {}
    threads: dict[str, tuple[list[list[int]], list[int]]] = {}
    for part, stack, samples in stacks:
        places, weights = threads.setdefault(part.thread, ([], []))
        places.append([frames.setdefault(frame, len(frames)) for frame in stack])
        weights.append(samples)
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [_profile(thread, *found) for thread, found in threads.items()],
    }


def _profile(thread: str, places: list[list[int]], weights: list[int]) -> dict[str, object]:
    return {
        "type": "sampled",
        "name": thread,
        "unit": "none",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": places,
        "weights": weights,
    }
