"""How far a crawl has come: the reports of its workers and the figures of the frontier, combined. Pure."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gossamer.metrics import Gauge, Metric
from gossamer.metrics.kinds import Combine
from gossamer.supervisor.outlook import Outlook
from gossamer.wording import count, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gossamer.records import SeedOutcome, Stats
    from gossamer.supervisor.ending import End
    from gossamer.supervisor.uploads import UploadState

RATE_WINDOW_S: Final = 10
SHOWN: Final = ("bytes", "retries")  # counted since this start
NOTABLE_WAIT_S: Final = 3.0  # a crawl that is idle for longer looks stuck

# These figures of a worker are current values; all others count events since the worker started.
_GAUGES: Final = {figure: metric for metric in Metric.declared.values() if isinstance(metric, Gauge)
                  for figure in metric.figures}  # fmt: skip
_OF_NOW: Final = frozenset({*_GAUGES, "next_due_s"})
_LARGEST: Final = frozenset({"max_loop_lag_s", *(name for name, of in _GAUGES.items() if of.combine is Combine.MOST)})
_SMALLEST: Final = frozenset({"next_due_s", *(name for name, of in _GAUGES.items() if of.combine is Combine.LEAST)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One worker of a crawl."""

    label: str
    figures: Mapping[str, float]  # as of its last report


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A crawl at one instant."""

    elapsed_s: float  # since this start
    figures: Mapping[str, float]  # of this start: the sums over all workers, dead ones included
    pages_per_s: float  # in the last seconds
    bytes_per_s: float
    stats: Stats
    workers: int  # how many there should be
    alive: int
    troubles: tuple[str, ...] = ()  # why workers start no requests
    end: End | None = None  # why it is ending
    uploads: UploadState | None = None  # None: the crawl has no store
    members: tuple[Member, ...] = ()  # the living workers
    outlook: Outlook = field(default_factory=Outlook)

    @property
    def next_due_s(self) -> float | None:
        """How long the crawl will be idle; None if it is busy, will be soon, is paused, or has no site left."""
        if self.stats.is_paused or self.figures.get("turns") or self.figures.get("sites_due"):
            return None
        waits = [wait_s for wait_s in (self.stats.wait_s, self.figures.get("next_due_s")) if wait_s is not None]
        return min(waits) if waits and min(waits) >= NOTABLE_WAIT_S else None

    @property
    def pages(self) -> int:
        """The pages stored since this start."""
        return int(self.figures.get("pages", 0))

    def in_one_line(self) -> str:
        """Return the figures that matter most in one line, for the log; those of workers only while any live."""
        stats = self.stats
        sites = f"{stats.sites_with_work:,} with work, {stats.sites_in_hand:,} in hand, {stats.in_trouble:,} in trouble"
        said = [
            f"{count(stats.pages, 'page')} stored, {self.pages_per_s:.1f} a second",
            f"{count(stats.queued, 'URL')} queued",
            f"sites: {sites}",
        ]
        if self.alive:
            figures = self.figures
            said += [
                count(self.alive, "worker"),
                f"{count(int(figures.get('in_flight', 0)), 'request')} under way",
                f"{size(figures.get('memory_bytes', 0))} of memory",
                f"{figures.get('descriptors', 0):,.0f} of {figures.get('max_descriptors', 0):,.0f} descriptors",
                f"loop lag {figures.get('loop_lag_s', 0):.3f} s",
            ]
        if self.uploads is not None:
            said.append(str(self.uploads))
        return "; ".join([*said, *self.troubles]) + "."

    @property
    def counted(self) -> dict[str, float]:
        """The counts of this start that commands show."""
        return {name: self.figures.get(name, 0) for name in SHOWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a crawl ended."""

    end: End
    detail: str = ""  # a sentence, if the operator made a mistake or workers died
    progress: Progress
    seeds: tuple[SeedOutcome, ...] = ()  # of all starts


@dataclass(slots=True)
class Tally:
    """Adds up the figures of workers, and computes the rates of the last seconds."""

    _ended: Counter[str] = field(default_factory=Counter)  # the counts of workers that have ended
    _recent: deque[tuple[float, float, float]] = field(default_factory=deque)  # when, pages, bytes

    def reap(self, figures: Mapping[str, float]) -> None:
        """Keep the counts of a worker that has ended."""
        _add(self._ended, {name: count for name, count in figures.items() if name not in _OF_NOW})

    def total(self, living: Iterable[Mapping[str, float]]) -> dict[str, float]:
        """Return the figures of all workers, added up."""
        total = Counter(self._ended)
        for figures in living:
            _add(total, figures)
        return dict(total)

    def update_rates(self, now_s: float, total: Mapping[str, float]) -> tuple[float, float]:
        """Record the totals and return the latest pages and bytes per second. Call it at every tick."""
        pages, size = total.get("pages", 0), total.get("bytes", 0)
        self._recent.append((now_s, pages, size))
        while now_s - self._recent[0][0] > RATE_WINDOW_S:
            self._recent.popleft()
        then_s, pages_then, bytes_then = self._recent[0]
        if now_s == then_s:
            return 0.0, 0.0
        # The last second of a killed worker is never reported, so that a total can fall; a rate cannot.
        return max(0.0, pages - pages_then) / (now_s - then_s), max(0.0, size - bytes_then) / (now_s - then_s)


def _add(total: Counter[str], figures: Mapping[str, float]) -> None:
    for name, figure in figures.items():
        if name in _LARGEST:
            figure = max(total[name], figure)
        elif name in _SMALLEST:
            figure = min(total.get(name, figure), figure)
        else:
            figure += total[name]
        total[name] = figure  # type: ignore[assignment]
