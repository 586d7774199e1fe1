"""Writes counts, sizes, times and waits for people. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def count(number: int, one: str, many: str = "") -> str:
    """Write a number of things: 1 page, 1,000 pages. `many` is the plural where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(bytes_: float) -> str:
    """Write a number of bytes: 950 B, 12.3 kB, 1.0 GB."""
    if bytes_ < 1000:
        return f"{bytes_:.0f} B"
    for unit in ("kB", "MB", "GB"):
        bytes_ /= 1000
        if bytes_ < 999.95:
            return f"{bytes_:.1f} {unit}"
    return f"{bytes_ / 1000:,.1f} TB"


def moment(at: float) -> str:
    """Write Unix seconds as a time in UTC: 2026-01-01 12:00:00Z."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}Z"


def wait(seconds: float) -> str:
    """Write how long until something may happen: now, in 1.5 s, in 2 h 5 min."""
    if seconds <= 0:
        return "now"
    if seconds < 60:
        return f"in {seconds:.1f} s"
    minutes = round(seconds / 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"in {days} d {hours} h"
    return f"in {hours} h {minutes % 60} min" if hours else f"in {minutes} min"


def span(seconds: float) -> str:
    """Write roughly how long something takes: 40 s, 5 min, 2 h 5 min."""
    return f"{seconds:.0f} s" if seconds < 59.5 else wait(max(60.0, seconds)).removeprefix("in ")


def delay(seconds: float) -> str:
    """Write a delay exactly, since it is a promise: 0.5 s, 1.25 s, 70 s."""
    return f"{seconds:.15g} s"


def duration(seconds: float) -> str:
    """Write a duration to the second: 0:01:05."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def plain(text: str) -> str:
    """Return text as one line without control characters, which a page could use against the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
