"""Simulated processes: event loops that share one virtual clock, each with one thread, all run step by step.

Nothing here runs by itself. The scheduler runs one step of one process at a time, chosen at random from the seed. When
no process is ready, the clock jumps to the next time at which something is due. A process can be paused (it takes no
steps while time passes) or killed (it never takes a step again) between any two steps.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio.events import _set_running_loop  # documented for authors of event loops
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from chaos.simulation.thread import Killed, SteppedThread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context
    from random import Random

T = TypeVar("T")

MAX_STEP_S: Final = 0.002  # the longest time that a step takes
MAX_JOB_WAIT_S: Final = 0.01  # until the thread begins a job


class _Task(asyncio.Task[Any]):
    """A task whose hash is its number, not its address, so that a set of tasks has the same order in every run."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], *, number: int, **more: Any) -> None:
        self._number = number  # first: the base class enters the task into a set of all tasks
        super().__init__(coroutine, **more)

    def __hash__(self) -> int:
        return self._number


class Process(asyncio.AbstractEventLoop):
    """One simulated process: an event loop and a thread."""

    def __init__(self, scheduler: Scheduler, name: str, *, has_thread: bool) -> None:
        """Make a process; without a thread, a job of the thread runs as one step of the loop, which is faster."""
        self.name = name
        self.dead = False
        self.paused = False
        self.steps_left = -1  # at 0 it will be killed
        self.parked: list[asyncio.Handle] = []  # due while it was paused
        self.ready: deque[asyncio.Handle] = deque()
        self._scheduler = scheduler
        self._numbers = 0
        self._tasks: list[asyncio.Task[Any]] = []
        self._jobs: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._job: asyncio.Future[Any] | None = None  # the thread's current job
        self._thread = SteppedThread()
        self._has_thread = has_thread

    # ------------------------------------------------------------------ as the scheduler sees it

    def step(self) -> None:
        """Run one callback."""
        handle = self.ready.popleft()
        if handle.cancelled():
            return
        self.steps_left -= 1
        if self.steps_left == 0:
            self._scheduler.doomed.append(self)
        _set_running_loop(self)
        try:
            handle._run()  # noqa: SLF001 - this is the task of an event loop
        finally:
            _set_running_loop(None)

    def kill(self) -> None:
        """End the process at once: none of its code runs again, except for the cleanup that Python enforces."""
        if self.dead:
            return
        self.dead = True
        self.ready.clear()
        self._thread.end(killed=True)
        _set_running_loop(self)
        try:
            for task in self._tasks:
                _close(task)
        finally:
            _set_running_loop(None)
        self._tasks.clear()
        self._jobs.clear()

    def end(self) -> None:
        """Record that the process has ended by itself."""
        self.dead = True
        self._thread.end(killed=False)
        self._tasks.clear()

    # ------------------------------------------------------------------ as its own code sees it

    def in_thread_for(self, seconds: float) -> None:
        """In the thread: let time pass, in which the loop runs; without a thread, count one step instead."""
        if self._has_thread:
            self.call_later(seconds, self._thread.go_on)
            self._thread.pause()
        else:
            self.steps_left -= 1
            if self.steps_left == 0:
                self._scheduler.doomed.append(self)
                raise Killed

    def time(self) -> float:
        return self._scheduler.now_s

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if not self.dead:
            self.ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if not self.dead:
            self._scheduler.push(when, self, handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + max(0.0, delay), callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **more: Any) -> asyncio.Task[Any]:
        self._numbers += 1
        task = _Task(coro, number=self._numbers, loop=self, **more)
        self._tasks.append(task)
        if len(self._tasks) > 200:
            self._tasks = [task for task in self._tasks if not task.done()]
        return task

    def run_in_executor(  # type: ignore[override]
        self, _executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Queue a function for the one thread."""
        future = self.create_future()
        self._jobs.append((lambda: func(*args), future))
        if self._job is None:
            self._begin_job()
        return future

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.dead

    def is_closed(self) -> bool:
        return self.dead

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled timer is skipped when it is due."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and not self.dead:
            self._scheduler.errors.append(error)

    def default_exception_handler(self, context: dict[str, Any]) -> NoReturn:
        raise RuntimeError(context)

    # ------------------------------------------------------------------ the thread's work

    def _begin_job(self) -> None:
        """Start the next job after a short wait."""
        work, self._job = self._jobs.popleft()
        wait_s = self._scheduler.dice.uniform(0, MAX_JOB_WAIT_S)
        if self._has_thread:
            self.call_later(wait_s, lambda: self._thread.start(lambda: self._do(work)))
        else:
            self.call_later(wait_s, self._do, work)

    def _do(self, work: Callable[[], Any]) -> None:
        """Run a function and hand its result to the loop."""
        future = self._job
        assert future is not None
        try:
            result = work()
        except Killed:
            if self._has_thread:
                raise
            return
        except Exception as error:
            self.call_soon(_fail, future, error)
        else:
            self.call_soon(_settle, future, result)
        self._job = None
        if self._jobs:
            self.call_soon(self._next_job)

    def _next_job(self) -> None:
        if self._job is None and self._jobs:
            self._begin_job()


class Scheduler:
    """The clock, and the choice of the process that takes the next step."""

    def __init__(self, dice: Random) -> None:
        self.now_s = 0.0
        self.dice = dice
        self.processes: list[Process] = []
        self.errors: list[BaseException] = []  # unhandled ones
        self.doomed: list[Process] = []  # have taken their last step, and will be killed
        # Due times and what to run then, in order; an entry without a process is an event of the simulation.
        self._due: list[tuple[float, int, Process | None, asyncio.Handle | Callable[[], None]]] = []
        self._numbers = 0

    def push(self, when_s: float, process: Process | None, what: asyncio.Handle | Callable[[], None]) -> None:
        """Schedule a callback of a process, or an event of the simulation."""
        self._numbers += 1
        heapq.heappush(self._due, (when_s, self._numbers, process, what))

    def at(self, when_s: float, happen: Callable[[], None]) -> None:
        """Schedule an event of the simulation at a time."""
        self.push(max(when_s, self.now_s), None, happen)

    def after(self, wait_s: float, happen: Callable[[], None]) -> None:
        """Schedule an event of the simulation after a wait."""
        self.push(self.now_s + wait_s, None, happen)

    def pause(self, process: Process) -> None:
        """Pause a process: it takes no steps until `go_on`."""
        process.paused = True

    def go_on(self, process: Process) -> None:
        """Resume a paused process; callbacks that became due meanwhile run after those that were ready."""
        process.paused = False
        process.ready += process.parked
        process.parked.clear()

    def step(self) -> bool:
        """Run one step; return False if nothing is ready or scheduled."""
        able = [process for process in self.processes if process.ready and not process.paused]
        if not able:
            if not self._due:
                return False
            self.now_s = max(self.now_s, self._due[0][0])
        while self._due and self._due[0][0] <= self.now_s:
            _, _, process, what = heapq.heappop(self._due)
            if process is None:
                what()  # type: ignore[operator]
                return True
            assert isinstance(what, asyncio.Handle)
            if not what.cancelled() and not process.dead:
                (process.parked if process.paused else process.ready).append(what)
        if able:
            process = able[0] if len(able) == 1 else self.dice.choice(able)
            process.step()
            if self.dice.random() < 0.1:
                self.now_s += self.dice.uniform(0, MAX_STEP_S)
        return True


def _settle(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _close(task: asyncio.Task[Any]) -> None:
    """Close a task's coroutine; one that awaits again during its cleanup is closed again."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
    coroutine: Any = task.get_coro()
    for _ in range(5):
        try:
            coroutine.close()
        except RuntimeError:
            continue
        except BaseException:
            pass  # an error of a killed process
        return
