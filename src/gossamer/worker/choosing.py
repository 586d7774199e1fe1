"""Which of the links that a crawl finds it follows: scope, exclusions, patterns, traps, and the program's own hooks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.records import Link
from gossamer.rules.scope import select_links
from gossamer.rules.traps import TrapGuard, find_trap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from gossamer.records import QueuedUrl
    from gossamer.urls import Url
    from gossamer.worker.asking import Turn
    from gossamer.worker.desk import Desk
    from gossamer.worker.figures import Figures
    from gossamer.worker.hooks import Hooks
    from gossamer.worker.manners import Manners


class Chooser:
    """Chooses links. Whether they lie in scope is the frontier's to say: only it knows the seeds."""

    def __init__(
        self, *, manners: Manners, desk: Desk, figures: Figures, hooks: Hooks, wall_clock: Callable[[], float]
    ) -> None:
        self._manners = manners
        self._desk = desk
        self._figures = figures
        self._hooks = hooks
        self._wall_clock = wall_clock
        self._traps = TrapGuard(manners.traps)

    def choose(self, turn: Turn, url: QueuedUrl, links: Sequence[Url], *, depth: int, rank: int = 0) -> Sequence[Link]:
        """Return what the crawl may follow of the links that stand at a URL."""
        chosen = select_links(
            links,
            depth=depth - 1,
            max_depth=self._manners.scope.max_depth,
            exclusions=self._desk.exclusions,
            include=self._manners.include,
        )
        chosen, refused = self._traps.select(
            chosen, host=url.host, site=turn.site.site, pages=turn.site.pages, year=self._year()
        )
        for trap, count in refused.items():
            self._figures.refused(trap, count)
        return self._hooks.choose([Link(*link, depth, rank, via=url.url_hash) for link in chosen])

    def is_trap(self, link: Url) -> bool:
        """Tell whether a link by itself leads into a trap; count it if so."""
        trap = find_trap(link, settings=self._manners.traps, year=self._year())
        if trap is not None:
            self._figures.refused(trap)
        return trap is not None

    def note_page(self, site: str, content: Hashable) -> None:
        """Remember that a site has shown a page, and what was on it."""
        self._traps.note_page(site, content)

    def _year(self) -> int:
        return time.gmtime(self._wall_clock()).tm_year
