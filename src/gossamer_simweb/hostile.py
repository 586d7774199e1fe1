"""Hostile responses: those of planted pages, and the scripts of hostile sites."""

from __future__ import annotations

import asyncio
import time
from itertools import chain, repeat
from typing import TYPE_CHECKING

from gossamer_simweb.spec import Behaviour
from gossamer_simweb.wire import status_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer_simweb.hostility.kind import Script
    from gossamer_simweb.responses import PlannedResponse

_BLOCK_BYTES = 65_536


class HostileResponse:
    """Sends one hostile response piece by piece, never faster than the client reads."""

    def __init__(self, answer: PlannedResponse, write: Callable[[bytes], bool], done: Callable[[float], None]) -> None:
        self._write = write  # returns whether the kernel has taken everything
        self._done = done  # called when the last piece is sent, with seconds of the monotonic clock
        self._pieces = _pieces(answer)
        self._piece = next(self._pieces)
        self._gap_s = answer.delay_s if answer.behaviour is Behaviour.DRIP else 0.0
        self._ends = answer.behaviour is not Behaviour.STALL
        self._next: asyncio.Handle | None = None
        self.body_bytes = 0

    def send_next(self) -> None:
        """Send the next piece. The connection calls this again when the kernel has taken it."""
        self.stop()
        piece, following = self._piece, next(self._pieces, None)
        head_bytes = piece.find(b"\r\n\r\n") + 4 if piece.startswith(b"HTTP/1.1 ") else 0
        self.body_bytes += len(piece) - head_bytes
        sent_at = time.monotonic()
        taken = self._write(piece)
        if following is not None:
            self._piece = following
            if taken:
                self._next = asyncio.get_running_loop().call_later(self._gap_s, self.send_next)
        elif self._ends:
            self._done(sent_at)
        else:
            self._piece = b""

    def stop(self) -> None:
        """Send nothing more until the next call of `send_next`."""
        if self._next is not None:
            self._next.cancel()
            self._next = None


class ScriptedResponse:
    """Sends what a hostile site's script says, never faster than the client reads."""

    def __init__(self, script: Script, write: Callable[[bytes], bool], done: Callable[[], None]) -> None:
        self._write = write  # returns whether the kernel has taken everything
        self._done = done  # called when the script is over
        self._pieces = script()
        self._next: asyncio.Handle | None = None
        self.body_bytes = 0  # with the head

    def send_next(self) -> None:
        """Send the next piece, or begin the next pause. The connection calls this again when the kernel took it."""
        self.stop()
        piece = next(self._pieces, None)
        if piece is None:
            self._done()
            return
        pause_s = 0.0
        if isinstance(piece, bytes):
            self.body_bytes += len(piece)
            if not self._write(piece):
                return
        else:
            pause_s = piece
        self._next = asyncio.get_running_loop().call_later(pause_s, self.send_next)

    def stop(self) -> None:
        """Send nothing more until the next call of `send_next`."""
        if self._next is not None:
            self._next.cancel()
            self._next = None


def _pieces(answer: PlannedResponse) -> Iterator[bytes]:
    body = answer.body
    head = status_line(answer.status) + answer.head + b"Connection: close\r\n"
    promise = b"Content-Length: %d\r\n\r\n"
    match answer.behaviour:
        case Behaviour.DRIP:
            return chain((head + promise % len(body),), (body[at : at + 1] for at in range(len(body))))
        case Behaviour.STALL:
            return iter((head + promise % len(body) + body[: len(body) // 2],))
        case Behaviour.INFINITE:
            block = (body or b"x") * (_BLOCK_BYTES // max(1, len(body)) + 1)
            return chain((head + b"\r\n",), repeat(block))
        case Behaviour.ENDLESS_HEAD:
            return chain((head,), repeat(b"X-More: and more\r\n" * 1_000))
        case Behaviour.SHORT:
            return iter((head + promise % (2 * len(body) + 1) + body,))
        case Behaviour.LONG:
            return iter((head + promise % len(body) + body + body,))
        case _:
            return iter((body,))
