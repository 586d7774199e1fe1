"""Reads pages in a separate process, and replaces that process when a page kills it."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from gossamer.page_process.child import PageChild
from gossamer.page_process.frames import Values, pack, pack_page, result_of, robots_of, sitemap_of
from gossamer.page_process.settings import SITEMAP_PAGES
from gossamer.records import ParsedPage, ParsedRobots, ParsedSitemap, ParseFailed, Reason, RequestKind

if TYPE_CHECKING:
    from types import TracebackType

    from gossamer.page_process.settings import PageSettings
    from gossamer.records import Fetched

PAGES_IN_PIPE: Final = 4  # enough that neither process waits for the other
MAX_DEATHS: Final = 2  # a page is blamed if this many processes died on it for unknown reasons
MAX_FAILED_STARTS: Final = 3
# The deadline counts processor time. This much wall time without a reply means that the process does not run at all,
# for example because it was stopped by a signal. On a busy machine no page waits this long.
STUCK_S: Final = 60.0

_CRASHES: Final = {-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGILL, -signal.SIGFPE}

Result = ParsedPage | ParsedSitemap | ParsedRobots | ParseFailed
_READERS: Final = {RequestKind.PAGE: result_of, RequestKind.SITEMAP: sitemap_of, RequestKind.ROBOTS: robots_of}


class _Job:
    """A page that waits for its result."""

    __slots__ = ("archive", "deaths", "fetched", "future", "kind")

    def __init__(self, fetched: Fetched, kind: RequestKind, archive: bool, future: asyncio.Future[Result]) -> None:
        self.fetched = fetched
        self.kind = kind
        self.archive = archive
        self.future = future
        self.deaths = 0

    def settle(self, result: Result) -> None:
        if not self.future.done():  # the caller may have been cancelled
            self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class PageReader(Protocol):
    """Reads pages and sitemaps: what a worker needs of the page process. The simulation has one in its own process."""

    async def read(self, fetched: Fetched, *, archive: bool) -> ParsedPage | ParseFailed:
        """Read a page; see `PageProcess.read`."""

    async def read_sitemap(self, fetched: Fetched, *, archive: bool) -> ParsedSitemap | ParseFailed:
        """Read a sitemap; see `PageProcess.read_sitemap`."""

    async def read_robots(self, fetched: Fetched) -> ParsedRobots | ParseFailed:
        """Read a robots.txt; see `PageProcess.read_robots`."""


class PageProcess(PageReader):
    """Reads pages in a child process, and replaces the child when it dies.

    Up to `PAGES_IN_PIPE` pages are with the child, which reads them in order; the others wait here. A child that dies
    was reading the first of them: that page is blamed, and the next child gets the others.
    """

    def __init__(self, settings: PageSettings, *, agent: str, stuck_s: float = STUCK_S) -> None:
        self._settings = settings
        self._agent = agent  # our name in robots directives of pages
        self._stuck_s = stuck_s
        self._waiting: deque[_Job] = deque()
        self._in_pipe: deque[_Job] = deque()
        self._child: PageChild | None = None
        self._failed_starts = 0
        self._closed = False
        self._heard_s = 0.0  # loop time of the child's last frame, or of its first page
        self._watch: asyncio.TimerHandle | None = None
        self.replaced = 0  # how many times the child was replaced

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is no child."""
        return None if self._child is None else self._child.pid

    @property
    def pending(self) -> int:
        """How many pages wait or are being read."""
        return len(self._waiting) + len(self._in_pipe)

    async def __aenter__(self) -> PageProcess:
        self._loop = asyncio.get_running_loop()
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the child. Callers that still wait for a page are cancelled: it was not read, and no page is blamed."""
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
        if self._child is not None:
            self._child.reap()
            self._child = None
        for job in (*self._in_pipe, *self._waiting):
            job.future.cancel()
        self._in_pipe.clear()
        self._waiting.clear()

    async def read(self, fetched: Fetched, *, archive: bool) -> ParsedPage | ParseFailed:
        """Read a page; with `archive`, make its archive record too.

        A `noindex` page comes back without text and without a record. Raises RuntimeError for a bug of ours,
        or if the child cannot be started.
        """
        result = await self._read(fetched, RequestKind.PAGE, archive=archive)
        assert isinstance(result, ParsedPage | ParseFailed)
        return result

    async def read_sitemap(self, fetched: Fetched, *, archive: bool) -> ParsedSitemap | ParseFailed:
        """Read a sitemap; otherwise like `read`."""
        result = await self._read(fetched, RequestKind.SITEMAP, archive=archive)
        assert isinstance(result, ParsedSitemap | ParseFailed)
        return result

    async def read_robots(self, fetched: Fetched) -> ParsedRobots | ParseFailed:
        """Read a long robots.txt, which would hold up the worker's loop; otherwise like `read`."""
        result = await self._read(fetched, RequestKind.ROBOTS, archive=False)
        assert isinstance(result, ParsedRobots | ParseFailed)
        return result

    async def _read(self, fetched: Fetched, kind: RequestKind, *, archive: bool) -> Result:
        if self._closed:
            raise RuntimeError("the page process has been closed")
        if not self.pending:
            self._heard_s = self._loop.time()
        job = _Job(fetched, kind, archive, self._loop.create_future())
        self._waiting.append(job)
        if self._child is None:
            self._start()
        self._fill_pipe()
        if self._watch is None:
            self._look()
        return await job.future

    def _start(self) -> None:
        self._heard_s = self._loop.time()
        settings = self._settings
        limits = settings.parse_deadline_s, settings.parse_memory_bytes, settings.max_inflated_bytes
        try:
            terms = pack((*limits, self._agent, settings.text, settings.markdown, settings.links))
            self._child = PageChild(self._loop, self._take_reply, self._replace)
        except (OSError, MemoryError) as error:
            self._give_up(f"the page process cannot be started: {str(error) or 'no memory'}")
            return
        self._child.send(terms)

    def _fill_pipe(self) -> None:
        child = self._child
        if child is None or not child.ready:
            return
        while self._waiting and len(self._in_pipe) < PAGES_IN_PIPE:
            job = self._waiting.popleft()
            if job.future.done():
                continue
            try:
                frame = pack_page(job.fetched, kind=job.kind, archive=job.archive)
            except Exception as bug:  # out of memory, for example: only the caller of this page gets it
                job.fail(bug)
                continue
            # Just before it is sent: replies are matched to the pages in the pipe by order alone.
            self._in_pipe.append(job)
            child.send(frame)

    def _take_reply(self, child: PageChild, values: Values) -> None:
        self._heard_s = self._loop.time()
        if not values:
            child.ready = True
            self._failed_starts = 0
        else:
            child.retiring = values[0]
            job = self._in_pipe.popleft()
            try:
                job.settle(_READERS[job.kind](values[1:]))
            except Exception as bug:  # it goes to the caller that waits for the page
                job.fail(bug)
        self._fill_pipe()

    def _replace(self, child: PageChild, status: int) -> None:
        """Blame the page that killed the child, if one did, and start another child."""
        self._child = None
        if not child.ready:
            self._failed_starts += 1
            if self._failed_starts == MAX_FAILED_STARTS:
                self._give_up(f"the page process ends with status {status} before it is ready")
                return
        elif self._in_pipe and not child.retiring:
            self._blame(self._in_pipe[0], status)
        while self._in_pipe:
            self._waiting.appendleft(self._in_pipe.pop())
        self.replaced += 1
        self._start()

    def _blame(self, job: _Job, status: int) -> None:
        job.deaths += 1
        if status == -signal.SIGPROF:
            deadline_s = self._settings.parse_deadline_s * (SITEMAP_PAGES if job.kind is RequestKind.SITEMAP else 1)
            detail = f"took more than {deadline_s:g} s of processor time"
            job.settle(ParseFailed(reason=Reason.PARSE_DEADLINE, detail=detail))
        elif status in _CRASHES or job.deaths == MAX_DEATHS:
            detail = f"the page process ended with status {status}"
            job.settle(ParseFailed(reason=Reason.PARSE_CRASHED, detail=detail))

    def _look(self) -> None:
        """Kill a child that has been silent for too long; while there are pages, check again later."""
        self._watch = None
        if not self.pending:
            return
        left_s = self._heard_s + self._stuck_s - self._loop.time()
        if left_s <= 0 and self._child is not None:
            self._child.kill()
        self._watch = self._loop.call_later(left_s if left_s > 0 else self._stuck_s, self._look)

    def _give_up(self, why: str) -> None:
        """Fail every page; the next page starts another child."""
        self._failed_starts = 0
        for job in (*self._in_pipe, *self._waiting):
            job.fail(RuntimeError(why))
        self._in_pipe.clear()
        self._waiting.clear()
