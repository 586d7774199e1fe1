"""When a crawl will be over, if its rates of the last ten minutes continue. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import linear_regression
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.records import Stats

WINDOW_S: Final = 600.0  # a queue grows and shrinks in bursts
SAMPLE_S: Final = 5.0  # between two points of the window
LEAST_S: Final = 60.0  # a shorter time gives no useful rate
STEADY_FACTOR: Final = 3.0  # by which the rates of the two halves of the window may differ


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """When a crawl will be over, if that can be estimated."""

    left_s: float | None = None  # None: unknown
    why: str = "too early to tell"  # what ends it first, or why that is unknown


class Trend(NamedTuple):
    """How fast a count rose in the last minutes."""

    per_s: float
    is_steady: bool  # it rose evenly, so that the rate may be extrapolated


class Forecast:
    """Records a crawl's pages and queue, and estimates how much time is left."""

    def __init__(self) -> None:
        self._pages: deque[tuple[float, int]] = deque()  # when, how many
        self._settled: deque[tuple[float, int]] = deque()  # minus the queue

    def update(self, now_s: float, stats: Stats, *, time_left_s: float | None) -> Outlook:
        """Record the crawl's figures, and return what will end it first. Call it about once a second."""
        for points, count in ((self._pages, stats.pages), (self._settled, -stats.queued)):
            if not points or now_s - points[-1][0] >= SAMPLE_S:
                points.append((now_s, count))
            while now_s - points[0][0] > WINDOW_S:
                points.popleft()
        return predict_end(stats, pages=trend_of(self._pages), drain=trend_of(self._settled), time_left_s=time_left_s)


def trend_of(points: Sequence[tuple[float, float]]) -> Trend | None:
    """Return how fast a count rose over these points (time, count); None if they span too little time.

    The rate is steady if the rates of both halves of the time differ by at most a factor.
    """
    first_s, last_s = points[0][0], points[-1][0]
    if last_s - first_s < LEAST_S:
        return None
    middle_s = (first_s + last_s) / 2
    early = [point for point in points if point[0] <= middle_s]
    late = [point for point in points if point[0] >= middle_s]
    slopes = _slope(early), _slope(late)
    return Trend(_slope(points), 0 < max(slopes) <= STEADY_FACTOR * min(slopes))


def _slope(points: Iterable[tuple[float, float]]) -> float:
    """Return the slope of the regression line, on which a burst at either end has little effect; 0 for one point."""
    times, counts = zip(*points, strict=True)
    return linear_regression(times, counts).slope if len(times) > 1 else 0.0


def predict_end(stats: Stats, *, pages: Trend | None, drain: Trend | None, time_left_s: float | None) -> Outlook:
    """Return what ends a crawl first if its rates continue, or why that is unknown."""
    ends = []
    if time_left_s is not None:
        ends.append((max(0.0, time_left_s), "until the time limit"))
    if stats.page_limit is not None and pages is not None and pages.is_steady:
        # Not `pages_left`: it leaves out the pages that workers have in hand, which take time too.
        ends.append(((stats.page_limit - stats.pages) / pages.per_s, "until the page limit, at this rate"))
    if drain is not None and drain.is_steady:
        ends.append((stats.queued / drain.per_s, "until the queue is empty, at this rate"))
    if ends:
        left_s, why = min(ends)
        return Outlook(left_s=left_s, why=why)
    if pages is None or drain is None:
        return Outlook()
    if pages.per_s == 0:
        return Outlook(why="no pages in the last minutes")
    return Outlook(why="the queue does not shrink" if drain.per_s <= 0 else "the rate changes too much")
