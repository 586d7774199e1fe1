"""How long a page may keep others waiting for the quick lane: less while pages that overrun take much of its time."""

from __future__ import annotations

from typing import Final

WINDOW_S: Final = 0.25  # processor time of the lane after which the slice is judged
MANY: Final = 0.25  # the share of it that pages that overran may take; in an ordinary crawl it is a few hundredths
FEW: Final = 0.1
SHORTEST: Final = 0.2  # of the whole slice: an ordinary page takes no longer


class TimeSlice:
    """The processor time that a page may take while others wait.

    Every new site with costly pages takes a slice before it is known. Hundreds of them at once would keep good sites
    waiting for hundreds of slices.
    """

    def __init__(self, whole_s: float) -> None:
        self.now_s = self._whole_s = whole_s
        self._read_s = self._overrun_s = 0.0

    def note_read(self, cost_s: float) -> None:
        """Note a page that was read."""
        self._read_s += cost_s
        self._judge()

    def note_overrun(self, cost_s: float) -> None:
        """Note a page that was taken from the lane."""
        self._overrun_s += cost_s
        self._judge()

    def _judge(self) -> None:
        total_s = self._read_s + self._overrun_s
        if total_s < WINDOW_S:
            return
        share = self._overrun_s / total_s
        if share > MANY:
            self.now_s = max(self.now_s / 2, SHORTEST * self._whole_s)
        elif share < FEW:
            self.now_s = min(self.now_s * 2, self._whole_s)
        self._read_s = self._overrun_s = 0.0
