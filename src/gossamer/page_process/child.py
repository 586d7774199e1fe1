"""The worker's handle of one page process: start it, exchange frames without blocking, and reap it."""

from __future__ import annotations

import socket
from collections import deque
from typing import TYPE_CHECKING, Final

from gossamer.page_process.frames import LENGTH_BYTES, drop_sent
from gossamer.page_process.layouts import FrameError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from gossamer.page_process.frames import Frame
    from gossamer.page_process.starting import Started

_BUFFER_BYTES: Final = 1 << 18
_KEPT_BYTES: Final = 1 << 22  # a buffer that a page made larger than this is freed afterwards


class PageChild:
    """A process and its socket. Used once: the next process is a new object, so that no late event reaches it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_frame: Callable[[PageChild, memoryview], None],
        on_end: Callable[[PageChild, int], None],
        *,
        start: Callable[[socket.socket], Started],
    ) -> None:
        """Start a process with `start`; raise OSError if that fails.

        `on_frame` is called with every frame, and raises FrameError if it is none of ours: that ends the process.
        `on_end` is called with the exit status.
        """
        self.ready = False  # it can take pages
        self.retiring = False  # it has announced that it will exit
        self.large = False  # because of a page that took much memory
        self.refused = ""  # why a frame of it was refused, which ended it
        self._loop = loop
        self._on_frame = on_frame
        self._on_end = on_end
        self._unsent: deque[memoryview] = deque()
        self._expected: deque[int] = deque()  # the most bytes of each reply that has not come yet
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._filled = 0
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = start(theirs)
            except (OSError, MemoryError):
                self._socket.close()
                raise
        self.pid = self._process.pid
        self._socket.setblocking(False)
        loop.add_reader(self._socket.fileno(), self._receive)

    def send(self, frame: Frame, *, max_reply_bytes: int) -> None:
        """Send a frame, now or when the socket has room, and expect one reply. A frame to a dead process is lost."""
        self._expected.append(max_reply_bytes)
        is_first = not self._unsent
        self._unsent.extend([memoryview(piece) for piece in frame])
        if is_first and not self._flush():
            self._loop.add_writer(self._socket.fileno(), self._flush_more)

    def kill(self) -> None:
        """Kill the process; `on_end` is called as for any other end."""
        self._process.kill()

    def reap(self) -> int:
        """Kill the process if it is alive, wait for it, and return its exit status. No callback is called any more."""
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        self._process.kill()
        return self._process.wait()

    def _flush_more(self) -> None:
        if self._flush():
            self._loop.remove_writer(self._socket.fileno())

    def _flush(self) -> bool:
        """Send as much as the socket takes; return whether that was everything."""
        while self._unsent:
            try:
                sent = self._socket.sendmsg(self._unsent)
            except BlockingIOError:
                return False
            except OSError:  # the process is gone; its last frames can still be read
                self._unsent.clear()
                return True
            drop_sent(self._unsent, sent)
        return True

    def _receive(self) -> None:
        """Take all that has come: libuv reports the end of a process only once, perhaps with its last frame."""
        try:
            while got := self._socket.recv_into(self._buffer[self._filled :]):
                self._filled += got
                if not self._deliver():
                    break
        except BlockingIOError:
            return
        except (OSError, MemoryError):
            # It died before it read everything, and the kernel reports a reset; or frames were passed on in part.
            pass
        self._on_end(self, self.reap())

    def _deliver(self) -> bool:
        """Pass on the complete frames; return whether they are valid."""
        start = 0
        while self._filled - start >= LENGTH_BYTES:
            size = int.from_bytes(self._buffer[start : start + LENGTH_BYTES], "little")
            end = start + LENGTH_BYTES + size
            if not self._expected or size > self._expected[0]:  # before any room is made for it
                self.refused = "a frame that is too long" if self._expected else "a frame that was not asked for"
                return False
            if end > self._filled:
                self._make_room(start, end - start)
                return True
            try:
                self._on_frame(self, self._buffer[start + LENGTH_BYTES : end])
            except FrameError as error:
                self.refused = str(error)
                return False
            self._expected.popleft()
            start = end
        self._make_room(start, _BUFFER_BYTES)
        return True

    def _make_room(self, start: int, needed_bytes: int) -> None:
        """Move the bytes from `start` on to the front of a buffer of at least `needed_bytes`."""
        rest = self._buffer[start : self._filled]
        self._filled = len(rest)
        if needed_bytes > len(self._buffer) or len(self._buffer) > _KEPT_BYTES >= needed_bytes:
            other = memoryview(bytearray(max(needed_bytes, _BUFFER_BYTES)))
            other[: len(rest)] = rest
            self._buffer = other
        elif start:
            self._buffer[: len(rest)] = rest
