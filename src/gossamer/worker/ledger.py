"""What a worker has to report: collected as it happens, handed to the frontier in batches, whole."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.records import Batch, Release, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.records import HostState, Link, Outcome

# A larger batch would hold the frontier for too long: report at once.
FULL_LINKS = 5_000
FULL_OUTCOMES = 500
OVERFULL = 4  # so many times more: the frontier cannot keep up, and nothing new should begin


@dataclass(slots=True)
class _Report:
    """What happened at one site since the last batch."""

    epoch: int
    outcomes: list[tuple[bytes, Outcome]] = field(default_factory=list)
    hosts: list[HostState] = field(default_factory=list)
    own_delay_s: float = 0.0
    release: _Due | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    due_s: float  # on the worker's clock
    own_delay_s: float
    failures: int


class Page:
    """One page of the ledger: everything noted between two batches, and who waits for it to be committed."""

    def __init__(self) -> None:
        self.is_handed_in = False
        self.links: list[Link] = []
        self.outcomes = 0
        self.reports: dict[tuple[str, int], _Report] = {}
        self.committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def batch(self, now_s: float) -> Batch:
        """Return this page as a batch; waits are counted from now."""
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
                for (site, epoch), report in self.reports.items()
            ],
        )

    @property
    def given_back(self) -> dict[str, int]:
        """The epochs of sites that this page gives back: until it is committed, they are still held."""
        return {site: epoch for (site, epoch), report in self.reports.items() if report.release is not None}

    def __bool__(self) -> bool:
        return bool(self.links or self.reports)


def _release(due: _Due, now_s: float) -> Release:
    return Release(wait_s=max(0.0, due.due_s - now_s), own_delay_s=due.own_delay_s, failures=due.failures)


class Ledger:
    """The open page, and a bell that rings when it should be handed in early."""

    def __init__(self) -> None:
        self._page = Page()
        self.full = asyncio.Event()  # set: do not wait for the next batch

    @property
    def is_overfull(self) -> bool:
        """Whether more has happened than the frontier can take in."""
        page = self._page
        return page.outcomes >= OVERFULL * FULL_OUTCOMES or len(page.links) >= OVERFULL * FULL_LINKS

    def note_links(self, links: Sequence[Link]) -> None:
        """Note links that were found."""
        self._page.links += links
        if len(self._page.links) >= FULL_LINKS:
            self.full.set()

    def note_outcome(self, site: str, epoch: int, url_hash: bytes, outcome: Outcome) -> None:
        """Note what became of a URL."""
        self._report(site, epoch).outcomes.append((url_hash, outcome))
        self._page.outcomes += 1
        if self._page.outcomes == FULL_OUTCOMES:
            self.full.set()

    def note_host(self, site: str, epoch: int, state: HostState, *, own_delay_s: float) -> asyncio.Future[None]:
        """Note what a host's robots.txt said, and the delay its site has by that; the future tells when it is kept."""
        report = self._report(site, epoch)
        report.hosts.append(state)
        report.own_delay_s = own_delay_s
        return asyncio.shield(self._page.committed)  # one who is cancelled waiting must not spoil it for the others

    def note_delay(self, site: str, epoch: int, own_delay_s: float) -> asyncio.Future[None]:
        """Note a site's own delay; the future tells when it is kept."""
        self._report(site, epoch).own_delay_s = own_delay_s
        return self.hurry()

    def hurry(self) -> asyncio.Future[None]:
        """Have all that was noted handed in at once; the future tells when it is kept."""
        self.full.set()
        return asyncio.shield(self._page.committed)

    def note_release(self, site: str, epoch: int, *, due_s: float, own_delay_s: float, failures: int) -> None:
        """Note that a site is given back; its next turn may begin at `due_s`."""
        self._report(site, epoch).release = _Due(due_s=due_s, own_delay_s=own_delay_s, failures=failures)

    @property
    def given_back(self) -> dict[str, int]:
        """The epochs of sites that the open page gives back."""
        return self._page.given_back

    def turn_page(self) -> Page:
        """Close the open page and return it."""
        page, self._page = self._page, Page()
        self.full.clear()
        return page

    def _report(self, site: str, epoch: int) -> _Report:
        return self._page.reports.setdefault((site, epoch), _Report(epoch))
