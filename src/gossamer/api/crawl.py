"""A crawl inside a program: one worker on the program's event loop, and a loop over the pages as they arrive."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import replace
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

from gossamer.api.handover import Handover
from gossamer.api.loop_thread import LoopThread
from gossamer.api.page import fetched_page
from gossamer.commands import to_type
from gossamer.crawl.compose import open_worker
from gossamer.crawl.engines import open_frontier
from gossamer.crawl.folder import SETTINGS_FILE, gather_settings
from gossamer.crawl.log import lend_log, rotate_log
from gossamer.crawl.start import open_crawl
from gossamer.crawl.storing import upload_setup
from gossamer.crawl.terms import shared_terms
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.clock import boot_seconds
from gossamer.store.names import name_of
from gossamer.supervisor import End
from gossamer.supervisor.ending import END_UNKNOWN, LOG_NOT_ROTATED, find_end
from gossamer.supervisor.process import label_of
from gossamer.supervisor.repeated_warning import RepeatedWarning
from gossamer.supervisor.uploads import UploadKeeper
from gossamer.turn import HookFailure, Hooks
from gossamer.worker import report_hook_failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from gossamer.api.page import Page
    from gossamer.crawl.seeding import Seeding
    from gossamer.crawl.settings import Settings
    from gossamer.frontier import FrontierReader, WorkerFrontier
    from gossamer.records import Fetched, Link, PageRow, Waiting
    from gossamer.supervisor import Progress

    Setting = str | int | float | Path | Sequence[str] | None

log = logging.getLogger(__name__)
T = TypeVar("T")

IN_FLIGHT: Final = 100  # default limit: pages that are being fetched or wait for the program's loop
LOOK_EVERY_S: Final = 0.25  # time between two checks whether the crawl is over


class Crawl:
    """A crawl in a folder. Entering the block starts or resumes it, and leaving the block stops it.

        async with Crawl(["example.org"], email="you@example.org", delay=1) as crawl:
            async for page in crawl:
                print(page.url, page.title, len(page.text))

    `with` and `for` do the same in a program that has no event loop. `settings` are those of crawl.toml, by name. A
    page is done when the loop asks for the next one, or when the block ends without an exception. Pages that the loop
    did not get are delivered again at the next start.
    """

    def __init__(
        self,
        seeds: str | Path | Iterable[str | Path] = (),
        *,
        data_dir: str | Path = "crawl-data",
        should_visit: Callable[[str], bool] | None = None,
        rank: Callable[[Link], int] | None = None,
        on_page: Callable[[Page], object] | None = None,
        **settings: Setting,
    ) -> None:
        """Read the settings. Nothing else happens before the block is entered."""
        self._seeds = [seeds] if isinstance(seeds, str | Path) else list(seeds)
        self._folder = Path(data_dir)
        self._settings, self._local = _gather(self._folder, settings)
        self._hooks = Hooks(should_visit=should_visit, rank=rank, on_page=self._deliver)
        self._on_page = on_page
        self._end: End | None = None
        self._entered = False
        self._thread: LoopThread | None = None

    @property
    def end(self) -> End | None:
        """Why the crawl ended; None while it runs."""
        return self._end

    @property
    def hook_errors(self) -> int:
        """How many exceptions the program's functions raised; the crawl's log file has the tracebacks."""
        return self._hooks.errors

    # ------------------------------------------------------------------ with an event loop

    async def __aenter__(self) -> Self:
        if self._entered:
            raise GossamerError("A Crawl can be entered only once: make another one, which resumes the crawl.")
        self._entered = True
        self._handover = Handover()
        async with AsyncExitStack() as stack:
            thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer")
            loop = asyncio.get_running_loop()
            frontier, own_frontier, name = await _finish(loop.run_in_executor(thread, self._open, stack))
            stack.callback(thread.shutdown)  # before the frontier that it may still read is closed
            self._uploads = UploadKeeper(upload_setup(self._lock, self._folder, self._settings))
            stack.push_async_callback(self._finish_uploads)  # after the worker has closed its files
            worker, _ = await stack.enter_async_context(
                open_worker(
                    frontier=own_frontier,
                    folder=self._folder,
                    name=name,
                    label=label_of(os.getpid()),
                    settings=self._local,
                    clock=boot_seconds,
                    hooks=self._hooks,
                )
            )
            self._worker = worker
            self._stack = stack.pop_all()
        self._work = asyncio.create_task(self._run(frontier, thread))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shut down, which takes a few seconds. Running requests are finished, but unread pages are not delivered."""
        self._handover.close(read=kind is None)
        self._worker.stop()
        try:
            await _finish(self._work)
        except Exception:
            if kind is None:  # else the program's own exception says more
                raise
            log.exception("The crawl failed while it shut down.")
        finally:
            await self._stack.aclose()

    async def __aiter__(self) -> AsyncIterator[Page]:
        """Yield pages as they arrive, until the crawl is over."""
        if not self._entered:
            raise GossamerError("A Crawl runs in a block: write `with Crawl(...) as crawl:` around the loop.")
        async for page in self._handover.pages():
            yield page
        await asyncio.shield(self._work)  # everything is on disk then; if the crawl failed, this raises

    # ------------------------------------------------------------------ without an event loop

    def __enter__(self) -> Self:
        thread = LoopThread()
        try:
            thread.run(self.__aenter__())
        except BaseException:
            thread.close()
            raise
        self._thread = thread
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._thread is not None
        thread, self._thread = self._thread, None
        try:
            thread.run(self.__aexit__(kind, error, trace))
        except Exception:  # a second Ctrl-C waits for nothing
            thread.close()
            raise
        thread.close()

    def __iter__(self) -> Iterator[Page]:
        """Yield pages as they arrive, until the crawl is over."""
        if self._thread is None:
            raise GossamerError("A Crawl runs in a block: write `with Crawl(...) as crawl:` around the loop.")
        pages = self.__aiter__()
        while (page := self._thread.run(_next(pages))) is not None:
            yield page

    # ------------------------------------------------------------------ internals

    def _open(self, stack: AsyncExitStack) -> tuple[FrontierReader, WorkerFrontier, str]:
        """Lock the folder and join the crawl; return the frontier to watch, the worker's frontier and its name."""
        opened = stack.enter_context(
            open_crawl(
                self._folder,
                self._settings,
                self._seeds,
                _LogReporter(),
                log_to=_log_to(self._folder, self._settings),
                hooks=self._hooks,
            )
        )
        self._lock = opened.lock
        own_frontier = stack.enter_context(open_frontier(self._folder, self._settings.frontier))
        worker = own_frontier.join(label_of(os.getpid()), shared_terms(self._settings))
        return opened.frontier, own_frontier, name_of(worker)

    async def _run(self, frontier: FrontierReader, thread: ThreadPoolExecutor) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                watching = [group.create_task(each) for each in (self._watch(frontier, thread), self._uploads.keep())]
                await self._worker.run()
                for each in watching:
                    each.cancel()
        except ExceptionGroup as failures:
            if failures.split((FrontierError, OSError))[1] is not None:  # a bug of ours
                raise
            raise GossamerError(
                f"The crawl could not shut down ({_first(failures)}): fix that and start it again."
            ) from failures
        finally:
            self._end = self._end or End.STOPPED
            self._handover.close(read=False)

    async def _finish_uploads(self) -> None:
        await self._uploads.finish(is_finished=self._end is not None and self._end.is_finish)

    async def _watch(self, frontier: FrontierReader, thread: ThreadPoolExecutor) -> None:
        """End the crawl when it is over, and rotate its log."""
        started_s = time.monotonic()
        loop = asyncio.get_running_loop()
        unreadable, full_log = RepeatedWarning(log, END_UNKNOWN), RepeatedWarning(log, LOG_NOT_ROTATED)
        while self._end is None:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                rotate_log(self._folder, self._settings.log, now_at=time.time())
            except OSError as error:
                full_log.warn(error)
            drained, stats = False, None
            try:
                drained, stats = await loop.run_in_executor(thread, lambda: (frontier.drained(), frontier.stats()))
            except FrontierError as error:
                unreadable.warn(error)
            else:
                unreadable.clear()
            elapsed_s = time.monotonic() - started_s
            self._end = find_end(
                drained, stats, elapsed_s=elapsed_s, max_duration_s=self._settings.crawl.max_duration_s
            )
        self._worker.stop()

    async def _deliver(self, row: PageRow, answer: Fetched) -> None:
        page = fetched_page(row, answer)
        if self._on_page is not None:
            try:
                answered = self._on_page(page)
                if isawaitable(answered):
                    await answered
            except Exception as error:  # the program's mistake: it is logged and counted; the loop still gets the page
                report_hook_failure(self._hooks, HookFailure("on_page", page.url, error))
        await self._handover.give(page)


class _LogReporter:
    """Logs what happens before a crawl begins."""

    def say(self, line: str) -> None:
        log.info(line)

    def warn(self, line: str) -> None:
        log.warning(line)

    def show_wait(self, waiting: Waiting | None) -> None:
        pass

    def show_seeding(self, done: Seeding, total_lines: int) -> None:
        pass

    def show(self, progress: Progress) -> None:
        pass


def _gather(folder: Path, given: dict[str, Setting]) -> tuple[Settings, Settings]:
    """Return the crawl's settings, and the same with this process's own limit of requests."""
    workers = given.pop("workers", None)
    if workers not in (None, 1):
        raise GossamerError(
            "A crawl from Python has one worker, in its own process: leave workers out, or start the crawl in a shell: "
            f"{to_type('crawl', '--workers', workers, folders=folder)}."
        )
    file = folder / SETTINGS_FILE
    settings = gather_settings(
        file if file.exists() else None, environment={}, flags=given, spell=str, note=log.warning
    )
    if not settings.crawl.email:
        raise GossamerError('An e-mail address is needed, so that site owners can reach you: email="you@example.org".')
    if given.get("in_flight") is not None:
        return settings, settings
    fetch = replace(settings.fetch, in_flight=min(settings.fetch.in_flight, IN_FLIGHT))
    return settings, replace(settings, fetch=fetch)


@contextmanager
def _log_to(folder: Path, settings: Settings) -> Iterator[None]:
    """Log to the crawl's file. If the program has set up no logging, print warnings to standard error as well."""
    logger = logging.getLogger("gossamer")
    with ExitStack() as stack:
        if logging.lastResort is not None and not logger.hasHandlers():
            logger.addHandler(logging.lastResort)
            stack.callback(logger.removeHandler, logging.lastResort)
        stack.enter_context(lend_log(folder, settings.crawl.log_level, logger, settings.log.log_format))
        yield


async def _finish(under_way: asyncio.Future[T]) -> T:
    """Wait for something that must not be interrupted; a cancellation meanwhile is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not under_way.done():
        try:
            await asyncio.wait([under_way])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return under_way.result()


def _first(error: BaseException) -> BaseException:
    """Return the first exception of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _next(pages: AsyncIterator[Page]) -> Page | None:
    return await anext(pages, None)
