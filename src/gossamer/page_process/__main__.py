"""The process that reads pages: `python -m gossamer.page_process PARENT`, with its socket as standard input.

It reads one page after the other until the socket ends, and dies with its worker. The kernel enforces the limits of a
page: a timer of processor time that kills the process, and a memory limit that makes allocation fail.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from gossamer.page_process.frames import (
    BUG,
    LENGTH_BYTES,
    Values,
    failed_reply,
    pack,
    page_reply,
    robots_reply,
    sitemap_reply,
    unpack,
    unpack_page,
)
from gossamer.page_process.settings import SITEMAP_PAGES
from gossamer.parse.language import model
from gossamer.parse.page import read_page, without_content
from gossamer.parse.sitemaps import read_sitemap
from gossamer.parse.text import FindText, text_finder
from gossamer.records import Fetched, ParseFailed, Reason, RequestKind
from gossamer.rules.hosts import parse_answer
from gossamer.store.warc import encode_exchange

_READ_AHEAD_BYTES: Final = 1 << 18
_PAGES_BETWEEN_CHECKS: Final = 500
_PR_SET_PDEATHSIG: Final = 1
_STATM: Final = Path("/proc/self/statm")


class FrameReader:
    """Reads the page in a frame, and returns the frame of its reply."""

    def __init__(
        self,
        *,
        deadline_s: float,
        memory_bytes: int,
        max_bytes: int,
        agent: str,
        find_text: FindText,
        anchors: bool,
    ) -> None:
        self._deadline_s = deadline_s
        self._memory_bytes = memory_bytes
        self._max_bytes = max_bytes
        self._agent = agent
        self._find_text = find_text
        self._anchors = anchors
        self._pages = 0
        self._baseline_bytes = _data_bytes()
        self.retiring = False  # this process should be replaced by a new one
        _, hard_bytes = resource.getrlimit(resource.RLIMIT_DATA)
        limit_bytes = self._baseline_bytes + memory_bytes
        if hard_bytes != resource.RLIM_INFINITY:
            limit_bytes = min(limit_bytes, hard_bytes)
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard_bytes))

    def reply(self, payload: bytes) -> bytes:
        """Read one page within its deadline; after that, the kernel ends this process by SIGPROF."""
        self._tidy()
        signal.setitimer(signal.ITIMER_PROF, self._deadline_s)
        try:
            found = self._read(payload)
            return pack((self.retiring, time.process_time(), *found))
        except MemoryError:
            pass  # reply below: here the exception still refers to everything that was read
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self.retiring = True
        detail = f"took more than {self._memory_bytes / 1e6:.0f} MB of memory"
        return pack((True, time.process_time(), *failed_reply(ParseFailed(reason=Reason.PARSE_MEMORY, detail=detail))))

    def _read(self, payload: bytes) -> Values:
        try:
            fetched, kind, archive = unpack_page(payload)
            if kind is RequestKind.SITEMAP:
                return self._read_sitemap(fetched, archive=archive)
            if kind is RequestKind.ROBOTS:
                return robots_reply(parse_answer(fetched, self._agent))
            parsed = read_page(
                fetched,
                agent=self._agent,
                max_bytes=self._max_bytes,
                find_text=self._find_text,
                anchors=self._anchors,
            )
            if isinstance(parsed, ParseFailed):
                return failed_reply(parsed)
            if parsed.noindex:
                return page_reply(without_content(parsed), None)
            return page_reply(parsed, encode_exchange(fetched) if archive else None)
        except MemoryError:
            raise
        except Exception:  # a bug of ours costs this page: the worker logs the traceback and goes on
            return (BUG, traceback.format_exc())

    def _read_sitemap(self, fetched: Fetched, *, archive: bool) -> Values:
        signal.setitimer(signal.ITIMER_PROF, SITEMAP_PAGES * self._deadline_s)
        sitemap = read_sitemap(fetched, agent=self._agent)
        if isinstance(sitemap, ParseFailed):
            return failed_reply(sitemap)
        return sitemap_reply(sitemap, encode_exchange(fetched) if archive and not sitemap.noindex else None)

    def _tidy(self) -> None:
        """Collect garbage every few pages, instead of Python's own schedule, and check whether memory has grown."""
        self._pages += 1
        if self._pages % _PAGES_BETWEEN_CHECKS == 0:
            gc.collect()
            self.retiring = _data_bytes() - self._baseline_bytes > self._memory_bytes // 2


def main() -> None:
    """Read pages until the socket ends, or until this process should be replaced."""
    _obey_only_the_worker(int(sys.argv[1]))
    worker = socket.socket(fileno=sys.stdin.fileno())
    frames = open(worker.fileno(), "rb", buffering=_READ_AHEAD_BYTES, closefd=False)  # noqa: SIM115
    with suppress(BrokenPipeError, ConnectionResetError):  # the worker is gone
        deadline_s, memory_bytes, max_bytes, agent, text, markdown, anchors = unpack(_next_frame(frames))
        find_text = text_finder(text, markdown=markdown)  # before the limits apply
        model()
        gc.collect()
        gc.freeze()
        gc.disable()
        reader = FrameReader(
            deadline_s=deadline_s,
            memory_bytes=memory_bytes,
            max_bytes=max_bytes,
            agent=agent,
            find_text=find_text,
            anchors=anchors,
        )
        worker.sendall(pack(()))
        while not reader.retiring:
            worker.sendall(reader.reply(_next_frame(frames)))
    os._exit(0)  # nothing is left to clean up, and the next process waits


def _obey_only_the_worker(worker: int) -> None:
    """Die with the worker, and not before: Ctrl-C goes to the entire group, but there are still pages to read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != worker:  # the worker died before prctl was called
        sys.exit(0)


def _next_frame(frames: BinaryIO) -> bytes:
    """Return the next frame's payload; raise ConnectionResetError at the end."""
    length = frames.read(LENGTH_BYTES)
    size = int.from_bytes(length, "little")
    payload = frames.read(size)
    if len(length) < LENGTH_BYTES or len(payload) < size:
        raise ConnectionResetError
    return payload


def _data_bytes() -> int:
    """Return the memory that counts against the limit; 0 where the kernel does not tell."""
    try:
        pages = int(_STATM.read_bytes().split()[5])
    except OSError:
        return 0
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
