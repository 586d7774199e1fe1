"""WACZ: a web archive in one ZIP file, with its index and a list of its pages, for ReplayWeb.page and others.

Records and lists grow in a folder first, so that an export that was killed resumes. The ZIP file is made of them at the
end. Index lines are sorted per file of the crawl, and merged then, a few files at a time: they may not fit into memory.
"""

from __future__ import annotations

import gzip
import hashlib
import heapq
import json
import shutil
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from gossamer import __version__
from gossamer.inspect.encoders import Warc
from gossamer.inspect.exchanges import Exchanges
from gossamer.inspect.targets import Takes, partial_of, resumed, synced
from gossamer.safe_files import make_folder, open_file
from gossamer.store import names
from gossamer.store.cdxj import REVISIT_TYPE, index_line
from gossamer.store.files import replacing
from gossamer.store.scanning import headers_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

_VERSION: Final = "1.1.1"  # of WACZ
_ARCHIVE: Final = "data.warc.gz"
_PAGES: Final = "pages.jsonl"
_COLUMNS: Final = (
    "url, epoch_us(fetched_at) as fetched_us, status, content_type, title, payload_digest, duplicate_of, "
    "warc_file, warc_offset, warc_length, extra"
)
_BLOCK_LINES: Final = 3_000  # of the index, deflated together
_MERGED_FILES: Final = 100  # open at a time
_COPIED_BYTES: Final = 1 << 20  # at a time


class Wacz:
    """A WACZ file, and the folder in which its parts grow."""

    batch_rows = 100
    takes = Takes.COMPLETE

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = partial_of(path)
        self._exchanges = Exchanges()
        self._lines: list[bytes] = []  # of the index, not yet settled
        self._settled = 0  # pieces of the index
        self._archive: BinaryIO
        self._pages: BinaryIO

    def query(self, pages: str) -> str:
        """Read where the records are, and what the lists need."""
        return f"select {_COLUMNS} from ({pages})"  # noqa: S608  # our own names

    def begin(self, lengths: Sequence[int]) -> None:
        """Truncate the files to what was synced, and remove pieces of the index that were not."""
        make_folder(self._folder)
        self._settled, archive, pages = lengths or (0, 0, 0)
        keep = {self._piece(number) for number in range(self._settled)}
        for path in set(self._folder.glob("*.cdxj")) - keep:
            path.unlink()
        self._archive = resumed(self._folder / _ARCHIVE, archive)
        self._pages = resumed(self._folder / _PAGES, pages)
        if not lengths:
            self._archive.write(Warc(_ARCHIVE).header())
            self._pages.write(_json_line({"format": "json-pages-1.0", "id": "pages", "title": "All pages"}))

    def add(self, folder: Path, batch: pa.RecordBatch) -> None:
        """Append records, their index lines, and the pages that were selected."""
        for row in batch.to_pylist():
            place = row["warc_file"], row["warc_offset"], row["warc_length"]
            self._archive.write(self._exchanges.find(folder, *place))
            said = headers_at(folder / names.WARC / place[0], place[1]) if row["duplicate_of"] else {}
            is_revisit = said.get("warc-type") == "revisit"
            line = index_line(
                url=row["url"],
                at=row["fetched_us"] / 1e6,
                status=row["status"],
                content_type=REVISIT_TYPE if is_revisit else row["content_type"],
                digest=row["payload_digest"],
                offset=self._archive.tell() - place[2],
                length=place[2],
                filename=_ARCHIVE,
            )
            self._lines.append(line)
            if not row["extra"]:
                self._pages.write(_page_line(row))

    def settle(self) -> list[int]:
        """Sync the files, and write a piece of the index."""
        with replacing(self._piece(self._settled)) as file:
            file.writelines(sorted(self._lines))
        self._lines = []
        self._settled += 1
        return [self._settled, synced(self._archive), synced(self._pages)]

    def finish(self) -> None:
        """Make the ZIP file."""
        for file in (self._archive, self._pages):
            file.flush()
            file.close()
        index, summary = self._folder / "index.cdx.gz", self._folder / "index.idx"
        with open_file(index, "wb") as blocks, open_file(summary, "wb") as idx, self._merged().open("rb") as lines:
            write_index(lines, blocks, idx)
        with replacing(self._path) as file, ZipFile(file, "w") as package:
            resources = [
                _put(package, f"archive/{_ARCHIVE}", self._folder / _ARCHIVE, ZIP_STORED),
                _put(package, f"indexes/{index.name}", index, ZIP_STORED),
                _put(package, f"indexes/{summary.name}", summary, ZIP_DEFLATED),
                _put(package, f"pages/{_PAGES}", self._folder / _PAGES, ZIP_DEFLATED),
            ]
            described = _description(self._path.name, resources)
            digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(described).hexdigest()}"}
            package.writestr(_entry("datapackage.json", ZIP_DEFLATED), described)
            package.writestr(_entry("datapackage-digest.json", ZIP_DEFLATED), json.dumps(digest))
        shutil.rmtree(self._folder)

    def _merged(self) -> Path:
        """Return a file with all lines of the index, sorted."""
        pieces = [self._piece(number) for number in range(self._settled)]
        if not pieces:
            pieces = [self._piece(0)]
            open_file(pieces[0], "wb").close()
        merged = 0
        while len(pieces) > 1:
            some, pieces = pieces[:_MERGED_FILES], pieces[_MERGED_FILES:]
            pieces.append(self._folder / f"merged-{merged:06d}.cdxj")
            merged += 1
            with ExitStack() as stack:
                lines = [stack.enter_context(piece.open("rb")) for piece in some]
                stack.enter_context(open_file(pieces[-1], "wb")).writelines(heapq.merge(*lines))
        return pieces[0]

    def _piece(self, number: int) -> Path:
        return self._folder / f"{number:06d}.cdxj"


def write_index(lines: BinaryIO, blocks: BinaryIO, summary: BinaryIO) -> None:
    """Write sorted lines as blocks of deflated lines, and a summary with the first key and the place of each block."""
    summary.write(b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n')
    offset = 0
    while block := list(islice(lines, _BLOCK_LINES)):
        member = gzip.compress(b"".join(block), mtime=0)
        place = {"offset": offset, "length": len(member), "digest": f"sha256:{hashlib.sha256(member).hexdigest()}"}
        summary.write(block[0].partition(b" {")[0] + b" " + _json_line(place))
        blocks.write(member)
        offset += len(member)


def _page_line(row: dict[str, Any]) -> bytes:
    moment = datetime.fromtimestamp(row["fetched_us"] / 1e6, UTC)
    return _json_line({"url": row["url"], "ts": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "title": row["title"]})


def _json_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _put(package: ZipFile, name: str, source: Path, compression: int) -> dict[str, Any]:
    """Copy a file into the ZIP file; return its entry in the list of resources."""
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as file, package.open(_entry(name, compression), "w", force_zip64=True) as entry:
        for piece in _pieces(file):
            digest.update(piece)
            entry.write(piece)
            size += len(piece)
    return {"name": source.name, "path": name, "hash": f"sha256:{digest.hexdigest()}", "bytes": size}


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_COPIED_BYTES):
        yield piece


def _entry(name: str, compression: int) -> ZipInfo:
    entry = ZipInfo(name, time.gmtime()[:6])
    entry.compress_type = compression
    entry.external_attr = 0o644 << 16
    return entry


def _description(title: str, resources: list[dict[str, Any]]) -> bytes:
    about = {
        "profile": "data-package",
        "wacz_version": _VERSION,
        "software": f"Gossamer/{__version__}",
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "title": title,
        "resources": resources,
    }
    return json.dumps(about, indent=2).encode()
