"""What an audit found: sentences, a bounded number of each kind. Shared by all engines."""

from __future__ import annotations

from collections import Counter

from gossamer.records import Reason

MAX_NAMED = 100  # of one kind of contradiction; the rest is only counted

SETTLED: dict[str, Reason | None] = {"": None, **{reason.value: reason for reason in Reason}}  # by outcome as stored
UP_AND_DOWN = ("sites_with_work", "in_hand")  # counters that also fall


class Contradictions:
    """What was found, with a bound on how much of one kind is remembered."""

    def __init__(self) -> None:
        self._named: list[str] = []
        self._kinds: Counter[str] = Counter()

    def note(self, what: str, contradiction: str) -> None:
        """Remember that something contradicts something."""
        self._kinds[contradiction] += 1
        if self._kinds[contradiction] <= MAX_NAMED:
            self._named.append(f"{what} {contradiction}")

    def compare(self, counter: str, before: int, counted: int, after: int, *, moved: int = 0) -> None:
        """Note a counter that does not agree with what it counts; `moved` may have been counted twice, or never."""
        most = max(before, after)
        if not min(before, after) - moved <= counted <= most + moved:
            self._named.append(f"the crawl's counter {counter} says {most}, and {counted} were found")

    def sentences(self) -> list[str]:
        """Return all that was found."""
        more = [f"{n - MAX_NAMED} more of: {kind}" for kind, n in self._kinds.items() if n > MAX_NAMED]
        return self._named + more
