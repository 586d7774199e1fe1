"""Finishing: closed journals become parts, closed segments get their index.

    python -m gossamer.store.finishing <journal or segment> ...

A short-lived process does it next to the worker: compressing and sorting would block the event loop even from a thread,
and a process that ends returns its memory. It dies with its worker.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from gossamer.extras import do_without_pandas
from gossamer.store import names
from gossamer.store.segments import finish_segment

_NICENESS = 10  # the crawl goes first
_RETRY_S = 60.0
_ALLOCATOR = {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # Arrow's own one keeps the memory of each row group
_LOG = logging.getLogger(__name__)


def finish(path: Path) -> None:
    """Finish one closed file. It may be interrupted anywhere and repeated."""
    if names.is_journal(path):
        from gossamer.store.parts import convert  # imports the Parquet library, which a worker never needs

        convert(path)
    else:
        finish_segment(path)


class Finisher:
    """A worker's closed files, and the process that finishes them. A failure is logged and retried later."""

    def __init__(self) -> None:
        self.files: list[Path] = []  # that are closed and not finished
        self._under_way = 0  # how many of them the process was given
        self._process: subprocess.Popen[bytes] | None = None
        self._next_try_s = 0.0  # monotonic

    def add(self, files: list[Path]) -> None:
        """Take over files that are closed."""
        self.files += files

    def turn(self) -> None:
        """Check on the process, and start one if there are files. Never waits."""
        if self._process is not None and self._process.poll() is not None:
            self._end_process()
        if self._process is None and self.files and time.monotonic() >= self._next_try_s:
            self._start_process()

    def finish_all(self) -> None:
        """Finish everything now, in this process; the next start repairs what could not be finished."""
        if self._process is not None:
            self._process.wait()
            self._end_process()
        for path in self.files:
            try:
                finish(path)
            except OSError as error:
                _LOG.warning(
                    "%s could not be finished (%s); it is readable as it is", path.name, error.strerror or error
                )
        self.files.clear()

    def _start_process(self) -> None:
        command = [sys.executable, "-m", __name__, *map(os.fspath, self.files)]
        environment = os.environ | _ALLOCATOR | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module on our own files
                command,
                env=environment,
                stdin=subprocess.PIPE,
                process_group=0,  # its own group: Ctrl-C stops the crawl, not this process
            )
        except OSError as error:
            _LOG.warning("cannot start a process to finish files (%s)", error.strerror)
            self._next_try_s = time.monotonic() + _RETRY_S
        self._under_way = len(self.files)

    def _end_process(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.returncode == 0:
            del self.files[: self._under_way]
        else:
            _LOG.warning("finishing files failed (exit code %s); trying again later", self._process.returncode)
            self._next_try_s = time.monotonic() + _RETRY_S
        self._process = None


def main() -> None:
    """Finish the files named on the command line."""
    os.nice(_NICENESS)
    do_without_pandas()
    threading.Thread(target=_end_with_the_worker, daemon=True).start()
    failed = False
    for path in sys.argv[1:]:
        try:
            finish(Path(path))
        except OSError as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
    sys.exit(failed)


def _end_with_the_worker() -> None:
    os.read(0, 1)  # returns when the worker ends, for whatever reason
    os._exit(1)


if __name__ == "__main__":
    main()
