"""The program's own say in the crawl that it runs: which links are followed, which come first, who gets a page.

A hook that raises is a mistake of that program. It costs the program this one answer: the crawl goes on as if the hook
were not there, and the failure comes back as a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gossamer.records import Fetched, Link, PageRow

MAX_RANK: Final = 2**31 - 1  # what every engine's column holds


class HookFailure(NamedTuple):
    """A hook raised while it judged the links of one page."""

    hook: str
    url: str  # the first one that it failed at
    error: Exception
    times: int = 1


class Hooks:
    """What a turn asks of the program that runs the crawl."""

    def __init__(
        self,
        *,
        should_visit: Callable[[str], bool] | None = None,
        rank: Callable[[Link], int] | None = None,
        on_page: Callable[[PageRow, Fetched], Awaitable[None]] | None = None,
    ) -> None:
        self.on_page = on_page  # awaited by the worker
        self.judges_links = should_visit is not None or rank is not None
        self.errors = 0  # how often a hook raised; counted by the worker
        self._should_visit = should_visit
        self._rank = rank

    def accept(self, url: str) -> tuple[bool, HookFailure | None]:
        """Return whether the program wants a URL; if its hook fails, it does: a mistake loses nothing."""
        if self._should_visit is None:
            return True, None
        try:
            return bool(self._should_visit(url)), None
        except Exception as error:  # the program's mistake, not ours
            return True, HookFailure("should_visit", url, error)

    def choose(self, links: Sequence[Link]) -> tuple[Sequence[Link], list[HookFailure]]:
        """Return those links of a page that the program wants, with their ranks."""
        failures: list[HookFailure] = []
        if self._should_visit is not None:
            links = _each("should_visit", links, self._keep_wanted, failures)
        if self._rank is not None:
            links = _each("rank", links, self._give_rank, failures)
        return links, failures

    def _keep_wanted(self, link: Link) -> Link | None:
        assert self._should_visit is not None
        return link if self._should_visit(link.url) else None

    def _give_rank(self, link: Link) -> Link:
        assert self._rank is not None
        rank = self._rank(link)
        if not isinstance(rank, int):
            raise TypeError(f"a rank must be a whole number, not {rank!r}")
        return link._replace(rank=max(-MAX_RANK, min(rank, MAX_RANK)))


def _each(
    hook: str, links: Sequence[Link], ask: Callable[[Link], Link | None], failures: list[HookFailure]
) -> list[Link]:
    """Ask a hook about each link; add one failure at most, which counts all."""
    answers = []
    failure: HookFailure | None = None
    for link in links:
        try:
            answer = ask(link)
        except Exception as error:  # the program's mistake, not ours
            failure = failure._replace(times=failure.times + 1) if failure else HookFailure(hook, link.url, error)
            answer = link
        if answer is not None:
            answers.append(answer)
    if failure:
        failures.append(failure)
    return answers
