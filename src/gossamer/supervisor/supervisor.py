"""Starts the workers of a crawl, replaces workers that die, and ends the crawl when it is over."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gossamer import metrics
from gossamer.frontier import FrontierError
from gossamer.store.names import name_of
from gossamer.supervisor.ending import END_UNKNOWN, LOG_NOT_ROTATED, End, find_end
from gossamer.supervisor.outlook import Forecast
from gossamer.supervisor.process import MISTAKE, WorkerProcess, label_of
from gossamer.supervisor.progress import Ended, Member, Progress, Tally
from gossamer.supervisor.repeated_warning import RepeatedWarning
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from gossamer.frontier import OperatorFrontier
    from gossamer.metrics.samples import Samples
    from gossamer.records import Stats
    from gossamer.supervisor.history import History
    from gossamer.supervisor.uploads import UploadKeeper
    from gossamer.supervisor.watch import MachineWatch

log = logging.getLogger(__name__)
T = TypeVar("T")

TICK_S: Final = 1.0
FIGURES_EVERY_S: Final = 60.0  # between two lines of figures in the log
QUICK_S: Final = 10.0  # a worker that dies sooner failed to start
MAX_QUICK_DEATHS: Final = 8  # in a row
MAX_PAUSE_S: Final = 8.0  # before a worker that dies quickly is started again
ECHO_S: Final = 0.1  # `timeout` and some shells signal the process and its group: that counts as one signal
LAST_REPORT_S: Final = 4.0  # at a stop, time for the last report and for closing files; then workers are killed
LAST_LOOK_S: Final = 2.0  # at a stop, time for the frontier to answer


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """How the worker processes of a crawl are started, and how long the supervisor waits for them."""

    command: Sequence[str]  # starts a worker; see `WorkerProcess.start` for the added arguments
    count: int
    lock: int  # descriptor of the folder's lock, which workers inherit
    output: Path  # the file to which the output of workers is appended
    silence_s: float  # a worker that reports nothing for this long is killed and replaced
    stop_s: float  # how long workers wait for running requests when they shut down


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """The functions that a supervisor calls."""

    repair: Callable[[Collection[str]], object]  # repairs the files of dead workers, given their names
    show: Callable[[Progress], None]  # called every second
    rotate_log: Callable[[], bool]  # begins a new log file if it is time; returns whether it did
    reopen_log: Callable[[], None]  # closes a log file that was moved away
    is_terminal_gone: Callable[[], bool]  # returns whether the terminal of this start was closed


class Supervisor:
    """The parent of all workers in one folder, whose lock it holds."""

    def __init__(
        self,
        *,
        frontier: OperatorFrontier,
        stats: Stats,  # of the frontier, before the first look at it
        setup: WorkerSetup,
        callbacks: Callbacks,
        watch: MachineWatch,
        history: History,
        uploads: UploadKeeper,
        max_duration_s: float | None,
    ) -> None:
        self._frontier = frontier
        self._setup = setup
        self._callbacks = callbacks
        self._watch = watch
        self._history = history
        self._uploads = uploads
        self._max_duration_s = max_duration_s
        self._children: set[WorkerProcess] = set()
        self._tally = Tally()
        self._forecast = Forecast()
        self._end: End | None = None
        self._detail = ""
        self._stopping = asyncio.Event()
        self._stats = stats
        self._started_s = time.monotonic()
        self._signalled_s = -ECHO_S
        # Not on the event loop: a worker that was paused inside a transaction would block the supervisor too.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")

    async def run(self) -> Ended:
        """Crawl until it is over. Ctrl-C or SIGTERM shuts it down, a second one kills workers; SIGHUP reopens logs."""
        loop = asyncio.get_running_loop()
        signals = {signal.SIGINT: self._on_signal, signal.SIGTERM: self._on_signal, signal.SIGHUP: self._on_hangup}
        for number, handler in signals.items():
            loop.add_signal_handler(number, handler)
        try:
            async with asyncio.TaskGroup() as group:
                keeping = [group.create_task(self._keep_worker()) for _ in range(self._setup.count)]
                figures = self._history.keep(self._samples)
                watches = (self._watch_workers(), self._watch_crawl(), figures, self._uploads.keep())
                watching = [group.create_task(watch) for watch in watches]
                await asyncio.wait(keeping)
                for watch in watching:
                    watch.cancel()
            if self._end is not End.KILLED:
                with suppress(FrontierError):  # else the last figures are used
                    self._stats = await self._in_thread(self._frontier.stats)
                self._measure_now()
                await self._history.close(self._samples())
                with suppress(FrontierError):
                    await self._in_thread(lambda: self._history.share(self._frontier))
                await self._finish_uploads()
            progress = self._measure(self._stats)
            log.info("%s", progress.in_one_line())
        finally:
            self._uploads.kill()
            for child in self._children:
                child.kill()
            for number in signals:
                loop.remove_signal_handler(number)
            self._thread.shutdown(wait=False, cancel_futures=True)
        assert self._end is not None
        return Ended(end=self._end, detail=self._detail, progress=progress)

    def stop(self, end: End, detail: str = "") -> None:
        """Shut down all workers, and start no more."""
        if self._end is None:
            self._end, self._detail = end, detail
            log.info("The crawl ends: %s.", detail or end.value)
        if not self._stopping.is_set():
            self._stopping.set()
            for child in self._children:
                child.stop()
            asyncio.get_running_loop().call_later(self._setup.stop_s + LAST_REPORT_S, self._kill_late)

    # ------------------------------------------------------------------ workers

    async def _keep_worker(self) -> None:
        """Keep one worker running until the crawl ends."""
        quick_deaths = 0
        while not self._stopping.is_set():
            begun_s = time.monotonic()
            try:
                child = await WorkerProcess.start(self._setup.command, lock=self._setup.lock, output=self._setup.output)
            except OSError as error:  # no memory, no descriptors, no room for processes
                cause, death = "start", f"cannot be started ({error.strerror})"
            else:
                cause, death = await self._reap(child)
            if self._stopping.is_set():
                break
            metrics.WORKER_REPLACEMENTS_TOTAL.labels(cause).inc()
            quick_deaths = quick_deaths + 1 if time.monotonic() - begun_s < QUICK_S else 1
            await self._back_off(death, quick_deaths)

    async def _reap(self, child: WorkerProcess) -> tuple[str, str]:
        """Wait until a worker ends and free what it owned; return the kind of its end, and how it ended."""
        log.info("A worker (pid %d) was started.", child.pid)
        self._children.add(child)
        if self._stopping.is_set():  # while it started
            child.stop()
        status = await child.wait()
        self._children.remove(child)
        self._tally.reap(child.figures)
        self._watch.reap(child)
        self._history.end_worker(child.name, child.samples)
        if self._end is not End.KILLED:
            await self._recover(child)
        if status == 0:  # the frontier ordered the crawl to stop
            self.stop(End.STOPPED)
        elif status == MISTAKE and child.mistake:
            self.stop(End.MISTAKE, child.mistake)
        cause = "silence" if child.was_silent else "signal" if status < 0 else "failure"
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with {status}"
        silence = " after its silence" if child.was_silent else ""
        log.info("The worker %s (pid %d) ended %s%s.", child.name or "without a name", child.pid, how, silence)
        return cause, f"(pid {child.pid}) ended {how}"

    async def _back_off(self, death: str, quick_deaths: int) -> None:
        """Log that a worker died. End the crawl after many quick deaths in a row, else wait longer after each."""
        if quick_deaths == MAX_QUICK_DEATHS:
            self.stop(End.DYING, f"Workers keep dying; the last one {death}: {self._setup.output} says why.")
            return
        log.warning("A worker %s; another one replaces it.", death)
        if quick_deaths > 1:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), min(2.0**quick_deaths / 8, MAX_PAUSE_S))

    async def _recover(self, child: WorkerProcess) -> None:
        """Free the sites of a worker that has ended, and repair its files.

        A worker that shut down gracefully has left nothing to free or to repair.
        """
        label = label_of(child.pid)

        def recover() -> int:
            listed = [worker.worker for worker in self._frontier.workers() if worker.label == label and not worker.gone]
            freed = sum(map(self._frontier.recover, listed))
            if not self._stopping.is_set():  # else there is no time: the next start repairs them
                self._callbacks.repair([name_of(worker) for worker in listed])  # plant: dead-workers-files-not-repaired
            return freed

        while True:
            try:
                freed = await self._in_thread(recover)
            except (FrontierError, OSError) as error:
                if self._stopping.is_set():
                    return  # the next start frees them
                log.warning("The sites of a dead worker cannot be freed yet (%s).", error)
                await asyncio.sleep(TICK_S)
            else:
                if freed:
                    log.info("Freed %s of the dead worker %s.", count(freed, "site"), label)
                return

    def _kill_late(self) -> None:
        for child in self._children:
            log.warning(
                "A worker (pid %d) did not shut down in time and is killed; the next start resumes its work.", child.pid
            )
            child.kill()

    def _on_signal(self) -> None:
        now_s = time.monotonic()
        echo = now_s - self._signalled_s < ECHO_S
        self._signalled_s = now_s
        if echo:
            return
        if self._stopping.is_set():
            self._uploads.kill()
            self._end = End.KILLED if self._children else self._end
            for child in self._children:
                child.kill()
        else:
            self.stop(End.STOPPED)

    def _on_hangup(self) -> None:
        """Stop if the terminal was closed; else the log file was moved, and all processes begin a new one."""
        if self._callbacks.is_terminal_gone():
            self.stop(End.STOPPED)
        else:
            self._follow_log()

    def _follow_log(self) -> None:
        self._callbacks.reopen_log()
        self._uploads.follow_log()
        for child in self._children:
            child.follow_log()

    # ------------------------------------------------------------------ watching

    async def _watch_workers(self) -> None:
        """Kill silent workers, rotate the log, measure. Never waits for the frontier: a silent worker may block it."""
        full_log = RepeatedWarning(log, LOG_NOT_ROTATED)
        while True:
            await asyncio.sleep(TICK_S)
            for child in self._children:
                child.silent_s += TICK_S
                if child.silent_s > self._setup.silence_s:
                    log.warning(
                        "A worker (pid %d) was silent for %g s and is killed.", child.pid, self._setup.silence_s
                    )
                    child.was_silent = True
                    child.kill()
                    child.silent_s = 0.0  # one that hangs in the kernel dies late: do not warn every second
            try:
                if self._callbacks.rotate_log():
                    self._follow_log()
            except OSError as error:
                full_log.warn(error)
            else:
                full_log.clear()
            self._measure_now()

    async def _watch_crawl(self) -> None:
        """Show the crawl's progress every second, and end the crawl when it is over."""
        unreadable, told_s = RepeatedWarning(log, END_UNKNOWN), 0.0
        while True:
            await asyncio.sleep(TICK_S)
            was_paused = self._stats.is_paused
            try:
                drained, self._stats = await self._in_thread(self._look)
            except FrontierError as error:
                unreadable.warn(error)
                drained, troubles = False, [f"the frontier cannot be read: {error}"]
            else:
                unreadable.clear()
                troubles = []
            if self._stats.is_paused != was_paused:
                log.info("The operator %s the crawl.", "paused" if self._stats.is_paused else "resumed")
            progress = self._measure(self._stats, *troubles)
            self._callbacks.show(progress)
            elapsed_s = time.monotonic() - self._started_s
            if elapsed_s >= told_s + FIGURES_EVERY_S:
                told_s = elapsed_s
                log.info("%s", progress.in_one_line())
            if end := find_end(drained, self._stats, elapsed_s=elapsed_s, max_duration_s=self._max_duration_s):
                self.stop(end)

    def _look(self) -> tuple[bool, Stats]:
        """In the thread: return whether nothing is left, and the frontier's figures; share this machine's own."""
        seen = self._frontier.drained(), self._frontier.stats()
        self._watch.ask(self._frontier)
        self._history.share(self._frontier)
        return seen

    async def _finish_uploads(self) -> None:
        """Let files be uploaded that the workers have finished at their end."""
        assert self._end is not None
        async with asyncio.TaskGroup() as group:
            showing = group.create_task(self._show_uploads())
            await self._uploads.finish(is_finished=self._end.is_finish)
            showing.cancel()
        self._measure_now()

    async def _show_uploads(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._callbacks.show(self._measure(self._stats))

    def _measure_now(self) -> None:
        self._watch.look(self._children, self._stats, self._uploads.samples)

    def _samples(self) -> dict[str, Samples]:
        """Return the samples of each process, those of this one without a name."""
        return {"": self._watch.own} | {child.name: child.samples for child in self._children if child.name}

    def _measure(self, stats: Stats, *troubles: str) -> Progress:
        now_s = time.monotonic()
        total = self._tally.total(child.figures for child in self._children)
        pages_per_s, bytes_per_s = self._tally.update_rates(now_s, total)
        return Progress(
            elapsed_s=now_s - self._started_s,
            figures=total,
            pages_per_s=pages_per_s,
            bytes_per_s=bytes_per_s,
            stats=stats,
            workers=self._setup.count,
            alive=len(self._children),
            troubles=(*troubles, *_one_of_each_kind(child.trouble for child in self._children)),
            end=self._end,
            uploads=self._uploads.state,
            members=tuple(
                Member(label=label_of(child.pid), figures=child.figures)
                for child in sorted(self._children, key=lambda child: child.pid)
            ),
            outlook=self._forecast.update(
                now_s,
                stats,
                time_left_s=None if self._max_duration_s is None else self._started_s + self._max_duration_s - now_s,
            ),
        )

    async def _in_thread(self, function: Callable[[], T]) -> T:
        """Call the frontier. Once the crawl is stopping, wait only briefly: the frontier may hang."""
        loop = asyncio.get_running_loop()
        answer = loop.run_in_executor(self._thread, function)
        stopping = loop.create_task(self._stopping.wait())
        try:
            first: set[asyncio.Future[Any]] = {answer, stopping}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await asyncio.wait({answer}, timeout=LAST_LOOK_S)
        finally:
            stopping.cancel()
            answer.add_done_callback(lambda late: late.cancelled() or late.exception())  # a late error is ignored
        if not answer.done():
            raise FrontierError("it does not answer")
        return answer.result()


def _one_of_each_kind(troubles: Iterable[str]) -> list[str]:
    """Return one trouble of each kind: those of two workers may differ only in the details behind the colon."""
    return sorted({trouble.partition(":")[0]: trouble for trouble in troubles if trouble}.values())
