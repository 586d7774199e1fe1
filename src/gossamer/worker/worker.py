"""The life of a page: take what is due, ask robots, fetch, parse, keep, report."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from gossamer.records import Done, Fetched, GivenUp, Kind, ParseFailed, Reason, RequestKind
from gossamer.rules.answers import Kept, Moved, Refused, TryLater
from gossamer.rules.keeping import is_foreign
from gossamer.rules.outage import OutageGuard
from gossamer.rules.pace import slowness_wait_s, turn_wait_s
from gossamer.rules.scope import may_lead_on
from gossamer.rules.sitemaps import submission_of
from gossamer.worker.asking import MAX_HOPS, Asker, Turn
from gossamer.worker.choosing import Chooser
from gossamer.worker.hooks import Hooks
from gossamer.worker.leaving_out import left_out_for, with_robots_signals
from gossamer.worker.permissions import Permissions
from gossamer.worker.redirects import Redirects
from gossamer.worker.robots import RobotsFinder
from gossamer.worker.rounds import Rounds
from gossamer.worker.rows import link_rows, page_row
from gossamer.worker.settling import Settler
from gossamer.worker.sitemaps import Sitemaps

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.fetch import Fetcher
    from gossamer.frontier.clock import Clock
    from gossamer.page_process.process import PageProcess
    from gossamer.records import ParsedPage, QueuedUrl
    from gossamer.store.store import Store
    from gossamer.workbench import SiteInHand, Workbench
    from gossamer.worker.desk import Desk
    from gossamer.worker.figures import Figures
    from gossamer.worker.manners import Manners

log = logging.getLogger(__name__)


class Worker:
    """Visits the sites on its workbench. All it works with are arguments; it installs no signal handlers."""

    def __init__(
        self,
        *,
        desk: Desk,
        bench: Workbench,
        fetcher: Fetcher,
        pages: PageProcess,
        store: Store,
        figures: Figures,
        name: str,
        manners: Manners,
        hooks: Hooks | None = None,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._desk = desk
        self._bench = bench
        self._pages = pages
        self._store = store
        self._figures = figures
        self._manners = manners
        self._hooks = hooks or Hooks()
        self._clock = clock
        self._outage = OutageGuard(manners.outage)
        self._asker = Asker(
            fetcher=fetcher,
            store=store,
            figures=figures,
            outage=self._outage,
            pace=manners.pace,
            name=name,
            clock=clock,
            may_ask=desk.may_ask,
        )
        self._settler = Settler(
            desk=desk,
            store=store,
            figures=figures,
            outage=self._outage,
            pace=manners.pace,
            wall_clock=wall_clock,
        )
        self._chooser = Chooser(manners=manners, desk=desk, figures=figures, hooks=self._hooks, wall_clock=wall_clock)
        self._sitemaps = Sitemaps(
            settings=manners.sitemaps,
            max_depth=manners.scope.max_depth,
            desk=desk,
            pages=pages,
            store=store,
            figures=figures,
            chooser=self._chooser,
        )
        robots = RobotsFinder(
            manners=manners,
            desk=desk,
            asker=self._asker,
            settler=self._settler,
            clock=clock,
            wall_clock=wall_clock,
        )
        self._permissions = Permissions(
            manners=manners,
            desk=desk,
            robots=robots,
            settler=self._settler,
            sitemaps=self._sitemaps,
            wall_clock=wall_clock,
        )
        self._redirects = Redirects(
            manners=manners, desk=desk, settler=self._settler, chooser=self._chooser, hooks=self._hooks
        )
        self._rounds = Rounds(
            desk=desk,
            bench=bench,
            figures=figures,
            outage=self._outage,
            in_flight=manners.in_flight,
            clock=clock,
            visit=self._visit,
        )
        self._room = asyncio.Semaphore(manners.in_flight)  # plant: too-many-in-flight

    @property
    def trouble(self) -> str:
        """What is wrong, in a few words; empty if all is well."""
        return self._desk.trouble or ("no site can be reached: is this machine offline?" if self._outage.paused else "")

    def stop(self) -> None:
        """Begin nothing more; `run` returns when what is under way has ended."""
        self._rounds.stop()

    async def run(self) -> None:
        """Crawl until told to stop; what is under way then is finished, within bounds."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._desk.serve())
            group.create_task(self._desk.beat())
            group.create_task(self._desk.guard(self._rounds.abort))
            watch = group.create_task(self._figures.watch_loop())
            await self._rounds.run()
            self._desk.stop_asking()
            await self._rounds.finish(self._manners.worker.stop_s)
            self._desk.close()
            watch.cancel()
        await self._desk.finish()

    # ------------------------------------------------------------------ the life of a page

    async def _visit(self, site: SiteInHand) -> None:
        """Give a site its turn: one page, and whatever has to come before it."""
        turn = Turn(site)
        url = turn.queued = site.urls.popleft()
        try:
            await self._permissions.heed_operator(site)
            await self._get_page(turn, url)
        except Exception:
            log.exception("A bug of ours, at %s", url.url)
            self._settler.settle_after_a_bug(turn, url)
        finally:
            self._end(turn)

    async def _get_page(self, turn: Turn, url: QueuedUrl) -> None:
        """Fetch a page or a sitemap, behind its robots.txt and its redirects, and settle every URL on the way.

        A chain that is too long for one turn ends: its next page is queued and gets a turn of its own.
        """
        following: QueuedUrl | None = url._replace(url=submission_of(url.url).url)
        for _ in range(MAX_HOPS + 1):
            if following is not None:
                following = await self._ask_for(turn, following)
        self._settler.drop_guess(turn)

    async def _ask_for(self, turn: Turn, url: QueuedUrl) -> QueuedUrl | None:
        """Ask for one URL if it may be asked for, and settle it; return what follows in the same turn."""
        if self._permissions.is_excluded(turn, url):
            return None
        if not await self._permissions.is_allowed(turn, url):  # plant: redirect-without-robots
            return await self._redirects.step_to_http(turn, url)
        url = self._sitemaps.recognise(turn, url)
        kind = RequestKind.SITEMAP if url.kind == Kind.SITEMAP else RequestKind.PAGE
        await self._asker.pause(turn)
        async with self._room:
            if self._permissions.is_excluded(turn, url):  # since a moment ago: robots.txt may have taken its time
                return None
            for_links = may_lead_on(url.depth, self._manners.scope.max_depth)
            answer = await self._asker.ask(turn, url.url, kind, tries=turn.tries(url), for_links=for_links)
            verdict = self._settler.judge(turn, url, answer)
            if isinstance(verdict, Kept) and isinstance(answer, Fetched):
                target = await self._keep(turn, url, answer)
            else:
                self._settler.archive(turn, url, answer)
                target = verdict.location if isinstance(verdict, Moved) else ""
        if isinstance(verdict, TryLater | Refused):
            self._settler.give_up_or_retry(turn, url, answer, verdict)
            return await self._redirects.step_to_http(turn, url)
        return await self._redirects.follow(turn, url, target) if target else None

    async def _keep(self, turn: Turn, url: QueuedUrl, answer: Fetched) -> str:
        """Parse a page and store it; return where it sends us if it is but a redirect in disguise."""
        if url.kind == Kind.SITEMAP:
            self._settler.settle(turn, url, await self._sitemaps.read(turn, url, answer))
            return ""
        parsed = await self._pages.read(answer, archive=self._store.archives and not answer.links_only)
        if isinstance(parsed, ParseFailed):
            self._settler.settle(turn, url, GivenUp(reason=parsed.reason))
            return ""
        if parsed.refresh and parsed.refresh != url.url:
            return parsed.refresh
        if url.depth == 0 or not is_foreign(parsed.row.lang, self._manners.keeping.languages):
            self._desk.ledger.note_links(self._chooser.choose(turn, url, parsed.links, depth=url.depth + 1))
        self._chooser.note_page(turn.site.site, parsed.row.text or parsed.row.content_hash)
        await self._store_page(turn, url, answer, parsed)
        return ""

    async def _store_page(self, turn: Turn, url: QueuedUrl, answer: Fetched, parsed: ParsedPage) -> None:
        """Settle a page: stored, or left out for a reason of its own."""
        if parsed.noindex:
            return self._settler.settle(turn, url, Done(page=False))
        if answer.links_only:
            return self._settler.settle(turn, url, GivenUp(reason=Reason.TYPE_REFUSED))
        parsed = with_robots_signals(turn, url, parsed)
        reason = await left_out_for(turn, url, parsed, manners=self._manners, desk=self._desk, hooks=self._hooks)
        if reason:
            self._settler.settle(turn, url, GivenUp(reason=reason))
            if reason is Reason.NOT_CANONICAL:
                await self._desk.ledger.hurry()  # its canonical may name this one: then it has to know
            return None
        row = page_row(url, turn.site.site, answer, parsed)
        row = self._store.keep_page(row, parsed.archive, parsed.response_offset, answer=answer)
        self._store.keep_links(link_rows(url, answer, parsed))
        await self._hooks.page(row, answer)
        turn.site.pages += 1
        return self._settler.settle(turn, url, Done(page=True))

    def _end(self, turn: Turn) -> None:
        """Let the next turn of the site wait as long as anyone asks for; give it back if nothing is left in hand."""
        site = turn.site
        due_s = self._clock()
        if turn.ended_s is not None:
            wait_s = turn_wait_s(
                self._manners.pace,
                delay_s=site.delay_s,
                crawl_delay_s=site.own_delay_s,
                retry_after_s=turn.retry_after_s,
                failures=0 if self._settler.back_off_troubled(turn) else site.failures,
            )
            due_s = turn.ended_s + max(wait_s, slowness_wait_s(delay_s=site.delay_s, response_s=turn.response_s))
            if wait_s > site.delay_s:
                site.urls.clear()  # they stay queued; the site is given back, so that a crash forgets no such wait
            if (turn.retry_after_s or 0.0) > site.delay_s:
                self._desk.ledger.full.set()
        if not self._bench.finish(site, due_s):
            self._desk.give_back(site, due_s)
