"""The cost of a page by process, thread and stage: rows that add up to the measured total."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.process_tree import MAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.process_tree import Part

NO_SAMPLES = "no Python stack seen"
OTHER_MODULES = "other modules"
OTHER_THREADS = "other threads"
LEAST_SHARE = 0.01  # of the total: smaller threads of a process, and smaller stages of a thread, are summed up

Stages = dict[str, float]


def split(parts_us: Mapping[Part, float], shares: Mapping[Part, Mapping[str, float]]) -> dict[Part, Stages]:
    """Split what each thread takes by the shares of its stages; the sum stays the same."""
    least_us = LEAST_SHARE * sum(parts_us.values())
    rows: dict[Part, Stages] = {}
    for part, us in parts_us.items():
        is_small = abs(us) < least_us and part.thread != MAIN
        stages = rows.setdefault(part._replace(thread=OTHER_THREADS) if is_small else part, {})
        found = {NO_SAMPLES: 1.0} if is_small else shares.get(part, {NO_SAMPLES: 1.0})
        for stage, share in found.items():
            name = stage if abs(us * share) >= least_us or stage == NO_SAMPLES else OTHER_MODULES
            stages[name] = stages.get(name, 0.0) + us * share
    return rows


def table(rows: Mapping[Part, Stages]) -> str:
    """Return the rows as text: processes, their threads, their stages, each from the largest on, and the sum."""
    processes: dict[str, dict[str, Stages]] = {}
    for part, stages in rows.items():
        processes.setdefault(part.process, {})[part.thread] = stages
    lines: list[str] = []
    for process, threads in sorted(processes.items(), key=lambda item: -_sum(item[1])):
        if abs(_sum(threads)) < 0.5:
            continue  # nothing to show in whole microseconds
        lines.append(_line(0, process, _sum(threads)))
        if any(abs(us) >= 0.5 and stage != NO_SAMPLES for stages in threads.values() for stage, us in stages.items()):
            lines += _thread_lines(threads)
    lines.append(_line(0, "sum", sum(map(_sum, processes.values()))))
    return "\n".join(lines)


def _thread_lines(threads: Mapping[str, Stages]) -> list[str]:
    lines: list[str] = []
    for thread, stages in sorted(threads.items(), key=lambda item: (item[0] == OTHER_THREADS, -sum(item[1].values()))):
        lines.append(_line(1, thread if thread == OTHER_THREADS else f"thread {thread}", sum(stages.values())))
        if stages.keys() - {NO_SAMPLES, OTHER_MODULES}:
            named = sorted(stages.items(), key=lambda item: (item[0] == OTHER_MODULES, -item[1]))
            lines += [_line(2, stage, us) for stage, us in named]
    return lines


def _sum(threads: Mapping[str, Stages]) -> float:
    return sum(sum(stages.values()) for stages in threads.values())


def _line(level: int, name: str, us: float) -> str:
    return f"    {'    ' * level + name:<44} {us:8.0f} µs"
