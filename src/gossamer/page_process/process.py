"""Reads pages in separate processes: a quick lane for most sites, and a slow one for sites whose pages are costly."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from gossamer import metrics
from gossamer.page_process.frames import PageTerms
from gossamer.page_process.lane import PAGES_IN_PIPE, Job, PageLane
from gossamer.page_process.settings import QUICK_MEMORY_BYTES
from gossamer.page_process.starting import ProcessStarter
from gossamer.records import ParsedPage, ParsedRobots, ParsedSitemap, ParseFailed, Reason, RequestKind
from gossamer.waste import NetworkLedger

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gossamer.page_process.frames import Result
    from gossamer.page_process.settings import PageSettings
    from gossamer.records import Fetched

# The deadline counts processor time. This much wall time without a reply means that the process does not run at all,
# for example because it was stopped by a signal. On a busy machine no page waits this long.
STUCK_S: Final = 60.0
SLICE_S: Final = 0.1  # the processor time of a costly page; an ordinary page takes 2 to 20 ms
MAX_COSTLY_PAGES: Final = 32  # that wait for the slow lane: each holds a body and a request's slot
MAX_COSTLY_SITES: Final = 10_000  # that are remembered
NICENESS: Final = 10  # of the slow lane: it gets a tenth of a processor that others want, and all of an idle one

COPIES_OF_BODY: Final = 4  # in the page process, at most: the frame, the body, what is decoded and what is sent back

T = TypeVar("T")

__all__ = ["MAX_COSTLY_PAGES", "PAGES_IN_PIPE", "PageProcess", "PageReader"]


class PageReader(Protocol):
    """Reads pages and sitemaps: what a worker needs of the page process. The simulation has one in its own process."""

    @property
    def costly_pages(self) -> int:
        """How many pages are in the slow lane."""

    async def read(self, fetched: Fetched, *, site: str = "", archive: bool) -> ParsedPage | ParseFailed:
        """Read a page; see `PageProcess.read`."""

    async def read_sitemap(self, fetched: Fetched, *, site: str = "", archive: bool) -> ParsedSitemap | ParseFailed:
        """Read a sitemap; see `PageProcess.read_sitemap`."""

    async def read_robots(self, fetched: Fetched, *, site: str = "") -> ParsedRobots | ParseFailed:
        """Read a robots.txt; see `PageProcess.read_robots`."""


class PageProcess(PageReader):
    """Reads pages in child processes. Pages that wait are shared by site: each gets the same processor time.

    A page that takes more than `SLICE_S` while others wait, or more memory than `QUICK_MEMORY_BYTES`, loses its child.
    It is read again in the slow lane, by a process with a low priority, and so are the next pages of its site until one
    is cheap. So the sites that a costly page keeps waiting wait for a slice at most, and the costly sites wait for each
    other.
    """

    def __init__(
        self,
        settings: PageSettings,
        *,
        agent: str,
        max_body_bytes: int = 2_000_000,
        stuck_s: float = STUCK_S,
        slice_s: float = SLICE_S,
        networks: NetworkLedger | None = None,
        on_cost: Callable[[str, float, bool], None] | None = None,
    ) -> None:
        """`max_body_bytes` is the longest body of a page as it was sent.

        `on_cost` hears what reading a page of a site took, in seconds, and whether others waited meanwhile.
        """
        self._slice_s = slice_s
        self._on_cost = on_cost
        self._networks = networks or NetworkLedger()
        self._costly: OrderedDict[str, float] = OrderedDict()  # sites, with what their last page cost
        self._cheap: OrderedDict[str, None] = OrderedDict()  # sites of wasteful networks whose last page was cheap
        self._closed = False
        self._starter = ProcessStarter()
        terms = _terms(settings, agent, max_body_bytes)
        self._quick = PageLane(
            terms._replace(memory_bytes=terms.usual_bytes, usual_bytes=0),
            stuck_s=stuck_s,
            slice_s=slice_s,
            starter=self._starter,
            on_cost=self._note_cost,
            overran=self._move_to_slow_lane,
        )
        self._slow = PageLane(terms, stuck_s=stuck_s, niceness=NICENESS, starter=self._starter, on_cost=self._note_cost)

    @property
    def pid(self) -> int | None:
        """The process id of the quick lane's child; None while there is no child."""
        return self._quick.pid

    @property
    def replaced(self) -> int:
        """How many times a child was replaced."""
        return self._quick.replaced + self._slow.replaced

    @property
    def pending(self) -> int:
        """How many pages wait or are being read."""
        return self._quick.pending + self._slow.pending

    @property
    def costly_pages(self) -> int:
        """How many pages are in the slow lane."""
        return self._slow.pending

    async def __aenter__(self) -> PageProcess:
        self._loop = asyncio.get_running_loop()
        self._starter.open(self._loop)
        self._quick.open(self._loop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the children. Callers that still wait for a page are cancelled: it was not read, no page is blamed."""
        self._closed = True
        self._quick.close()
        self._slow.close()
        self._starter.close()

    async def read(self, fetched: Fetched, *, site: str = "", archive: bool) -> ParsedPage | ParseFailed:
        """Read a page; with `archive`, make its archive record too.

        A `noindex` page comes back without text and without a record. `PARSER_BUSY` means that the page was not read:
        too many costly pages wait. Raises RuntimeError for a bug of ours, or if the child cannot be started.
        """
        result = await self._read(fetched, RequestKind.PAGE, site=site, archive=archive)
        assert isinstance(result, ParsedPage | ParseFailed)
        return result

    async def read_sitemap(self, fetched: Fetched, *, site: str = "", archive: bool) -> ParsedSitemap | ParseFailed:
        """Read a sitemap; otherwise like `read`."""
        result = await self._read(fetched, RequestKind.SITEMAP, site=site, archive=archive)
        assert isinstance(result, ParsedSitemap | ParseFailed)
        return result

    async def read_robots(self, fetched: Fetched, *, site: str = "") -> ParsedRobots | ParseFailed:
        """Read a long robots.txt, which would hold up the worker's loop; otherwise like `read`."""
        result = await self._read(fetched, RequestKind.ROBOTS, site=site, archive=False)
        assert isinstance(result, ParsedRobots | ParseFailed)
        return result

    async def _read(self, fetched: Fetched, kind: RequestKind, *, site: str, archive: bool) -> Result:
        if self._closed:
            raise RuntimeError("the page process has been closed")
        job = Job(fetched, kind, site=site, archive=archive, future=self._loop.create_future())
        if kind is not RequestKind.ROBOTS and self._is_costly(site, fetched.address):
            self._move_to_slow_lane(job)
        else:
            self._quick.add(job)
        return await job.future

    def _is_costly(self, site: str, address: str) -> bool:
        """Return whether to expect a costly page: the site's last one was, or most of its network's are."""
        if site in self._costly:
            return True
        if not self._networks.wasteful or not address or site in self._cheap:
            return False
        return self._networks.is_wasteful(address)

    def _move_to_slow_lane(self, job: Job) -> None:
        if self._slow.pending >= MAX_COSTLY_PAGES:
            job.settle(ParseFailed(reason=Reason.PARSER_BUSY, detail="too many costly pages wait"))
        else:
            if self._slow.pid is None:
                self._slow.open(self._loop)
            self._slow.add(job)

    def _note_cost(self, job: Job, cost_s: float) -> None:
        site, address = job.site, job.fetched.address
        metrics.PARSE_SECONDS.observe(cost_s)
        if self._on_cost is not None:
            self._on_cost(site, cost_s, self._quick.waiting > 0)
        if (cost_s >= self._slice_s or job.is_large) and job.kind is not RequestKind.SITEMAP:
            _remember(self._costly, site, cost_s)
            self._cheap.pop(site, None)
            if address:
                self._networks.note_costly(address)
            return
        self._costly.pop(site, None)
        if self._networks.wasteful and address and self._networks.is_wasteful(address):
            _remember(self._cheap, site, None)


def _terms(settings: PageSettings, agent: str, max_body_bytes: int) -> PageTerms:
    """Return the terms of the slow lane. What was sent, and is stored of it, is no part of the memory for reading."""
    sent_bytes = COPIES_OF_BODY * max_body_bytes
    return PageTerms(
        deadline_s=settings.parse_deadline_s,
        memory_bytes=sent_bytes + settings.parse_memory_bytes,
        usual_bytes=sent_bytes + min(settings.parse_memory_bytes, QUICK_MEMORY_BYTES),
        max_bytes=settings.max_inflated_bytes,
        agent=agent,
        text=settings.text,
        markdown=settings.markdown,
        anchors=settings.links,
    )


def _remember(table: OrderedDict[str, T], site: str, value: T) -> None:
    """Put a site into a table of a fixed size; the site that was put there first is forgotten."""
    table[site] = value
    table.move_to_end(site)
    if len(table) > MAX_COSTLY_SITES:
        table.popitem(last=False)
