"""Lists all settings of a crawl by section, and defines those of the crawl as a whole. Others are beside their code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from gossamer import __version__
from gossamer.bucket.settings import UploadSettings
from gossamer.crawl.log import LogSettings
from gossamer.fetch import FetchSettings
from gossamer.frontier.settings import FrontierSettings
from gossamer.page_process.settings import PageSettings
from gossamer.rules.hosts import RobotsSettings
from gossamer.rules.keeping import KeepingSettings
from gossamer.rules.outage import OutageSettings
from gossamer.rules.pace import PaceSettings
from gossamer.rules.scope import ScopeSettings
from gossamer.rules.sitemaps import SitemapSettings
from gossamer.rules.traps import TrapSettings
from gossamer.store.store import StoreSettings
from gossamer.supervisor.settings import SupervisorSettings, WatchSettings
from gossamer.workbench import WorkbenchSettings
from gossamer.worker import WorkerSettings

DEFAULT_AGENT = "Gossamer"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSettings:
    """Who crawls, with how many workers, and when the crawl ends."""

    email: str = field(
        default="",
        metadata={
            "help": "Your e-mail address, sent with every request, so that site owners can reach you; it is required."
        },
    )
    agent_name: str = field(
        default=DEFAULT_AGENT,
        metadata={"help": "The name of your crawler, sent with every request and looked up in robots.txt."},
    )
    info_url: str = field(
        default="",
        metadata={"help": "The URL of a web page about your crawl, sent with every request for site owners to read."},
    )
    workers: int | None = field(
        default=None,
        metadata={
            "help": "The number of worker processes; if not given, one per processor core.",
            "minimum": 1,
            "maximum": 10_000,
        },
    )
    max_pages: int | None = field(
        default=None,
        metadata={"help": "Stop after this many stored pages, counted over all starts of the crawl.", "minimum": 1},
    )
    max_duration_s: float | None = field(
        default=None, metadata={"help": "Stop this start of the crawl after this time: 90, 30m or 8h.", "minimum": 0}
    )
    log_level: Literal["debug", "info", "warning", "error"] = field(
        default="info",
        metadata={"help": "The lowest level of messages in logs/gossamer.log: debug, info, warning or error."},
    )

    def __post_init__(self) -> None:
        if self.email and not _EMAIL.fullmatch(self.email):
            raise ValueError(f"{self.email!r} is not an e-mail address: write it like you@example.org")
        if not _TOKEN.fullmatch(self.agent_name):
            raise ValueError(f"{self.agent_name!r} is not an agent name: use letters, digits, - and _")
        if self.info_url and not self.info_url.startswith(("https://", "http://")):
            raise ValueError(f"{self.info_url!r} is not the URL of a page: write it like https://example.org/bot")

    @property
    def user_agent(self) -> str:
        """The User-Agent header."""
        about = f"+{self.info_url}; " if self.info_url else ""
        return f"{self.agent_name}/{__version__} ({about}mailto:{self.email})"


SECTIONS: dict[str, type[Any]] = {
    "crawl": CrawlSettings,
    "frontier": FrontierSettings,
    "scope": ScopeSettings,
    "traps": TrapSettings,
    "sitemaps": SitemapSettings,
    "pace": PaceSettings,
    "robots": RobotsSettings,
    "keeping": KeepingSettings,
    "outage": OutageSettings,
    "fetch": FetchSettings,
    "page": PageSettings,
    "store": StoreSettings,
    "upload": UploadSettings,
    "workbench": WorkbenchSettings,
    "worker": WorkerSettings,
    "supervisor": SupervisorSettings,
    "watch": WatchSettings,
    "log": LogSettings,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value of each section."""

    crawl: CrawlSettings
    frontier: FrontierSettings
    scope: ScopeSettings
    traps: TrapSettings
    sitemaps: SitemapSettings
    pace: PaceSettings
    robots: RobotsSettings
    keeping: KeepingSettings
    outage: OutageSettings
    fetch: FetchSettings
    page: PageSettings
    store: StoreSettings
    upload: UploadSettings
    workbench: WorkbenchSettings
    worker: WorkerSettings
    supervisor: SupervisorSettings
    watch: WatchSettings
    log: LogSettings


_EMAIL = re.compile(r"[^@\s<>()\[\],;:\"\\]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")
