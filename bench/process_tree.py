"""The processes of a crawl as Linux shows them: which part each is, and what its threads have taken so far.

CPU time comes from /proc/PID/stat and /proc/PID/task/*/stat, in steps of 10 ms.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

if TYPE_CHECKING:
    from collections.abc import Sequence

MAIN = "main"
NATIVE = "native"  # threads that a library made, without a Python name
ENDED = "ended threads"
NAMED_THREADS = Path(__file__).parent / "named_threads"  # on PYTHONPATH, it gives threads their Python names

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_NUMBER = re.compile(r"[-_ ]?\d+( .*)?$")  # asyncio_3, Thread-1 (run)
_SERVER_KINDS = re.compile(
    r"postgres: (?:\S+: )?(checkpointer|background writer|walwriter|autovacuum|logical replication|io worker|archiver)"
)


class Part(NamedTuple):
    """A process by what it does, and one of its threads."""

    process: str
    thread: str


def role_of(command: Sequence[str], parent: Sequence[str] = ()) -> str:
    """Return what a process of a crawl does, from its command line and that of its parent."""
    line = " ".join(command)
    if "gossamer.page_process" in line:
        forks = "forker" in command and "forker" not in parent  # what it forked has its command line
        return "fork server" if forks else "page process"
    if "worker_process" in line:
        return "worker"
    if "gossamer.store.finishing" in line:
        return "converter"
    if "gossamer crawl" in line:
        return "supervisor"
    if "postgres" in line:
        return _server_role(line)
    return "others"


def _server_role(title: str) -> str:
    """Return what a process of a PostgreSQL server does."""
    if not title.startswith("postgres:"):
        return "PostgreSQL: first process"
    kind = _SERVER_KINDS.search(title)
    return f"PostgreSQL: {kind[1] if kind else 'connections'}"


def thread_name(name: str) -> str:
    """Return the name of a thread without its number, so that all threads of a pool are one part."""
    return MAIN if name == "MainThread" else _NUMBER.sub("", name) or name


class CpuMeter:
    """What each part of a process tree has taken, ended threads and processes included as they were last seen."""

    def __init__(self, root: int) -> None:
        """Measure the process with this id and all below it."""
        self._root = psutil.Process(root)
        self._roles: dict[psutil.Process, str] = {}
        self._whole_s: dict[psutil.Process, float] = {}  # by process, its ended threads included
        self._threads_s: dict[psutil.Process, dict[tuple[int, str], float]] = {}

    def sample(self) -> None:
        """Read what all processes have taken. What ends before the next call is missed from here on."""
        try:
            below = self._root.children(recursive=True)
        except psutil.Error:
            return  # it has ended
        for process in (self._root, *below):
            try:
                self._sample(process)
            except (psutil.Error, OSError):
                continue  # it ended meanwhile

    def _sample(self, process: psutil.Process) -> None:
        if process not in self._roles or self._roles[process] == "others":  # before exec, it has its parent's line
            parent = process.parent()
            self._roles[process] = role_of(process.cmdline(), parent.cmdline() if parent is not None else ())
        folder = Path(f"/proc/{process.pid}")
        self._whole_s[process] = _cpu_s(folder / "stat")
        threads_s = self._threads_s.setdefault(process, {})
        for task in (folder / "task").iterdir():
            name = MAIN if task.name == str(process.pid) else (task / "comm").read_text().strip()
            threads_s[int(task.name), name] = _cpu_s(task / "stat")

    def parts_s(self) -> dict[Part, float]:
        """Return the CPU seconds of every part."""
        parts_s: dict[Part, float] = {}
        for process, threads_s in self._threads_s.items():
            role = self._roles[process]
            taken_s = {Part(role, ENDED): self._whole_s[process] - sum(threads_s.values())}
            for (_, name), cpu_s in threads_s.items():
                part = Part(role, NATIVE if name.startswith("python") else thread_name(name))
                taken_s[part] = taken_s.get(part, 0.0) + cpu_s
            for part, cpu_s in taken_s.items():
                parts_s[part] = parts_s.get(part, 0.0) + cpu_s
        return parts_s


def _cpu_s(stat: Path) -> float:
    fields = stat.read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
