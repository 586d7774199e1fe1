"""A worker process of the simulation: the product's worker, built as `gossamer.crawl.compose` builds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from chaos.simulation.network import SimulatedFetcher
from chaos.simulation.seams import InlinePages, QuietFigures, WatchedFrontier, WatchedStore
from chaos.simulation.web import MAX_FAILURES
from gossamer.crawl.compose import worker_terms
from gossamer.crawl.settings import SECTIONS, Settings
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.rules.hosts import RobotsSettings
from gossamer.rules.outage import OutageSettings
from gossamer.rules.pace import PaceSettings
from gossamer.rules.scope import ScopeSettings
from gossamer.store.store import Store, StoreSettings
from gossamer.workbench import Workbench, WorkbenchSettings
from gossamer.worker import Worker, WorkerParts, WorkerSettings

if TYPE_CHECKING:
    import asyncio

    from chaos.simulation.faults import Terms
    from chaos.simulation.loop import Process
    from chaos.simulation.web import SmallWeb
    from chaos.simulation.world import World

FRONTIER_FILE: Final = "frontier.sqlite"
# Short waits and few tries, so that simulated crawls end soon; but more tries than a temporary failure lasts.
RETRY_WAIT_S, MAX_TRIES = 0.1, MAX_FAILURES + 1


@dataclass(slots=True, eq=False)
class Member:
    """A worker process, as its supervisor sees it."""

    process: Process
    label: str
    task: asyncio.Task[None] | None = None
    worker: Worker | None = None
    frontier: WatchedFrontier | None = None
    store: WatchedStore | None = None
    bench: Workbench | None = None
    is_stopping: bool = False
    paused_since_s: float | None = None

    async def live(self, world: World) -> None:
        """Run the worker."""
        terms, process = world.terms, self.process
        durable: set[bytes] = set()
        seam: dict[str, Any] = {
            "process": process, "trouble": world.trouble, "dice": world.dice, "durable": durable,
        }  # fmt: skip
        real = SqliteFrontier(world.folder / FRONTIER_FILE, clock=world.clock)
        self.frontier = WatchedFrontier(real, monitor=world.monitor, lease_s=terms.lease_s, now=world.now, **seam)
        name = f"w{self.frontier.enter(self.label)}"
        settings = _settings(terms, world.web)
        store = Store(world.folder, name, settings.store, operator="", user_agent="", clock=world.file_clock)
        self.store = WatchedStore(store, **seam)
        self.bench = Workbench(settings.workbench)
        figures = QuietFigures(world.clock)
        parts = WorkerParts(
            frontier=self.frontier,
            fetcher=SimulatedFetcher(world.network, process, world.wall_clock),
            pages=InlinePages(world.dice),
            store=self.store,
            bench=self.bench,
            figures=figures,
            clock=world.clock,
            wall_clock=world.wall_clock,
        )
        terms_of_worker = worker_terms(
            settings, name=name, label=self.label, folder=world.folder, in_flight=terms.in_flight
        )
        self.worker = Worker(parts, replace(terms_of_worker, min_free_bytes=0))
        if self.is_stopping:  # it was stopped during its start
            self.worker.stop()
        await self.worker.run()

    def stop(self) -> None:
        """Tell the worker to shut down gracefully."""
        self.is_stopping = True
        if self.worker is not None:
            self.process.call_soon(self.worker.stop)

    def let_go(self) -> None:
        """Close the files of a dead process, as its operating system does."""
        if self.store is not None:
            self.store.drop()
        if self.frontier is not None:
            self.frontier.__exit__()


def _settings(terms: Terms, web: SmallWeb) -> Settings:
    """Return the product's default settings, with changes that make simulated crawls short."""
    sections = {name: section() for name, section in SECTIONS.items()}
    sections["pace"] = PaceSettings(
        delay_s=terms.delay_s,
        own=web.sites if terms.lanes > 1 else (),
        parallel=terms.lanes,
        address_delay_s=terms.address_delay_s,
        step_gap_s=terms.step_gap_s,
        retry_wait_s=RETRY_WAIT_S,
        max_tries=MAX_TRIES,
        suspension_s=5.0,
    )
    sections["robots"] = RobotsSettings(robots_retry_waits_s=(0.5, 1.0), robots_give_up_s=1.0)
    sections["outage"] = OutageSettings(outage_sites=3)
    sections["scope"] = ScopeSettings(scope=web.scope)
    sections["store"] = StoreSettings(part_age_s=1e9)  # writing a part during the crawl would need another process
    sections["worker"] = WorkerSettings(batch_s=terms.batch_s, heartbeat_s=terms.heartbeat_s, stop_s=terms.stop_s)
    sections["workbench"] = WorkbenchSettings(
        max_sites_in_hand=terms.max_sites_in_hand, max_urls_in_hand=terms.max_urls_in_hand
    )
    return Settings(**sections)
