"""The process that reads pages: `python -m gossamer.page_process PARENT`, with its socket as standard input.

It reads one page after the other until the socket ends, and dies with its worker. With the argument `forker` it
forks processes that do so (`starting`). The kernel enforces the limits of a
page: a timer of processor time that kills the process, and a memory limit that makes allocation fail.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import resource
import signal
import socket
import sys
import time
import traceback
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from gossamer.page_process.frames import (
    HELLO,
    LENGTH_BYTES,
    MAX_FRAME_BYTES,
    Frame,
    PageTerms,
    Payload,
    bug_reply,
    drop_sent,
    failed_reply,
    pack_reply,
    parsed_reply,
    robots_reply,
    sitemap_reply,
    unpack_page,
    unpack_terms,
)
from gossamer.page_process.settings import SITEMAP_PAGES
from gossamer.page_process.starting import FORKER, ORDER_BYTES
from gossamer.parse.head import read_head
from gossamer.parse.language import model
from gossamer.parse.page import read_page, without_content
from gossamer.parse.sitemaps import MAX_SITEMAP_BYTES, read_sitemap
from gossamer.parse.text import FindText, text_finder
from gossamer.records import Fetched, ParseFailed, Reason, RequestKind
from gossamer.rules.hosts import parse_answer
from gossamer.store.warc import encode_around_body

_READ_AHEAD_BYTES: Final = 1 << 18
_PAGES_BETWEEN_CHECKS: Final = 500
_PARTS: Final = (1, 2, 4, 8)  # read a page; if that takes too much memory, its first half, and so on
_PR_SET_PDEATHSIG: Final = 1
_STATM: Final = Path("/proc/self/statm")
_SPACE, _RESIDENT, _DATA = 0, 1, 5  # the places in it of the address space, what is in memory, what can be written
_STATUS: Final = Path("/proc/self/status")
_PEAK: Final = re.compile(rb"VmHWM:\s+(\d+) kB")
_MAX_DESCRIPTORS: Final = 64  # libraries load data when they first need it
_MAX_FILE_BYTES: Final = 64_000_000  # it writes to no file but the log, when it crashes
_FIRST_PAGE: Final = Fetched(
    url="https://www.example.org/",
    status=200,
    head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    body=b"<title>A page</title><p>It has a language, and <a href=//www.example.com/>a link to another site</a>.",
    address="",
    request_head=b"",
    started_at=0.0,
    duration_s=0.0,
)


class FrameReader:
    """Reads the page in a frame, and returns the frame of its reply."""

    def __init__(self, terms: PageTerms, find_text: FindText) -> None:
        self._terms = terms
        self._find_text = find_text
        self._pages = 0
        self._baseline_bytes = _memory_bytes(_DATA)
        self._first_bytes = _memory_bytes(_RESIDENT)
        self.retiring = False  # this process should be replaced by a new one
        limit_forever(self._baseline_bytes, terms.memory_bytes)

    def reply(self, payload: bytes) -> Frame:
        """Read one page within its deadline; after that, the kernel ends this process by SIGPROF."""
        self._tidy()
        signal.setitimer(signal.ITIMER_PROF, self._terms.deadline_s)
        try:
            found, large = self._read_what_fits(payload)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self.retiring |= large
        return pack_reply(found, retiring=self.retiring, large=large, cpu_s=time.process_time())

    def _read_what_fits(self, payload: bytes) -> tuple[Payload, bool]:
        """Return what was found, and whether that took more memory than usual; if it took too much, read a part."""
        usual_bytes = self._terms.usual_bytes
        for part in _PARTS if usual_bytes else _PARTS[:1]:
            with suppress(MemoryError):  # it refers to everything that was read: drop it before the next try
                found = self._read(payload, part)
                return found, bool(usual_bytes) and _peak_bytes() - self._first_bytes > usual_bytes
        detail = f"took more than {self._terms.memory_bytes / 1e6:.0f} MB of memory"
        return failed_reply(ParseFailed(reason=Reason.PARSE_MEMORY, detail=detail)), True

    def _read(self, payload: bytes, part: int) -> Payload:
        """Read a page as far as the terms allow, or the first half, quarter or eighth of that."""
        try:
            fetched, kind, archive = unpack_page(payload)
            if kind is RequestKind.SITEMAP:
                return self._read_sitemap(fetched, MAX_SITEMAP_BYTES // part, archive=archive)
            if kind is RequestKind.ROBOTS:
                return robots_reply(parse_answer(fetched, self._terms.agent))
            max_bytes = self._terms.max_bytes if part == 1 else _part_bytes(fetched, self._terms.max_bytes, part)
            parsed = read_page(
                fetched,
                agent=self._terms.agent,
                max_bytes=max_bytes,
                find_text=self._find_text,
                anchors=self._terms.anchors,
            )
            if isinstance(parsed, ParseFailed):
                return failed_reply(parsed)
            if parsed.noindex:
                return parsed_reply(without_content(parsed), None)
            if len(parsed.row.text) > max_bytes:  # a table can be laid out to many times its page
                parsed = parsed._replace(row=parsed.row._replace(text=parsed.row.text[:max_bytes]))
            around = encode_around_body(fetched, parsed.row.mime_detected) if archive else None
            return parsed_reply(parsed, around)
        except MemoryError:
            raise
        except SystemError as error:  # a library in C found no memory, and did not say so
            raise MemoryError from error
        except Exception:  # a bug of ours costs this page: the worker logs the traceback and goes on
            return bug_reply(traceback.format_exc())

    def _read_sitemap(self, fetched: Fetched, max_bytes: int, *, archive: bool) -> Payload:
        signal.setitimer(signal.ITIMER_PROF, SITEMAP_PAGES * self._terms.deadline_s)
        sitemap = read_sitemap(fetched, agent=self._terms.agent, max_bytes=max_bytes)
        if isinstance(sitemap, ParseFailed):
            return failed_reply(sitemap)
        return sitemap_reply(sitemap, encode_around_body(fetched) if archive and not sitemap.noindex else None)

    def _tidy(self) -> None:
        """Collect garbage every few pages, instead of Python's own schedule, and check whether memory has grown."""
        self._pages += 1
        if self._pages % _PAGES_BETWEEN_CHECKS == 0:
            gc.collect()
            self.retiring = _memory_bytes(_DATA) - self._baseline_bytes > self._terms.memory_bytes // 2


def main() -> None:
    """Read pages until the socket ends, or until this process should be replaced; or fork processes that do."""
    _obey_only(int(sys.argv[1]))
    if FORKER in sys.argv[2:]:
        _fork_readers(socket.socket(fileno=sys.stdin.fileno()))
    else:
        _read_pages(socket.socket(fileno=sys.stdin.fileno()))
    os._exit(0)  # nothing is left to clean up, and the next process waits


def _read_pages(worker: socket.socket) -> None:
    frames = open(worker.fileno(), "rb", buffering=_READ_AHEAD_BYTES, closefd=False)  # noqa: SIM115
    with suppress(BrokenPipeError, ConnectionResetError):  # the worker is gone
        terms = unpack_terms(_next_frame(frames))
        find_text = text_finder(terms.text, markdown=terms.markdown)  # type: ignore[arg-type]  # before the limits
        model()
        gc.collect()
        gc.freeze()
        gc.disable()
        reader = FrameReader(terms, find_text)
        worker.sendall(HELLO)
        while not reader.retiring:
            _send(worker, reader.reply(_next_frame(frames)))


def _fork_readers(worker: socket.socket) -> None:
    """Fork a process for each socket that the worker sends, and reap those that it names, until it ends."""
    read_page(_FIRST_PAGE, agent="", max_bytes=len(_FIRST_PAGE.body))  # loads what is loaded at its first use
    gc.collect()
    gc.freeze()
    with suppress(BrokenPipeError, ConnectionResetError):
        worker.send(bytes(ORDER_BYTES))
        while True:
            order, descriptors, _, _ = socket.recv_fds(worker, ORDER_BYTES, 1)
            if not order:
                return
            pid = int.from_bytes(order, "little")
            result = _reap(pid) if pid else _fork_reader(worker, descriptors[0])
            worker.send(result.to_bytes(ORDER_BYTES, "little"))


def _reap(pid: int) -> int:
    with suppress(ChildProcessError):
        return os.waitpid(pid, 0)[1]
    return 0


def _fork_reader(worker: socket.socket, descriptor: int) -> int:
    """Return the process id of a new reader; 0 if there can be none."""
    forker = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(descriptor)
        return 0
    if pid == 0:
        _obey_only(forker)
        worker.close()
        _read_pages(socket.socket(fileno=descriptor))
        os._exit(0)
    os.close(descriptor)
    return pid


def limit_forever(baseline_bytes: int, memory_bytes: int) -> None:
    """Set limits that this process cannot raise again, of its memory, open files and written files; no core dumps."""
    space_bytes = _memory_bytes(_SPACE)
    for what, wanted in (
        (resource.RLIMIT_DATA, baseline_bytes + memory_bytes),
        (resource.RLIMIT_AS, space_bytes + 2 * memory_bytes if space_bytes else resource.RLIM_INFINITY),
        (resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS),
        (resource.RLIMIT_FSIZE, _MAX_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        limit = min((one for one in (wanted, hard) if one != resource.RLIM_INFINITY), default=resource.RLIM_INFINITY)
        with suppress(ValueError, OSError):  # a limit that this system does not have
            resource.setrlimit(what, (limit, limit))


def _obey_only(parent: int) -> None:
    """Die with the parent, and not before: Ctrl-C goes to the entire group, but there are still pages to read."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before prctl was called
        os._exit(0)


def _next_frame(frames: BinaryIO) -> bytes:
    """Return the next frame's payload; raise ConnectionResetError at the end."""
    length = frames.read(LENGTH_BYTES)
    size = int.from_bytes(length, "little")
    payload = frames.read(size) if size <= MAX_FRAME_BYTES else b""
    if len(length) < LENGTH_BYTES or len(payload) < size:
        raise ConnectionResetError
    return payload


def _send(worker: socket.socket, frame: Frame) -> None:
    unsent = deque([memoryview(piece) for piece in frame])
    while unsent:
        drop_sent(unsent, worker.sendmsg(unsent))


def _memory_bytes(place: int) -> int:
    """Return memory that counts against a limit; 0 where the kernel does not tell."""
    try:
        pages = int(_STATM.read_bytes().split()[place])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _part_bytes(fetched: Fetched, max_bytes: int, part: int) -> int:
    """Return the length of one part of a page; the length of a compressed page is unknown, but at most `max_bytes`."""
    is_encoded = read_head(fetched.head).encodings
    return (max_bytes if is_encoded else min(max_bytes, len(fetched.body))) // part


def _peak_bytes() -> int:
    """Return the most memory that this process ever had; 0 where the kernel does not tell."""
    try:
        found = _PEAK.search(_STATUS.read_bytes())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    main()
