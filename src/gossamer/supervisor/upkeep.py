"""Whether the database cleans up behind the crawl: looked up once a minute, for metrics and the log."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from gossamer.wording import span

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.frontier import FrontierReader
    from gossamer.records import OpenTransaction, Upkeep

log = logging.getLogger(__name__)

EVERY_S: Final = 60.0
LONG_S: Final = 60.0  # a transaction of a crawl takes less


class UpkeepWatch:
    """Asks the frontier, and warns once of each transaction that is open for long."""

    def __init__(self, *, long_s: float = LONG_S, clock: Callable[[], float] = time.monotonic) -> None:
        self.figures: dict[str, float] = {}  # as of the last look; replaced, never changed: other threads read it
        self._long_s = long_s
        self._clock = clock
        self._again_s = 0.0
        self._warned_of = 0  # pid

    def look(self, frontier: FrontierReader) -> None:
        """Ask, if a minute has passed. It blocks: call it where the frontier is called."""
        now_s = self._clock()
        if now_s < self._again_s:
            return
        self._again_s = now_s + EVERY_S
        upkeep = frontier.upkeep()
        if upkeep is None:
            return
        self.figures = figures_of(upkeep)
        oldest = upkeep.oldest
        if oldest is None or oldest.age_s < self._long_s:
            self._warned_of = 0
        elif oldest.pid != self._warned_of:
            self._warned_of = oldest.pid
            log.warning("%s", long_transaction(oldest))


def figures_of(upkeep: Upkeep) -> dict[str, float]:
    """Return figures by the names that metrics know them by."""
    dead = {f"dead_rows_{table}": float(rows) for table, rows in upkeep.dead_rows.items()}
    return {"oldest_transaction_s": upkeep.oldest.age_s if upkeep.oldest else 0.0, **dead}


def long_transaction(oldest: OpenTransaction) -> str:
    """Return what a transaction that is open for long means."""
    return (
        f"The transaction of {oldest.application} (pid {oldest.pid}, {oldest.state}) has been open for "
        f"{span(oldest.age_s)}: no row that died since can be vacuumed, and tables grow. End it if it is not needed."
    )
