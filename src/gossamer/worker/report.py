"""What a worker has to report to the frontier: collected as turns end, handed in as one batch. No I/O."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gossamer.records import Batch, Release, Visit

if TYPE_CHECKING:
    from gossamer.records import HostState, Link, Outcome
    from gossamer.turn import Effects
    from gossamer.workbench import SiteInHand

# A larger batch would hold the frontier for too long: it is handed in at once.
FULL_LINKS: Final = 5_000
FULL_OUTCOMES: Final = 500


@dataclass(slots=True)
class _SiteReport:
    """What happened at one site since the last batch."""

    outcomes: list[tuple[bytes, Outcome]] = field(default_factory=list)
    hosts: list[HostState] = field(default_factory=list)
    own_delay_s: float = 0.0
    release: _Due | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    due_s: float  # on the worker's clock
    own_delay_s: float
    failures: int


class Report:
    """Everything that turns reported between two batches."""

    def __init__(self) -> None:
        self.is_completed = False  # the frontier has taken it in
        self.outcomes = 0
        self.links: list[Link] = []
        self._sites: dict[tuple[str, int], _SiteReport] = {}  # by site and epoch

    def __bool__(self) -> bool:
        return bool(self.links or self._sites)

    @property
    def is_full(self) -> bool:
        """Whether it should be handed in without waiting for the next batch."""
        return self.outcomes >= FULL_OUTCOMES or len(self.links) >= FULL_LINKS

    def add(self, site: SiteInHand, effects: Effects) -> None:
        """Add what a turn changed."""
        self.links += effects.links
        if effects.outcomes or effects.hosts or effects.own_delay_s:
            report = self._of(site)
            report.outcomes += effects.outcomes.items()
            report.hosts += effects.hosts
            report.own_delay_s = max(report.own_delay_s, effects.own_delay_s)
            self.outcomes += len(effects.outcomes)

    def release(self, site: SiteInHand, due_s: float) -> None:
        """Add that a site is given back; its next turn may begin at `due_s`."""
        self._of(site).release = _Due(due_s=due_s, own_delay_s=site.own_delay_s, failures=site.failures)

    def released(self) -> dict[str, int]:
        """Return the epochs of sites that this report gives back: until it is completed, they are still held."""
        return {site: epoch for (site, epoch), report in self._sites.items() if report.release is not None}

    def first_due_s(self) -> float:
        """Return when the first of the sites that this report gives back is due; infinity if it gives none back."""
        return min((site.release.due_s for site in self._sites.values() if site.release is not None), default=math.inf)

    def batch(self, now_s: float) -> Batch:
        """Return this report as a batch; waits are counted from now."""
        return Batch(
            links=self.links,
            visits=[
                Visit(
                    site=site,
                    epoch=epoch,
                    outcomes=report.outcomes,
                    hosts=report.hosts,
                    own_delay_s=report.own_delay_s,
                    release=None if report.release is None else _release(report.release, now_s),
                )
                for (site, epoch), report in self._sites.items()
            ],
        )

    def _of(self, site: SiteInHand) -> _SiteReport:
        return self._sites.setdefault((site.site, site.epoch), _SiteReport())


def _release(due: _Due, now_s: float) -> Release:
    return Release(wait_s=max(0.0, due.due_s - now_s), own_delay_s=due.own_delay_s, failures=due.failures)
