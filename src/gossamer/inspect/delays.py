"""Which delay a crawl had when: gaps are judged by the delay of their time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DELAYS_FILE: Final = "delays.tsv"  # since when (Unix seconds) which delay held, a line for each change


def read_all_delays(folders: Iterable[Path]) -> list[tuple[float, float]]:
    """Return since when which delay held on any of a crawl's machines, which all have the same at a time."""
    return sorted(delay for folder in folders for delay in read_delays(folder))


def read_delays(folder: Path) -> list[tuple[float, float]]:
    """Return since when which delay held, oldest first; nothing if the crawl never wrote that down."""
    try:
        lines = (folder / DELAYS_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    pairs = (line.split("\t") for line in lines if line.count("\t") == 1)
    return [(float(since), float(delay)) for since, delay in pairs]
