"""The simulated machine that all processes share: its clocks, its disk, its network, and the monitor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from chaos.simulation.seams import Trouble

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from chaos.simulation.faults import Terms
    from chaos.simulation.loop import Scheduler
    from chaos.simulation.monitor import Monitor
    from chaos.simulation.network import Network
    from chaos.simulation.web import SmallWeb

EPOCH_AT: Final = 1_750_000_000.0  # the wall clock at the beginning
UPTIME_S: Final = 5_000.0
UNHEARD_S: Final = 0.5  # what a site asks for within this time before a kill may not be committed
RECOVERY_S: Final = 12.0  # after a fault has ended, until every worker has tried again


@dataclass(slots=True, kw_only=True)
class World:
    """A simulated machine."""

    terms: Terms
    web: SmallWeb
    folder: Path
    monitor: Monitor
    scheduler: Scheduler
    network: Network
    dice: Random
    trouble: Trouble = field(default_factory=Trouble)
    kills_s: list[float] = field(default_factory=list)  # when a wish of a site may have been lost
    troubles_s: list[tuple[float, float]] = field(default_factory=list)  # when commits could fail
    booted_s: float = -UPTIME_S  # when it was started
    jump_s: float = 0.0  # of the wall clock

    def clock(self) -> float:
        """Return the seconds since the machine was started."""
        return self.scheduler.now_s - self.booted_s

    def wall_clock(self) -> float:
        """Return the time that the machine's wall clock shows."""
        return EPOCH_AT + self.scheduler.now_s + self.jump_s

    def file_clock(self) -> float:
        """Return a time for the names of files, without the jumps of the wall clock."""
        return EPOCH_AT + self.scheduler.now_s

    def now(self) -> float:
        """Return the simulated time, which no simulated process can read."""
        return self.scheduler.now_s

    def note(self, what: str) -> None:
        """Add an event of the machine or its supervisor to the trace."""
        self.monitor.now_s = self.scheduler.now_s
        self.monitor.note("supervisor", what)

    def forgets(self, since_s: float = math.inf) -> None:
        """Record that wishes of sites may be lost: the latest ones, and those that no worker could commit."""
        now_s = self.scheduler.now_s
        troubled_s = [begun_s for begun_s, ended_s in self.troubles_s if now_s < ended_s + RECOVERY_S]
        instant_s = min([now_s, since_s, *troubled_s])
        while instant_s < now_s:
            self.kills_s.append(instant_s)
            instant_s += UNHEARD_S
        self.kills_s.append(now_s)
