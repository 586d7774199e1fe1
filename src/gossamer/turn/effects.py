"""What a turn changes: outcomes, links, hosts, counts, and when the next turn may begin. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gossamer.records import HostState, Link, Outcome
    from gossamer.rules.pace import TurnWait
    from gossamer.turn.hooks import HookFailure


class Count(NamedTuple):
    """A figure of the worker, by name and kind."""

    what: str  # traps, known_links, blocked, sitemaps, sitemap_entries, clamped_delays, share_backoffs
    kind: str = ""


@dataclass(slots=True, kw_only=True)
class Effects:
    """What happened in a turn since its last commit."""

    outcomes: dict[bytes, Outcome] = field(default_factory=dict)  # by URL hash
    links: list[Link] = field(default_factory=list)
    hosts: list[HostState] = field(default_factory=list)
    own_delay_s: float = 0.0  # what the site is known to ask for; 0 if nothing was learned about it
    counts: dict[Count, int] = field(default_factory=dict)
    hook_failures: list[HookFailure] = field(default_factory=list)


class TurnResult(NamedTuple):
    """How a turn ended."""

    effects: Effects  # those that no commit has made durable yet
    ended_s: float | None  # when its last request ended, on the worker's clock; None: it made none
    wait: TurnWait  # from then to the site's next turn, and its cause
    urgent: bool = False  # the wait is longer than a crash may forget: report it at once
    bug: Exception | None = None  # a bug of ours that ended the turn
    response_s: float = 0.0  # how long its last answer took
    failed: bool = False  # the site did not answer, or is in trouble
