"""WET, the text of pages as Common Crawl publishes it: WARC 1.0, one `conversion` record per page."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gossamer import __version__
from gossamer.inspect.language_codes import three_letters
from gossamer.inspect.targets import Takes
from gossamer.store import names
from gossamer.store.scanning import headers_at
from gossamer.store.warc import digest, new_record_id, to_member

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

_COLUMNS = "url, epoch_us(fetched_at) as fetched_us, lang, title, text, warc_file, warc_offset"


class Wet:
    """Titles and texts, with the language and the record that each comes from."""

    batch_rows = 500
    takes = Takes.ALL

    def __init__(self, filename: str) -> None:
        self._filename = filename

    def header(self) -> bytes:
        """Return the warcinfo record."""
        about = {
            "software": f"Gossamer/{__version__}",
            "extracted-date": datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "format": "WARC File Format 1.0",
            "description": "titles and main texts of pages selected for an export",
        }
        block = "".join(f"{name}: {value}\r\n" for name, value in about.items()).encode()
        headers = {
            "WARC-Type": "warcinfo",
            "WARC-Date": _date(time.time()),
            "WARC-Filename": self._filename,
            "WARC-Record-ID": f"<urn:uuid:{new_record_id()}>",
            "Content-Type": "application/warc-fields",
        }
        return _record(headers, block)

    def query(self, pages: str) -> str:
        """Read texts, and where their records are."""
        return f"select {_COLUMNS} from ({pages})"  # noqa: S608  # our own names

    def encode(self, folder: Path, batch: pa.RecordBatch) -> bytes:
        """Return a record for each page."""
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        return b"".join(_conversion(folder, *row) for row in rows)


def _conversion(
    folder: Path, url: str, fetched_us: int, lang: str, title: str, text: str, warc_file: str, offset: int
) -> bytes:
    source = headers_at(folder / names.WARC / warc_file, offset).get("warc-record-id", "") if warc_file else ""
    block = (f"{title}\n{text}" if title else text).encode()
    headers = {
        "WARC-Type": "conversion",
        "WARC-Target-URI": url,
        "WARC-Date": _date(fetched_us / 1e6),
        "WARC-Record-ID": f"<urn:uuid:{new_record_id()}>",
        "WARC-Refers-To": source,
        "WARC-Block-Digest": digest(block),
        "WARC-Identified-Content-Language": three_letters(lang),
        "Content-Type": "text/plain",
    }
    return _record(headers, block)


def _record(headers: dict[str, str], block: bytes) -> bytes:
    """Return a record as a gzip member; a header without a value is left out."""
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
    return to_member(f"WARC/1.0\r\n{fields}Content-Length: {len(block)}\r\n\r\n".encode(), block)


def _date(at: float) -> str:
    """Return Unix seconds as WARC 1.0 writes them: without fractions."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
