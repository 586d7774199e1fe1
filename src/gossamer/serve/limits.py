"""How much a client may ask of the dashboard. Pure: time is passed in."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

PER_S: Final = 20.0  # requests of one token, on average
BURST: Final = 100.0  # at once: a page needs five
MAX_BODY_BYTES: Final = 16_384  # of a form
MAX_HEAD_BYTES: Final = 16_384
MAX_CONNECTIONS: Final = 128
MAX_STREAMS: Final = 32  # open tabs
HEAD_S: Final = 10.0  # in which a client must send a request


class Rates:
    """Bounds the requests of each client by a bucket that fills again with time."""

    def __init__(self, *, per_s: float = PER_S, burst: float = BURST) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left: defaultdict[str, tuple[float, float]] = defaultdict(lambda: (burst, 0.0))  # requests, as of when

    def admit(self, name: str, now_s: float) -> bool:
        """Count a request of a client, and return whether it may be answered. Names are few: those of tokens."""
        left, then_s = self._left[name]
        left = min(self._burst, left + (now_s - then_s) * self._per_s)
        self._left[name] = (max(0.0, left - 1), now_s)
        return left >= 1
