"""Restores rows that were lost because the disk damaged them: from archive records, else by fetching pages again.

A start does this when it finds files in quarantine, or a journal whose end a crash or the disk may have damaged. The
frontier says which pages are done. Those without a row are lost: their archive records are read again, by the same code
as when they came. If there is no record, and the crawl log names the URL, the page is queued again. Rows of `links` are
restored in `restoring_links`. Nothing else tells what lost rows of `requests` held: `verify` counts them.
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.commands import to_type
from gossamer.crawl.restoring_links import RestoredLinks, restore_links
from gossamer.inspect.archived_answers import ArchivePlace, read_answer
from gossamer.inspect.lost_links import LONGEST_S
from gossamer.page_process.process import PageProcess
from gossamer.records import Kind, Link, ParsedPage, QueuedUrl, RequestKind
from gossamer.store import names
from gossamer.store.cdxj import REVISIT_TYPE, read_line
from gossamer.store.files import entries
from gossamer.store.quarantine import note, read_quarantine
from gossamer.store.reading import readable_rows
from gossamer.store.restored import RestoredRows
from gossamer.store.schemas import PAGES, REQUESTS
from gossamer.turn.rows import page_row
from gossamer.urls import identify
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gossamer.crawl.settings import Settings
    from gossamer.frontier import OperatorFrontier
    from gossamer.records import PageRow
    from gossamer.store.quarantine import Quarantined

log = logging.getLogger(__name__)

IN_FLIGHT: Final = 8  # pages at a time: their bodies are in memory
CHUNK_URLS: Final = 1_000  # per transaction

_HASH: Final = pa.binary(16)


class _Archived(NamedTuple):
    """Where the answer of a lost page is archived."""

    place: ArchivePlace
    length: int
    is_revisit: bool


class _RestoredPages(NamedTuple):
    """What became of pages without a row."""

    restored: int = 0
    queued: int = 0
    missing: int = 0


def restore(
    frontier: OperatorFrontier,
    folder: Path,
    settings: Settings,
    *,
    doubtful: Sequence[str],  # journals whose end may have lost rows
    say: Callable[[str], None],
) -> None:
    """Restore the rows that pages have lost, if files of this folder were damaged, or may be."""
    damaged = [each for each in read_quarantine(folder) if each.missing is None]
    if not damaged and not doubtful:
        return
    pages = _restore_pages(frontier, folder, settings, damaged)
    rows, losses = pages.restored, 0
    for each in damaged:
        log.warning("%s was damaged (%s): see quarantine/%s", each.name, each.detail, each.name)
        links = restore_links(folder, settings, each.name) if each.table in (names.LINKS, "") else RestoredLinks()
        rows += links.rows
        noted = _with_outcome(each, pages, links)
        losses += bool(noted.loss())
        note(folder, noted)
    for name in doubtful:
        if names.table_of_name(name) == names.LINKS:
            rows += restore_links(folder, settings, name).rows
    if damaged or rows or pages.queued:
        say(_sentence(len(damaged), rows, pages.queued, losses))


def _with_outcome(damaged: Quarantined, pages: _RestoredPages, links: RestoredLinks) -> Quarantined:
    """Return a damaged file with what became of its rows."""
    if damaged.table not in (names.PAGES, ""):  # no row of `pages` was in it
        return replace(damaged, restored=links.rows, missing=links.missing)
    return replace(
        damaged,
        restored=pages.restored + links.rows,
        queued_again=pages.queued,
        missing=pages.missing + links.missing,
    )


def _sentence(damaged: int, restored: int, queued: int, losses: int) -> str:
    files = f"{count(damaged, 'damaged file')}: " if damaged else "After a damaged end: "
    rest = f" Not all rows of {count(losses, 'file')} can be restored: see `{to_type('verify')}`." if losses else ""
    return f"{files}{count(restored, 'row')} restored from archives, {count(queued, 'page')} queued again.{rest}"


def _restore_pages(
    frontier: OperatorFrontier, folder: Path, settings: Settings, damaged: Sequence[Quarantined]
) -> _RestoredPages:
    is_shared = frontier.lease_s is not None  # then pages without a row here may have one on another machine
    if not is_shared and not _count_missing(frontier, folder):
        return _RestoredPages()
    lost = _lost_pages(frontier, folder)
    restored = asyncio.run(_restore_archived(frontier, folder, settings, lost))
    missing = _rows_missing(damaged, restored) if is_shared else _count_missing(frontier, folder)
    if missing == 0:
        return _RestoredPages(restored)
    links = _requested(frontier, folder, lost, damaged)
    if missing is None:
        missing = len(links)
    queued = _fetch_again(frontier, links, missing)
    return _RestoredPages(restored, queued, missing - queued)


def _rows_missing(damaged: Sequence[Quarantined], restored: int) -> int | None:
    """Return how many rows of pages are still lost, by what damaged files say; None if they do not."""
    lost = 0
    for each in damaged:
        if each.rows is None and each.table in (names.PAGES, ""):
            return None
        lost += each.rows if each.rows and each.table == names.PAGES else 0
    return max(0, lost - restored)


def _lost_pages(frontier: OperatorFrontier, folder: Path) -> set[bytes]:
    """Return the hashes of URLs that are done and have no row; some of them never had one, such as redirects."""
    stored = _stored(folder)
    lost: set[bytes] = set()
    walk = frontier.settled()
    while step := [url_hash for _, url_hash, reason in islice(walk, 50_000) if reason is None]:
        done = pa.array(step, _HASH)
        lost.update(done.filter(pc.invert(pc.is_in(done, value_set=stored))).to_pylist())
    return lost


def _count_missing(frontier: OperatorFrontier, folder: Path) -> int:
    """Return how many pages the frontier counts as stored that have no row."""
    stored, with_row = _stored(folder), 0
    walk = frontier.settled()
    while step := [url_hash for _, url_hash, reason in islice(walk, 50_000) if reason is None]:
        with_row += pc.sum(pc.is_in(pa.array(step, _HASH), value_set=stored)).as_py() or 0
    return max(0, frontier.stats().pages - with_row)


def _stored(folder: Path) -> pa.Array:
    chunks = [batch["url_hash"] for _, batch in readable_rows(folder, PAGES, ["url_hash"])]
    return pc.unique(pa.chunked_array(chunks, _HASH))


# ---------------------------------------------------------------------- from archive records


async def _restore_archived(frontier: OperatorFrontier, folder: Path, settings: Settings, lost: set[bytes]) -> int:
    """Write the rows of lost pages that are archived; return how many, and take them out of what is lost."""
    found = _archived(folder, lost)
    restored = 0
    body_bytes = settings.fetch.max_body_bytes
    async with PageProcess(settings.page, agent=settings.crawl.agent_name, max_body_bytes=body_bytes) as process:
        for are_revisits in (False, True):  # a revisit needs the row of the page that has its payload
            with RestoredRows(folder) as rows:
                some = [(key, each) for key, each in found.items() if each.is_revisit == are_revisits]
                for start in range(0, len(some), IN_FLIGHT):
                    reading = (_read(frontier, folder, each, process) for _, each in some[start : start + IN_FLIGHT])
                    for row in await asyncio.gather(*reading):
                        if row is not None:
                            rows.keep(row)
                            lost.discard(row.url_hash)
                            restored += 1
    return restored


def _archived(folder: Path, lost: set[bytes]) -> dict[bytes, _Archived]:
    """Return where lost pages are archived, each by its last record."""
    found: dict[bytes, _Archived] = {}
    for index in sorted(entries(folder / names.WARC, f"*{names.INDEX_SUFFIX}")):
        if not index.is_file():
            continue
        with index.open("rb") as lines:
            for said in filter(None, map(read_line, lines)):
                url_hash = identify(said.get("url", "")).url_hash if said.get("status", "").startswith("2") else b""
                if url_hash in lost:
                    segment = index.name.removesuffix(names.INDEX_SUFFIX) + names.SEGMENT_SUFFIX
                    place = ArchivePlace(said["url"], said.get("digest", ""), segment, int(said["offset"]))
                    found[url_hash] = _Archived(place, int(said["length"]), said.get("mime") == REVISIT_TYPE)
    return found


async def _read(frontier: OperatorFrontier, folder: Path, archived: _Archived, process: PageProcess) -> PageRow | None:
    """Return the row of an archived page, as when it came; None if it was no page, or is damaged."""
    place = archived.place
    found = read_answer(folder, place)
    if found is None:
        return None
    parsed = await process.read(found.answer, archive=False)
    if not isinstance(parsed, ParsedPage) or parsed.noindex or (parsed.refresh and parsed.refresh != place.url):
        return None
    url = identify(place.url)
    state = frontier.find_url(url.site, url.url_hash)
    queued = QueuedUrl(place.url, url.url_hash, url.host, state.depth if state else 0, 0, 0, 0, Kind.PAGE)
    return page_row(queued, url.site, found.answer, parsed)._replace(
        payload_digest=place.payload_digest,
        warc_file=place.warc_file,
        warc_offset=place.warc_offset,
        warc_length=archived.length,
        duplicate_of=found.duplicate_of,
    )


# ---------------------------------------------------------------------- by fetching again


def _fetch_again(frontier: OperatorFrontier, links: Sequence[Link], pages: int) -> int:
    """Queue lost pages again, of which so many had a row; return how many of these are queued."""
    left = pages
    for start in range(0, len(links), CHUNK_URLS):
        reopened = frontier.reopen(links[start : start + CHUNK_URLS], pages=left)
        left = max(0, left - reopened)
    return pages - left


def _requested(
    frontier: OperatorFrontier, folder: Path, lost: set[bytes], damaged: Sequence[Quarantined]
) -> list[Link]:
    """Return the lost pages that the crawl log names.

    Pages that were left out on purpose, such as those that redirect, look the same. So only requests count that the
    worker of a damaged file made since it began that file; all requests, if no file is damaged.
    """
    begun: dict[str, float] = {}
    for worker, begun_at in (names.begun_by(each.name) for each in damaged):
        begun[worker] = min(begun_at, begun.get(worker, math.inf))
    found: dict[bytes, Link] = {}
    wanted = pa.array(lost, _HASH)
    for _, batch in readable_rows(folder, REQUESTS, ["url_hash", "url", "kind", "started_at", "status", "worker"]):
        is_page = pc.and_(pc.equal(batch["kind"], RequestKind.PAGE), pc.equal(batch["status"], 200))
        chosen = batch.filter(pc.and_(is_page, pc.is_in(batch["url_hash"], value_set=wanted)))
        times = (microseconds / 1e6 for microseconds in chosen["started_at"].cast(pa.int64()).to_pylist())
        for text, started_at, worker in zip(
            chosen["url"].to_pylist(), times, chosen["worker"].to_pylist(), strict=True
        ):
            if begun and started_at < begun.get(worker, math.inf) - LONGEST_S:
                continue
            url = identify(text)
            state = frontier.find_url(url.site, url.url_hash)
            if state is not None:
                found[url.url_hash] = Link(*url, state.depth, seeded=state.depth == 0)
    return list(found.values())
