"""Small crawls with many files, the uploads of which tests interrupt."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from gossamer.bucket.address import parse_address
from gossamer.bucket.claiming import claim
from gossamer.bucket.manifests import UploadedFile, merge
from gossamer.bucket.objects import Bucket
from gossamer.bucket.uploading import Uploader, closed_files, read_manifests
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = "0123456789abcdef0123456789abcdef"


def make_crawl(folder: Path, *, worker: str = "w1", sites: str = "abc", part_rows: int = 2) -> Path:
    """Return the folder of a finished crawl of some sites, with several parts of each table."""
    with Crawl(folder, worker=worker, part_rows=part_rows) as crawl:
        for site in sites:
            crawl.add(*(f"https://{site}.test/{path}" for path in ("1", "2", "3", "gone", "moved")))
            crawl.run()
    (folder / "crawl.toml").write_text('email = "tests@example.org"\n')
    return folder


def uploader(store: str, folder: Path, *, bucket: Bucket | None = None, keep_local: bool = False) -> Uploader:
    """Return an uploader of a folder to a store, which it has claimed."""
    note = claim(store, folder, IDENTITY, warn=print)
    bucket = bucket or Bucket(parse_address(store), retries=0)
    return Uploader(bucket, folder, note, keep_local=keep_local, max_bytes_per_s=None)


def contents(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each closed file of a folder."""
    return {
        file.file: hashlib.sha256((folder / file.file).read_bytes()).hexdigest()
        for file in closed_files(folder)
        if (folder / file.file).exists()
    }


def listed(store: str) -> dict[str, UploadedFile]:
    """Return all files that manifests list."""
    machines = merge(read_manifests(Bucket(parse_address(store))))
    return {name: file for files in machines.values() for name, file in files.items()}


def uploaded_contents(store: str) -> dict[str, str]:
    """Return the SHA-256 of each listed file, as the bucket has it."""
    bucket = Bucket(parse_address(store))
    found = {}
    for name, file in listed(store).items():
        data = bucket.read(file.key)
        assert data is not None, f"{file.key} is listed and not there"
        found[name] = hashlib.sha256(data).hexdigest()
    return found
