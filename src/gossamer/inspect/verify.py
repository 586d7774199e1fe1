"""Verify: checks that nothing of a crawl is lost or torn. It reads everything, also while the crawl runs.

A page is on disk before the frontier records it as done. So the frontier's counts are read first, and the rows after
that: whatever happens meanwhile, a page that was counted must have its row.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.bucket.paths import BucketPath
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.inspect.address_conduct import FILE as ADDRESS_DELAYS_FILE
from gossamer.inspect.address_conduct import damaged_address_delays
from gossamer.inspect.check import Check
from gossamer.inspect.conduct import judge_conduct
from gossamer.inspect.delays import DELAYS_FILE, damaged_lines
from gossamer.inspect.lost_links import doubtful_links, pages_without_links
from gossamer.inspect.running import find_running
from gossamer.inspect.verify_bucket import awaited_files, check_objects
from gossamer.records import RequestKind
from gossamer.store.checking import Flaw, check
from gossamer.store.names import name_of, worker_of
from gossamer.store.notes import DamagedNoteError, read_lines, read_note
from gossamer.store.quarantine import read_quarantine
from gossamer.store.reading import listed, row_files
from gossamer.store.schemas import PAGES, REQUESTS
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.store.reading import Folders
    from gossamer.store.schemas import Table

MAX_NAMED = 100  # problems of one kind to name; the others are counted

NOTES = ("rules.json", "frontier.json")
SITES_FILE = "excluded-sites.txt"

_HASH = pa.binary(16)
_STEP_ROWS = 50_000
_ROW = ["url_hash", "fetched_at", "warc_file", "warc_offset"]  # identifies a row


def verify(frontier: FrontierReader | None, folders: Folders) -> Iterator[Check]:
    """Yield the checks of a crawl, which has a folder on each machine. A bucket alone has no frontier to check.

    Needs about 100 bytes of memory for each settled URL and 200 for each stored page; archives are read one by one.
    """
    if any(isinstance(folder, BucketPath) for folder in listed(folders)):
        yield check_objects(listed(folders))  # first: damaged files count as missing then
    if frontier is not None:
        yield _check_frontier(frontier)
        yield _check_pages(frontier, folders)
    yield _check_files(folders)
    yield _check_conduct(folders)


# ---------------------------------------------------------------------- the frontier


def _check_frontier(frontier: FrontierReader) -> Check:
    """Check that every accepted URL is queued, in hand, done, or given up with a reason."""
    checked = Check(name="frontier")
    try:
        checked.problems += frontier.audit()
        stats = frontier.stats()
    except FrontierError as error:
        checked.problems.append(f"the frontier cannot be read: {error}")
        return checked
    checked.counts |= {
        "sites": stats.sites,
        "known": stats.known,
        "queued": stats.queued,
        "done": stats.done,
        "given_up": sum(stats.given_up.values()),
    }
    return checked


# ---------------------------------------------------------------------- pages


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hashes:
    """Sets of URL hashes, in a fifth of the memory of Python's own sets."""

    stored: pa.Array  # distinct, of `pages`
    done: pa.ChunkedArray
    given_up: pa.ChunkedArray


def _check_pages(frontier: FrontierReader, folders: Folders) -> Check:
    """Check that every done page has a row, and that every row belongs to an accepted URL."""
    checked = Check(name="pages")
    try:
        done_pages = frontier.stats().pages
        rows = _read_hashes(folders, checked)
        hashes = _sort_out(frontier, rows)
        with_row = pc.sum(pc.is_in(hashes.stored, value_set=hashes.done)).as_py() or 0
        checked.counts |= {"done_pages": done_pages, "urls": len(hashes.stored), "rows": len(rows)}
        if with_row < done_pages and (absent := _absent_workers(frontier, folders)):
            checked.notes.append(
                f"not checked: {count(done_pages - with_row, 'done page')}, with other machines, where "
                f"{', '.join(absent)} had them; name the folders of all machines, each with --data-dir"
            )
        elif with_row < done_pages:
            checked.problems.append(f"no row in pages: {count(done_pages - with_row, 'done page')}")
            checked.problems += _name_missing(folders, hashes)
        checked.problems += _name_unlogged(folders, hashes)
        checked.problems += _name_unlinked(folders, hashes)
        settled = pa.chunked_array([*hashes.done.chunks, *hashes.given_up.chunks], _HASH)
        strange = hashes.stored.filter(pc.invert(pc.is_in(hashes.stored, value_set=settled)))
        if len(strange):
            _check_strangers(frontier, folders, strange, checked)
    except FrontierError as error:
        checked.problems.append(f"the frontier cannot be read: {error}")
    return checked


def _absent_workers(frontier: FrontierReader, folders: Folders) -> list[str]:
    """Return the labels of workers on other machines whose files are in none of these folders."""
    if frontier.lease_s is None:
        return []
    asked = [worker for worker in frontier.workers() if worker.figures.get("requests")]
    files = {worker_of(source.path) for source in row_files(folders, REQUESTS)}
    # A worker that was declared dead and rejoined has several numbers, and files with the first.
    here = {worker.label for worker in frontier.workers() if name_of(worker.worker) in files}
    return sorted({worker.label for worker in asked} - here)


def _read_hashes(folders: Folders, checked: Check) -> pa.ChunkedArray:
    """Return the hash of every row of `pages`; count rows without an archive record."""
    batches, unarchived = [], 0
    for batch in _readable(folders, PAGES, _ROW):
        batches.append(batch)
        unarchived += pc.sum(pc.equal(batch["warc_file"], "")).as_py() or 0
    if unarchived and all(map(keeps_archives, listed(folders))):
        without = f"{count(unarchived, 'row')} without an archive record"
        checked.problems.append(f"{without}, and crawl.toml does not say warc = false")
    elif unarchived:
        checked.notes.append(f"{count(unarchived, 'row')} without an archive record, as crawl.toml says (warc = false)")
    if batches:
        checked.problems += _name_repeated(folders, pa.Table.from_batches(batches))
    return pa.chunked_array([batch["url_hash"] for batch in batches], _HASH)


def _name_repeated(folders: Folders, rows: pa.Table) -> Iterator[str]:
    """Name pages with two equal rows: a page fetched again has another time."""
    counted = rows.group_by(_ROW).aggregate([([], "count_all")])
    repeated = counted.filter(pc.greater(counted["count_all"], 1))["url_hash"]
    seen: set[str] = set()
    for batch in _readable(folders, PAGES, ["url_hash", "url"]) if len(repeated) else ():
        for url in batch.filter(pc.is_in(batch["url_hash"], value_set=repeated))["url"].to_pylist():
            if url not in seen and len(seen) < MAX_NAMED:
                seen.add(url)
                yield f"{url} has the same row in pages more than once"


def _sort_out(frontier: FrontierReader, rows: pa.ChunkedArray) -> _Hashes:
    done, given_up = [], []
    walk = frontier.settled()
    while step := list(islice(walk, _STEP_ROWS)):
        done.append(pa.array([url_hash for _, url_hash, reason in step if reason is None], _HASH))
        given_up.append(pa.array([url_hash for _, url_hash, reason in step if reason is not None], _HASH))
    return _Hashes(
        stored=pc.unique(rows), done=pa.chunked_array(done, _HASH), given_up=pa.chunked_array(given_up, _HASH)
    )


def _name_unlogged(folders: Folders, hashes: _Hashes) -> Iterator[str]:
    """Say how many pages are done and stored whose requests are not in the crawl log: their rows are lost."""
    logged = [batch["url_hash"] for batch in _readable(folders, REQUESTS, ["url_hash"])]
    done = hashes.stored.filter(pc.is_in(hashes.stored, value_set=hashes.done))
    unlogged = pc.sum(pc.invert(pc.is_in(done, value_set=pa.chunked_array(logged, _HASH)))).as_py() or 0
    if unlogged:
        yield f"no row in requests: {count(unlogged, 'done page')}"


def _name_unlinked(folders: Folders, hashes: _Hashes) -> Iterator[str]:
    """Say how many done pages have lost their rows of `links`, by a journal whose end is damaged."""
    for folder in listed(folders):
        for name in doubtful_links(folder) if find_running(folder) is None else ():
            found = pa.array([key.from_hash for key in pages_without_links(folder, name)], _HASH)
            if unlinked := pc.sum(pc.is_in(found, value_set=hashes.done)).as_py():
                yield f"journal/{name}: no row in links: {count(unlinked, 'done page')}; the next start restores them"


def _name_missing(folders: Folders, hashes: _Hashes) -> Iterator[str]:
    """Name done pages without a row, as far as the crawl log knows them.

    The frontier keeps only the hash of a settled URL. Pages that were answered but left out on purpose (a redirect in
    the page; noindex, by older versions) are among these.
    """
    named = 0
    without_row = hashes.done.filter(pc.invert(pc.is_in(hashes.done, value_set=hashes.stored)))
    seen: set[str] = set()
    for batch in _readable(folders, REQUESTS, ["url_hash", "url", "kind", "status"]):
        is_good = pc.and_(pc.greater_equal(batch["status"], 200), pc.less(batch["status"], 300))
        is_page = pc.and_(is_good, pc.equal(batch["kind"], RequestKind.PAGE))
        found = batch.filter(pc.and_(is_page, pc.is_in(batch["url_hash"], value_set=without_row)))
        for url in found["url"].to_pylist():
            if url not in seen and named < MAX_NAMED:
                seen.add(url)
                named += 1
                yield f"perhaps {url}: it was answered and is done, and has no row"


def _check_strangers(frontier: FrontierReader, folders: Folders, strange: pa.Array, checked: Check) -> None:
    """Sort stored pages that are not settled into those that a crash explains and those that it does not.

    A crash between storing and completing leaves rows of URLs that are still queued, and of redirect targets that
    are not known yet: then the page that redirects there is still queued, on the same site. If it redirects elsewhere
    when it is requested again, the crawl log shows that the stored page was requested.
    """
    unexplained: dict[bytes, str] = {}
    open_pages: set[bytes] = set()
    for batch in _readable(folders, PAGES, ["url_hash", "url", "site"]):
        batch = batch.filter(pc.is_in(batch["url_hash"], value_set=strange))
        for url_hash, url, site in zip(*batch.to_pydict().values(), strict=True):
            if url_hash in open_pages or url_hash in unexplained:
                continue
            if _is_accounted_for(frontier, site, url_hash):
                open_pages.add(url_hash)
            else:
                unexplained[url_hash] = url
    wanted = pa.array(unexplained, _HASH)
    for batch in _readable(folders, REQUESTS, ["url_hash"]) if unexplained else ():
        for url_hash in batch["url_hash"].filter(pc.is_in(batch["url_hash"], value_set=wanted)).to_pylist():
            unexplained.pop(url_hash, None)
    if open_pages:
        checked.notes.append(f"{count(len(open_pages), 'page')} stored but not completed: to be requested again")
    kind = "is stored, but was neither accepted nor asked for"
    checked.problems += [f"{url} {kind}" for url in islice(unexplained.values(), MAX_NAMED)]
    if len(unexplained) > MAX_NAMED:
        checked.problems.append(f"{len(unexplained) - MAX_NAMED} more of: {kind}")


def _is_accounted_for(frontier: FrontierReader, site: str, url_hash: bytes) -> bool:
    if frontier.known(site, url_hash):
        return True
    state = frontier.find_site(site)
    if state is not None and (state.queued or state.owner is not None):
        return True
    return frontier.known(site, url_hash)  # if it was completed between the two reads


def _readable(folders: Folders, table: Table, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield what can be read; the check of files reports the rest."""
    for source in row_files(folders, table):
        try:
            yield from source.batches(columns)
        except GossamerError:
            continue


# ---------------------------------------------------------------------- files


def _check_files(folders: Folders) -> Check:
    """Check that every file is complete, and that every row's archive record is intact and where the row says."""
    checked = Check(name="files", counts=dict.fromkeys(("pages", "requests", "records"), 0))
    kinds: Counter[Flaw] = Counter()
    for folder in listed(folders):
        stored = check(folder, is_running=find_running(folder) is not None)
        for name in checked.counts:
            checked.counts[name] += getattr(stored, name)
        awaited = awaited_files(folder, stored.problems)
        checked.notes += [f"{each.file} ({each.detail}) is not uploaded yet" for each in awaited]
        for problem in (each for each in stored.problems if each not in awaited):
            kinds[problem.flaw] += 1
            if problem.flaw is not Flaw.UNFINISHED and kinds[problem.flaw] <= MAX_NAMED:
                file = problem.file if len(listed(folders)) == 1 else f"{folder}/{problem.file}"
                detail = f": {problem.detail}" if problem.detail else ""
                checked.problems.append(f"{file}: {_words(problem.flaw)}{detail}")
        checked.problems += check_notes(folder)
        for quarantined in read_quarantine(folder):
            if quarantined.missing is not None and not quarantined.loss():
                restored = f"{count(quarantined.restored, 'row')} restored"
                again = f"{count(quarantined.queued_again, 'page')} queued again"
                checked.notes.append(f"{quarantined.name} was damaged ({quarantined.detail}): {restored}, {again}")
    unfinished = kinds.pop(Flaw.UNFINISHED, 0)
    for flaw, found in kinds.items():
        if found > MAX_NAMED:
            checked.problems.append(f"{found - MAX_NAMED:,} more of: {_words(flaw)}")
    if unfinished:
        checked.notes.append(
            f"{count(unfinished, 'file')} still open, or left open by a crash: the next start repairs that"
        )
    return checked


def check_notes(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the small files of a crawl's folder."""
    for name in NOTES:
        try:
            read_note(folder / name)
        except DamagedNoteError as error:
            yield f"{error}: the next start writes it again"
    try:
        for number in damaged_lines(folder):
            yield f"{DELAYS_FILE}: line {number} is damaged: the next start removes it"
        for number in damaged_address_delays(folder):
            yield f"{ADDRESS_DELAYS_FILE}: line {number} is damaged: the next start removes it"
    except DamagedNoteError as error:
        yield f"{error}: remove it"
    if (folder / SITES_FILE).exists() and read_lines(folder / SITES_FILE) is None:
        yield f"{SITES_FILE} is damaged: the next start writes it again"


def _words(flaw: Flaw) -> str:
    return flaw.value.replace("_", " ")


# ---------------------------------------------------------------------- conduct


def _check_conduct(folders: Folders) -> Check:
    """Check that no site was visited too early, nor for a URL that its robots.txt does not allow."""
    checked = Check(name="conduct")
    try:
        is_complete = _is_log_complete(folders)
        found = judge_conduct(folders, at_most=MAX_NAMED, is_complete=is_complete)
    except GossamerError as error:
        checked.notes.append(f"requests could not be judged: {error}")
        return checked
    if found is None:
        checked.notes.append("requests were not checked: this crawl did not record its delays")
        return checked
    if not is_complete:
        checked.notes.append("rows of requests are lost, so requests without a robots.txt before them were not judged")
    checked.counts |= {"sites": found.sites, "turns": found.turns, "violations": found.violations}
    checked.problems += [f"{one.url} {one.sentence}" for one in found.named]
    if found.violations > MAX_NAMED:
        checked.problems.append(f"{count(found.violations - MAX_NAMED, 'more request')} like these")
    return checked


def _is_log_complete(folders: Folders) -> bool:
    """Return whether the disk has damaged no row of the crawl log."""
    for source in row_files(folders, REQUESTS):
        try:
            for _ in source.batches(["status"]):
                pass
        except GossamerError:
            return False
        if source.broken:
            return False
    quarantined = [each for folder in listed(folders) for each in read_quarantine(folder)]
    return not any(each.table in (REQUESTS.name, "") for each in quarantined)


def keeps_archives(folder: Path) -> bool:
    """Return whether the crawl keeps archives, which is the default."""
    try:
        return tomllib.loads((folder / "crawl.toml").read_text(encoding="utf-8")).get("warc") is not False
    except (OSError, ValueError):
        return True
