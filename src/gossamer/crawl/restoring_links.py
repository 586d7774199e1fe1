"""Restores lost rows of the table `links`: the pages that had them are read again from their archive records."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.inspect.archived_answers import read_answer
from gossamer.inspect.lost_links import pages_without_links
from gossamer.page_process.process import PageProcess
from gossamer.records import LinkRow, ParsedPage
from gossamer.store.restored import RestoredRows

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.crawl.settings import Settings
    from gossamer.inspect.archived_answers import ArchivePlace
    from gossamer.inspect.lost_links import PageKey

IN_FLIGHT: Final = 8  # pages at a time: their bodies are in memory


class RestoredLinks(NamedTuple):
    """What became of the rows of a damaged file."""

    rows: int = 0  # restored
    missing: int = 0  # pages with links whose rows cannot be restored


def restore_links(folder: Path, settings: Settings, name: str) -> RestoredLinks:
    """Write the rows of `links` again that a damaged file of this name held."""
    lost = pages_without_links(folder, name)
    return asyncio.run(_read_again(folder, settings, lost)) if lost else RestoredLinks()


async def _read_again(folder: Path, settings: Settings, lost: dict[PageKey, ArchivePlace]) -> RestoredLinks:
    rows = missing = 0
    terms = replace(settings.page, links=True)
    pages = list(lost.items())
    body_bytes = settings.fetch.max_body_bytes
    async with PageProcess(terms, agent=settings.crawl.agent_name, max_body_bytes=body_bytes) as process:
        with RestoredRows(folder) as journal:
            for start in range(0, len(pages), IN_FLIGHT):
                reading = (_read(folder, place, key, process) for key, place in pages[start : start + IN_FLIGHT])
                for links in await asyncio.gather(*reading):
                    if links is None:
                        missing += 1
                    else:
                        journal.keep_links(links)
                        rows += len(links)
    return RestoredLinks(rows, missing)


async def _read(folder: Path, place: ArchivePlace, key: PageKey, process: PageProcess) -> list[LinkRow] | None:
    """Return the rows of one page; None if it is not archived, or its record is damaged."""
    archived = read_answer(folder, place) if place.warc_file else None
    if archived is None:
        return None
    parsed = await process.read(archived.answer, archive=False)
    return [LinkRow(*key, *anchor) for anchor in parsed.anchors] if isinstance(parsed, ParsedPage) else None
