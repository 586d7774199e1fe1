"""Duplicates in an archive, and the pages that have their payload.

A duplicate is archived as a revisit record, which is useless without the record that it refers to. So an export of
archive records takes that record too, although its page was not selected. A revisit whose original is lost is left
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.inspect.targets import Takes
from gossamer.inspect.views import quoted
from gossamer.store import names
from gossamer.store.scanning import headers_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gossamer.inspect.database import QueryDatabase
    from gossamer.inspect.snapshot import Part

# The duplicates among the selected pages; the stored pages with the payload of one, selected or not.
_DUPLICATES: Final = """
select file, row, duplicate_of as url, payload_digest, warc_file, warc_offset from ({selected})
    where duplicate_of <> '' and warc_file <> ''
"""
_HAVE_PAYLOAD: Final = """
select file, row, url, payload_digest from ({stored}) semi join {duplicates} using (url, payload_digest)
    where duplicate_of = '' and warc_file <> ''
"""


class Originals:
    """Which archived pages an export takes besides those selected, and which of these it must leave out."""

    def __init__(self, database: QueryDatabase, condition: str) -> None:
        self._database = database
        self._condition = condition

    def find(self, parts: Sequence[Part], takes: Takes) -> None:
        """Find them, if the export needs them."""
        if takes is not Takes.COMPLETE:
            return
        make = self._database.make_table
        duplicates = make("duplicates", _DUPLICATES.format(selected=self.selected(parts)))
        stored = self._database.stored_pages(parts)
        originals = make("originals", _HAVE_PAYLOAD.format(stored=stored, duplicates=duplicates))
        without = f"select * from {duplicates} anti join {originals} using (url, payload_digest)"  # noqa: S608
        make("orphans", _only_rows(self._revisits(without, {part.source: part.folder for part in parts})))

    def selected(self, parts: Sequence[Part]) -> str:
        """Return SQL for the selected pages of some parts."""
        return f"select * from ({self._database.last_pages(parts)}) where {self._condition}"  # noqa: S608  # checked

    def taken(self, part: Part, takes: Takes) -> str:
        """Return SQL for the pages of a part that an export takes; `extra`: not selected, an original."""
        pages = f"select *, false as extra from ({self.selected([part])})"  # noqa: S608
        if takes is Takes.ALL:
            return pages
        pages += " where warc_file <> ''"
        if takes is Takes.ARCHIVED:
            return pages
        table = self._database.table
        stored, selected = self._database.stored_pages([part]), self.selected([part])
        extra = (
            f"select *, true as extra from ({stored}) semi join {table('originals')} using (file, row) "  # noqa: S608
            f"anti join ({selected}) using (file, row)"
        )
        return f"select * from ({pages}) anti join {table('orphans')} using (file, row) union all {extra}"  # noqa: S608

    def _revisits(self, duplicates: str, folders: Mapping[str, Path]) -> list[tuple[str, int]]:
        """Return the file and row of those that are archived as revisit records."""
        found = []
        with self._database.read(duplicates) as reader:
            for batch in reader:
                for row in batch.to_pylist():
                    headers = headers_at(folders[row["file"]] / names.WARC / row["warc_file"], row["warc_offset"])
                    if headers.get("warc-type") == "revisit":
                        found.append((row["file"], row["row"]))
        return found


def _only_rows(places: Sequence[tuple[str, int]]) -> str:
    values = ", ".join(f"({quoted(file)}, {row})" for file, row in places) or "('', -1)"
    return f"select * from (values {values}) as places(file, row)"  # noqa: S608
