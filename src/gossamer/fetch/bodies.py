"""One budget in bytes for all bodies, from their first byte until they are stored: small ones never wait.

Half of the budget is for small bodies, as many as there are requests. The larger ones share the other half. A body for
which there is no room stops growing: its transfer is paused, and the server waits, until others were read and stored.
Paused transfers are resumed in fair order by site.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from gossamer.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_SMALL_BYTES: Final = 65_536
PAUSED_SHARE: Final = 4  # paused transfers hold this part of the slots at most


class Growth(Enum):
    """What becomes of a piece of a body."""

    TAKEN = "it is taken"
    PAUSED = "it must wait: others hold the memory"
    REFUSED = "too many wait already"


class Steered(Protocol):
    """A transfer, as those see it that decide which transfers go on."""

    def resume(self) -> None:
        """Go on with a paused transfer."""

    def cut(self) -> None:
        """End the transfer: it has had no answer for long, and others need its slot."""


class Body:
    """The body of one request."""

    __slots__ = ("body_bytes", "is_patient", "is_paused", "site", "transfer")

    def __init__(self, site: str) -> None:
        self.site = site
        self.body_bytes = 0
        self.is_patient = True  # it may be paused; else it is refused
        self.is_paused = False
        self.transfer: Steered | None = None


class BodyBudget:
    """Counts the bytes of bodies: those under way, and those that wait to be read and stored.

    Invariant: a large body is paused only while another one is under way or in hand. That one will be released, and
    its release resumes the next. So at most `max_bytes` and one body more are held.
    """

    def __init__(self, *, max_bytes: int, requests: int, released: Callable[[], None]) -> None:
        self._max_bytes = max_bytes
        self._small_bytes = min(MAX_SMALL_BYTES, max_bytes // (2 * requests))
        self._max_large_bytes = max_bytes - requests * self._small_bytes
        self._max_paused = max(1, requests // PAUSED_SHARE)
        self._released = released
        self._large_bytes = 0
        self._large = 0  # bodies that are large and not paused, or that wait to be stored
        self._paused: FairQueue[Body] = FairQueue()
        self.held_bytes = 0
        self.paused = 0  # transfers

    @property
    def is_full(self) -> bool:
        """Whether no request may begin."""
        return self.held_bytes >= self._max_bytes

    @property
    def is_contended(self) -> bool:
        """Whether bodies wait for memory."""
        return self.paused > 0

    def grow(self, body: Body, size_bytes: int) -> Growth:
        """Take a piece of a body, or say that it must wait."""
        was_large = body.body_bytes > self._small_bytes
        if body.body_bytes + size_bytes > self._small_bytes:
            if self._large_bytes >= self._max_large_bytes and self._large > was_large:
                return self._pause(body, was_large=was_large)
            if was_large:
                self._large_bytes += size_bytes
            else:
                self._large += 1
                self._large_bytes += body.body_bytes + size_bytes
        body.body_bytes += size_bytes
        self.held_bytes += size_bytes
        return Growth.TAKEN

    def end(self, body: Body, *, is_kept: bool) -> None:
        """Note that a transfer has ended. A body that is kept stays counted until it is released."""
        size_bytes = body.body_bytes
        if size_bytes > self._small_bytes:
            self._paused.charge(body.site, size_bytes)
            self._large += body.is_paused
        if body.is_paused:
            body.is_paused = False
            self.paused -= 1
        if not is_kept:
            self.release(size_bytes)

    def release(self, size_bytes: int) -> None:
        """Note that a body is not needed any more."""
        self.held_bytes -= size_bytes
        if size_bytes > self._small_bytes:
            self._large_bytes -= size_bytes
            self._large -= 1
        while self._paused.size and (self._large_bytes < self._max_large_bytes or not self._large):
            _, body = self._paused.pop()
            if body.is_paused:  # else its transfer has ended
                self._resume(body)
        self._released()

    def _pause(self, body: Body, *, was_large: bool) -> Growth:
        if self.paused >= self._max_paused or not body.is_patient:
            return Growth.REFUSED
        self.paused += 1
        body.is_paused = True
        self._large -= was_large
        self._paused.push(body.site, body)
        return Growth.PAUSED

    def _resume(self, body: Body) -> None:
        self.paused -= 1
        body.is_paused = False
        self._large += body.body_bytes > self._small_bytes
        assert body.transfer is not None, "only a transfer under way is paused"
        body.transfer.resume()
