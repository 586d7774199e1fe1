"""The status of a crawl: its URLs, its workers, and its disk."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gossamer.bucket.claiming import read_bucket_note
from gossamer.bucket.uploading import closed_files
from gossamer.inspect.running import Running, find_running
from gossamer.store.disk import free_space, mount_point
from gossamer.store.quarantine import read_quarantine
from gossamer.wording import count, size
from gossamer.worker.figures import BLOCKED, SHARE_BACKOFFS, SITEMAP_ENTRIES, SITEMAPS, TRAP

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.as_json import StatusJson, WorkerJson
    from gossamer.records import Stats, WorkerState


MISSED_BEATS: Final = 5  # after which a worker is marked as silent
LEAST_SILENCE_S: Final = 10.0  # a busy machine misses some heartbeats


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The status of a crawl."""

    folder: Path
    running: Running | None
    stats: Stats
    workers: tuple[WorkerState, ...]  # living ones on all machines; none if no crawl runs
    used_bytes: Mapping[str, int]  # by folder or file of the crawl
    free_bytes: int  # on the disk
    disk: Path  # the mount point of the folder's file system
    is_drained: bool  # nothing is left to fetch
    silence_s: float  # a worker without a heartbeat for longer is marked
    store: str = ""  # where finished files go; empty: they stay
    uploads: str = ""  # how that goes
    damage: tuple[str, ...] = ()  # what the disk has damaged and no start has restored, one sentence each

    @property
    def is_finished(self) -> bool:
        """Whether the crawl is finished: nothing is left to fetch, or the page limit is reached."""
        return bool(self.stats.known) and (self.is_drained or self.stats.is_full)

    def is_silent(self, worker: WorkerState) -> bool:
        """Return whether a worker missed so many heartbeats that it may be dead."""
        return (worker.silent_s or 0.0) > self.silence_s

    @property
    def without_page(self) -> int:
        """How many URLs are done without a page: redirects, and sitemaps that were read."""
        return max(0, self.stats.done - self.stats.pages)

    @property
    def traps(self) -> dict[str, int]:
        """How many links each limit against traps has refused, counted by living workers."""
        return self._counted(TRAP)

    @property
    def block_pages(self) -> dict[str, int]:
        """How many challenge or block pages each protection service has sent, counted by living workers."""
        return self._counted(BLOCKED)

    def _counted(self, prefix: str) -> dict[str, int]:
        counted: Counter[str] = Counter()
        for worker in self.workers:
            for name, times in worker.figures.items():
                if name.startswith(prefix):
                    counted[name.removeprefix(prefix)] += int(times)
        return dict(counted)

    @property
    def address_waits(self) -> int:
        """How many sites in hand, or requests of turns, wait for an address that others use as well."""
        return sum(int(worker.figures.get("address_waits", 0)) for worker in self.workers)

    @property
    def sitemaps(self) -> dict[str, int]:
        """Sitemaps and their entries by result, counted by living workers."""
        counted: Counter[str] = Counter()
        for worker in self.workers:
            for name, times in worker.figures.items():
                if name.startswith((SITEMAPS, SITEMAP_ENTRIES)):
                    counted[name] += int(times)
        return dict(counted)

    @property
    def share_backoffs(self) -> dict[str, int]:
        """How often sites backed off because they took more than their share, by share, counted by living workers."""
        counted: Counter[str] = Counter()
        for worker in self.workers:
            for name, times in worker.figures.items():
                if name.startswith(SHARE_BACKOFFS):
                    counted[name.removeprefix(SHARE_BACKOFFS)] += int(times)
        return dict(counted)

    def _worker_as_json(self, worker: WorkerState) -> WorkerJson:
        return {
            "worker": worker.worker,
            "label": worker.label,
            "beats": worker.beats,
            "sites": worker.sites,
            "silent_s": worker.silent_s,
            "silent": self.is_silent(worker),
            "figures": dict(worker.figures),
        }

    def as_json(self) -> StatusJson:
        """Return everything as JSON values."""
        stats = self.stats
        return {
            "folder": str(self.folder),
            "running": self.running is not None,
            "finished": self.is_finished,
            "paused": stats.is_paused,
            "pid": self.running.pid if self.running else None,
            "started_at": self.running.started_at if self.running else None,
            "troubles": list(self.running.troubles) if self.running else [],
            "store": self.store,
            "uploads": self.uploads,
            "sites": stats.sites,
            "sites_with_work": stats.sites_with_work,
            "sites_in_hand": stats.sites_in_hand,
            "known": stats.known,
            "queued": stats.queued,
            "done": stats.done,
            "pages": stats.pages,
            "done_without_page": self.without_page,
            "given_up": {reason.value: urls for reason, urls in stats.given_up.items()},
            "traps": self.traps,
            "block_pages": self.block_pages,
            "sitemaps": self.sitemaps,
            "share_backoffs": self.share_backoffs,
            "page_limit": stats.page_limit,
            "pages_left": stats.pages_left,
            "sites_spent": stats.sites_spent,
            "sites_in_trouble": stats.sites_in_trouble,
            "sites_waiting_for_address": self.address_waits,
            "hosts_in_trouble": stats.hosts_in_trouble,
            "next_due_s": stats.wait_s,
            "workers": list(map(self._worker_as_json, self.workers)),
            "used_bytes": dict(self.used_bytes),
            "free_bytes": self.free_bytes,
            "disk": str(self.disk),
            "damage": list(self.damage),
        }


def read_status(
    frontier: FrontierReader, folder: Path, *, heartbeat_s: float, used_bytes: Mapping[str, int] | None = None
) -> Status:
    """Return the status of the crawl in this folder; `used_bytes` saves measuring all its files."""
    running = find_running(folder)
    note = read_bucket_note(folder)
    shared = frontier.lease_s is not None
    return Status(
        folder=folder,
        running=running,
        stats=frontier.stats(),
        # After a crash, dead workers count as living until the next start or, on many machines, the end of a lease.
        workers=tuple(worker for worker in frontier.workers() if (running or shared) and not worker.gone),
        used_bytes=sizes(folder) if used_bytes is None else used_bytes,
        free_bytes=free_space(folder),
        disk=mount_point(folder),
        is_drained=frontier.drained(),
        silence_s=max(LEAST_SILENCE_S, MISSED_BEATS * heartbeat_s),
        store=note.store if note else "",
        uploads=running.uploads if running else _left_to_upload(folder) if note else "",
        damage=tuple(f"{each.name}: {each.loss()}" for each in read_quarantine(folder) if each.loss()),
    )


def _left_to_upload(folder: Path) -> str:
    """Return how many finished files are in a folder whose crawl does not run."""
    left = closed_files(folder)
    here = f"{count(len(left), 'finished file')} ({size(sum(file.size for file in left))}) here"
    return f"{here}: the next start uploads what is not in the bucket" if left else ""


def sizes(folder: Path) -> dict[str, int]:
    """Return the size of each folder and file of a crawl, the largest first."""
    sizes = {entry.name: _size(entry) for entry in os.scandir(folder)}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def _size(entry: os.DirEntry[str]) -> int:
    with suppress(FileNotFoundError):  # a journal became a part, or a log was rotated
        if entry.is_dir(follow_symlinks=False):
            return sum(map(_size, os.scandir(entry.path)))
        return entry.stat(follow_symlinks=False).st_size
    return 0
