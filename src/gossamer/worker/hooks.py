"""A program's own say in the crawl that it runs: which links are taken, which come first, what is done with a page.

A hook that raises is a mistake of that program's, and costs it only this one answer: the mistake is logged with its
URL, once for each hook and page, and counted, and the crawl goes on as if the hook were not there.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gossamer.records import Fetched, Link, PageRow

log = logging.getLogger(__name__)

MAX_RANK: Final = 2**31 - 1  # what every engine's column holds


class Hooks:
    """What a worker asks of the program that runs it. All are called on the worker's event loop."""

    def __init__(
        self,
        *,
        should_visit: Callable[[str], bool] | None = None,
        rank: Callable[[Link], int] | None = None,
        on_page: Callable[[PageRow, Fetched], Awaitable[None]] | None = None,
    ) -> None:
        self.errors = 0  # how often a hook raised
        self._should_visit = should_visit
        self._rank = rank
        self._on_page = on_page

    def accepts(self, url: str) -> bool:
        """Tell whether a URL is wanted; if the hook cannot tell, it is: nothing gets lost by a mistake."""
        if self._should_visit is None:
            return True
        try:
            return bool(self._should_visit(url))
        except Exception:
            self.report("should_visit", url)
            return True

    def choose(self, links: Sequence[Link]) -> Sequence[Link]:
        """Return those links of a page that are wanted, with their ranks."""
        if self._should_visit is not None:
            links = self._each("should_visit", links, self._keep_wanted)
        if self._rank is not None:
            links = self._each("rank", links, self._give_rank)
        return links

    async def page(self, row: PageRow, answer: Fetched) -> None:
        """Pass on a page that is kept; it counts as done when this returns."""
        if self._on_page is not None:
            await self._on_page(row, answer)

    def report(self, hook: str, url: str, *, log_it: bool = True) -> None:
        """Note that a hook has just raised."""
        self.errors += 1
        if log_it:
            log.exception("The hook %s failed at %s; the crawl goes on without its answer.", hook, url)

    def _each(self, hook: str, links: Sequence[Link], ask: Callable[[Link], Link | None]) -> list[Link]:
        answers = []
        failed = False
        for link in links:
            try:
                answer = ask(link)
            except Exception:
                self.report(hook, link.url, log_it=not failed)
                answer, failed = link, True
            if answer is not None:
                answers.append(answer)
        return answers

    def _keep_wanted(self, link: Link) -> Link | None:
        assert self._should_visit is not None
        return link if self._should_visit(link.url) else None

    def _give_rank(self, link: Link) -> Link:
        assert self._rank is not None
        rank = self._rank(link)
        if not isinstance(rank, int):
            raise TypeError(f"a rank must be a whole number, not {rank!r}")
        return link._replace(rank=max(-MAX_RANK, min(rank, MAX_RANK)))
