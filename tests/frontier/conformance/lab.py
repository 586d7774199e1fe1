"""What the conformance suite needs to know of an engine: how to open it, move its clock, and crash it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

from gossamer.records import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gossamer.frontier import Frontier

DELAY_S = 70.0


class Lab(Protocol):
    """One frontier under test, its clock, and ways to make it fail."""

    def open(self) -> Frontier:
        """Open the frontier without being a worker."""

    def join(self) -> tuple[Frontier, int]:
        """Open the frontier as a new worker."""

    def advance(self, seconds: float) -> None:
        """Let time pass for every open handle."""

    def reboot(self, *, uptime_s: float) -> None:
        """Restart the machine: all handles are lost, the boot clock begins again."""

    def crash(self, worker: int, operation: Callable[[Frontier], object], *, step: int) -> bool:
        """Run an operation as this worker in a process that is killed after `step` steps; return whether it was."""

    def opener(self) -> Callable[[], Frontier]:
        """Return a picklable function that opens this frontier on the real clock, in any process."""

    def close(self) -> None:
        """Close all handles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine under test."""

    name: str
    new_lab: Callable[..., Lab]  # (folder, real_time=False): a lab with an empty frontier
    histories: int  # random ones per run of the suite: as many as a few seconds allow


class ManualClock:
    """A boot clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now_s = 5_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def new_lab(engine: Engine, tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """Return a function that makes a new lab with a running crawl, as often as a test needs one."""
    labs: list[Lab] = []

    def make(
        *,
        delay_s: float = DELAY_S,
        page_limit: int | None = None,
        site_limit: int | None = None,
        scope: Scope = Scope.WEB,
        real_time: bool = False,
    ) -> Lab:
        folder = tmp_path / str(len(labs))
        folder.mkdir()
        lab = engine.new_lab(folder, real_time=real_time)
        labs.append(lab)
        lab.open().resume(delay_s=delay_s, page_limit=page_limit, site_limit=site_limit, scope=scope)
        return lab

    yield make
    for lab in labs:
        lab.close()


@pytest.fixture
def lab(new_lab: Callable[..., Lab]) -> Lab:
    """A new frontier with a delay of 70 s and no page limit."""
    return new_lab()
