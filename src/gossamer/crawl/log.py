"""A crawl's log file. All its processes append to it; it is rotated by size and age, and reopened when it was moved.

What belongs here: `logs/gossamer.log`. What does not: the log of requests, which is a table in the store.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from calendar import timegm
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from gossamer.safe_files import open_descriptor, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG_FILE: Final = "logs/gossamer.log"
_TIME: Final = "%Y-%m-%d %H:%M:%S"
_JSON_TIME: Final = "%Y-%m-%dT%H:%M:%S"  # in UTC
STEPS_PER_S: Final = 20.0  # lines of one kind of step: at most 2 MB an hour and kind
STEP_BURST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """When the log is rotated, and how many old files are kept."""

    log_size_bytes: int = field(
        default=10_000_000,
        metadata={
            "help": "A new log file is begun when the current one has this size. Lower it if the disk is small.",
            "minimum": 1,
        },
    )
    log_age_s: float = field(
        default=7 * 86_400.0,
        metadata={
            "help": "A new log file is begun when the current one is this old. "
            "Lower it if old logs must be deleted sooner.",
            "minimum": 1,
        },
    )
    log_format: Literal["text", "json"] = field(
        default="text",
        metadata={"help": "How lines of logs/gossamer.log are written: text for people, json for programs."},
    )
    old_logs: int = field(
        default=5,
        metadata={
            "help": "The number of old log files that are kept besides the current one. Raise it to look further back.",
            "minimum": 1,
        },
    )


class _LogFile(WatchedFileHandler):
    """A log file that is reopened when it was moved away. A line that cannot be written is dropped."""

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open_file(Path(self.baseFilename), "ab"), self.encoding)

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # disk full, no descriptors, no folder: the next line tries again
            super().emit(record)


class StepLimit(logging.Filter):
    """Lets so many steps of one name pass each second, and tells with the next one how many were left out."""

    def __init__(self, per_s: float = STEPS_PER_S, burst: int = STEP_BURST) -> None:
        super().__init__()
        self._per_s = per_s
        self._burst = burst
        self._rooms: dict[str, tuple[float, float]] = {}  # by step: how many may pass, as of when (Unix seconds)
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line may be written; lines that are no steps always may."""
        step = getattr(record, "step", None)
        if step is None:
            return True
        room, then_at = self._rooms.get(step, (self._burst, record.created))
        room = min(self._burst, room + max(0.0, record.created - then_at) * self._per_s)
        if room < 1:
            self._rooms[step] = room, record.created
            self._left_out[step] = self._left_out.get(step, 0) + 1
            return False
        self._rooms[step] = room - 1, record.created
        record.left_out = self._left_out.pop(step, 0)
        return True


class _TextLines(logging.Formatter):
    """Writes lines for people."""

    worker = ""  # the name of this process's worker, once it has one

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        if not hasattr(record, "step"):
            return line
        left_out = getattr(record, "left_out", 0)
        return line + (f" worker={self.worker}" if self.worker else "") + (f" left_out={left_out}" if left_out else "")


class _JsonLines(_TextLines):
    """Writes lines for programs: one JSON object each."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "process": record.process,
            "worker": self.worker,
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {name: getattr(record, name) for name in ("step", "facts", "left_out") if getattr(record, name, None)}
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            said["stack"] = record.stack_info
        return json.dumps(said, default=str)


@contextmanager
def open_log(folder: Path, level: str, form: str = "text") -> Iterator[None]:
    """Let this process log to the crawl's file, which only the supervisor rotates."""
    root = logging.getLogger()
    former = root.level
    root.setLevel(level.upper())
    try:
        with lend_log(folder, level, root, form):
            yield
    finally:
        root.setLevel(former)


@contextmanager
def lend_log(folder: Path, level: str, logger: logging.Logger, form: str = "text") -> Iterator[None]:
    """Write what a logger gets to the crawl's file as well; the logger's own level is not changed."""
    handler = _LogFile(folder / LOG_FILE, encoding="utf-8")
    handler.setFormatter(_JsonLines() if form == "json" else _TextLines())
    handler.addFilter(StepLimit())
    handler.setLevel(level.upper())
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


def name_worker(name: str) -> None:
    """Let the steps that this process logs name its worker."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _LogFile) and isinstance(handler.formatter, _TextLines):
            handler.formatter.worker = name


def reopen_log() -> None:
    """Close a log file that was moved away, now and not at the next line, so that it can be compressed."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _LogFile):
            handler.acquire()
            try:
                with suppress(OSError):  # the next line tries again
                    handler.reopenIfNeeded()
            finally:
                handler.release()


def reopen_output(folder: Path) -> None:
    """Redirect the output of this process (such as an interpreter's crash) to the new log file."""
    with suppress(OSError):  # disk full, no descriptors: keep the old file
        descriptor = open_descriptor(folder / LOG_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            for printed in (sys.stdout, sys.stderr):
                os.dup2(descriptor, printed.fileno())
        finally:
            os.close(descriptor)


def rotate_log(folder: Path, settings: LogSettings, *, now_at: float) -> bool:
    """Begin a new log file if this one is full or old, and return whether; the oldest file is deleted."""
    log = folder / LOG_FILE
    try:
        size = log.stat().st_size
    except OSError:
        return False
    if size < settings.log_size_bytes and (not size or now_at - _began_at(log, now_at) < settings.log_age_s):
        return False
    for number in range(settings.old_logs - 1, 0, -1):
        old = log.with_name(f"{log.name}.{number}")
        if old.exists():
            old.replace(log.with_name(f"{log.name}.{number + 1}"))
    log.replace(log.with_name(f"{log.name}.1"))
    return True


def _began_at(log: Path, now_at: float) -> float:
    """Return when a log file was begun (Unix seconds), from its first line: file systems do not record it."""
    with log.open("rb") as file:
        first = file.readline(len('{"time": "2026-01-31T23:59:59')).decode("ascii", "replace")
    try:
        if first.startswith("{"):
            return timegm(time.strptime(first.rpartition('"')[2], _JSON_TIME))
        return time.mktime(time.strptime(first[: len("2026-01-31 23:59:59")], _TIME))
    except ValueError:  # the line was printed, not logged
        return now_at


def has_terminal() -> bool:
    """Return whether this process has a terminal: a service has none, and a terminal may have been closed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True
