"""One page process and the pages that wait for it, shared fairly by site; replaces the process when a page kills it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from gossamer import metrics
from gossamer.fair_queue import FairQueue
from gossamer.page_process.child import PageChild
from gossamer.page_process.frames import max_reply_bytes, pack_page, pack_terms, unpack_reply
from gossamer.page_process.settings import SITEMAP_PAGES
from gossamer.page_process.slices import TimeSlice
from gossamer.records import ParseFailed, Reason, RequestKind
from gossamer.story import tell

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from gossamer.page_process.frames import PageTerms, Result
    from gossamer.page_process.starting import ProcessStarter
    from gossamer.records import Fetched

log = logging.getLogger(__name__)

PAGES_IN_PIPE: Final = 4  # enough that neither process waits for the other
LEAST_CHARGE_S: Final = 0.05  # of a page that kept none waiting when it came: an ordinary page takes 2 to 20 ms
MAX_DEATHS: Final = 2  # a page is blamed if this many processes died on it for unknown reasons
MAX_FAILED_STARTS: Final = 3
SPARE_S: Final = 60.0  # how long a process that only costly pages need is kept after the last of them

_CRASHES: Final = {-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGILL, -signal.SIGFPE}


class Job:
    """A page that waits for its result."""

    __slots__ = ("archive", "deaths", "fetched", "future", "has_waited", "is_large", "kind", "site")

    def __init__(
        self, fetched: Fetched, kind: RequestKind, *, site: str, archive: bool, future: asyncio.Future[Result]
    ) -> None:
        self.fetched = fetched
        self.kind = kind
        self.site = site
        self.archive = archive
        self.future = future
        self.deaths = 0
        self.has_waited = False  # in the queue that sites share
        self.is_large = False  # it took more memory than the quick lane gives

    def settle(self, result: Result) -> None:
        """Give the result to the caller; the caller may have been cancelled."""
        if not self.future.done():
            self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        """Raise an error where the page is wanted."""
        if not self.future.done():
            self.future.set_exception(error)


class PageLane:
    """Reads pages in a child process, and replaces the child when it dies.

    Up to `PAGES_IN_PIPE` pages are with the child, which reads them in order; the others wait here. A child that dies
    was reading the first of them: that page is blamed, and the next child gets the others.

    With a slice, a page that takes more processor time than that (`TimeSlice`) while others wait is taken from the
    lane: its child is killed, and `overran` gets the page. It also gets each page that takes more memory than the terms
    allow; a lane without `overran` reads as much of such a page as its memory allows.
    """

    def __init__(
        self,
        terms: PageTerms,
        *,
        stuck_s: float,
        slice_s: float | None = None,
        niceness: int = 0,
        starter: ProcessStarter,
        on_cost: Callable[[Job, float], None],
        overran: Callable[[Job], None] | None = None,
    ) -> None:
        self._terms = terms
        self._stuck_s = stuck_s
        self._slice = None if slice_s is None else TimeSlice(slice_s)
        self._niceness = niceness
        self._starter = starter
        self._on_cost = on_cost  # called with every page that was read and the processor time it took
        self._overran = overran
        self._waiting: FairQueue[Job] = FairQueue()
        self._again: deque[Job] = deque()  # they were with a child that died: they come first
        self.in_pipe: deque[Job] = deque()
        self._child: PageChild | None = None
        self._ousted: Job | None = None  # the page for which we killed the child
        self._child_cpu_s = 0.0  # the child's processor time at its last frame
        self._failed_starts = 0
        self._heard_s = 0.0  # loop time of the child's last frame, or of its first page
        self._watch: asyncio.TimerHandle | None = None
        self.replaced = 0  # how many times the child was replaced

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is no child."""
        return None if self._child is None else self._child.pid

    @property
    def waiting(self) -> int:
        """How many pages wait and are not with the child."""
        return self._waiting.size + len(self._again)

    @property
    def pending(self) -> int:
        """How many pages wait or are being read."""
        return self.waiting + len(self.in_pipe)

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the child."""
        self._loop = loop
        self._start()

    def close(self) -> None:
        """End the child. Callers that still wait for a page are cancelled: it was not read, and no page is blamed."""
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        if self._child is not None:
            self._child.reap()
            self._child = None
        for job in self._take_all():
            job.future.cancel()

    def add(self, job: Job) -> None:
        """Read a page when its site's turn has come."""
        if not self.pending:
            self._heard_s = self._loop.time()
        child = self._child
        if child is not None and child.ready and len(self.in_pipe) < PAGES_IN_PIPE and not self.waiting:
            self._send(child, job)
        else:
            job.has_waited = True
            self._waiting.push(job.site, job)
            if child is None:
                self._start()
            self._fill_pipe()
        if self._watch is None:
            self._look()

    def charge(self, site: str, cost_s: float) -> None:
        """Charge a site for processor time that it took elsewhere."""
        self._waiting.charge(site, cost_s)

    # ------------------------------------------------------------------ the child

    def _start(self) -> None:
        self._heard_s = self._loop.time()
        self._child_cpu_s = 0.0
        try:
            terms = pack_terms(self._terms)
            child = PageChild(self._loop, self._take_reply, self._replace, start=self._starter.start)
        except (OSError, MemoryError) as error:
            self._give_up(f"the page process cannot be started: {str(error) or 'no memory'}")
            return
        self._child = child
        if self._niceness:
            with suppress(OSError):  # it has just died: then its end is noticed as any other
                os.setpriority(os.PRIO_PROCESS, child.pid, self._niceness)
        child.send(terms, max_reply_bytes=0)

    def _fill_pipe(self) -> None:
        child = self._child
        if child is None or not child.ready:
            return
        while len(self.in_pipe) < PAGES_IN_PIPE:
            if self._again:
                job = self._again.popleft()
            elif self._waiting.size:
                job = self._waiting.pop()[1]
            else:
                return
            if not job.future.done():
                self._send(child, job)

    def _send(self, child: PageChild, job: Job) -> None:
        try:
            frame = pack_page(job.fetched, kind=job.kind, archive=job.archive)
        except Exception as bug:  # out of memory, for example: only the caller of this page gets it
            job.fail(bug)
            return
        # Just before it is sent: replies are matched to the pages in the pipe by order alone.
        self.in_pipe.append(job)
        child.send(frame, max_reply_bytes=max_reply_bytes(self._terms, frame, job.kind))

    def _take_reply(self, child: PageChild, frame: memoryview) -> None:
        """Settle the page that a reply is about; raise FrameError if it is none."""
        if not child.ready:
            child.ready = True
            self._heard_s = self._loop.time()
            self._child_cpu_s = _cpu_s(child.pid)
            self._failed_starts = 0
        else:
            self._heard_s = self._loop.time()
            asked = self.in_pipe[0]
            reply = unpack_reply(frame, asked.kind, asked.fetched.body)
            child.retiring, child.large, cpu_s, result = reply
            job = self.in_pipe.popleft()
            job.is_large = child.large
            cost_s = cpu_s - self._child_cpu_s if self._child_cpu_s else 0.0
            cost_s = min(max(0.0, cost_s), self._deadline_s(job))  # a child that was taken over may lie
            self._account(job, cost_s)
            self._child_cpu_s = cpu_s
            self._note_in_slice(cost_s, is_large=child.large)
            if child.large and self._overran is not None:
                self._overran(job)
            elif isinstance(result, RuntimeError):  # a bug goes to the caller that waits for the page
                job.fail(result)
            else:
                job.settle(result)
        self._fill_pipe()

    def _note_in_slice(self, cost_s: float, *, is_large: bool) -> None:
        if self._slice is not None:
            (self._slice.note_overrun if is_large else self._slice.note_read)(cost_s)

    def _account(self, job: Job, cost_s: float) -> None:
        if job.has_waited:
            self._waiting.charge(job.site, cost_s)
        elif cost_s >= LEAST_CHARGE_S:
            self._waiting.serve(job.site, cost_s)
        self._on_cost(job, cost_s)

    def _replace(self, child: PageChild, status: int) -> None:
        """Blame the page that killed the child, if one did, and start another child."""
        self._child = None
        ousted, self._ousted = self._ousted, None
        cause = _cause_of_end(child, is_ousted=ousted is not None)
        metrics.PAGE_PROCESS_REPLACEMENTS_TOTAL.labels(cause).inc()
        tell(log, "replacement", of="page_process", cause=cause, status=status)
        if not child.ready:
            self._failed_starts += 1
            if self._failed_starts == MAX_FAILED_STARTS:
                self._give_up(f"the page process ends with status {status} before it is ready")
                return
        elif ousted is not None:
            if self.in_pipe and self.in_pipe[0] is ousted:  # else it was read while the signal was on its way
                self._oust(self.in_pipe.popleft())
        elif self.in_pipe and not child.retiring:
            self._blame(self.in_pipe[0], child, status)
        while self.in_pipe:
            self._again.appendleft(self.in_pipe.pop())
        self.replaced += 1
        if child.ready:
            self._starter.note_loss()
        self._start()
        self._fill_pipe()

    def _deadline_s(self, job: Job) -> float:
        return self._terms.deadline_s * (SITEMAP_PAGES if job.kind is RequestKind.SITEMAP else 1)

    def _blame(self, job: Job, child: PageChild, status: int) -> None:
        job.deaths += 1
        if status == -signal.SIGPROF:
            deadline_s = self._deadline_s(job)
            self._account(job, deadline_s)
            detail = f"took more than {deadline_s:g} s of processor time"
            job.settle(ParseFailed(reason=Reason.PARSE_DEADLINE, detail=detail))
        elif child.refused:
            detail = f"the page process sent what is no reply: {child.refused}"
            job.settle(ParseFailed(reason=Reason.PARSE_CRASHED, detail=detail))
        elif status in _CRASHES or job.deaths == MAX_DEATHS:
            detail = f"the page process ended with status {status}"
            job.settle(ParseFailed(reason=Reason.PARSE_CRASHED, detail=detail))

    def _oust(self, job: Job) -> None:
        """Pass on a page that took more than its slice."""
        assert self._slice is not None, "only a lane with a slice ousts pages"
        assert self._overran is not None, "it tells what becomes of them"
        cost_s = self._slice.now_s
        self._slice.note_overrun(cost_s)
        self._account(job, cost_s)
        self._overran(job)

    # ------------------------------------------------------------------ time

    def _look(self) -> None:
        """Kill a child that has been silent for too long, or whose page overran; while there are pages, look again."""
        self._watch = None
        now_s = self._loop.time()
        if not self.pending:
            self._rest(now_s)
            return
        left_s = self._heard_s + self._stuck_s - now_s
        if left_s <= 0 and self._child is not None:
            self._child.kill()
            left_s = self._stuck_s
        if self._slice is not None:
            left_s = min(left_s, self._slice.now_s / 2)
            self._end_overrun(now_s)
        self._watch = self._loop.call_later(left_s, self._look)

    def _rest(self, now_s: float) -> None:
        """Without pages, end a process that only costly pages need, when it has been idle for a while."""
        if not self._niceness or self._child is None:
            return
        end_s = self._heard_s + SPARE_S
        if now_s >= end_s:
            self._child.reap()
            self._child = None
        else:
            self._watch = self._loop.call_at(end_s, self._look)

    def _end_overrun(self, now_s: float) -> None:
        """Kill the child if its page has taken more than the slice while others wait."""
        assert self._slice is not None
        child, slice_s = self._child, self._slice.now_s
        if child is None or not child.ready or self._ousted is not None or self.pending < 2 or not self.in_pipe:
            return
        if now_s - self._heard_s > slice_s and _cpu_s(child.pid) - self._child_cpu_s > slice_s:
            self._ousted = self.in_pipe[0]
            child.kill()

    def _give_up(self, why: str) -> None:
        """Fail every page; the next page starts another child."""
        self._failed_starts = 0
        for job in self._take_all():
            job.fail(RuntimeError(why))

    def _take_all(self) -> list[Job]:
        jobs = [*self.in_pipe, *self._again, *self._waiting.clear()]
        self.in_pipe.clear()
        self._again.clear()
        return jobs


def _cause_of_end(child: PageChild, *, is_ousted: bool) -> str:
    if not child.ready:
        return "start"
    if is_ousted:
        return "slice"
    if child.large:
        return "memory"
    return "retired" if child.retiring else "page"


def _cpu_s(pid: int) -> float:
    """Return the processor time of a child; where the system does not tell, no page overruns its slice."""
    if sys.platform != "linux":
        return 0.0
    try:
        return time.clock_gettime((~pid << 3) | 2)  # the clock of a process: clock_getcpuclockid(3)
    except OSError:  # it has just ended
        return 0.0
