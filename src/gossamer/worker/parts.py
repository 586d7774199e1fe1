"""What a worker is made of: the stages that it works with, and what it goes by."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.rules.lanes import OwnSites
from gossamer.rules.outage import OutageSettings
from gossamer.rules.shares import SiteShares
from gossamer.turn import Hooks
from gossamer.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.fetch import Requester
    from gossamer.frontier import WorkerFrontier
    from gossamer.frontier.clock import Clock
    from gossamer.page_process.process import PageReader
    from gossamer.rules.scope import Exclusions
    from gossamer.store.store import PageStore
    from gossamer.turn import TurnSettings
    from gossamer.workbench import Workbench
    from gossamer.worker.figures import Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerParts:
    """What a worker works with: the four stages behind their Protocols, and what is its own."""

    frontier: WorkerFrontier
    fetcher: Requester
    pages: PageReader
    store: PageStore
    bench: Workbench
    figures: Figures
    shares: SiteShares = field(default_factory=SiteShares)  # the page process reports to it, too
    hooks: Hooks = field(default_factory=Hooks)
    clock: Clock = time.monotonic
    wall_clock: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTerms:
    """What a worker goes by."""

    name: str  # in the names of its files, and in the request log
    label: str  # the frontier knows it by this
    folder: Path
    min_free_bytes: int
    in_flight: int
    per_address: int  # requests at once
    exclusions: Exclusions  # of settings and files; the operator's orders come on top
    turn: TurnSettings
    own: OwnSites = field(default_factory=OwnSites)
    outage: OutageSettings = field(default_factory=OutageSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
