"""A crawl from its start to its end: folder, lock, repair, seeds, workers."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gossamer.bucket.paths import with_bucket
from gossamer.commands import to_type
from gossamer.crawl.announce import announce, warnings
from gossamer.crawl.compose import read_exclusions
from gossamer.crawl.engines import naming_damage, open_for_start
from gossamer.crawl.exclusions import apply_exclusions
from gossamer.crawl.folder import FRONTIER_FILE, SETTINGS_FILE, holds_crawl, make_folder, write_settings
from gossamer.crawl.log import LOG_FILE, has_terminal, open_log, reopen_log, rotate_log
from gossamer.crawl.own_frontier import Own, find_own, note_own
from gossamer.crawl.rejudging import rejudge
from gossamer.crawl.rules import read_judged
from gossamer.crawl.seeding import Seeds, load_all
from gossamer.crawl.site_delays import read_own_sites, read_site_delays
from gossamer.crawl.start_log import log_start
from gossamer.crawl.storing import check_store, claim_store, upload_setup
from gossamer.crawl.terms import shared_terms
from gossamer.errors import GossamerError
from gossamer.fetch.authorities import authorities_file
from gossamer.frontier import FrontierError
from gossamer.inspect.machine import open_files
from gossamer.parse.text import check_choice
from gossamer.seeds import STANDARD_INPUT
from gossamer.store.figure_files import FigureFiles
from gossamer.store.names import QUARANTINE
from gossamer.store.repair import repair
from gossamer.supervisor import Callbacks, End, Ended, MachineWatch, Progress, Supervisor, WorkerSetup
from gossamer.supervisor.history import History
from gossamer.supervisor.lock import hold_folder, note_holder
from gossamer.supervisor.notify import Notifier, read_url, take_url
from gossamer.supervisor.uploads import UploadKeeper
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gossamer.crawl.seeding import Seeding
    from gossamer.crawl.settings import Settings
    from gossamer.frontier import FrontierReader, OperatorFrontier
    from gossamer.records import Stats, Waiting
    from gossamer.rules.scope import Exclusions
    from gossamer.turn import Hooks

log = logging.getLogger(__name__)


class CrawlReporter(Protocol):
    """Receives the messages and the progress of a crawl."""

    def say(self, line: str) -> None:
        """Report a line of text."""

    def warn(self, line: str) -> None:
        """Report a warning."""

    def show_wait(self, waiting: Waiting | None) -> None:
        """Report that the start waits for other machines; called every second, and with None when the wait is over."""

    def show_seeding(self, done: Seeding, total_lines: int) -> None:
        """Report how far the loading of a seed file has come."""

    def show(self, progress: Progress) -> None:
        """Report the crawl's progress; called every second."""


def crawl(folder: Path, settings: Settings, sources: Sequence[str | Path], reporter: CrawlReporter) -> Ended:
    """Begin or resume the crawl in a folder; return when it is over or stopped."""
    log_to = open_log(folder, settings.crawl.log_level, settings.log.log_format)
    with naming_damage(folder), open_crawl(folder, settings, sources, reporter, log_to=log_to) as opened:
        workers = settings.crawl.workers or count_cores()
        log_start(folder, settings, workers)
        for line in announce(settings, opened.stats, workers=workers, folder=folder):
            reporter.say(line)
        ended = asyncio.run(_supervise(opened, folder, settings, workers, reporter))
        if ended.end.is_finish:  # a stop must not wait for a database that hangs
            with suppress(FrontierError):
                ended = replace(ended, seeds=tuple(opened.frontier.seed_outcomes()))
        return ended


class OpenCrawl(NamedTuple):
    """A crawl whose workers may start."""

    frontier: OperatorFrontier
    lock: int  # descriptor of the folder's lock, for worker processes to inherit
    stats: Stats  # before they start


@contextmanager
def open_crawl(
    folder: Path,
    settings: Settings,
    sources: Sequence[str | Path],
    reporter: CrawlReporter,
    *,
    log_to: AbstractContextManager[None],  # entered when the folder is locked
    hooks: Hooks | None = None,
) -> Iterator[OpenCrawl]:
    """Lock a folder, repair it and add the seeds; inside the block, workers may start."""
    seeds = Seeds(sources)
    exclusions = _check(folder, settings, seeds)
    make_folder(folder)
    with (
        hold_folder(folder) as lock,
        log_to,
        open_for_start(folder, settings.frontier) as frontier,
    ):
        _, most_descriptors = open_files()
        for line in warnings(settings, descriptors=most_descriptors):
            reporter.warn(line)
            log.info("Warned: %s.", line)
        try:
            doubtful = _repair(folder, reporter)
            before = read_judged(folder, frontier)
            _resume(folder, frontier, settings, reporter)
            if not (folder / SETTINGS_FILE).exists():
                _write_down(folder, settings, frontier)  # a start that is interrupted later needs no settings to resume
            apply_exclusions(frontier, folder, exclusions)
            empty = load_all(frontier, seeds, show=reporter.show_seeding, warn=reporter.warn)
            rejudge(frontier, folder, settings, before, say=reporter.say, hooks=hooks)
            _restore(frontier, folder, settings, reporter, doubtful)
            stats = frontier.stats()
        except (OSError, FrontierError) as error:
            raise _unwritable(folder, settings, error) from error
        if not stats.known:
            raise GossamerError(_no_seeds(folder, seeds, empty))
        _warn(folder, reporter, stats, empty)
        _write_down(folder, settings, frontier)  # last: a start that fails leaves the settings as they were
        yield OpenCrawl(frontier, lock, stats)


def _check(folder: Path, settings: Settings, seeds: Seeds) -> Exclusions:
    """Refuse what the operator must correct, before anything is created; return the exclusion file's entries."""
    if not seeds and not holds_crawl(folder) and not settings.frontier.frontier:  # which may hold one
        raise GossamerError(
            f"Nothing to crawl: name domains, URLs or a file of them (there is no crawl to resume in {folder})."
        )
    if not settings.crawl.email:
        raise GossamerError("An e-mail address is needed, so that site owners can reach you: --email you@example.org.")
    exclusions = read_exclusions(settings.scope.exclude_file)
    read_site_delays(settings.pace)
    read_own_sites(settings.pace)
    check_choice(settings.page.text)
    check_store(folder, settings)
    read_url(settings.watch.notify_file, os.environ)
    if not settings.fetch.insecure:
        with authorities_file(settings.fetch.ca_file):
            pass  # each worker makes its own
    return exclusions


def _unwritable(folder: Path, settings: Settings, error: Exception) -> GossamerError:
    what, advice = str(folder), "make room, or use another folder"
    if settings.frontier.frontier and isinstance(error, FrontierError):
        what, advice = "The frontier", "see that its database is there, and start again"
    return GossamerError(f"{what} cannot be written to ({error}): {advice}.")


def _warn(folder: Path, reporter: CrawlReporter, stats: Stats, empty: Sequence[str | Path]) -> None:
    for source in empty:
        reporter.warn(_empty(source))
    if stats.is_paused:
        reporter.warn(f"The operator paused this crawl: `{to_type('resume', folders=folder)}` lets it continue.")


def _no_seeds(folder: Path, seeds: Seeds, empty: Sequence[str | Path]) -> str:
    """Return why a crawl has no URL to begin with."""
    if not seeds:
        return f"The crawl in {folder} holds no URL yet: name domains, URLs or a file of them."
    if empty and len(empty) == len(seeds.files):
        return _empty(empty[0])
    return "None of the seeds can be crawled: correct them, one domain or URL per line."


def _empty(source: str | Path) -> str:
    name = "Standard input" if source == STANDARD_INPUT else f"Seed file {source}"
    return f"{name} holds no seeds: write one domain or URL per line."


def _resume(folder: Path, frontier: OperatorFrontier, settings: Settings, reporter: CrawlReporter) -> None:
    claim_store(folder, settings, frontier, reporter.warn)
    frontier.resume(
        delay_s=settings.pace.delay_s,
        page_limit=settings.crawl.max_pages,
        site_limit=settings.scope.max_pages_per_site,
        scope=settings.scope.scope,
        terms=shared_terms(settings),
        show_wait=reporter.show_wait,
    )
    reporter.show_wait(None)


def _write_down(folder: Path, settings: Settings, frontier: FrontierReader) -> None:
    """Write the crawl's settings into its folder, and note which frontier is its own."""
    own = find_own(folder)
    where = settings.frontier
    note_own(folder, Own(
        frontier=where.frontier, crawl_name=where.crawl_name, identity=frontier.identity,
        moved_from=own.moved_from if own else (),
    ))  # fmt: skip
    write_settings(folder, settings)


def _repair(folder: Path, reporter: CrawlReporter) -> tuple[str, ...]:
    """Repair files after a crash; return the journals of which rows may be lost.

    Since we hold the lock, every earlier worker is dead.
    """
    repaired = repair(folder)
    if repaired.parts or repaired.segments:
        repaired_files = f"{count(repaired.parts, 'journal')} and {count(repaired.segments, 'archive segment')}"
        line = f"Repaired after a crash: {repaired_files}."
        log.info(line)
        reporter.say(line)
    return repaired.doubtful


def _restore(
    frontier: OperatorFrontier, folder: Path, settings: Settings, reporter: CrawlReporter, doubtful: tuple[str, ...]
) -> None:
    """Restore rows that the disk has damaged, if there may be any."""
    if doubtful or (folder / QUARANTINE).exists():
        from gossamer.crawl.restoring import restore  # slow to import, and few starts need it

        restore(frontier, with_bucket(folder), settings, doubtful=doubtful, say=reporter.say)


async def _supervise(
    opened: OpenCrawl, folder: Path, settings: Settings, workers: int, reporter: CrawlReporter
) -> Ended:
    started_at = time.time()
    notifier = Notifier(take_url(settings.watch.notify_file, os.environ), folder)

    def show(progress: Progress) -> None:
        note_holder(
            opened.lock,
            started_at=started_at,
            troubles=progress.troubles,
            counted=progress.counted,
            uploads=str(progress.uploads or ""),
        )
        notifier.look(progress)
        reporter.show(progress)

    watch, attended = _machine_watch(folder, settings, workers), _is_attended()
    supervisor = Supervisor(
        frontier=opened.frontier,
        stats=opened.stats,
        setup=_worker_setup(opened, folder, settings, workers),
        callbacks=Callbacks(
            repair=lambda workers: repair(folder, workers),
            show=show,
            rotate_log=lambda: rotate_log(folder, settings.log, now_at=time.time()),
            reopen_log=reopen_log,
            is_terminal_gone=lambda: attended and not has_terminal(),
        ),
        watch=watch,
        history=History(FigureFiles(folder, days=settings.watch.figures_days)),
        uploads=UploadKeeper(upload_setup(opened.lock, folder, settings)),
        max_duration_s=settings.crawl.max_duration_s,
    )
    with _serving_metrics(settings, watch, reporter):
        ended = await supervisor.run()
    notifier.end(ended)
    if ended.end is End.MISTAKE:
        raise GossamerError(ended.detail)
    return ended


def _worker_setup(opened: OpenCrawl, folder: Path, settings: Settings, workers: int) -> WorkerSetup:
    return WorkerSetup(
        command=[sys.executable, "-P", "-m", "gossamer.crawl.worker_process", str(folder)],
        count=workers,
        lock=opened.lock,
        output=folder / LOG_FILE,
        silence_s=settings.supervisor.worker_silence_s,
        stop_s=settings.worker.stop_s,
    )


def _is_attended() -> bool:
    """Return whether this start has a terminal whose end would end it, unlike under nohup."""
    return has_terminal() and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN


def _machine_watch(folder: Path, settings: Settings, workers: int) -> MachineWatch:
    return MachineWatch(
        folder=folder,
        workers=workers,
        reserve_bytes=settings.store.min_free_space_bytes,
        database=None if settings.frontier.frontier else folder / FRONTIER_FILE,
    )


@contextmanager
def _serving_metrics(settings: Settings, watch: MachineWatch, reporter: CrawlReporter) -> Iterator[None]:
    """Serve metrics inside the block, if the operator wants that."""
    if settings.watch.endpoint is None:
        yield
        return
    from gossamer.supervisor.exposition import PATH, serve  # imports the Prometheus client, which few crawls need

    host, port = settings.watch.endpoint
    with serve(host, port, lambda: watch.total) as port:
        reporter.say(f"Metrics for Prometheus: http://{f'[{host}]' if host.version == 6 else host}:{port}{PATH}")
        yield


def count_cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
