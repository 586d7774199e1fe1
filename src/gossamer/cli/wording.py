"""Writes counts, sizes, times and waits for people, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.wording import count, delay, duration, moment, plain, size, span, wait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.records import Stats

__all__ = ["count", "count_pages", "delay", "duration", "in_use", "moment", "plain", "size", "span", "wait"]


def in_use(figures: Mapping[str, float], before: str = "; ") -> str:
    """Write how many descriptors the process has in use that has most, and how many it may; empty if not known."""
    if "descriptors" not in figures:
        return ""
    allowed = f" of {figures['max_descriptors']:,.0f}" if "max_descriptors" in figures else ""
    return f"{before}{figures['descriptors']:,.0f}{allowed} descriptors"


def count_pages(stats: Stats) -> str:
    """Write how many pages a crawl has, of all starts: 12 pages, or 12 of 300 pages where there is a limit."""
    if stats.page_limit is None:
        return count(stats.pages, "page")
    return f"{stats.pages:,} of {count(stats.page_limit, 'page')}"
