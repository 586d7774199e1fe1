"""Shows the way of one stored page through the code: how many files, and how many changes of file.

    .venv/bin/python tools/trace_page.py              # the figures
    .venv/bin/python tools/trace_page.py --verbose    # every call, in order
    PYTHONPATH=../old/src .venv/bin/python tools/trace_page.py    # the same for another checkout

It crawls a small site on this machine and traces the turn of an ordinary page: robots.txt is known and fresh; the page
is HTML and has links within the site, to another site, and to a path that robots.txt forbids. The rules of counting:

- Only calls of functions in our own package count. The continuation of a coroutine is not a call.
- The way begins when the frontier's `claim` that hands out the page is called. It ends when the frontier's `complete`
  that settles the page returns.
- The frontier, fetch and the page process do not count, nor does anything that they call. Nor do the layers above the
  worker, and the functions that they call.
- All calls in the turn's own task count. Outside this task (taking in the claim, beginning the turn, reporting), each
  function counts once, because the scheduler looks for due sites as often as time allows. What happens outside while
  the turn goes on counts after it.
- A change of file is a call in another file than the call before.
- Several pages are traced, and the one with the fewest changes counts: a heartbeat may fall into the turn of another.

On commit f775d7f this finds 37 files and 107 changes of file, the same in each run.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import gossamer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from gossamer import Page

PACKAGE: Final = f"{Path(gossamer.__file__).parent}/"
ABOVE: Final = ("api/", "cli/", "crawl/", "supervisor/")  # the layers above the worker
BESIDE: Final = ("frontier/", "fetch/", "page_process/")  # what the worker uses
NOT_COUNTED: Final = (*ABOVE, *BESIDE)
PAGES: Final = 5
TRACED: Final = range(2, PAGES)  # not the first, for which robots.txt is fetched; not the last, which has no new link
ROBOTS: Final = "User-agent: *\nDisallow: /private/\n"
PAGE: Final = """<!doctype html><html lang="en"><head><title>Page {number}</title></head><body>
<h1>Page {number}</h1>
<p>A page with enough plain English words in it, so that a crawler can tell in which language it is written.</p>
<a href="/page{next}">The next page</a> <a href="/private/">Forbidden</a> <a href="https://www.example.org/">Elsewhere</a>
</body></html>"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function of our own package begins, or it returns, waits or yields."""

    at_s: float
    file: str  # within the package
    function: str
    task: int  # 0 outside an event loop
    begins: bool


class Trace:
    """Every call in our own package, in the threads that start while the trace is on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.requested_s: dict[int, float] = {}  # when the server received the request for each page
        self.turns: dict[int, int] = {}  # the task of each page's turn
        self._frames: dict[int, FrameType] = {}  # kept alive, so that no later frame gets the same id

    @contextmanager
    def on(self) -> Iterator[None]:
        """Record the threads that start within this block."""
        threading.setprofile(self._record)
        try:
            yield
        finally:
            threading.setprofile(None)

    def see_page(self, page: Page) -> None:
        """Note which task delivers a page: the one of its turn."""
        self.turns[int(page.url.rpartition("/page")[2])] = _current_task()

    def _record(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGE):
            return
        begins = event == "call" and id(frame) not in self._frames  # else a coroutine is resumed
        self._frames[id(frame)] = frame
        callers = list(_callers(frame))
        if begins and (
            (callers[:1] and callers[0].startswith(ABOVE)) or any(file.startswith(BESIDE) for file in callers)
        ):
            return
        file = code.co_filename.removeprefix(PACKAGE)
        self.calls.append(
            Call(at_s=time.monotonic(), file=file, function=code.co_qualname, task=_current_task(), begins=begins)
        )


def _callers(frame: FrameType) -> Iterator[str]:
    """Yield the files within the package from which a function is called, the nearest first."""
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_filename.startswith(PACKAGE):
            yield caller.f_code.co_filename.removeprefix(PACKAGE)
        caller = caller.f_back


def _current_task() -> int:
    try:
        return id(asyncio.current_task())
    except RuntimeError:  # no event loop in this thread
        return 0


def trace() -> Trace:
    """Crawl the small site once and return what was called."""
    traced = Trace()

    class Site(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            number = int(self.path.removeprefix("/page")) if self.path.startswith("/page") else 0
            traced.requested_s[number] = time.monotonic()
            text = PAGE.format(number=number, next=min(number + 1, PAGES)) if number else ROBOTS
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8" if number else "text/plain")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server, tempfile.TemporaryDirectory() as folder:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        crawl = gossamer.Crawl(
            f"http://127.0.0.1:{server.server_port}/page1",
            data_dir=Path(folder, "crawl"),
            email="trace@example.org",
            delay=1,  # so that the site is claimed again for each page
            allow_network="127.0.0.0/8",
            on_page=traced.see_page,
        )
        with traced.on(), crawl:
            for _ in crawl:
                pass
        server.shutdown()
    return traced


def find_way(traced: Trace, page: int) -> list[Call]:
    """Return the calls on a page's way, in the order in which they count."""
    requested_s, task = traced.requested_s[page], traced.turns[page]
    claims, completions = _frontier_calls(traced, "claim"), _frontier_calls(traced, "complete")
    first = max(at for at in claims if traced.calls[at].begins and traced.calls[at].at_s < requested_s)
    last = min(at for at in completions if not traced.calls[at].begins and traced.calls[at].at_s > requested_s)
    counted = [call for call in traced.calls[first:last] if call.begins and not call.file.startswith(NOT_COUNTED)]
    turn = [call for call in counted if call.task == task]
    others: dict[tuple[str, str], Call] = {}
    for call in counted:
        if call.task != task:
            others.setdefault((call.file, call.function), call)
    before = [call for call in others.values() if call.at_s < turn[0].at_s]
    return before + turn + [call for call in others.values() if call.at_s >= turn[0].at_s]


def find_changes(way: list[Call]) -> list[tuple[str, str]]:
    """Return from which file to which each change goes."""
    return [(call.file, then.file) for call, then in pairwise(way) if call.file != then.file]


def _frontier_calls(traced: Trace, operation: str) -> list[int]:
    """Return where an operation of the frontier begins or returns."""
    return [
        at
        for at, call in enumerate(traced.calls)
        if call.file.startswith("frontier/") and call.function.endswith(f".{operation}")
    ]


def main() -> None:
    """Print the figures, and every call if asked."""
    parser = argparse.ArgumentParser(description="Show the way of one stored page through the code.")
    parser.add_argument("--verbose", action="store_true", help="print every call, in order")
    verbose = parser.parse_args().verbose
    traced = trace()
    way = min((find_way(traced, page) for page in TRACED), key=lambda way: len(find_changes(way)))
    changes = find_changes(way)
    if verbose:
        file = ""
        for call in way:
            print(f"{call.file if call.file != file else '':30}{call.function}")
            file = call.file
    within = sum(first.startswith("worker/") and then.startswith("worker/") for first, then in changes)
    into = sum(then.startswith("worker/") for _, then in changes)
    print(f"{len({call.file for call in way})} files, {len(changes)} changes of file")
    print(f"worker/: {within} changes between its files, {into} into one of them")


if __name__ == "__main__":
    main()
