"""Brings the operator's exclusions into the frontier: from the exclusion file at a start, from a command at any time.

Every worker on every machine gets the frontier's list with its next heartbeat, within seconds. An excluded site is not
claimed: its queue stays as it is until the site is readmitted. Other entries (hosts, beginnings of URLs) make workers
bar URLs one by one, as their turn comes; readmitting the entry queues them again.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from gossamer.crawl.compose import read_exclusions
from gossamer.crawl.rejudging import NO_CLAIM, admit_barred
from gossamer.crawl.rules import judge_of
from gossamer.errors import GossamerError
from gossamer.records import Batch, GivenUp, Reason, Visit
from gossamer.rules.scope import Exclusions, read_entry
from gossamer.store.files import replacing
from gossamer.store.notes import encode_line, read_lines
from gossamer.store.reading import row_files
from gossamer.store.schemas import PAGES
from gossamer.urls import Refusal, host_of, site_of, site_of_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.frontier import OperatorFrontier
    from gossamer.rules.scope import ScopeSettings

APPLIED_FILE: Final = "excluded-sites.txt"
PURGE_URLS: Final = 1_000  # given up per transaction: workers must not wait long

_COLUMNS: Final = ["url", "warc_file", "warc_offset", "warc_length"]


def apply_exclusions(frontier: OperatorFrontier, folder: Path, exclusions: Exclusions) -> None:
    """Exclude the sites that the file names, and readmit those that it named at the last start."""
    applied = folder / APPLIED_FILE
    before = set(read_lines(applied) or ())  # if the disk has damaged it, nothing is readmitted
    now = {name for name in exclusions.names if site_of_name(name) == name}
    if before - now:
        frontier.readmit(before - now)
    if before != now:
        with replacing(applied) as file:
            file.writelines(encode_line(site).encode() for site in sorted(now))
    if now:
        frontier.exclude(now)


def read_entries(texts: Sequence[str]) -> list[str]:
    """Return each entry in its normal form; refuse an entry that would exclude nothing."""
    entries = []
    for text in texts:
        entry = read_entry(text.strip())
        if "://" in text and "*" in text:
            raise GossamerError(
                f"{text!r} excludes nothing: a URL stands for all that begin with it, so write no star in it."
            )
        if isinstance(entry, Refusal):
            raise GossamerError(
                f"{text!r} excludes nothing ({entry.value}): name a domain (example.org), all names below one "
                "(*.example.org), or the beginning of URLs (https://example.org/private/)."
            )
        entries.append(entry)
    return entries


def readmit(frontier: OperatorFrontier, entries: Sequence[str], settings: ScopeSettings) -> int:
    """Take entries off the list and queue the URLs again that they barred; return how many.

    Refuses entries that are not on the list, and entries that the exclusion file names.
    """
    in_file = read_exclusions(settings.exclude_file)
    listed = frontier.exclusions()
    for entry in entries:
        if _names(in_file, entry):
            raise GossamerError(f"{entry} stands in the crawl's exclusion file: take it out there and start again.")
        if entry not in listed:
            raise GossamerError(f"{entry} is not on the list of exclusions: --list prints that list.")
    frontier.readmit(entries)
    return admit_barred(frontier, judge_of(frontier, settings))


def give_up_queued(frontier: OperatorFrontier, entries: Sequence[str]) -> int:
    """Give up the queued URLs that these entries exclude, and forget those that they barred; return how many."""
    exclusions, _ = Exclusions.parse(entries)
    barred = ((link, why) for link, why in frontier.barred() if exclusions.find(link.url, link.host) is not None)
    given_up = 0
    while forgotten := list(islice(barred, PURGE_URLS)):
        frontier.forget(forgotten)
        given_up += len(forgotten)
    for site in sorted({_site_of(entry) for entry in entries}):
        hashes = (url_hash for url, url_hash in frontier.queued(site) if exclusions.find(url, host_of(url)) is not None)
        while some := list(islice(hashes, PURGE_URLS)):
            outcomes = [(url_hash, GivenUp(reason=Reason.EXCLUDED)) for url_hash in some]
            frontier.complete(Batch(visits=[Visit(site=site, epoch=NO_CLAIM, outcomes=outcomes)]))
            given_up += len(some)
    return given_up


def stored_pages(folder: Path, entries: Sequence[str]) -> Iterator[tuple[str, str, int, int]]:
    """Yield URL, archive file, offset and length of every stored page that these entries exclude."""
    exclusions, _ = Exclusions.parse(entries)
    for source in row_files(folder, PAGES):
        for batch in source.batches(_COLUMNS):
            for url, *place in zip(*(batch[name].to_pylist() for name in _COLUMNS), strict=True):
                if exclusions.find(url, host_of(url)) is not None:
                    yield url, *place


def _names(exclusions: Exclusions, entry: str) -> bool:
    if "://" in entry:
        return entry in exclusions.prefixes.get(host_of(entry), ())
    return entry[2:] in exclusions.parents if entry.startswith("*.") else entry in exclusions.names


def _site_of(entry: str) -> str:
    return site_of(entry) if "://" in entry else site_of_name(entry.removeprefix("*."))
