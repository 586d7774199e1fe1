"""The lock of a crawl's folder. A process that gets it knows that no worker of an earlier start is alive.

The supervisor takes the lock, and every worker inherits its descriptor. The lock is free only when all of them have
ended. Page processes do not inherit it: they write none of the folder's files.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.safe_files import open_descriptor
from gossamer.store.notes import decode_note, encode_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILE_NAME: Final = "lock"
LOCK_WAIT_S: Final = 5.0  # the workers of a killed supervisor need a moment to end
_RETRY_S: Final = 0.05
_NOTE_CHARS: Final = 2_000  # fixed width, so that a shorter note overwrites a longer one completely
_PROCESSES: Final = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process that has the lock file open."""

    pid: int
    stopped: bool  # by SIGSTOP or Ctrl-Z: only SIGKILL ends it

    def __str__(self) -> str:
        return f"pid {self.pid}, stopped" if self.stopped else f"pid {self.pid}"


@contextmanager
def hold_folder(folder: Path, *, wait_s: float = LOCK_WAIT_S) -> Iterator[int]:
    """Hold the folder's lock while the block runs; yield the descriptor that workers inherit."""
    try:
        descriptor = open_descriptor(folder / FILE_NAME, os.O_RDWR | os.O_CREAT)
    except IsADirectoryError:
        message = f"{folder / FILE_NAME} is a folder: remove it, or choose another folder with --data-dir."
        raise GossamerError(message) from None
    except OSError as error:
        raise GossamerError(f"{folder} cannot be written to ({error.strerror}): choose another folder.") from None
    try:
        give_up_s = time.monotonic() + wait_s
        while not _try_lock(descriptor):
            if time.monotonic() >= give_up_s:
                raise GossamerError(_explain(folder))
            time.sleep(_RETRY_S)
        os.ftruncate(descriptor, 0)
        note_holder(descriptor, started_at=time.time())
        yield descriptor
    finally:
        os.close(descriptor)


def note_holder(
    descriptor: int,
    *,
    started_at: float,
    troubles: Sequence[str] = (),
    counted: Mapping[str, float] | None = None,
    uploads: str = "",
) -> None:
    """Write into the lock file which process holds it, what is wrong, what this start has counted, how uploads go.

    The note is overwritten in place, which works on a full disk too.
    """
    said = {
        "pid": os.getpid(),
        "started_at": started_at,
        "troubles": [trouble[:200] for trouble in troubles[:5]],
        "counted": dict(counted or {}),
        "uploads": uploads[:400],
    }
    os.pwrite(descriptor, encode_note(said).ljust(_NOTE_CHARS).encode(), 0)


def is_held(folder: Path) -> bool:
    """Return whether a crawl runs in a folder, or a process of an earlier one is left."""
    try:
        descriptor = os.open(folder / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)  # another user may only read it
    except OSError:
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def crawling_pid(folder: Path) -> int | None:
    """Return the process id of the supervisor that crawls in a folder, else of another process that holds its lock."""
    if not is_held(folder):
        return None
    found = [holder.pid for holder in holders(folder)]
    supervisor = _noted_pid(folder)
    return supervisor if supervisor in found or not found else found[0]


def holders(folder: Path) -> list[Holder]:
    """Return the other processes that have the lock file open; none on systems without /proc."""
    lock = (folder / FILE_NAME).resolve()
    found = []
    for process in _PROCESSES.glob("[0-9]*"):
        pid = int(process.name)
        with suppress(OSError):  # it has ended meanwhile, or belongs to another user
            if pid != os.getpid() and any(_leads_to(link, lock) for link in (process / "fd").iterdir()):
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
                found.append(Holder(pid=pid, stopped=state in "tT"))
    return sorted(found, key=lambda holder: holder.pid)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise GossamerError(f"The folder cannot be locked ({error.strerror}): choose one on a local disk.") from None
    return True


def _leads_to(link: Path, target: Path) -> bool:
    try:
        return link.readlink() == target
    except OSError:
        return False


def _explain(folder: Path) -> str:
    found = holders(folder)
    supervisor = _noted_pid(folder)
    if any(holder.pid == supervisor and not holder.stopped for holder in found):
        return (
            f"A crawl (pid {supervisor}) is running in {folder}: "
            f"stop it with `{to_type('stop', folders=folder)}`, or choose another folder with --data-dir."
        )
    if not found and supervisor == os.getpid():
        return f"This program is crawling in {folder} already: end that crawl first, or choose another folder."
    if not found:
        return f"A crawl (pid {supervisor}) still holds {folder}: end it with `kill {supervisor}`."
    named = " and ".join(f"a process ({holder})" for holder in found)
    kill = "kill -9 " + " ".join(str(holder.pid) for holder in found)
    return f"{named.capitalize()} of an earlier crawl still holds {folder}: end it with `{kill}`, then start again."


def _noted_pid(folder: Path) -> int | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return int(decode_note((folder / FILE_NAME).read_bytes())["pid"])
    return None
