"""How a crawl is shown: on one live screen where there is a terminal, else line by line."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Self

import click

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from rich.live import Live
    from rich.table import Table

    from gossamer.crawl.seeding import Seeding
    from gossamer.supervisor import Ended, Progress

BIG_FILE_LINES = 20_000  # a smaller seed file is loaded before anyone could read a progress bar


def open_console(folder: Path, *, every_s: float) -> Lines:
    """Return what fits where the output goes."""
    return Screen(folder, every_s=every_s) if sys.stdout.isatty() else Lines(folder, every_s=every_s)


class Lines(AbstractContextManager["Lines"]):
    """Prints a line now and then. A crawl outlives whoever reads them."""

    def __init__(self, folder: Path, *, every_s: float) -> None:
        self.folder = folder
        self._every_s = every_s
        self._shown_s = time.monotonic()
        self._warnings = _Warnings(self)

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self._warnings)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger().removeHandler(self._warnings)

    def say(self, line: str) -> None:
        """Print a line."""
        with suppress(OSError):
            click.echo(line)

    def warn(self, line: str) -> None:
        """Print a line that is no result."""
        with suppress(OSError):
            click.echo(f"gossamer: {line}", err=True)

    def show_seeding(self, done: Seeding, total_lines: int) -> None:
        """Say how far a big seed file is."""
        if total_lines > BIG_FILE_LINES and time.monotonic() - self._shown_s >= self._every_s:
            self._shown_s = time.monotonic()
            self.say(f"{done.lines:,} of {total_lines:,} seed lines read")

    def show(self, progress: Progress) -> None:
        """Print a line if it is time."""
        if time.monotonic() - self._shown_s >= self._every_s:
            self._shown_s = time.monotonic()
            self.say(f"{datetime.now().astimezone():%H:%M:%S} {one_line(progress)}")


class Screen(Lines):
    """Keeps one screen up to date."""

    def __init__(self, folder: Path, *, every_s: float) -> None:
        super().__init__(folder, every_s=every_s)
        self._live: Live | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._live is not None:
            self._live.stop()

    def show_seeding(self, done: Seeding, total_lines: int) -> None:
        """Draw a progress bar for a big file."""
        if total_lines > BIG_FILE_LINES:
            from rich.progress_bar import ProgressBar

            bar = ProgressBar(total=total_lines, completed=done.lines, width=40)
            self._draw(_rows(self.folder, [("seeds", bar), ("", f"{done.lines:,} of {total_lines:,} lines")]))
            if done.lines >= total_lines and self._live is not None:
                self._live.stop()
                self._live = None

    def show(self, progress: Progress) -> None:
        """Draw the screen anew."""
        self._draw(screen(self.folder, progress))

    def _draw(self, table: Table) -> None:
        from rich.live import Live

        with suppress(OSError):  # the terminal is gone
            if self._live is None:
                self._live = Live(auto_refresh=False, transient=True)
                self._live.start()
            self._live.update(table, refresh=True)


class _Warnings(logging.Handler):
    """Brings to the operator what the log calls a warning or worse."""

    def __init__(self, console: Lines) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.warn(record.getMessage())


def one_line(progress: Progress) -> str:
    """Return progress in one line."""
    stats = progress.stats
    trouble = f"; {'; '.join(progress.troubles)}" if progress.troubles else ""
    return (
        f"{stats.pages:,} pages ({progress.pages_per_s:.1f}/s), {stats.queued:,} queued, {stats.sites:,} sites, "
        f"{sum(stats.given_up.values()):,} given up, {len(progress.troubles)} in trouble{trouble}"
    )


def screen(folder: Path, progress: Progress) -> Table:
    """Return progress as a small table that fits into 80 columns."""
    stats, figures = progress.stats, progress.figures
    given_up = sorted(stats.given_up.items(), key=lambda item: -item[1])
    reasons = ", ".join(f"{urls:,} {reason.value}" for reason, urls in given_up)
    lag_ms = figures.get("max_loop_lag_s", 0) * 1000
    rows: list[tuple[str, object]] = [
        ("pages", f"{stats.pages:,}  ({progress.pages_per_s:.1f} a second)"),
        ("received", f"{figures.get('bytes', 0) / 1e6:,.1f} MB  ({progress.bytes_per_s / 1e6:.2f} MB a second)"),
        ("sites", f"{stats.sites:,} known, {stats.sites_with_work:,} with work, {stats.sites_in_hand:,} in hand"),
        ("queue", f"{stats.queued:,} of {stats.known:,} URLs known"),
        ("given up", f"{sum(stats.given_up.values()):,}" + (f"  ({reasons})" if reasons else "")),
        ("retries", f"{int(figures.get('retries', 0)):,}"),
        ("workers", f"{progress.alive} of {progress.workers}, event loop late by {lag_ms:,.0f} ms at most"),
    ]
    if progress.troubles:
        rows.append(("trouble", "; ".join(progress.troubles)))
    state = "finishing what is under way" if progress.stopping else "Ctrl-C stops; the same command goes on"
    rows.append(("", f"{duration(progress.elapsed_s)}; {state}"))
    return _rows(folder, rows)


def _rows(folder: Path, rows: list[tuple[str, object]]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.title = f"Gossamer, in {folder}"
    table.title_justify = "left"
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(name, value)  # type: ignore[arg-type]
    return table


def summary(folder: Path, ended: Ended) -> str:
    """Say how a crawl ended, where its files are, and what to type next."""
    progress, stats = ended.progress, ended.progress.stats
    rate = progress.pages / progress.elapsed_s if progress.elapsed_s else 0.0
    reason = ended.end.value
    where = "" if str(folder) == "crawl-data" else f" --data-dir {folder}"
    return (
        f"{reason[0].upper()}{reason[1:]}: {progress.pages:,} pages in {duration(progress.elapsed_s)} ({rate:.1f}/s); "
        f"over all starts {stats.pages:,} pages, {stats.queued:,} URLs queued, "
        f"{sum(stats.given_up.values()):,} given up.\n"
        f"Files: {folder}/warc (archives), {folder}/pages and {folder}/requests (tables), {folder}/logs.\n"
        f"Next: gossamer status{where}" + (f", or go on: gossamer crawl{where}" if stats.queued else "")
    )


def duration(seconds: float) -> str:
    """Write a duration: 0:01:05."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
