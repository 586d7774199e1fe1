"""Sitemaps in a crawl: found when a host's robots.txt is read, asked for like pages, and what they list handed in.

`docs/sitemaps.md` tells the rules; which host a sitemap may speak for is decided in `rules.sitemaps`, and its
files are read by the page process.
"""

from __future__ import annotations

import asyncio
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from gossamer.frontier import FrontierError
from gossamer.records import Done, GivenUp, Kind, Link, ParseFailed, Retry, UrlStatus
from gossamer.rules.hosts import robots_url
from gossamer.rules.memories import Distinct
from gossamer.rules.sitemaps import (
    MAX_STEPS,
    guess_sitemap,
    is_same_place,
    names_any,
    on_behalf,
    reason_for,
    sitemaps_of,
    submission_of,
)
from gossamer.urls import Url, hash_url, host_of, identify, site_of
from gossamer.worker.rows import answer_row

if TYPE_CHECKING:
    from gossamer.page_process.process import PageProcess
    from gossamer.records import Fetched, HostState, Outcome, ParsedSitemap, QueuedUrl
    from gossamer.rules.sitemaps import SitemapSettings
    from gossamer.store.store import Store
    from gossamer.worker.asking import Turn
    from gossamer.worker.choosing import Chooser
    from gossamer.worker.desk import Desk
    from gossamer.worker.figures import Figures

PORTION_LINKS: Final = 2_000  # handed in at once: more would hold the frontier for too long
MAX_WAITING_BYTES: Final = 256_000_000  # of sitemaps that came and are still to be read
CROWDED_S: Final = 60.0  # one for which there is no room then comes again after so long
HOST_PLACES: Final = 1 << 14  # for hosts and the first sitemaps of each: 0.7 MB
MAX_FOREIGN_SITES: Final = 50  # whose robots.txt files are looked up for one sitemap


class Sitemaps:
    """What a worker does about sitemaps. One is read at a time: a large one takes as much memory as many pages."""

    def __init__(
        self,
        *,
        settings: SitemapSettings,
        max_depth: int | None,
        desk: Desk,
        pages: PageProcess,
        store: Store,
        figures: Figures,
        chooser: Chooser,
    ) -> None:
        self._settings = settings
        self._max_depth = max_depth
        self._desk = desk
        self._pages = pages
        self._store = store
        self._figures = figures
        self._chooser = chooser
        self._files = Distinct(settings.max_sitemaps, HOST_PLACES)  # by host; forgotten at a restart, like other limits
        self._reading = asyncio.Lock()
        self._waiting_bytes = 0

    # ------------------------------------------------------------------ which there are

    async def find(
        self, turn: Turn, page: QueuedUrl, state: HostState, *, previous: HostState | None, is_alias: bool
    ) -> list[Link]:
        """Return the sitemaps of a host whose robots.txt was just read, to be queued together with its rules.

        They lie as deep as links of the page for which robots.txt was read. One of another host that is read already
        was read without this host's leave: it is queued once more, on this host's behalf. So is one of another site,
        which may be read at any moment. But an alias, whose robots.txt is that of another host, has no pages to list.
        """
        depth = page.depth + 1
        if not self._settings.sitemaps or state.failures or self._is_too_deep(depth):
            return []
        found = sitemaps_of(state)
        if not found and not is_alias and (guess := guess_sitemap(state)):
            found = [guess]
        named_before = {sitemap.url_hash for sitemap in sitemaps_of(previous)} if previous else set()
        via = hash_url(robots_url(state.host))
        links = []
        for sitemap in found:
            is_late = not is_alias and not is_same_place(sitemap.host, state.host)
            if sitemap.site != turn.site.site:
                if is_alias:
                    continue
                sitemap = on_behalf(sitemap, state.host)
            elif is_late and sitemap.url_hash not in named_before and await self._is_read(sitemap):
                sitemap = on_behalf(sitemap, state.host)
            if self._is_wanted(sitemap):
                links.append(Link(*sitemap, depth, via=via, kind=Kind.SITEMAP))
        self._figures.sitemaps("found", len(links))
        return links

    def recognise(self, turn: Turn, url: QueuedUrl) -> QueuedUrl:
        """Return a URL that was met as a link but that its host's robots.txt calls a sitemap as one."""
        state = turn.site.hosts.get(url.host)
        if not self._settings.sitemaps or url.kind == Kind.SITEMAP or state is None or state.failures:
            return url
        return url._replace(kind=Kind.SITEMAP) if names_any(state, (url.url_hash,)) else url

    def _is_wanted(self, sitemap: Url) -> bool:
        if self._desk.exclusions.find(sitemap.url, sitemap.host):
            return False
        if self._files.admits(sitemap.host, sitemap.url_hash):
            return True
        self._figures.sitemaps("too_many")
        return False

    def _is_too_deep(self, depth: int) -> bool:
        return self._max_depth is not None and depth > self._max_depth

    async def _is_read(self, sitemap: Url) -> bool:
        await self._desk.ledger.hurry()  # that it was read a moment ago may not be written down yet
        try:
            state = await self._desk.find_url(sitemap)
        except FrontierError:
            return False
        return state is not None and state.status is not UrlStatus.QUEUED

    # ------------------------------------------------------------------ what is in one

    async def read(self, turn: Turn, url: QueuedUrl, answer: Fetched) -> Outcome:
        """Read a sitemap that came and queue what it lists; return what became of it."""
        size_bytes = len(answer.body)
        if self._waiting_bytes and self._waiting_bytes + size_bytes > MAX_WAITING_BYTES:
            return Retry(wait_s=CROWDED_S, counted=False)
        self._waiting_bytes += size_bytes
        try:
            async with self._reading:
                return await self._read(turn, url, answer)
        finally:
            self._waiting_bytes -= size_bytes

    async def _read(self, turn: Turn, url: QueuedUrl, answer: Fetched) -> Outcome:
        parsed = await self._pages.read_sitemap(answer, archive=self._store.archives)
        if isinstance(parsed, ParseFailed):
            self._figures.sitemaps("unread")
            return GivenUp(reason=reason_for(url, turn.site.hosts.get(url.host), parsed.reason))
        if parsed.archive:
            row = answer_row(url, turn.site.site, answer, parsed.payload_digest)
            self._store.keep_answer(row, parsed.archive, parsed.response_offset)
        self._figures.sitemaps("read")
        self._figures.sitemap_entries("bad_url", parsed.refused)
        leave = await self._leave(turn, url, parsed)
        await self._queue_pages(turn, url, parsed, leave)
        self._queue_sitemaps(turn, url, parsed, leave)
        return Done(page=False)

    async def _queue_pages(self, turn: Turn, url: QueuedUrl, parsed: ParsedSitemap, leave: _Leave) -> None:
        """Queue the pages in portions, each rank after the other; the sitemap is done when all of them are kept."""
        depth, unsent = max(1, url.depth), 0
        url = url._replace(url_hash=hash_url(url.url))  # what the pages are found on, on whosever behalf it is read
        for rank, ranked in groupby(zip(parsed.ranks, parsed.urls, strict=True), itemgetter(0)):
            while portion := [identify(page) for _, page in islice(ranked, PORTION_LINKS)]:
                ours = [page for page in portion if page.host in leave.hosts]
                links = self._chooser.choose(turn, url, ours, depth=depth, rank=rank)
                self._figures.sitemap_entries("foreign_host", len(portion) - len(ours))
                self._figures.sitemap_entries("not_wanted", len(ours) - len(links))
                self._figures.sitemap_entries("accepted", len(links))
                self._desk.ledger.note_links(links)
                unsent += len(links)
                if unsent >= PORTION_LINKS:
                    await self._desk.ledger.hurry()
                    unsent = 0

    def _queue_sitemaps(self, turn: Turn, url: QueuedUrl, parsed: ParsedSitemap, leave: _Leave) -> None:
        """Queue the sitemaps that an index names, of its own site, unless too many indexes stand behind each other."""
        found = [] if url.hops >= MAX_STEPS else [identify(sitemap) for sitemap in parsed.sitemaps]
        ours = [sitemap for sitemap in found if sitemap.site == turn.site.site]
        self._figures.sitemaps("refused", len(parsed.sitemaps) - len(ours))
        if leave.behalf:
            ours = [on_behalf(sitemap, leave.behalf) for sitemap in ours]
        ours = [sitemap for sitemap in ours if self._is_wanted(sitemap)]
        self._figures.sitemaps("found", len(ours))
        depth, hops = max(1, url.depth), url.hops + 1
        self._desk.ledger.note_links(
            [Link(*sitemap, depth, hops=hops, via=leave.root, kind=Kind.SITEMAP) for sitemap in ours]
        )

    # ------------------------------------------------------------------ for whom it speaks

    async def _leave(self, turn: Turn, url: QueuedUrl, parsed: ParsedSitemap) -> _Leave:
        """Tell for which hosts a sitemap may speak, of those whose pages it lists."""
        assert turn.queued is not None
        asked, behalf = submission_of(turn.queued.url)
        root = hash_url(asked)
        if turn.queued.hops:  # an index led here, and that is what a robots.txt would name
            root = await self._root_of(turn, root)
        names = {root, hash_url(asked), hash_url(url.url)}
        listed = {host_of(page) for page in parsed.urls}
        hosts = {host for host in listed if is_same_place(host, url.host) or host == behalf}
        foreign: dict[str, set[str]] = {}
        for host in listed - hosts:
            foreign.setdefault(site_of(f"{host}/"), set()).add(host)
        for site, theirs in islice(sorted(foreign.items()), MAX_FOREIGN_SITES):
            states = await self._hosts_of(turn, site)
            hosts |= {state.host for state in states if state.host in theirs and names_any(state, names)}
        return _Leave(behalf, root, hosts)

    async def _root_of(self, turn: Turn, url_hash: bytes) -> bytes:
        queued = turn.queued
        assert queued is not None
        try:
            state = await self._desk.find_url(Url(queued.url, queued.url_hash, turn.site.site, queued.host))
        except FrontierError:
            state = None
        return url_hash if state is None or state.via is None else state.via

    async def _hosts_of(self, turn: Turn, site: str) -> list[HostState]:
        own = turn.site.hosts if site == turn.site.site else {}
        try:
            kept = await self._desk.find_hosts(site)
        except FrontierError:
            kept = []
        return [*own.values(), *(state for state in kept if state.host not in own)]


class _Leave:
    """For whom a sitemap may speak."""

    __slots__ = ("behalf", "hosts", "root")

    def __init__(self, behalf: str, root: bytes, hosts: set[str]) -> None:
        self.behalf = behalf  # the host for which it is read once more; empty: for none
        self.root = root  # hash of the sitemap that led to it, or of itself
        self.hosts = hosts
