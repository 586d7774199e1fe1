"""Histories as a supervisor writes them, for tests that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.figure_files import MINUTE_S, PART_S, FigureFiles
from gossamer.supervisor.history import FigureSeries

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Figures = dict[tuple[str, str, str], float]  # by worker, name and labels


def write(folder: Path, moments: Mapping[float, Figures]) -> None:
    """Write a history as a supervisor does; the processor time of a process that is there always changes."""
    clock = [0.0]
    files, series = FigureFiles(folder, days=7, clock=lambda: clock[0]), FigureSeries()
    hour = -1.0
    for at, figures in moments.items():
        clock[0] = at
        if at // PART_S != hour:
            hour = at // PART_S
            series.begin_part()
            files.end_parts(at)
        is_minute = at % MINUTE_S == 0 or at == max(moments)
        figures |= {(worker, "gossamer_cpu_seconds_total", "process=worker"): at for worker, _, _ in figures}
        files.write(series.rows(at, figures, keep=is_minute), keep=is_minute)
    files.close()
