"""How many requests at once a site gets that belongs to the operator. Pure.

Every other site gets one at a time. A site of the operator's gets up to `parallel` at once, as long as it answers well:
a failure, such as a 429 or a 503, halves their number, recent answers that took longer than usual take one away, and
good ones give one back. A site that asks for any wait gets one at a time.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

SLOWER_FACTOR: Final = 2.0  # answers that take longer than this many times the usual time, and
SLOWER_S: Final = 0.1  # this much longer, show that the site has enough to do
RECENT_ANSWERS: Final = 16  # are averaged: pages of one site may differ


class OwnSites(NamedTuple):
    """The sites that belong to the operator."""

    names: frozenset[str] = frozenset()
    parallel: int = 1  # requests at once that each of them may get


class Lanes:
    """The lanes of one site: how many of its turns may be under way now."""

    __slots__ = ("_answers", "_is_new", "_recent_s", "_usual_s", "most", "now")

    def __init__(self, most: int) -> None:
        self.most = most
        self.now = 1  # until the site has answered
        self._recent_s = 0.0  # the mean time of recent answers
        self._usual_s = math.inf  # the least such mean
        self._answers = 0  # since the number of lanes changed
        self._is_new = True  # the site has not answered yet

    def note(self, *, response_s: float, failed: bool, waits: bool) -> None:
        """Take in the end of a turn: the time of its last answer, whether it failed, whether the site asks to wait."""
        self._answers += 1
        if response_s and not failed:
            self._time(response_s)
        is_slower = self._recent_s > max(SLOWER_FACTOR * self._usual_s, self._usual_s + SLOWER_S)
        if waits:
            self._change(1)
        elif failed:
            if self._answers >= self.now:  # once for all requests that were under way together
                self._change(self.now // 2)
        elif self._is_new:
            self._change(self.most)
        elif self._answers >= RECENT_ANSWERS:
            self._change(self.now - 1 if is_slower else self.now + 1)

    def _time(self, response_s: float) -> None:
        if self.now == 1:  # the site does not take long because of us
            self._recent_s = self._usual_s = response_s
            return
        self._recent_s += (response_s - self._recent_s) / RECENT_ANSWERS
        self._usual_s = min(self._usual_s, self._recent_s)

    def _change(self, lanes: int) -> None:
        self.now = max(1, min(lanes, self.most))
        self._is_new = False
        self._answers = 0
