"""Which delay a crawl had at what time: waits are checked against the delay of their time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from gossamer.store.notes import damaged_note, decode_line, encode_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

DELAYS_FILE: Final = "delays.tsv"  # a line for each change: Unix seconds, the delay from then on, a checksum


def read_all_delays(folders: Iterable[Path]) -> list[tuple[float, float]]:
    """Return the delays of a crawl with their start times. All its machines have the same delay at a time."""
    return sorted(delay for folder in folders for delay in read_delays(folder))


def read_delays(folder: Path) -> list[tuple[float, float]]:
    """Return the delays with their start times, oldest first; an empty list if the crawl recorded none.

    Damaged lines are left out; `damaged_lines` names them.
    """
    return [delay for _, delay in _lines(folder) if delay is not None]


def damaged_lines(folder: Path) -> list[int]:
    """Return the numbers of the lines that have changed on the disk."""
    return [number for number, delay in _lines(folder) if delay is None]


def delay_line(since_at: float, delay_s: float) -> str:
    """Return a line of the file."""
    return encode_line(f"{since_at:.3f}\t{delay_s!r}")


def _lines(folder: Path) -> Iterator[tuple[int, tuple[float, float] | None]]:
    """Yield the number of each line, and its delay; None if the line is damaged."""
    path = folder / DELAYS_FILE
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise damaged_note(path, error) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line:
            yield number, _read(line)


def _read(line: str) -> tuple[float, float] | None:
    fields = decode_line(line)
    try:
        since, delay = map(float, (fields or "").split("\t"))
    except ValueError:
        return None
    return (since, delay) if math.isfinite(since) and math.isfinite(delay) and delay >= 0 else None
