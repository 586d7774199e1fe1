"""Puts a worker together from its parts."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from gossamer.crawl.site_delays import read_own_sites, read_site_delays
from gossamer.errors import GossamerError, unreadable
from gossamer.fetch import Fetcher, in_flight_limit, raise_descriptor_limit
from gossamer.page_process.process import PageProcess
from gossamer.rules.scope import Exclusions
from gossamer.rules.shares import SiteShares
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.store.store import Store
from gossamer.turn import Hooks, TurnSettings
from gossamer.waste import NetworkLedger
from gossamer.workbench import Workbench
from gossamer.worker import Figures, Worker, WorkerParts, WorkerTerms

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from gossamer.crawl.settings import Settings
    from gossamer.frontier import WorkerFrontier
    from gossamer.frontier.clock import Clock
    from gossamer.rules.scope import ScopeSettings


@asynccontextmanager
async def open_worker(
    *,
    frontier: WorkerFrontier,
    folder: Path,
    name: str,
    label: str = "",
    settings: Settings,
    clock: Clock,
    hooks: Hooks | None = None,
) -> AsyncIterator[tuple[Worker, Figures]]:
    """Make a worker that has joined the frontier; its files and processes end with the context.

    `name` is in the names of its files; `label`, if it is another, is what the frontier knows it by.
    """
    # Before the fetcher is made: the fetcher and the worker share one number.
    in_flight = in_flight_limit(settings.fetch.in_flight, raise_descriptor_limit())
    user_agent, email = settings.crawl.user_agent, settings.crawl.email
    figures, networks = Figures(clock), NetworkLedger()
    store = _store(settings, folder, name)
    async with AsyncExitStack() as stack:
        stack.callback(store.abandon)  # unless the worker has closed it
        agent = {"user_agent": user_agent, "email": email}
        fetcher = await stack.enter_async_context(
            Fetcher(settings.fetch, in_flight=in_flight, **agent, archives=store.archives, ledger=networks)
        )
        shares = SiteShares()
        pages = await stack.enter_async_context(_page_process(settings, shares, networks, clock))
        parts = WorkerParts(
            frontier=frontier,
            fetcher=fetcher,
            pages=pages,
            store=store,
            bench=Workbench(settings.workbench),
            figures=figures,
            shares=shares,
            hooks=hooks or Hooks(),
            clock=clock,
        )
        terms = worker_terms(settings, name=name, label=label or name, folder=folder, in_flight=in_flight)
        yield Worker(parts, terms), figures


def _store(settings: Settings, folder: Path, name: str) -> Store:
    """Make the store of a worker; archives tell who crawled."""
    crawl = settings.crawl
    return Store(
        folder,
        name,
        settings.store,
        operator=crawl.email,
        user_agent=crawl.user_agent,
        crawl_name=settings.frontier.crawl_name,
    )


def _page_process(settings: Settings, shares: SiteShares, networks: NetworkLedger, clock: Clock) -> PageProcess:
    """Make a page process that reports what pages cost."""
    return PageProcess(
        settings.page,
        agent=settings.crawl.agent_name,
        max_body_bytes=settings.fetch.max_body_bytes,
        networks=networks,  # one for both: what a network wastes counts together
        on_cost=lambda site, cost_s, contended: shares.note_parse(site, cost_s, clock(), contended=contended),
    )


def worker_terms(settings: Settings, *, name: str, label: str, folder: Path, in_flight: int) -> WorkerTerms:
    """Gather what a worker goes by."""
    own = read_own_sites(settings.pace)
    return WorkerTerms(
        name=name,
        label=label,
        folder=folder,
        min_free_bytes=settings.store.min_free_space_bytes,
        in_flight=in_flight,
        per_address=settings.fetch.per_address,
        exclusions=own_exclusions(settings.scope),
        turn=TurnSettings(
            pace=settings.pace,
            in_lanes=own.names if own.parallel > 1 else frozenset(),
            site_delays_s=read_site_delays(settings.pace),
            robots=settings.robots,
            keeping=settings.keeping,
            scope=settings.scope,
            include=UrlPatterns(settings.scope.include),
            traps=settings.traps,
            sitemaps=settings.sitemaps,
            agent=settings.crawl.agent_name,
        ),
        own=own,
        outage=settings.outage,
        worker=settings.worker,
    )


def own_exclusions(settings: ScopeSettings) -> Exclusions:
    """Return what the settings and the exclusion file exclude."""
    return read_exclusions(settings.exclude_file) | Exclusions(patterns=UrlPatterns(settings.exclude))


def read_exclusions(file: Path | None) -> Exclusions:
    """Read the operator's exclusion file; a line that excludes nothing is a mistake, not to be passed over."""
    if file is None:
        return Exclusions()
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, error, "name another with --exclude-file") from None
    exclusions, bad = Exclusions.parse(lines)
    if bad:
        line = bad[0]
        raise GossamerError(f"{file}, line {line.line}: {line.text!r} excludes nothing ({line.reason}): correct it.")
    return exclusions
