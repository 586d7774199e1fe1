"""Starts the workers of a crawl, replaces those that die, and knows when it is over."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gossamer.frontier import FrontierError
from gossamer.store.names import name_of
from gossamer.supervisor.child import MISTAKE, Child, label_of
from gossamer.supervisor.complaint import Complaint
from gossamer.supervisor.ending import BLIND, End, Ended, end_of
from gossamer.supervisor.outlook import Forecast
from gossamer.supervisor.progress import Member, Progress, Tally
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from gossamer.frontier import Frontier
    from gossamer.records import Stats

log = logging.getLogger(__name__)
T = TypeVar("T")

TICK_S: Final = 1.0
QUICK_S: Final = 10.0  # a worker that dies sooner died of its start
MAX_QUICK_DEATHS: Final = 8  # in a row
MAX_PAUSE_S: Final = 8.0  # before a worker that dies quickly is started again
ECHO_S: Final = 0.1  # `timeout` and some shells send a signal to the process and to its group: that is one
LAST_WORDS_S: Final = 4.0  # at a stop, for the last report and for finishing files; then workers are killed
LAST_LOOK_S: Final = 2.0  # at a stop, for a frontier that may not answer


class Supervisor:
    """The only parent of the workers in one folder, whose lock it holds."""

    def __init__(
        self,
        *,
        frontier: Frontier,
        stats: Stats,  # of the frontier, until it is looked at
        command: Sequence[str],  # starts a worker; see `Child.start` for what is added
        workers: int,
        lock: int,
        output: Path,  # where the workers' output goes
        silence_s: float,
        stop_s: float,  # how long workers wait for what is under way
        max_duration_s: float | None,
        repair: Callable[[Collection[str]], object],  # puts the files of dead workers in order
        show: Callable[[Progress], None],  # called every second
        rotate: Callable[[], bool],  # begins a new log file when it is time; tells whether it was
        reopen: Callable[[], None],  # lets go of a log file that was moved away
        deserted: Callable[[], bool],  # tells whether the terminal that it was started from is gone
    ) -> None:
        self._frontier = frontier
        self._command = command
        self._workers = workers
        self._lock = lock
        self._output = output
        self._silence_s = silence_s
        self._stop_s = stop_s
        self._max_duration_s = max_duration_s
        self._repair = repair
        self._show = show
        self._rotate = rotate
        self._reopen = reopen
        self._deserted = deserted
        self._children: set[Child] = set()
        self._tally = Tally()
        self._forecast = Forecast()
        self._end: End | None = None
        self._detail = ""
        self._stopping = asyncio.Event()
        self._stats = stats
        self._started_s = time.monotonic()
        self._signalled_s = -ECHO_S
        # Not on the event loop: a worker that was stopped inside a transaction would stop whoever watches it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="frontier")

    async def run(self) -> Ended:
        """Crawl until it is over. Ctrl-C or SIGTERM stops in good order, a second one at once; SIGHUP reopens logs."""
        loop = asyncio.get_running_loop()
        signals = {signal.SIGINT: self._on_signal, signal.SIGTERM: self._on_signal, signal.SIGHUP: self._on_hangup}
        for number, heed in signals.items():
            loop.add_signal_handler(number, heed)
        try:
            async with asyncio.TaskGroup() as group:
                keeping = [group.create_task(self._keep_worker()) for _ in range(self._workers)]
                watching = [group.create_task(self._watch_workers()), group.create_task(self._watch_crawl())]
                await asyncio.wait(keeping)
                for watch in watching:
                    watch.cancel()
            if self._end is not End.KILLED:
                with suppress(FrontierError):  # else what was seen last has to do
                    self._stats = await self._in_thread(self._frontier.stats)
            progress = self._look(self._stats)
        finally:
            for child in self._children:
                child.kill()
            for number in signals:
                loop.remove_signal_handler(number)
            self._thread.shutdown(wait=False, cancel_futures=True)
        assert self._end is not None
        return Ended(end=self._end, detail=self._detail, progress=progress)

    def stop(self, end: End, detail: str = "") -> None:
        """Let all workers finish what is under way, and start no more."""
        if self._end is None:
            self._end, self._detail = end, detail
            log.info("The crawl ends: %s.", detail or end.value)
        if not self._stopping.is_set():
            self._stopping.set()
            for child in self._children:
                child.stop()
            asyncio.get_running_loop().call_later(self._stop_s + LAST_WORDS_S, self._kill_late)

    # ------------------------------------------------------------------ workers

    async def _keep_worker(self) -> None:
        """Keep one worker running until the crawl ends."""
        quick_deaths = 0
        while not self._stopping.is_set():
            begun_s = time.monotonic()
            try:
                child = await Child.start(self._command, lock=self._lock, output=self._output)
            except OSError as error:  # no memory, no descriptors, no room for processes
                death = f"cannot be started ({error.strerror})"
            else:
                death = await self._accompany(child)
            if self._stopping.is_set():
                break
            quick_deaths = quick_deaths + 1 if time.monotonic() - begun_s < QUICK_S else 1
            await self._mourn(death, quick_deaths)

    async def _accompany(self, child: Child) -> str:
        """See a worker through its life, and to its end; return how it died, if it did."""
        self._children.add(child)
        if self._stopping.is_set():  # meanwhile
            child.stop()
        status = await child.wait()
        self._children.remove(child)
        self._tally.bury(child.figures)
        if self._end is not End.KILLED:
            await self._recover(child)
        if status == 0:  # it heard so from the frontier
            self.stop(End.STOPPED)
        elif status == MISTAKE and child.mistake:
            self.stop(End.MISTAKE, child.mistake)
        return f"(pid {child.pid}) ended " + (f"by {signal.Signals(-status).name}" if status < 0 else f"with {status}")

    async def _mourn(self, death: str, quick_deaths: int) -> None:
        """Say that a worker died; give up if they always do, else wait a little longer each time."""
        if quick_deaths == MAX_QUICK_DEATHS:
            self.stop(End.DYING, f"Workers keep dying, and this one too {death}: {self._output} says why.")
            return
        log.warning("A worker %s; another takes its place.", death)
        if quick_deaths > 1:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), min(2.0**quick_deaths / 8, MAX_PAUSE_S))

    async def _recover(self, child: Child) -> None:
        """Free what a worker had in hand, now that it is surely dead, and put its files in order.

        One that ended well has nothing left to free or to mend.
        """
        label = label_of(child.pid)

        def recover() -> int:
            listed = [worker.worker for worker in self._frontier.workers() if worker.label == label and not worker.gone]
            freed = sum(map(self._frontier.recover, listed))
            if not self._stopping.is_set():  # there is no time for it then; the next start does it
                self._repair([name_of(worker) for worker in listed])  # plant: dead-workers-files-not-repaired
            return freed

        while True:
            try:
                freed = await self._in_thread(recover)
            except (FrontierError, OSError) as error:
                if self._stopping.is_set():
                    return  # the next start does it
                log.warning("What a dead worker had in hand cannot be freed yet (%s).", error)
                await asyncio.sleep(TICK_S)
            else:
                if freed:
                    log.info("Free again: %s that worker %s had in hand.", count(freed, "site"), label)
                return

    def _kill_late(self) -> None:
        for child in self._children:
            log.warning("A worker (pid %d) did not end in time and is killed; the next start goes on.", child.pid)
            child.kill()

    def _on_signal(self) -> None:
        now_s = time.monotonic()
        echo = now_s - self._signalled_s < ECHO_S
        self._signalled_s = now_s
        if echo:
            return
        if self._stopping.is_set():
            self._end = End.KILLED
            for child in self._children:
                child.kill()
        else:
            self.stop(End.STOPPED)

    def _on_hangup(self) -> None:
        """Stop if the terminal was closed; else somebody moved the log file, and all are to begin a new one."""
        if self._deserted():
            self.stop(End.STOPPED)
        else:
            self._follow_log()

    def _follow_log(self) -> None:
        self._reopen()
        for child in self._children:
            child.follow_log()

    # ------------------------------------------------------------------ watching

    async def _watch_workers(self) -> None:
        """Kill workers that have fallen silent, and keep the log short. Waits for nothing that workers may hold."""
        full_log = Complaint(log, "No new log file can be begun (%s).")
        while True:
            await asyncio.sleep(TICK_S)
            for child in self._children:
                child.silent_s += TICK_S
                if child.silent_s > self._silence_s:
                    log.warning("A worker (pid %d) was silent for %g s and is killed.", child.pid, self._silence_s)
                    child.kill()
                    child.silent_s = 0.0  # one that hangs in the kernel dies late: no word on it every second
            try:
                if self._rotate():
                    self._follow_log()
            except OSError as error:
                full_log.make(error)
            else:
                full_log.withdraw()

    async def _watch_crawl(self) -> None:
        """Show how far the crawl is, and end it when it is over, until cancelled."""
        blind = Complaint(log, BLIND)
        while True:
            await asyncio.sleep(TICK_S)
            try:
                drained, self._stats = await self._in_thread(lambda: (self._frontier.drained(), self._frontier.stats()))
            except FrontierError as error:
                blind.make(error)
                drained, troubles = False, [f"the frontier cannot be read: {error}"]
            else:
                blind.withdraw()
                troubles = []
            self._show(self._look(self._stats, *troubles))
            elapsed_s = time.monotonic() - self._started_s
            if end := end_of(drained, self._stats, elapsed_s=elapsed_s, max_duration_s=self._max_duration_s):
                self.stop(end)

    def _look(self, stats: Stats, *troubles: str) -> Progress:
        now_s = time.monotonic()
        total = self._tally.total(child.figures for child in self._children)
        pages_per_s, bytes_per_s = self._tally.rates(now_s, total)
        return Progress(
            elapsed_s=now_s - self._started_s,
            figures=total,
            pages_per_s=pages_per_s,
            bytes_per_s=bytes_per_s,
            stats=stats,
            workers=self._workers,
            alive=len(self._children),
            troubles=(*troubles, *_one_of_each_kind(child.trouble for child in self._children)),
            end=self._end,
            members=tuple(
                Member(label=label_of(child.pid), figures=child.figures)
                for child in sorted(self._children, key=lambda child: child.pid)
            ),
            outlook=self._forecast.look(
                now_s,
                stats,
                time_left_s=None if self._max_duration_s is None else self._started_s + self._max_duration_s - now_s,
            ),
        )

    async def _in_thread(self, function: Callable[[], T]) -> T:
        """Ask the frontier something. Once the crawl is to end, nobody waits for long: the frontier may be hanging."""
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
            answer.add_done_callback(lambda late: late.cancelled() or late.exception())  # of no interest any more
        if not answer.done():
            raise FrontierError("it does not answer")
        return answer.result()


def _one_of_each_kind(troubles: Iterable[str]) -> list[str]:
    """Return one trouble of each kind: two workers meet the same one with other details behind the colon."""
    return sorted({trouble.partition(":")[0]: trouble for trouble in troubles if trouble}.values())
