"""Reads a recording by strace of what a process tree does to the files of one folder, as operations. Pure.

Writes through a memory map are not recorded: SQLite writes so only to its -shm file, which it rebuilds after a crash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CALLS = (
    "open", "openat", "creat", "write", "pwrite64", "writev", "pwritev", "lseek", "fsync", "fdatasync", "ftruncate",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "linkat", "fallocate", "copy_file_range",
)  # fmt: skip
_LINE = re.compile(r"(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)")
_FILE = re.compile(r"\d+<([^>]*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_LAST = {"pwrite64": re.compile(r", (\d+)\) +="), "ftruncate": re.compile(r", (\d+)\)")}
_MAX_PATH = 20_000  # characters: the result of an open is shown with its path, four to a byte
_UNFINISHED = " <unfinished ...>"
_RESULT = re.compile(r"\) += (-?\d+)")


def tracer(output: Path) -> tuple[str, ...]:
    """Return the command that records what a command does."""
    return (
        *("strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "100000000", "-o", str(output)),
        *("-e", f"trace={','.join(CALLS)}", "-e", "signal=none"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation on a file or a folder; paths are relative to the recorded folder."""

    kind: str  # create | write | truncate | rename | remove | sync
    path: str
    at: int = 0  # where a write begins; how long a file is made
    data: bytes = b""
    to: str = ""  # the new name


def read(output: Path, folder: Path) -> Iterator[Operation]:
    """Yield the operations in a folder, in order."""
    reader = _Reader(folder)
    begun: dict[str, str] = {}  # interrupted calls, by process
    with output.open(encoding="latin-1") as lines:
        for line in lines:
            found = _LINE.match(line)
            if found is None:
                continue
            pid, resumed, call, rest = found.groups()
            if rest.endswith(_UNFINISHED):
                begun[pid] = rest.removesuffix(_UNFINISHED)
                continue
            if resumed:
                call, rest = resumed, begun.pop(pid, "") + rest
            result = _RESULT.search(rest[-_MAX_PATH:])
            if result is not None and int(result[1]) >= 0:
                yield from reader.understand(call, rest, int(result[1]))


class _Reader:
    """Tracks sizes and positions of every file, which it needs to understand the next call."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._sizes: dict[str, int] = {}
        self._positions: dict[str, int] = {}  # where the next plain write goes: one process at a time writes a file
        self._appended: set[str] = set()

    def understand(self, call: str, rest: str, result: int) -> Iterator[Operation]:
        """Yield the operations of a successful call."""
        if call in ("open", "openat", "creat"):
            yield from self._open(rest)
        elif call in ("rename", "renameat", "renameat2", "unlink", "unlinkat"):
            yield from self._rename(rest)
        elif (file := _FILE.match(rest)) and (path := self._relative(_unescape(file[1]))):
            yield from self._use(call, path, rest, result)

    def _open(self, rest: str) -> Iterator[Operation]:
        (path,) = self._paths(rest)
        if path is None or not ("O_CREAT" in rest or "O_TRUNC" in rest):
            return
        self._positions[path] = 0
        if "O_APPEND" in rest:
            self._appended.add(path)
        if path not in self._sizes:
            self._sizes[path] = 0
            yield Operation(kind="create", path=path)
        elif "O_TRUNC" in rest:
            self._sizes[path] = 0
            yield Operation(kind="truncate", path=path)

    def _rename(self, rest: str) -> Iterator[Operation]:
        old, *new = self._paths(rest)
        if old is None:
            return
        size, position = self._sizes.pop(old, 0), self._positions.pop(old, 0)
        if not new:
            yield Operation(kind="remove", path=old)
        elif new[0] is not None:
            self._sizes[new[0]], self._positions[new[0]] = size, position
            yield Operation(kind="rename", path=old, to=new[0])

    def _use(self, call: str, path: str, rest: str, result: int) -> Iterator[Operation]:
        if call in ("fsync", "fdatasync"):
            yield Operation(kind="sync", path=path)
        elif call == "ftruncate":
            self._sizes[path] = int(_LAST[call].findall(rest)[-1])
            yield Operation(kind="truncate", path=path, at=self._sizes[path])
        elif call == "lseek":
            self._positions[path] = result
        elif call in ("write", "pwrite64"):
            at = self._positions.get(path, 0) if path not in self._appended else self._sizes.get(path, 0)
            if call == "pwrite64":
                at = int(_LAST[call].findall(rest[-100:])[-1])
            else:
                self._positions[path] = at + result
            self._sizes[path] = max(self._sizes.get(path, 0), at + result)
            text = _TEXT.search(rest)
            assert text is not None
            yield Operation(kind="write", path=path, at=at, data=_unescape(text[1])[:result])
        else:
            raise ValueError(f"{call} on {path} cannot be replayed")

    def _paths(self, rest: str) -> list[str | None]:
        return [self._relative(_unescape(text)) for text in _TEXT.findall(rest)]

    def _relative(self, path: bytes) -> str | None:
        """Return a path below the folder, or None if it is elsewhere."""
        named = path.decode().removesuffix(" (deleted)")
        if named == self._folder:
            return "."
        return named[len(self._folder) + 1 :] if named.startswith(f"{self._folder}/") else None


def _unescape(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode("latin-1")
