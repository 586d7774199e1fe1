"""`gossamer top`: shows a running crawl live, from its folder alone."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.terminal import own_sequences
from gossamer.commands import to_type
from gossamer.crawl.engines import open_existing
from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.errors import GossamerError
from gossamer.inspect.running import find_running
from gossamer.supervisor.ending import find_end
from gossamer.supervisor.outlook import Forecast
from gossamer.supervisor.progress import RATE_WINDOW_S, Member, Progress, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rich.console import Console, Group
    from rich.live import Live

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.recent import Lately
    from gossamer.records import Stats
    from gossamer.supervisor import End

REFRESH_S: Final = 1.0
HINT: Final = "q quits; the crawl continues"


@click.command("top")
@data_dirs_option
@click.option("--once", is_flag=True, help="Print one screen and exit; the default without a terminal.")
def command(folders: Sequence[Path], once: bool) -> None:
    """Watch a running crawl: speed, sites, queue, outcomes, workers, time left.

    Shows the same screen as `gossamer crawl` in its own terminal, and changes nothing; q or Ctrl-C quits, and the crawl
    continues. Workers report their figures every two seconds. A tall terminal also shows the last ten minutes of the
    history: claims, sites given back unused, new links, database time, lateness of turns, and the queue.

    \b
    Examples:
      gossamer top
      gossamer top --once --data-dir crawl-data
      gossamer top --data-dir /mnt/one/crawl-data --data-dir /mnt/two/crawl-data
    """
    from rich.console import Console

    folder = folders[0]
    with open_existing(*folders) as frontier:
        if not any(map(find_running, folders)):
            if end := _find_end(frontier, frontier.stats()):
                raise GossamerError(
                    f"The crawl in {folder} is finished, {end.value}: `{to_type('status', folders=folder)}` shows how "
                    "it ended."
                )
            raise GossamerError(
                f"No crawl is running in {folder}: start it with `{to_type('crawl', folders=folder)}`, or see how it "
                f"stands with `{to_type('status', folders=folder)}`."
            )
        console = Console(file=own_sequences(sys.stdout))
        watcher = _Watcher(frontier, folders)
        if once or not console.is_terminal:
            console.print(watcher.screen(console))
            return
        with suppress(KeyboardInterrupt):
            if _show_until_quit(console, watcher):
                return
            end = _find_end(frontier, frontier.stats())
            how = f"is finished, {end.value}" if end else "has stopped"
            click.echo(f"The crawl in {folder} {how}; `{to_type('status', folders=folder)}` shows how it stands.")


def _find_end(frontier: FrontierReader, stats: Stats) -> End | None:
    """Return why the crawl is over, or None if it is not, from the frontier alone."""
    return find_end(frontier.drained(), stats, elapsed_s=0.0, max_duration_s=None) if stats.known else None


class _Watcher:
    """A crawl, watched from another process."""

    def __init__(self, frontier: FrontierReader, folders: Sequence[Path]) -> None:
        from gossamer.cli.watching import CrawlView

        self._frontier = frontier
        self._folders = folders
        self._watch = CrawlView(*folders, hint=HINT, with_history=True, frontier=frontier)
        self._tally = Tally()
        self._forecast = Forecast()
        has_settings = (folders[0] / SETTINGS_FILE).exists()
        self._max_duration_s = read_settings(folders[0]).crawl.max_duration_s if has_settings else None

    def is_over(self) -> bool:
        """Return whether the crawl has ended."""
        return not any(map(find_running, self._folders))

    def screen(self, console: Console) -> Group:
        """Return the screen for this moment."""
        from gossamer.cli.watching import fill

        lately = self._watch.look()
        # One line is left for the prompt that follows, or for a cursor that must not scroll.
        return fill(console, self._watch.view(self._progress(lately), lately), spare_lines=1)

    def _progress(self, lately: Lately) -> Progress:
        running = [found for found in map(find_running, self._folders) if found]
        began_at = min((found.started_at for found in running if found.started_at), default=0.0)
        elapsed_s = time.time() - began_at if began_at else 0.0
        stats = self._frontier.stats()
        living = [worker for worker in self._frontier.workers() if not worker.gone]
        figures = self._tally.total(worker.figures for worker in living)
        if len(running) == 1:  # includes the counts of dead workers
            figures |= running[0].counted
        pages_per_s, bytes_per_s = lately.rates(RATE_WINDOW_S)
        return Progress(
            elapsed_s=elapsed_s,
            figures=figures,
            pages_per_s=pages_per_s,
            bytes_per_s=bytes_per_s,
            stats=stats,
            workers=len(living),
            alive=len(living),
            troubles=tuple(trouble for found in running for trouble in found.troubles),
            end=_find_end(self._frontier, stats),
            members=tuple(Member(label=worker.label, figures=worker.figures) for worker in living),
            outlook=self._forecast.update(
                time.monotonic(),
                stats,
                time_left_s=None if self._max_duration_s is None else self._max_duration_s - elapsed_s,
            ),
        )


def _show_until_quit(console: Console, watcher: _Watcher) -> bool:
    """Update the screen until the operator quits; return False if the crawl ended before."""
    with _keys() as next_key, _live(console) as live:
        while not watcher.is_over():
            live.update(watcher.screen(console), refresh=True)
            if next_key(REFRESH_S).lower() == "q":
                return True
    return False


def _live(console: Console) -> Live:
    from rich.live import Live

    # What others print meanwhile passes the guard of the terminal, not rich.
    return Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Yield a function that waits some seconds for a key and returns it, or nothing; keys are not echoed."""
    if not sys.stdin.isatty():
        yield _wait
        return
    keyboard = sys.stdin.fileno()

    def next_key(seconds: float) -> str:
        ready, _, _ = select.select([keyboard], [], [], seconds)
        return os.read(keyboard, 1).decode("ascii", "replace") or "q" if ready else ""

    former = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    try:
        yield next_key
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, former)


def _wait(seconds: float) -> str:
    time.sleep(seconds)
    return ""
