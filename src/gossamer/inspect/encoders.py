"""The formats of an export. Each format says which columns it needs, and encodes pages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa

from gossamer import __version__
from gossamer.inspect import lines
from gossamer.inspect.exchanges import Exchanges
from gossamer.inspect.targets import Takes
from gossamer.inspect.views import sql_type
from gossamer.safe_files import make_folder, open_file
from gossamer.store.schemas import PAGES
from gossamer.store.warc import new_record_id, warcinfo

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = [(column.name, sql_type(column)) for column in PAGES.columns]


class JsonLines:
    """One JSON object per line."""

    batch_rows = 2_000
    takes = Takes.ALL

    def header(self) -> bytes:
        """Return nothing."""
        return b""

    def query(self, pages: str) -> str:
        """Let DuckDB make the lines."""
        return lines.json_lines(_only(pages, *(name for name, _ in COLUMNS)), COLUMNS)

    def encode(self, _folder: Path, batch: pa.RecordBatch) -> bytes:
        """Return the lines."""
        return b"".join(line.encode() + b"\n" for line in batch.column(0).to_pylist())


class Csv(JsonLines):
    """Comma-separated values; the first line has the names of the columns."""

    def __init__(self, *, spreadsheet_safe: bool) -> None:
        self._spreadsheet_safe = spreadsheet_safe

    def header(self) -> bytes:
        """Return the names of the columns."""
        return lines.csv_header(COLUMNS).encode() + b"\n"

    def query(self, pages: str) -> str:
        """Let DuckDB make the lines."""
        columns = _only(pages, *(name for name, _ in COLUMNS))
        return lines.csv_lines(columns, COLUMNS, spreadsheet_safe=self._spreadsheet_safe)


class TextFiles:
    """A file with the text of each page, `ab/cd/abcd….txt` by the URL's hash; the appended file is their index."""

    batch_rows = 500
    takes = Takes.ALL
    _INDEX = ("url", "fetched_at", "status", "lang", "title")

    def __init__(self, folder: Path, *, spreadsheet_safe: bool) -> None:
        self._folder = folder
        self._spreadsheet_safe = spreadsheet_safe  # the index
        self._made: set[Path] = set()

    def header(self) -> bytes:
        """Return the names of the index's columns."""
        return ("file," + ",".join(self._INDEX) + "\n").encode()

    def query(self, pages: str) -> str:
        """Read the text, and a line of the index without the file's name."""
        kinds = dict(COLUMNS)
        columns = [(name, kinds[name]) for name in self._INDEX]
        hash_and_text = "lower(hex(url_hash)) as name, text"
        index = lines.csv_values(columns, spreadsheet_safe=self._spreadsheet_safe)
        return f"select {hash_and_text}, {index} as line from ({pages})"  # noqa: S608

    def encode(self, _folder: Path, batch: pa.RecordBatch) -> bytes:
        """Write the files and return their index lines."""
        index = []
        for name, text, line in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            path = self._folder / name[:2] / name[2:4] / f"{name}.txt"
            if path.parent not in self._made:
                make_folder(path.parent)
                self._made.add(path.parent)
            with open_file(path, "wb") as file:
                file.write(text.encode())
            index.append(f"{name[:2]}/{name[2:4]}/{path.name},{line}\n")
        return "".join(index).encode()


class Warc:
    """The archived exchanges, byte for byte, after a warcinfo record of our own."""

    batch_rows = 100
    takes = Takes.COMPLETE

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._exchanges = Exchanges()

    def header(self) -> bytes:
        """Return the warcinfo record."""
        about = {
            "software": f"Gossamer/{__version__}",
            "format": "WARC File Format 1.1",
            "description": "pages selected for an export; records are as the crawl archived them",
        }
        return warcinfo(self._filename, time.time(), about, new_record_id())

    def query(self, pages: str) -> str:
        """Read where the records are."""
        return _only(pages, "warc_file", "warc_offset", "warc_length")

    def encode(self, folder: Path, batch: pa.RecordBatch) -> bytes:
        """Return the records."""
        places = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return b"".join(self._exchanges.find(folder, *place) for place in places)


class PageTable:
    """The table `pages` as it is."""

    takes = Takes.ALL
    schema = PAGES.schema

    def query(self, pages: str) -> str:
        """Read all columns."""
        return _only(pages, *(name for name, _ in COLUMNS))

    def rows(self, _folder: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with the types of the table."""
        return pa.Table.from_batches([batch]).cast(self.schema).combine_chunks().to_batches()[0]


def _only(pages: str, *names: str) -> str:
    return f"select {', '.join(names)} from ({pages})"  # noqa: S608  # our own names
