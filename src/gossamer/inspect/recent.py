"""The last minutes of a crawl, from the end of its log: its speed, and which sites were busy or slow.

Each call reads only what was written since the last call, so that a screen can be drawn every second.
"""

from __future__ import annotations

from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass
from heapq import nlargest
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.errors import GossamerError
from gossamer.records import RequestKind
from gossamer.store import names
from gossamer.store.files import entries
from gossamer.store.journal_files import JournalFile
from gossamer.store.reading import RowFile
from gossamer.store.schemas import REQUESTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

WINDOW_S: Final = 300  # as long as journals are open: older ones have become parts
MAX_REQUESTS: Final = 20_000  # to compare sites by; a fast crawl makes more in the window

_COLUMNS: Final = ["site", "kind", "started_at", "ended_at", "status", "reason", "bytes"]
_FIRST_ERROR: Final = 400  # of HTTP's statuses


class _Request(NamedTuple):
    """What is kept of one request."""

    ended_at: float
    site: str
    bytes: int
    seconds: float
    failed: bool


class SiteLately(NamedTuple):
    """A site's recent requests."""

    site: str
    requests: int
    bytes: int
    seconds: float  # of all together
    failed: int  # no answer, or an error status

    @property
    def mean_s(self) -> float:
        """The average duration of a request."""
        return self.seconds / self.requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Lately:
    """Recent activity, from the end of the log."""

    pages: tuple[int, ...] = ()  # answered with a page, in each of the last `WINDOW_S` seconds, oldest first
    bytes: tuple[int, ...] = ()  # of all bodies, likewise
    sites_s: float = 0.0  # the period of the requests that sites are compared by
    busiest: tuple[SiteLately, ...] = ()  # most requests first
    slowest: tuple[SiteLately, ...] = ()  # longest requests first

    def rates(self, window_s: int) -> tuple[float, float]:
        """Return pages and bytes per second in the last `window_s` seconds."""
        return sum(self.pages[-window_s:]) / window_s, sum(self.bytes[-window_s:]) / window_s


def together(machines: Sequence[Lately]) -> Lately:
    """Return the recent activity of several machines as one."""
    if len(machines) == 1:
        return machines[0]
    busiest = _merged(site for one in machines for site in one.busiest)
    slowest = _merged(site for one in machines for site in one.slowest)
    return Lately(
        pages=tuple(map(sum, zip(*(one.pages for one in machines), strict=True))),
        bytes=tuple(map(sum, zip(*(one.bytes for one in machines), strict=True))),
        sites_s=max(one.sites_s for one in machines),
        busiest=tuple(sorted(busiest, key=lambda site: -site.requests)),
        slowest=tuple(sorted(slowest, key=lambda site: -site.mean_s)),
    )


def _merged(sites: Iterable[SiteLately]) -> list[SiteLately]:
    """Return one row per site: it may have gone from one machine to another."""
    found: dict[str, SiteLately] = {}
    for site in sites:
        former = found.get(site.site)
        found[site.site] = site if former is None else SiteLately(
            site.site, former.requests + site.requests, former.bytes + site.bytes, former.seconds + site.seconds,
            former.failed + site.failed,
        )  # fmt: skip
    return list(found.values())


class Tail:
    """Follows the growing log of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journals: dict[Path, JournalFile] = {}
        self._seconds: dict[int, list[int]] = {}  # Unix second: pages, bytes
        self._requests: deque[_Request] = deque()  # in the order in which they ended, or nearly
        self._sites: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0])  # sums over `_requests`
        self._has_looked = False

    def look(self, now_at: float, *, sites: int = 40) -> Lately:
        """Read what is new; return the activity up to now, with at most `sites` sites."""
        since_at = now_at - WINDOW_S
        fresh = [request for batch in self._new_batches(since_at) for request in self._read(batch, since_at)]
        for request in sorted(fresh):  # batches come worker by worker
            self._requests.append(request)
            self._add(request, 1)
        self._forget(since_at)
        # The current second is incomplete, and rows are up to half a second late.
        seconds = range(int(now_at) - WINDOW_S - 1, int(now_at) - 1)
        counted = [self._seconds.get(second, (0, 0)) for second in seconds]
        found = [SiteLately(name, int(n), int(size), took_s, int(bad))
                 for name, (n, size, took_s, bad) in self._sites.items()]  # fmt: skip
        return Lately(
            pages=tuple(pages for pages, _ in counted),
            bytes=tuple(size for _, size in counted),
            sites_s=max(0.0, now_at - self._requests[0][0]) if self._requests else 0.0,
            busiest=tuple(nlargest(sites, found, key=lambda site: (site.requests, site.bytes, site.site))),
            slowest=tuple(nlargest(sites, found, key=lambda site: (site.mean_s, site.site))),
        )

    def _new_batches(self, since_at: float) -> Iterator[pa.RecordBatch]:
        journals = sorted(entries(self._folder / names.JOURNAL, f"{REQUESTS.name}-*{names.JOURNAL_SUFFIX}"))
        for path in journals:
            if path not in self._journals:
                try:
                    self._journals[path] = JournalFile(path)
                except OSError:  # it has just become a part
                    continue
        if not self._has_looked:
            self._has_looked = True
            yield from self._last_parts(since_at)
        for path, journal in list(self._journals.items()):
            with suppress(OSError):
                yield from journal.read_new()  # to the end, also of a journal that has become a part
            if path not in journals:
                del self._journals[path]

    def _last_parts(self, since_at: float) -> Iterator[pa.RecordBatch]:
        """Yield each worker's newest part, if it is recent, so that the first call covers nearly the entire window."""
        parts = sorted(
            entries(self._folder / REQUESTS.name, f"part-*{names.PART_SUFFIX}"),
            key=lambda path: (names.worker_of(path) or "", path.name),
        )
        for _, of_worker in groupby(parts, key=names.worker_of):
            newest = list(of_worker)[-1]
            try:
                if newest.stat().st_mtime >= since_at:
                    yield from RowFile(newest, REQUESTS).batches(_COLUMNS)
            except (OSError, GossamerError):  # `verify` says what is wrong with it
                continue

    def _read(self, batch: pa.RecordBatch, since_at: float) -> Iterator[_Request]:
        since = pa.scalar(round(since_at * 1e6), pa.int64())
        batch = batch.filter(pc.greater_equal(batch["ended_at"].cast(pa.int64()), since))
        columns = [
            (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
            for column in (batch[name] for name in _COLUMNS)
        ]
        for site, kind, started_us, ended_us, status, reason, size in zip(*columns, strict=True):
            second = self._seconds.setdefault(ended_us // 1_000_000, [0, 0])
            second[0] += kind == RequestKind.PAGE and 200 <= status < 300
            second[1] += size
            failed = bool(reason) or status >= _FIRST_ERROR
            yield _Request(ended_us / 1e6, site, size, (ended_us - started_us) / 1e6, failed)

    def _forget(self, since_at: float) -> None:
        requests = self._requests
        while requests and (len(requests) > MAX_REQUESTS or requests[0][0] < since_at):
            self._add(requests.popleft(), -1)
        for second in [second for second in self._seconds if second < since_at - 1]:
            del self._seconds[second]

    def _add(self, request: _Request, sign: int) -> None:
        sums = self._sites[request.site]
        sums[0] += sign
        sums[1] += sign * request.bytes
        sums[2] += sign * request.seconds
        sums[3] += sign * request.failed
        if not sums[0]:
            del self._sites[request.site]
