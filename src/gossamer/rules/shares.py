"""What a site may take of a worker in an hour while others wait: parser time, silent time and bytes. Pure.

A site over its budget backs off like a failing one. The budgets are far above what an ordinary site takes at any delay
that others would tolerate, so there is no setting for them: a site that is alone gets everything anyway.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import Final, NamedTuple

from gossamer.rules.pace import FAILURES_BEFORE_BACKOFF, WaitCause, backoff_s

HOUR_S: Final = 3_600.0
CONTENTION_S: Final = 10.0  # others count as waiting for this long after they were seen to wait
MAX_SITES: Final = 10_000  # that are remembered; those that spent something last


class Budget(NamedTuple):
    """What one site may take of something."""

    per_hour: float
    least: float  # smaller amounts are not counted: an ordinary page costs no memory here
    cause: WaitCause  # why a site waits that took more


class Resource(Enum):
    """What sites share. The value is the budget of one site."""

    PARSER = Budget(60.0, 0.05, WaitCause.PARSER_SHARE)  # seconds of processor time
    SILENCE = Budget(300.0, 1.0, WaitCause.SLOT_SHARE)  # seconds in requests that ended without an answer
    BYTES = Budget(1e9, 1e5, WaitCause.BYTE_SHARE)


SHARE_CAUSES: Final = frozenset({*(each.value.cause for each in Resource), WaitCause.LINK_SHARE})
_RESOURCES: Final = tuple(Resource)
_LEAST_PARSER_S: Final = Resource.PARSER.value.least


class _Use:
    """What a site took in the hour that began at its first spending."""

    __slots__ = ("backoffs", "began_s", "spent")

    def __init__(self, now_s: float) -> None:
        self.began_s = now_s
        self.spent = dict.fromkeys(_RESOURCES, 0.0)
        self.backoffs = 0  # in a row


class SiteShares:
    """Remembers what sites took. Sites whose pages are small and cheap are never in this table."""

    __slots__ = ("_contended_s", "uses")

    def __init__(self) -> None:
        self.uses: OrderedDict[str, _Use] = OrderedDict()  # by site: only of those that took much
        self._contended_s: dict[Resource, float] = {}  # when others were last seen to wait

    def spend(self, site: str, resource: Resource, amount: float, now_s: float) -> None:
        """Note what a site took; small amounts do not count."""
        if amount >= resource.value.least:
            self._use_of(site, now_s).spent[resource] += amount

    def note_parse(self, site: str, cost_s: float, now_s: float, *, contended: bool) -> None:
        """Note what reading a page took, and whether others waited meanwhile."""
        if contended:
            self.note_waiting(Resource.PARSER, now_s)
        if cost_s >= _LEAST_PARSER_S:
            self.spend(site, Resource.PARSER, cost_s, now_s)

    def note_waiting(self, resource: Resource, now_s: float) -> None:
        """Note that others wait for something."""
        self._contended_s[resource] = now_s

    def exceeded(self, site: str, now_s: float) -> WaitCause | None:
        """Return why a site must back off: it is over a budget, and others wait for the same; None if it need not."""
        use = self.uses.get(site)
        if use is None or now_s - use.began_s > HOUR_S:
            return None
        for resource, spent in use.spent.items():
            is_contended = now_s - self._contended_s.get(resource, -CONTENTION_S) < CONTENTION_S
            if spent > resource.value.per_hour and is_contended:
                return resource.value.cause
        return None

    def back_off(self, site: str, pace_s: float, now_s: float) -> float:
        """Return how long a site waits that took more than its share: twice as long with each time in a row."""
        use = self._use_of(site, now_s)
        use.backoffs += 1
        return backoff_s(pace_s, FAILURES_BEFORE_BACKOFF + use.backoffs)

    def recover(self, site: str) -> None:
        """Note that a site's turn ended within its share: its next back-off is short again."""
        if use := self.uses.get(site):
            use.backoffs = 0

    def _use_of(self, site: str, now_s: float) -> _Use:
        use = self.uses.get(site)
        if use is None:
            use = self.uses[site] = _Use(now_s)
            if len(self.uses) > MAX_SITES:
                self.uses.popitem(last=False)
        elif now_s - use.began_s > HOUR_S:
            use.began_s, use.spent = now_s, dict.fromkeys(_RESOURCES, 0.0)
        self.uses.move_to_end(site)
        return use
