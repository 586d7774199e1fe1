"""How long a worker may go on without hearing from the frontier: afterwards, its sites may be another's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.frontier.clock import Clock


class Lease:
    """Counted from the sending of the last heartbeat that was acknowledged; before the first one, there is none."""

    def __init__(self, length_s: float | None, clock: Clock) -> None:
        self._length_s = math.inf if length_s is None else length_s  # None: nobody ever takes anything away
        self._clock = clock
        self._renewed_s = -math.inf

    def renew(self, sent_s: float) -> None:
        """Note that a heartbeat sent then was acknowledged."""
        self._renewed_s = sent_s

    def lose(self) -> None:
        """Note that this worker was declared dead."""
        self._renewed_s = -math.inf

    @property
    def may_start(self) -> bool:
        """Whether requests may begin. The other half is for what is under way, the network's delays among it."""
        # plant: lease-ignored
        return self._length_s == math.inf or self._clock() - self._renewed_s < self._length_s / 2

    @property
    def is_over(self) -> bool:
        """Whether others may have what was ours."""
        return self._length_s < math.inf and self._clock() - self._renewed_s >= self._length_s
