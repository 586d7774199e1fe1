"""Which delay a crawl had at what time: waits are checked against the delay of their time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DELAYS_FILE: Final = "delays.tsv"  # a line for each change: Unix seconds, and the delay from then on


def read_all_delays(folders: Iterable[Path]) -> list[tuple[float, float]]:
    """Return the delays of a crawl with their start times. All its machines have the same delay at a time."""
    return sorted(delay for folder in folders for delay in read_delays(folder))


def read_delays(folder: Path) -> list[tuple[float, float]]:
    """Return the delays with their start times, oldest first; an empty list if the crawl recorded none."""
    try:
        lines = (folder / DELAYS_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    pairs = (line.split("\t") for line in lines if line.count("\t") == 1)
    return [(float(since), float(delay)) for since, delay in pairs]
