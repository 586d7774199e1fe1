"""The links of stored pages, read again: rules that admit more than before bring back what was refused then.

Pages are read from their archive records, by the same code as when they came; of pages that are stored without one, the
table `links` tells. What a page linked to that is not stored at all (noindex, say) is not known any more. Redirects are
archived too, and lead to where they led.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.commands import to_type
from gossamer.crawl.compose import own_exclusions
from gossamer.inspect.stored import head_of
from gossamer.page_process.process import PageProcess
from gossamer.records import Fetched, Link, ParsedPage
from gossamer.rules.heads import header
from gossamer.rules.scope import Exclusions
from gossamer.rules.traps import TrapGuard, content_key
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.store import names
from gossamer.store.cdxj import read_line
from gossamer.store.damage import DamagedError
from gossamer.store.reading import find_pages, find_record, find_response, row_files
from gossamer.store.schemas import LINKS, PAGES
from gossamer.turn import Hooks
from gossamer.turn.links import LinkRules, follow_links
from gossamer.urls import host_of, identify, normalise, site_of
from gossamer.wording import count
from gossamer.worker import report_hook_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from gossamer.crawl.settings import Settings
    from gossamer.frontier import OperatorFrontier
    from gossamer.store.reading import RowFile
    from gossamer.store.scanning import Record
    from gossamer.urls import Url

log = logging.getLogger(__name__)

IN_FLIGHT: Final = 16  # pages at a time: their bodies are in memory
ADD_LINKS: Final = 2_000  # at a time
MAX_CONTENTS: Final = 100_000  # archived payloads whose place is remembered for duplicates, about 25 MB
SAY_EVERY_S: Final = 10.0

_LINKS_SQL: Final = """
select p.url, p.depth, l.to_url, l.rel from links l
join pages p on p.url_hash = l.from_hash and p.fetched_at = l.fetched_at
where p.warc_file = '' and p.links > 0
"""


class _Stored(NamedTuple):
    """What has to be known of a stored page."""

    url_hash: bytes
    url: str
    depth: int
    status: int
    links: int
    payload_digest: str
    warc_file: str
    warc_offset: int
    duplicate_of: str


@dataclass(slots=True)
class _Tally:
    pages: int = 0
    new: int = 0
    unarchived: int = 0
    damaged: int = 0
    began_s: float = 0.0
    said_s: float = 0.0


class Rereading:
    """Reads all links again that pages stored in a folder have, and offers them to the frontier."""

    def __init__(
        self,
        frontier: OperatorFrontier,
        folder: Path,
        settings: Settings,
        *,
        least_depth: int,  # of pages that are worth it
        hooks: Hooks | None,  # of the program that runs the crawl
    ) -> None:
        self._frontier = frontier
        self._folder = folder
        self._settings = settings
        self._least_depth = least_depth
        self._rules = LinkRules(
            scope=settings.scope,
            exclusions=own_exclusions(settings.scope) | Exclusions.parse(frontier.exclusions())[0],
            include=UrlPatterns(settings.scope.include),
            traps=TrapGuard(settings.traps),
            hooks=hooks or Hooks(),
            year=time.gmtime().tm_year,
            seed_ports=frontier.seed_ports(),
        )
        self._contents: dict[str, tuple[str, int]] = {}  # by digest: where a payload is archived
        self._found: list[Link] = []
        self._tally = _Tally()
        self._verify = to_type("verify", folders=folder)

    async def run(self, done: Collection[str], *, note: Callable[[str], None], say: Callable[[str], None]) -> None:
        """Read every file that is not done yet; `note` hears of each that is, when its links are in the frontier."""
        files = row_files(self._folder, PAGES)
        if not files:
            return
        say("The rules admit more than before: reading the links of stored pages again.")
        self._tally.began_s = self._tally.said_s = time.monotonic()
        page = replace(self._settings.page, text="fast", markdown=False, links=False)
        agent, body_bytes = self._settings.crawl.agent_name, self._settings.fetch.max_body_bytes
        async with PageProcess(page, agent=agent, max_body_bytes=body_bytes, slice_s=math.inf) as process:
            for file in files:
                if file.path.name not in done:
                    unarchived = self._tally.unarchived
                    try:
                        await self._read_pages(file, process, say)
                    except DamagedError as error:
                        log.warning("The links of its pages are not read again: %s", error)
                    self._add()
                    if self._tally.unarchived == unarchived:  # else it is done only when the table `links` is read
                        note(file.path.name)
        for index in sorted((self._folder / names.WARC).glob(f"*{names.INDEX_SUFFIX}")):
            if index.name not in done and index.is_file():
                self._read_redirects(index)
                self._add()
                note(index.name)
        if self._tally.unarchived:
            self._read_links_table(say)
        self._add()
        damaged = f" {self._tally.damaged:,} could not be read: see `{self._verify}`." if self._tally.damaged else ""
        say(
            f"{count(self._tally.pages, 'stored page')} read again: {count(self._tally.new, 'URL')} queued that had "
            f"been refused.{damaged}"
        )

    # ------------------------------------------------------------------ pages

    async def _read_pages(self, file: RowFile, process: PageProcess, say: Callable[[str], None]) -> None:
        for batch in file.batches(_Stored._fields):
            rows = iter(self._worth_reading(batch))
            while some := list(islice(rows, IN_FLIGHT)):
                await asyncio.gather(*(self._read_page(row, process) for row in some))
                self._tally.pages += len(some)
                if len(self._found) >= ADD_LINKS:
                    self._add()
                if time.monotonic() - self._tally.said_s > SAY_EVERY_S:
                    self._tally.said_s = time.monotonic()
                    rate = self._tally.pages / (time.monotonic() - self._tally.began_s)
                    say(f"{count(self._tally.pages, 'stored page')} read again so far, {rate:,.0f} a second")

    def _worth_reading(self, batch: pa.RecordBatch) -> Iterator[_Stored]:
        """Yield the archived pages of a batch whose links count now; note where payloads lie."""
        most = self._settings.scope.max_depth
        columns = (batch[name].to_pylist() for name in _Stored._fields)
        for row in map(_Stored._make, zip(*columns, strict=True)):
            if row.warc_file and not row.duplicate_of:
                self._contents[row.payload_digest] = (row.warc_file, row.warc_offset)
                if len(self._contents) > MAX_CONTENTS:
                    del self._contents[next(iter(self._contents))]
            if not row.links or row.depth < self._least_depth or (most is not None and row.depth >= most):
                continue
            if row.warc_file:
                yield row
            else:
                self._tally.unarchived += 1

    async def _read_page(self, row: _Stored, process: PageProcess) -> None:
        try:
            record = self._find(row)
        except (FileNotFoundError, ValueError):
            self._tally.damaged += 1
            return
        answer = Fetched(
            url=row.url,
            status=row.status,
            head=head_of(record),
            body=record.payload,
            address="",
            request_head=b"",
            started_at=0.0,
            duration_s=0.0,
        )
        parsed = await process.read(answer, archive=False)
        if isinstance(parsed, ParsedPage):
            page = identify(row.url)
            self._rules.traps.note_page(page.site, content_key(parsed.row.text, parsed.row.content_hash))
            self._take(page, row.depth, parsed.links)

    def _find(self, row: _Stored) -> Record:
        """Return a page's answer; a duplicate's with the payload that it shares."""
        record = find_record(self._folder, row.warc_file, row.warc_offset)
        if not record.is_revisit:
            return record
        if place := self._contents.get(row.payload_digest):
            return replace(record, block=record.block + find_record(self._folder, *place).payload)
        place = row.warc_file, row.warc_offset
        pages = find_pages(self._folder, row.url_hash)
        return find_response(self._folder, next(page for page in pages if (page.warc_file, page.warc_offset) == place))

    # ------------------------------------------------------------------ redirects

    def _read_redirects(self, index: Path) -> None:
        with index.open("rb") as lines:
            for line in lines:
                said = read_line(line)
                if said and said["status"].startswith("3"):
                    with suppress(FileNotFoundError, ValueError):  # `verify` tells what is damaged
                        self._read_redirect(said)

    def _read_redirect(self, said: dict[str, str]) -> None:
        record = find_record(self._folder, said["filename"], int(said["offset"]))
        source = identify(said["url"])
        state = self._frontier.find_url(source.site, source.url_hash)
        target = normalise(header(head_of(record), "Location") or "", source.url)
        if state is None or not isinstance(target, str):
            return
        is_own = state.depth == 0 and site_of(target) == source.site
        if self._rules.scope.targets(self._rules.seed_ports).refuse(
            host_of(target), by=source.host, same_port=not is_own
        ):
            return
        if state.depth == 0:
            self._found.append(Link(*identify(target), 0, seeded=True, hops=1, via=source.url_hash))
        else:  # a link that is as near as what it stands for
            self._take(source, state.depth - 1, [identify(target)], hops=1)

    # ------------------------------------------------------------------ the link graph

    def _read_links_table(self, say: Callable[[str], None]) -> None:
        if not row_files(self._folder, LINKS):
            say(
                f"{count(self._tally.unarchived, 'page')} stored without an archive and without --links: the links of "
                "such pages are unknown, so only new pages bring back what was refused."
            )
            return
        from gossamer.inspect.database import open_tables  # hardly anybody needs what that takes to load

        with open_tables([self._folder], _LINKS_SQL) as tables, tables.read(tables.check(_LINKS_SQL)) as batches:
            for batch in batches:
                for url, depth, to_url, rel in zip(*batch.to_pydict().values(), strict=True):
                    if "nofollow" not in rel.lower().split():
                        self._take(identify(url), depth, [identify(to_url)])
                if len(self._found) >= ADD_LINKS:
                    self._add()
        self._tally.pages += self._tally.unarchived

    # ------------------------------------------------------------------ into the frontier

    def _take(self, page: Url, depth: int, links: Sequence[Url], *, hops: int = 0) -> None:
        """Note what the rules let the crawl follow of the links of a page at this depth."""
        followed = follow_links(links, page=page, rules=self._rules, depth=depth + 1, hops=hops)
        self._found += followed.links
        for failure in followed.hook_failures:
            report_hook_failure(self._rules.hooks, failure)

    def _add(self) -> None:
        if self._found:
            self._tally.new += self._frontier.add(self._found)
            self._found.clear()
