"""Restores rows that were lost because the disk damaged them: from archive records, else by fetching pages again.

A start does this when it finds files in quarantine, or a journal whose end a crash or the disk may have damaged. The
frontier says which pages are done. Those without a row are lost: their archive records are read again, by the same code
as when they came. If there is no record, and the crawl log names the URL, the page is queued again.
"""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.inspect.stored import head_of
from gossamer.page_process.process import PageProcess
from gossamer.records import Fetched, Kind, Link, PageRow, ParsedPage, QueuedUrl, RequestKind
from gossamer.store import names
from gossamer.store.cdxj import REVISIT_TYPE, read_line
from gossamer.store.damage import DamagedError
from gossamer.store.files import entries
from gossamer.store.quarantine import note, read_quarantine
from gossamer.store.reading import find_response, row_files
from gossamer.store.restored import RestoredRows
from gossamer.store.schemas import PAGES, REQUESTS
from gossamer.turn.rows import link_rows, page_row
from gossamer.urls import identify
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gossamer.crawl.settings import Settings
    from gossamer.frontier import OperatorFrontier
    from gossamer.records import LinkRow
    from gossamer.store.quarantine import Quarantined
    from gossamer.store.schemas import Table

log = logging.getLogger(__name__)

IN_FLIGHT: Final = 8  # pages at a time: their bodies are in memory
CHUNK_URLS: Final = 1_000  # per transaction
LONGEST_S: Final = 600.0  # from the beginning of a request until its row is in a journal

_HASH: Final = pa.binary(16)


class _Archived(NamedTuple):
    """Where the answer of a lost page is archived."""

    url: str
    digest: str
    warc_file: str
    warc_offset: int
    warc_length: int
    is_revisit: bool


def restore(
    frontier: OperatorFrontier, folder: Path, settings: Settings, *, is_doubtful: bool, say: Callable[[str], None]
) -> None:
    """Restore the rows of pages that are done and have none, if files of this folder were damaged.

    With `is_doubtful`, look for such pages although no file is in quarantine.
    """
    damaged = [each for each in read_quarantine(folder) if each.missing is None]
    if not damaged and not is_doubtful:
        return
    is_shared = frontier.lease_s is not None  # then pages without a row here may have one on another machine
    missing = restored = queued = 0
    if is_shared or _count_missing(frontier, folder):
        lost = _lost_pages(frontier, folder)
        restored = asyncio.run(_restore_archived(frontier, folder, settings, lost))
        missing = 0 if is_shared else _count_missing(frontier, folder)
        queued = _fetch_again(frontier, folder, lost, missing, damaged) if missing else 0
        missing = max(0, missing - queued)
    for each in damaged:
        log.warning("%s was damaged (%s): see quarantine/%s", each.name, each.detail, each.name)
        note(folder, replace(each, restored=restored, queued_again=queued, missing=missing))
    if damaged or restored or queued:
        say(_sentence(damaged, restored, queued, missing))


def _sentence(damaged: list[Quarantined], restored: int, queued: int, missing: int) -> str:
    files = f"{count(len(damaged), 'damaged file')}: " if damaged else "After a damaged end: "
    rest = f", {count(missing, 'page')} cannot be restored" if missing else ""
    return f"{files}{count(restored, 'row')} restored from archives, {count(queued, 'page')} queued again{rest}."


def _lost_pages(frontier: OperatorFrontier, folder: Path) -> set[bytes]:
    """Return the hashes of URLs that are done and have no row; some of them never had one, such as noindex pages."""
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
    chunks = [batch["url_hash"] for batch in _readable(folder, PAGES, ["url_hash"])]
    return pc.unique(pa.chunked_array(chunks, _HASH))


def _readable(folder: Path, table: Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield what can be read; `verify` names the rest."""
    for source in row_files(folder, table):
        try:
            yield from source.batches(columns)
        except DamagedError as error:
            log.warning("%s", error)


# ---------------------------------------------------------------------- from archive records


async def _restore_archived(frontier: OperatorFrontier, folder: Path, settings: Settings, lost: set[bytes]) -> int:
    """Write the rows of lost pages that are archived; return how many, and take them out of what is lost."""
    found = _archived(folder, lost)
    restored = 0
    async with PageProcess(settings.page, agent=settings.crawl.agent_name) as process:
        for are_revisits in (False, True):  # a revisit needs the row of the page that has its payload
            with RestoredRows(folder) as rows:
                some = [(key, each) for key, each in found.items() if each.is_revisit == are_revisits]
                for start in range(0, len(some), IN_FLIGHT):
                    reading = (_read(frontier, folder, each, process) for _, each in some[start : start + IN_FLIGHT])
                    for parsed in await asyncio.gather(*reading):
                        if parsed is not None:
                            row, links = parsed
                            rows.keep(row, links)
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
                    found[url_hash] = _Archived(
                        url=said["url"],
                        digest=said.get("digest", ""),
                        warc_file=index.name.removesuffix(names.INDEX_SUFFIX) + names.SEGMENT_SUFFIX,
                        warc_offset=int(said["offset"]),
                        warc_length=int(said["length"]),
                        is_revisit=said.get("mime") == REVISIT_TYPE,
                    )
    return found


async def _read(
    frontier: OperatorFrontier, folder: Path, archived: _Archived, process: PageProcess
) -> tuple[PageRow, list[LinkRow]] | None:
    """Return the row of an archived page and its links, as when it came; None if it was no page, or is damaged."""
    url = identify(archived.url)
    state = frontier.find_url(url.site, url.url_hash)
    place = PageRow(
        url=archived.url, payload_digest=archived.digest, warc_file=archived.warc_file, warc_offset=archived.warc_offset
    )
    try:
        record = find_response(folder, place)
        started_at = datetime.fromisoformat(record.headers["warc-date"]).timestamp()
        status = int(record.block.split(None, 2)[1])
    except (OSError, LookupError, ValueError, DamagedError):
        return None
    answer = Fetched(
        url=archived.url, status=status, head=head_of(record), body=record.payload,
        address=record.headers.get("warc-ip-address", ""), request_head=b"", started_at=started_at, duration_s=0.0,
    )  # fmt: skip
    parsed = await process.read(answer, archive=False)
    if not isinstance(parsed, ParsedPage) or parsed.noindex or (parsed.refresh and parsed.refresh != archived.url):
        return None
    depth = state.depth if state else 0
    queued = QueuedUrl(archived.url, url.url_hash, url.host, depth, 0, 0, 0, Kind.PAGE)
    row = page_row(queued, url.site, answer, parsed)._replace(
        payload_digest=archived.digest,
        warc_file=archived.warc_file,
        warc_offset=archived.warc_offset,
        warc_length=archived.warc_length,
        duplicate_of=record.headers.get("warc-refers-to-target-uri", ""),
    )
    return row, link_rows(queued, answer, parsed)


# ---------------------------------------------------------------------- by fetching again


def _fetch_again(
    frontier: OperatorFrontier, folder: Path, lost: set[bytes], pages: int, damaged: Sequence[Quarantined]
) -> int:
    """Queue the lost pages that the crawl log names; return how many of them had a row.

    Pages that were left out on purpose, such as noindex pages, look the same. So only requests count that the worker of
    a damaged file made since it began that file.
    """
    begun = dict(names.begun_by(each.name) for each in damaged)
    links = _requested(frontier, folder, lost, begun)
    left = pages
    for start in range(0, len(links), CHUNK_URLS):
        reopened = frontier.reopen(links[start : start + CHUNK_URLS], pages=left)
        left = max(0, left - reopened)
    return pages - left


def _requested(frontier: OperatorFrontier, folder: Path, lost: set[bytes], begun: Mapping[str, float]) -> list[Link]:
    """Return the lost pages that these workers requested since these times; from all workers if there are none."""
    found: dict[bytes, Link] = {}
    wanted = pa.array(lost, _HASH)
    for batch in _readable(folder, REQUESTS, ["url_hash", "url", "kind", "started_at", "status", "worker"]):
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
