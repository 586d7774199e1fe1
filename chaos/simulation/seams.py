"""The seams between the simulation and the real parts: wrapped frontier and store, and a page process inline.

A seam lets time pass before and after an operation, in which the loop runs and the process may be killed. It makes the
operation fail as a database or a disk fails, and tells the monitor what was committed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeVar

from chaos.simulation.web import AGENT
from gossamer.frontier import NO_TERMS, FrontierError
from gossamer.frontier.shares import UNCHANGED
from gossamer.page_process.frames import LENGTH_BYTES, pack_reply, parsed_reply, unpack_reply
from gossamer.parse.page import read_page, without_content
from gossamer.parse.text import text_finder
from gossamer.records import Claimed, Orders, ParsedPage, ParseFailed, RequestKind
from gossamer.rules.hosts import parse_answer
from gossamer.store.warc import encode_around_body
from gossamer.worker import Figures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from chaos.simulation.loop import Process
    from chaos.simulation.monitor import Monitor
    from gossamer.frontier.sqlite import SqliteFrontier
    from gossamer.records import (
        AddressShare,
        Batch,
        Completion,
        Fetched,
        Gone,
        HostState,
        LinkRow,
        PageRow,
        ParsedRobots,
        ParsedSitemap,
        QueuedUrl,
        RequestRow,
        UrlState,
    )
    from gossamer.store.store import Store

T = TypeVar("T")

MAX_OPERATION_S: Final = 0.02
_FIND_TEXT: Final = text_finder("fast", markdown=False)


@dataclass(slots=True)
class Trouble:
    """The current faults of database and disk; shared by all processes."""

    database: float = 0.0  # share of operations that fail
    disk: bool = False  # nothing can be written


class WatchedFrontier:
    """The frontier as one worker sees it, from its thread."""

    def __init__(
        self,
        frontier: SqliteFrontier,
        *,
        process: Process,
        monitor: Monitor,
        trouble: Trouble,
        dice: Random,
        durable: set[bytes],
        lease_s: float | None,
        now: Callable[[], float],
    ) -> None:
        self.lease_s = lease_s
        self.worker = 0
        self.recent = frontier.recent
        self._frontier = frontier
        self._process = process
        self._monitor = monitor
        self._trouble = trouble
        self._dice = dice
        self._durable = durable
        self._now = now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._frontier.__exit__()

    def enter(self, label: str) -> int:
        """Join as a worker at the start of the process, before it has a thread."""
        worker = self._frontier.join(label)
        self._joined(worker)
        return worker

    def join(self, label: str, terms: Mapping[str, str] = NO_TERMS) -> int:
        """Join as a new worker."""
        return self._operate("join", lambda: self._frontier.join(label, terms), self._joined)

    def heartbeat(
        self, figures: Mapping[str, float], exclusions_version: int = 0, share: AddressShare = UNCHANGED
    ) -> Orders | Gone:
        """Show that this worker lives."""
        orders = self._operate("heartbeat", lambda: self._frontier.heartbeat(figures, exclusions_version, share))
        if isinstance(orders, Orders) and orders.excluded is not None:
            loop, name, excluded = self._process, self._process.name, orders.excluded
            # The loop learns it later than this; a paused loop runs what is due before that.
            self._monitor.hears(name, excluded)
            tell = partial(self._monitor.heard, name, excluded)
            loop.call_later(0.05, lambda: loop.call_later(0.05, lambda: tell(loop.time())))
        return orders

    def claim(self, sites: int) -> Claimed | Gone:
        """Claim due sites."""
        return self._operate("claim", lambda: self._frontier.claim(sites), self._claimed)

    def complete(self, batch: Batch) -> Completion:
        """Record what happened."""

        def tell(_: Completion) -> None:
            self._monitor.completed(self.worker, batch, self._durable)
            visits = " ".join(f"{visit.site}/{visit.epoch}" for visit in batch.visits)
            self._monitor.note(self._process.name, f"completes {visits}")

        return self._operate("complete", lambda: self._frontier.complete(batch), tell)

    def look_ahead(self, site: str, epoch: int, urls: int) -> list[QueuedUrl]:
        """Return the head of a site's queue."""
        return self._operate("look_ahead", lambda: self._frontier.look_ahead(site, epoch, urls))

    def reconcile(self, held: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """Release the sites that are not held."""

        def tell(lost: tuple[tuple[str, int], ...]) -> None:
            self._monitor.reconciled(self.worker, held)
            self._monitor.note(self._process.name, f"reconciles, and has lost {lost}")

        return self._operate("reconcile", lambda: self._frontier.reconcile(held), tell)

    def known(self, site: str, url_hash: bytes) -> bool:
        """Return whether a URL was accepted."""
        return self._operate("known", lambda: self._frontier.known(site, url_hash))

    def find_url(self, site: str, url_hash: bytes) -> UrlState | None:
        """Return the state of a URL."""
        return self._operate("find_url", lambda: self._frontier.find_url(site, url_hash))

    def find_hosts(self, site: str) -> list[HostState]:
        """Return what is known of the hosts of a site."""
        return self._operate("find_hosts", lambda: self._frontier.find_hosts(site))

    def _joined(self, worker: int) -> None:
        self.worker = worker
        self._monitor.joined(self._process.name, worker)

    def _claimed(self, answer: Claimed | Gone) -> None:
        if isinstance(answer, Claimed) and answer.claims:
            self._monitor.claimed(self.worker, answer.claims)
            sites = " ".join(f"{claim.site}/{claim.epoch}" for claim in answer.claims)
            self._monitor.note(self._process.name, f"claims {sites}")

    def _operate(self, name: str, operate: Callable[[], T], tell: Callable[[T], None] | None = None) -> T:
        """Run an operation of the database, or fail: before it, during it, or after its commit."""
        dice = self._dice
        self._process.in_thread_for(dice.uniform(0, MAX_OPERATION_S))
        way = dice.choice(("before", "within", "after")) if dice.random() < self._trouble.database else ""
        self._monitor.now_s = self._now()
        if way == "before":
            self._fail(name, way)
        connection = self._frontier._database.connection  # noqa: SLF001 - to fail inside an operation
        if way == "within":
            connection.set_progress_handler(_interruption(dice.randint(1, 60)), 10)
        try:
            result = operate()
        except FrontierError:
            self._monitor.note(self._process.name, f"{name} was interrupted")
            raise
        finally:
            if way == "within":
                connection.set_progress_handler(None, 0)
        if tell is not None:
            tell(result)
        self._process.in_thread_for(dice.uniform(0, MAX_OPERATION_S))
        if way == "after":
            self._fail(name, way)
        return result

    def _fail(self, name: str, way: str) -> NoReturn:
        self._monitor.note(self._process.name, f"{name} fails {way}")
        raise FrontierError(f"{name} failed, as planned")


def _interruption(checks: int) -> Callable[[], bool]:
    """Return a progress handler for SQLite that interrupts the operation once, at its call number `checks`."""
    left = checks

    def interrupts() -> bool:
        nonlocal left
        left -= 1
        return left == 0

    return interrupts


class WatchedStore:
    """A worker's store; knows which pages are durable."""

    def __init__(self, store: Store, *, process: Process, trouble: Trouble, dice: Random, durable: set[bytes]) -> None:
        self._store = store
        self._process = process
        self._trouble = trouble
        self._dice = dice
        self._kept: list[bytes] = []
        self._durable = durable
        self.archives = store.archives

    def keep_page(self, row: PageRow, archive: bytes, response_offset: int, *, answer: Fetched) -> PageRow:
        """Keep a page."""
        self._kept.append(row.url_hash)
        return self._store.keep_page(row, archive, response_offset, answer=answer)

    def keep_answer(self, row: PageRow, archive: bytes, response_offset: int) -> PageRow:
        """Keep an answer."""
        return self._store.keep_answer(row, archive, response_offset)

    def keep_robots(self, answer: Fetched, asked: RequestRow) -> None:
        """Take a robots.txt."""
        self._store.keep_robots(answer, asked)

    def keep_links(self, rows: Sequence[LinkRow]) -> None:
        """Keep links."""
        self._store.keep_links(rows)

    def keep_request(self, row: RequestRow) -> None:
        """Keep a request."""
        self._store.keep_request(row)

    def sync(self) -> None:
        """Write everything to the disk."""
        self._write(self._store.sync)

    def close(self) -> None:
        """Finish the files."""
        self._write(self._store.close)

    def drop(self) -> None:
        """Close the files of a dead process, as its operating system does."""
        self._store._segments.close()  # noqa: SLF001 - `close` of the store would finish them
        for journal in self._store._journals:  # noqa: SLF001
            journal.close()

    def _write(self, write: Callable[[], None]) -> None:
        self._process.in_thread_for(self._dice.uniform(0, MAX_OPERATION_S))
        if self._trouble.disk:
            raise OSError(28, "No space left, as planned")
        kept, self._kept = self._kept, []
        write()
        self._durable.update(kept)
        self._process.in_thread_for(self._dice.uniform(0, MAX_OPERATION_S))


class InlinePages:
    """Replaces the page process: the same parsing, in this process, after a short wait."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self.costly_pages = 0

    async def read(self, fetched: Fetched, *, site: str = "", archive: bool) -> ParsedPage | ParseFailed:
        """Parse a page."""
        del site  # pages are read at once here
        await asyncio.sleep(self._dice.uniform(0, 0.03))
        parsed = read_page(fetched, agent=AGENT, max_bytes=1_000_000, find_text=_FIND_TEXT, anchors=False)
        if isinstance(parsed, ParseFailed):
            return parsed
        if parsed.noindex:
            parsed, archive = without_content(parsed), False
        reply = parsed_reply(parsed, encode_around_body(fetched) if archive else None)
        frame = b"".join(pack_reply(reply, retiring=False, cpu_s=0.0))
        result = unpack_reply(frame[LENGTH_BYTES:], RequestKind.PAGE, fetched.body).result
        assert isinstance(result, ParsedPage)
        return result

    async def read_sitemap(self, fetched: Fetched, *, site: str = "", archive: bool) -> ParsedSitemap | ParseFailed:
        """Parse a sitemap: simulated crawls read none."""
        raise AssertionError(f"{fetched.url} was not requested as a sitemap ({site=}, {archive=})")

    async def read_robots(self, fetched: Fetched, *, site: str = "") -> ParsedRobots | ParseFailed:
        """Read a long robots.txt."""
        del site
        await asyncio.sleep(self._dice.uniform(0, 0.03))
        return parse_answer(fetched, AGENT)


class QuietFigures(Figures):
    """Figures without measurements of the real machine, which is not the simulated one."""

    async def watch_loop(self) -> None:
        """Wait until cancelled."""
        await asyncio.get_running_loop().create_future()

    def snapshot(self) -> dict[str, float]:
        """Return no figures."""
        return {}
