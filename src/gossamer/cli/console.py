"""Shows a running crawl: on a live screen in a terminal, else line by line."""

from __future__ import annotations

import logging
import math
import sys
import time
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Self

import click

from gossamer.cli.terminal import own_sequences
from gossamer.cli.wording import count, count_pages, duration, plain, wait
from gossamer.commands import to_type

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from rich.console import Console, RenderableType
    from rich.live import Live

    from gossamer.cli.watching import CrawlView
    from gossamer.crawl.seeding import Seeding
    from gossamer.records import Waiting
    from gossamer.supervisor import Ended, Progress

HINT = "Ctrl-C shuts the crawl down; the same command resumes it"
WAIT_EVERY_S = 10.0  # between two lines about a wait, without a terminal
BIG_FILE_LINES = 20_000  # a smaller seed file is loaded too quickly for a progress bar


def open_console(folder: Path, *, every_s: float) -> Lines:
    """Return a live screen for a terminal, else lines."""
    return Screen(folder, every_s=every_s) if sys.stdout.isatty() else Lines(folder, every_s=every_s)


class Lines(AbstractContextManager["Lines"]):
    """Prints a line every few seconds. The crawl continues if the output is closed."""

    def __init__(self, folder: Path, *, every_s: float) -> None:
        self.folder = folder
        self._every_s = every_s
        self._shown_s = time.monotonic()
        self._waited_s: float | None = None  # when the last line about a wait was printed
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
            click.echo(plain(line))

    def warn(self, line: str) -> None:
        """Print a warning."""
        with suppress(OSError):
            click.echo(plain(f"gossamer: {line}"), err=True)

    def show_wait(self, waiting: Waiting | None) -> None:
        """Print for which machines the start waits, at first and then every ten seconds."""
        now_s = time.monotonic()
        if waiting is None:
            self._waited_s = None
        elif self._waited_s is None or now_s - self._waited_s >= WAIT_EVERY_S:
            self._waited_s = now_s
            self.say(wait_line(waiting))

    def show_seeding(self, done: Seeding, total_lines: int) -> None:
        """Print how much of a big seed file is loaded."""
        if total_lines > BIG_FILE_LINES and time.monotonic() - self._shown_s >= self._every_s:
            self._shown_s = time.monotonic()
            self.say(f"{done.lines:,} of {total_lines:,} seed lines read")

    def show(self, progress: Progress) -> None:
        """Print a line of progress if it is time."""
        if time.monotonic() - self._shown_s >= self._every_s:
            self._shown_s = time.monotonic()
            self.say(f"{datetime.now().astimezone():%H:%M:%S} {one_line(progress)}")


class Screen(Lines):
    """Keeps one screen up to date; warnings are printed above it."""

    def __init__(self, folder: Path, *, every_s: float, console: Console | None = None) -> None:
        from rich.console import Console

        super().__init__(folder, every_s=every_s)
        self._console = console or Console(file=own_sequences(sys.stdout))
        self._size = self._console.size
        self._live: Live | None = None
        self._watch: CrawlView | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._stop()

    def say(self, line: str) -> None:
        """Print a line above the screen. Printing directly would move the rows of the screen."""
        from rich.text import Text

        with suppress(OSError):
            self._console.print(Text(plain(line)))

    def warn(self, line: str) -> None:
        """Print a warning above the screen, or to standard error if that is redirected."""
        if sys.stderr.isatty():
            self.say(f"gossamer: {line}")
        else:
            super().warn(line)

    def show_wait(self, waiting: Waiting | None) -> None:
        """Count down in place."""
        from rich.text import Text

        if waiting is None:
            self._stop()
        else:
            self._draw(Text(wait_line(waiting)))

    def show_seeding(self, done: Seeding, total_lines: int) -> None:
        """Draw a progress bar for a big file."""
        if total_lines > BIG_FILE_LINES:
            from rich.progress_bar import ProgressBar
            from rich.table import Table

            table = Table.grid(padding=(0, 2))
            bar = ProgressBar(total=total_lines, completed=done.lines, width=40)
            table.add_row("seeds", bar, f"{done.lines:,} of {count(total_lines, 'line')}")
            self._draw(table)
            if done.lines >= total_lines:
                self._stop()

    def show(self, progress: Progress) -> None:
        """Redraw the screen."""
        from gossamer.cli.watching import CrawlView, fill

        with suppress(OSError):  # a full disk, or a folder that is being moved: try again in a second
            if self._watch is None:
                self._watch = CrawlView(self.folder, hint=HINT)
            view = self._watch.view(progress, self._watch.look())
            self._draw(fill(self._console, view, spare_lines=1))

    def _draw(self, what: RenderableType) -> None:
        from rich.live import Live

        with suppress(OSError):  # the terminal is gone
            if self._size != self._console.size:  # the terminal has wrapped the old screen in an unknown way
                self._size = self._console.size
                self._stop()
                self._console.clear()
            if self._live is None:
                self._live = Live(
                    console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop",
                    redirect_stdout=False, redirect_stderr=False,
                )  # fmt: skip
                self._live.start()
            self._live.update(what, refresh=True)

    def _stop(self) -> None:
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()
            self._live = None


class _Warnings(logging.Handler):
    """Shows the log's warnings and errors to the operator."""

    def __init__(self, console: Lines) -> None:
        super().__init__(logging.WARNING)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.warn(record.getMessage())


def wait_line(waiting: Waiting) -> str:
    """Return for which machines a start waits, and for how long at most, as one line."""
    first, *others = waiting.workers
    whom = f"{first} is" if not others else f"{first} and {count(len(others), 'other worker')} are"
    away = f" (the database does not answer: {waiting.trouble})" if waiting.trouble else ""
    return plain(f"Waiting up to {math.ceil(waiting.left_s)} s to see whether {whom} alive{away}")


def one_line(progress: Progress) -> str:
    """Return progress in one line."""
    stats = progress.stats
    trouble = "".join(f"; {plain(trouble)}" for trouble in progress.troubles)
    paused = "; paused by the operator" if stats.is_paused else ""
    due = "" if progress.next_due_s is None else f"; next URL due {wait(progress.next_due_s)}"
    finished = f"; finished: {progress.end.value}" if progress.end and progress.end.is_finish else ""
    return (
        f"{count_pages(stats)} ({progress.pages_per_s:.1f}/s), {stats.queued:,} queued, "
        f"{count(stats.sites, 'site')}, {sum(stats.given_up.values()):,} given up, "
        f"{stats.in_trouble:,} in trouble{paused}{trouble}{due}{finished}"
    )


def summary(folder: Path, ended: Ended) -> str:
    """Return how a crawl ended, where its files are, and which commands come next."""
    progress, stats = ended.progress, ended.progress.stats
    rate = progress.pages / progress.elapsed_s if progress.elapsed_s else 0.0
    reason = ended.end.value
    spent = f"{count(stats.sites_spent, 'site')} gave all pages that --max-pages-per-site allows.\n"
    store = f"Store: {progress.uploads}.\n" if progress.uploads else ""
    return (
        f"{reason[0].upper()}{reason[1:]}: {count(progress.pages, 'page')} in {duration(progress.elapsed_s)} "
        f"({rate:.1f}/s); over all starts {count(stats.pages, 'page')}, {count(stats.queued, 'URL')} queued, "
        f"{sum(stats.given_up.values()):,} given up.\n"
        f"{spent if stats.sites_spent else ''}{store}"
        f"Files: {folder}/warc (archives), {folder}/pages and {folder}/requests (tables), {folder}/logs.\n"
        f"Next: {to_type('status', folders=folder)}"
        + (f", or resume: {to_type('crawl', folders=folder)}" if stats.queued else "")
    )
