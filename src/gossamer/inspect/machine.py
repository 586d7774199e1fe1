"""Measures a machine before a crawl: files, disk, memory, clock, names. `doctor` judges the results.

It writes only one small temporary file in the crawl's folder, to measure how long a sync takes.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from gossamer.fetch.names import Resolved, Resolver
from gossamer.frontier.sqlite.database import file_system
from gossamer.store.disk import free_space

SYNCS: Final = 15
DNS_PATIENCE_S: Final = 3.0
_CRAWL_FILES: Final = ("crawl.toml", "frontier.sqlite")
_ADJTIMEX_ERROR: Final = 5  # TIME_ERROR: the clock is not synchronised


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The disk of a crawl's folder."""

    wanted: Path  # the crawl's folder
    holds_crawl: bool
    folder: Path  # the same, or its nearest parent that exists
    is_folder: bool  # otherwise a file
    file_system: str  # "" where the system does not tell
    free_bytes: int
    sync_s: float | None  # median time to write and sync 4 KB; None if it is not writable


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Free memory and its limit."""

    total_bytes: int
    available_bytes: int
    limit_bytes: int | None  # of our control group


@dataclass(frozen=True, slots=True, kw_only=True)
class WallClock:
    """The wall clock, and whether it is synchronised."""

    now_at: float  # Unix seconds
    synchronised: bool | None  # None where the system does not tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The result of looking up a name."""

    name: str
    took_s: float
    failure: str  # "" if there was an address


def open_files() -> tuple[int, int]:
    """Return the soft and the hard limit of open files."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def has_user_manager() -> bool:
    """Return whether systemd runs services for this user."""
    return (Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent") / "systemd" / "private").exists()


def disk(folder: Path) -> Disk:
    """Measure the disk that a folder is on, or would be on."""
    existing = next(each for each in (folder.absolute(), *folder.absolute().parents) if _is_there(each))
    return Disk(
        wanted=folder.absolute(),
        holds_crawl=any((folder / name).exists() for name in _CRAWL_FILES),
        folder=existing,
        is_folder=existing.is_dir(),
        file_system=file_system(existing.resolve()),
        free_bytes=free_space(existing),
        sync_s=_sync_s(existing),
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder that we may not enter
        return False


def _sync_s(folder: Path) -> float | None:
    took_s = []
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".gossamer-doctor-") as file:
            for _ in range(SYNCS):
                file.write(b"\0" * 4096)
                file.flush()
                began_s = time.perf_counter()
                os.fsync(file.fileno())
                took_s.append(time.perf_counter() - began_s)
    except OSError:
        return None
    return median(took_s)


def memory() -> Memory | None:
    """Measure the memory; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return Memory(
        total_bytes=kilobytes["MemTotal"] * 1024,
        available_bytes=kilobytes.get("MemAvailable", kilobytes["MemFree"]) * 1024,
        limit_bytes=_group_limit_bytes(),
    )


def _group_limit_bytes() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        group = Path("/proc/self/cgroup").read_text(encoding="ascii").rpartition("::")[2].strip().lstrip("/")
        return int((Path("/sys/fs/cgroup") / group / "memory.max").read_text(encoding="ascii"))
    return None


def wall_clock() -> WallClock:
    """Read the wall clock."""
    return WallClock(now_at=time.time(), synchronised=_synchronised())


def _synchronised() -> bool | None:
    """Ask the kernel whether its clock is synchronised (Linux)."""
    import ctypes

    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except AttributeError:
        return None
    state = adjtimex(ctypes.create_string_buffer(512))  # a struct timex of zeros only reads
    return None if state < 0 else state != _ADJTIMEX_ERROR


async def look_up(name: str, nameserver: str | None) -> Names:
    """Look up a name as a crawl does."""
    async with Resolver(nameserver=nameserver, timeout_s=DNS_PATIENCE_S) as resolver:
        began_s = time.perf_counter()
        answer = await resolver.resolve(name)
        took_s = time.perf_counter() - began_s
    return Names(name=name, took_s=took_s, failure="" if isinstance(answer, Resolved) else answer.detail)
