"""Power cuts: states of the disk after a cut at any instant of a crawl, opened and resumed.

    python -m chaos power                             5 recorded crawls of 12 sites x 12 pages, 100 states each

Every write and sync of a crawl is recorded. A state is what a disk may hold after a power cut: all that was synced; of
the rest, name changes up to some point in each folder, and of every write all, none or some of its sectors. Each state
is repaired as a start does it; then the frontier is consistent, every page that it calls done is in the store with its
archive record, and no file is torn. One state in 25 is crawled to the end, which must equal that of an undisturbed
crawl.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from chaos.campaign import Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, web
from chaos.recording import read, tracer
from gossamer.crawl.engines import change_existing, open_existing
from gossamer.crawl.folder import holds_crawl
from gossamer.inspect.verify import verify
from gossamer.store.repair import repair
from gossamer.urls import identify
from tests.end_to_end.crawls import Crawl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.recording import Operation

SECTOR_BYTES = 512
DELAY_S = 0.2
RESUMED = 25  # one of this many states is crawled to its end
FLAGS = ("--set", "part_rows=60")
NOT_ON_DISK = ("frontier.sqlite-shm", "lock")  # in memory, or without meaning for a later start


@dataclass(slots=True)
class Inode:
    """A file's content: what is durable, and what may reach the disk."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # None: cut or lengthened to this length

    def sync(self) -> None:
        """Make everything durable."""
        for at, data in self.pending:
            _apply(self.synced, at, data)
        self.pending.clear()


class Disk:
    """A folder as the kernel and the disk see it."""

    def __init__(self) -> None:
        self.now: dict[str, Inode] = {}  # what processes see
        self.kept: dict[str, Inode] = {}  # durable names
        self.pending: defaultdict[str, list[tuple[str, str, Inode | None]]] = defaultdict(list)  # by folder

    def do(self, operation: Operation) -> None:
        """Apply an operation."""
        path = operation.path
        if operation.kind == "create":
            self._link(path, Inode())
        elif operation.kind == "rename":
            inode = self.now.pop(path)
            self.now[operation.to] = inode
            self.pending[_folder(path)].append((path, operation.to, inode))
        elif operation.kind == "remove":
            self.now.pop(path, None)
            self.pending[_folder(path)].append((path, "", None))
        elif operation.kind == "sync":
            self._sync(path)
        elif path in self.now:
            data = operation.data if operation.kind == "write" else None
            self.now[path].pending.append((operation.at, data))

    def after_a_cut(self, dice: random.Random) -> dict[str, bytes]:
        """Return files as they may be after a power cut now."""
        names = dict(self.kept)
        luck = dice.choice((0.0, 0.0, 0.5, 0.5, 0.5, 1.0))  # the share of unsynced changes that reached the disk
        for changes in self.pending.values():
            survive = len(changes) if luck == 1 else dice.randrange(len(changes) + 1) if luck else 0
            _rename(names, changes[:survive])
        files = {}
        for path, inode in names.items():
            content = bytearray(inode.synced)
            for at, data in inode.pending:
                if dice.random() < luck:
                    _apply(content, at, data)
                elif data is not None and luck and dice.random() < 0.5:
                    _apply(content, at, data[: dice.randrange(len(data) + 1) // SECTOR_BYTES * SECTOR_BYTES])
            files[path] = bytes(content)
        return files

    def _link(self, path: str, inode: Inode) -> None:
        self.now[path] = inode
        self.pending[_folder(path)].append(("", path, inode))

    def _sync(self, path: str) -> None:
        if path in self.now:
            self.now[path].sync()
        else:  # a folder
            _rename(self.kept, self.pending.pop(path, []))


def _folder(path: str) -> str:
    return str(PurePath(path).parent)


def _rename(names: dict[str, Inode], changes: Sequence[tuple[str, str, Inode | None]]) -> None:
    for old, new, inode in changes:
        names.pop(old, None)
        if new and inode is not None:
            names[new] = inode


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        content.extend(bytes(at - len(content)))
    else:
        content.extend(bytes(max(0, at - len(content))))
        content[at : at + len(data)] = data


def cut(run: Run) -> None:
    """Record a crawl, and check what power cuts would leave of it."""
    recorded, output = run.folder / "data", run.folder / "strace"
    with simweb.serve(web(run, slow=0, crawl_delay=0, busy=0)) as server:
        crawl = Crawl(server, recorded, delay_s=DELAY_S, wrapper=tracer(output))
        with crawl.start(*FLAGS) as start:
            start.end(timeout_s=TIMEOUT_S)
        operations = [each for each in read(output, recorded) if each.path not in NOT_ON_DISK]
        _check_replay(run, operations, recorded)
        output.unlink()
        cuts = sorted(run.dice.randrange(len(operations)) for _ in range(run.size.faults))
        disk, at, done_pages = Disk(), 0, 0
        for number, instant in enumerate(cuts):
            while at < instant:
                disk.do(operations[at])
                at += 1
            state = run.folder / f"state-{number}"
            _materialise(state, disk.after_a_cut(random.Random(f"{run.seed} {number}")), recorded)
            done_pages += _open(run, state, f"state {number} after operation {instant}")
            if number % RESUMED == RESUMED - 1:
                _resume(run, server, state)
            if not run.problems:
                shutil.rmtree(state)
    run.facts.append(f"{len(operations):,} operations, {len(cuts)} states with {done_pages:,} done pages, all there")


def _check_replay(run: Run, operations: Sequence[Operation], recorded: Path) -> None:
    """Check that the recording is complete: replayed to its end, it gives the files of the crawl."""
    disk = Disk()
    for operation in operations:
        disk.do(operation)
    for path, inode in disk.now.items():
        inode.sync()
        real = recorded / path
        run.check(real.is_file() and real.read_bytes() == bytes(inode.synced), f"{path} was not recorded well")


def _materialise(state: Path, files: dict[str, bytes], recorded: Path) -> None:
    """Write the files of a state; its folders are those of the recorded crawl."""
    for folder in (recorded, *(path for path in recorded.rglob("*") if path.is_dir())):
        (state / folder.relative_to(recorded)).mkdir(exist_ok=True)
    for path, content in files.items():
        (state / path).write_bytes(content)


def _open(run: Run, state: Path, name: str) -> int:
    """Repair a state as a start does, and check that it is complete; return its number of done pages."""
    if not (state / "frontier.sqlite").is_file():
        run.check(not holds_crawl(state) or not any((state / "pages").iterdir()), f"{name}: there is no frontier")
        return 0
    try:
        repair(state)
        with closing(sqlite3.connect(state / "frontier.sqlite")) as frontier:
            (verdict,) = frontier.execute("PRAGMA integrity_check").fetchone()
            run.check(verdict == "ok", f"{name}: {verdict}")
        with change_existing(state) as opened:
            for checked in verify(opened, state):
                run.check(not checked.problems, f"{name}: {checked.name}: {'; '.join(checked.problems[:3])}")
            return opened.stats().pages
    except Exception as error:  # any failure: this state could not be opened
        run.problems.append(f"{name}: {type(error).__name__}: {error}")
        return 0


def _resume(run: Run, server: simweb.WebServer, state: Path) -> None:
    """Crawl a state to its end, and check that every page of a perfect crawl is settled."""
    crawl = Crawl(server, state, delay_s=0.05)
    with crawl.start(*FLAGS) as start:
        start.end(timeout_s=TIMEOUT_S)
    _open(run, state, f"{state.name}, resumed")
    expected = simweb.expected(server.web, crawl.seeds, token="Gossamer")
    with open_existing(state) as frontier:
        settled = {url_hash for _, url_hash, _ in frontier.settled()}
    missed = [url for url in expected.depths if identify(url).url_hash not in settled]
    run.check(not missed, f"{state.name}, resumed: {len(missed)} pages missed, {missed[:3]}")


CAMPAIGN = Campaign(
    name="power", about=__doc__, full=Size(runs=5, faults=100, sites=12, pages=12),
    short=Size(runs=1, faults=10, sites=4, pages=6), run=cut, faults="power cuts", engines=("sqlite",),
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign, if strace works."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", "/dev/null", "true"]).returncode:
        print("power: left out, there is no strace here, or it may not trace")
    else:
        CAMPAIGN.main(arguments)
