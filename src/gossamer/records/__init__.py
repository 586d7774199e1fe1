"""The values that cross stages. Nothing here acts; every value is immutable."""

from gossamer.records.links import (
    GONE,
    AddressShare,
    Barred,
    Batch,
    Claim,
    Claimed,
    Completion,
    CrawlState,
    Done,
    GivenUp,
    Gone,
    HostState,
    Kind,
    Link,
    Orders,
    Outcome,
    QueuedUrl,
    QueueEntry,
    Release,
    Retry,
    Scope,
    SeedOutcome,
    SharedFigures,
    SiteState,
    Stats,
    UrlState,
    UrlStatus,
    Visit,
    Waiting,
    WorkerState,
)
from gossamer.records.pages import (
    ROBOTS_KINDS,
    Anchor,
    Failed,
    Fetched,
    ParsedPage,
    ParsedRobots,
    ParsedSitemap,
    ParseFailed,
    RequestKind,
    SiteStanding,
    Truncation,
)
from gossamer.records.reasons import Reason
from gossamer.records.rows import FigureRow, LinkRow, PageRow, RequestRow

__all__ = [
    "GONE", "ROBOTS_KINDS", "AddressShare", "Anchor", "Barred", "Batch", "Claim", "Claimed", "Completion", "CrawlState",
    "Done", "Failed", "Fetched", "FigureRow", "GivenUp", "Gone", "HostState", "Kind", "Link", "LinkRow", "Orders",
    "Outcome", "PageRow", "ParseFailed", "ParsedPage", "ParsedRobots", "ParsedSitemap", "QueueEntry", "QueuedUrl",
    "Reason", "Release", "RequestKind", "RequestRow", "Retry", "Scope", "SeedOutcome", "SharedFigures", "SiteStanding",
    "SiteState", "Stats", "Truncation", "UrlState", "UrlStatus", "Visit", "Waiting", "WorkerState",
]  # fmt: skip
