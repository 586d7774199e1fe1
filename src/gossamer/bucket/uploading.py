"""Moves closed files of a crawl's folder to its bucket. It may be interrupted anywhere and repeated.

A file is uploaded under a name that its content determines, then a manifest names it, then the local copy is deleted.
So after a crash every file is local, or in a manifest, or both. What is done follows from the folder and the manifests.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import file_digest
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer import metrics
from gossamer.bucket.claiming import LIVE_EVERY_S, say_alive
from gossamer.bucket.manifests import (
    MANIFESTS,
    WHOLE_EVERY,
    Manifest,
    UploadedFile,
    decode_manifest,
    encode_manifest,
    key_of,
    manifest_key,
    manifests_to_read,
)
from gossamer.bucket.objects import BucketError, ExistsError, Trouble
from gossamer.store import names
from gossamer.store.damage import DamagedError
from gossamer.store.files import entries, remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gossamer.bucket.claiming import BucketNote
    from gossamer.bucket.objects import Bucket

log = logging.getLogger(__name__)

BATCH_FILES: Final = 100  # in one manifest
MAX_FAILED: Final = 3  # files in a row, after which the bucket counts as away
BATCH_S: Final = 20.0  # after which uploaded files are listed although more wait
NOTES: Final = ("delays.tsv", "address_delays.tsv")  # that readers need, as text in the manifests
_READERS: Final = 16  # manifests read at once


class ClosedFile(NamedTuple):
    """A file that no process changes any more."""

    file: str  # relative to the folder
    size: int


def closed_files(folder: Path) -> list[ClosedFile]:
    """Return the files that may be uploaded, oldest first: complete parts, and segments with their indexes."""
    journals = {(names.table_of(path), names.stem_of(path)) for path in _files(folder, names.JOURNAL)}
    found: list[Path] = []
    for table in names.TABLES:
        parts = (path for path in _files(folder, table) if path.suffix == names.PART_SUFFIX)
        # A part whose journal is still there was converted a moment ago, or is converted again by a repair.
        found += [path for path in parts if (table, names.stem_of(path)) not in journals]
    for index in _files(folder, names.WARC):
        segment = index.with_name(index.name.removesuffix(names.INDEX_SUFFIX) + names.SEGMENT_SUFFIX)
        if index.name.endswith(names.INDEX_SUFFIX) and not names.open_index_of(segment).exists():
            found += [segment, index]  # in this order: an index says that its segment is closed
    found.sort(key=names.stem_of)
    return [ClosedFile(f"{path.parent.name}/{path.name}", path.stat().st_size) for path in found if path.is_file()]


def _files(folder: Path, name: str) -> Iterator[Path]:
    return (path for path in entries(folder / name) if names.worker_of(path) is not None)


def read_manifests(bucket: Bucket, only: str = "") -> list[Manifest]:
    """Return the manifests that list everything in the bucket, or everything of one machine."""

    def read(each: tuple[str, int]) -> Manifest | None:
        key = manifest_key(*each)
        data = bucket.read(key)
        return None if data is None else decode_manifest(key, data)

    keys = manifests_to_read(facts.key for facts in bucket.list(MANIFESTS))
    with ThreadPoolExecutor(_READERS) as pool:
        found = list(pool.map(read, [each for each in keys if not only or each[0] == only]))
    return [manifest for manifest in found if manifest is not None]


class Uploader:
    """Uploads the closed files of one folder, one at a time. `upload` may be called again after any error."""

    def __init__(
        self,
        bucket: Bucket,
        folder: Path,
        note: BucketNote,
        *,
        keep_local: bool,
        max_bytes_per_s: int | None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.waiting: list[ClosedFile] = []  # as of the last look, without those uploaded since
        self._bucket = bucket
        self._folder = folder
        self._note = note
        self._keep_local = keep_local
        self._max_bytes_per_s = max_bytes_per_s
        self._sleep = sleep
        self._listed: dict[str, UploadedFile] | None = None  # in manifests; None: not read yet
        self._serial = 0  # of the last manifest
        self._batch: list[UploadedFile] = []  # uploaded, and in no manifest yet
        self._damaged: set[str] = set()  # files that were found damaged
        self._alive_s = -LIVE_EVERY_S

    def upload(self) -> None:
        """Upload everything that is closed now, list it and delete it; raise BucketError or OSError at a failure."""
        listed = self._read_listed()
        self._say_alive()
        there = closed_files(self._folder)
        for file in there:
            if (before := listed.get(file.file)) and before.size == file.size:
                self._delete(before)
        self.waiting = [file for file in there if not self._is_done(file)]
        try:
            self._upload_waiting()
        except BucketError:
            with suppress(BucketError):  # what is uploaded need not wait for the rest
                self._publish()
            raise
        self._publish()

    def _upload_waiting(self) -> None:
        """Upload what waits; a file that fails holds up the others only if several fail in a row."""
        batch_s, in_a_row = time.monotonic(), 0
        failure: BucketError | None = None
        for file in list(self.waiting):
            try:
                self._upload(file)
            except BucketError as error:
                failure, in_a_row = error, in_a_row + 1
                if in_a_row == MAX_FAILED:
                    break
                continue
            in_a_row = 0
            self.waiting.remove(file)
            if len(self._batch) >= BATCH_FILES or time.monotonic() - batch_s > BATCH_S:
                self._publish()
                batch_s = time.monotonic()
            self._say_alive()
        if failure is not None:
            raise failure

    def end(self) -> None:
        """Say that this machine uploads no more."""
        say_alive(self._bucket, self._note, self._folder, ended=True)

    def _is_done(self, file: ClosedFile) -> bool:
        done = [*filter(None, [(self._listed or {}).get(file.file)]), *self._batch]
        return file.file in self._damaged or any((file.file, file.size) == (each.file, each.size) for each in done)

    def _read_listed(self) -> dict[str, UploadedFile]:
        if self._listed is None:
            manifests = read_manifests(self._bucket, self._note.machine)
            self._listed = {file.file: file for manifest in manifests for file in manifest.files}
            self._serial = max((manifest.serial for manifest in manifests), default=0)
        return self._listed

    def _upload(self, file: ClosedFile) -> None:
        """Upload one file, unless it is damaged: the next start, or the operator, has to deal with that."""
        from gossamer.store.parts import check_part  # imports the Parquet library: `status` only counts files

        path = self._folder / file.file
        try:
            if path.suffix == names.PART_SUFFIX:
                check_part(path)
            digest = _sha256(path)
        except (DamagedError, OSError) as error:
            log.warning("%s is not uploaded, because it is damaged (%s).", path, error)
            self._damaged.add(file.file)
            return
        key = key_of(self._note.machine, file.file, digest)
        try:
            self._bucket.create_from(key, path)
        except ExistsError:
            pass  # by an upload whose answer was lost, or before a crash
        else:
            metrics.UPLOADED_BYTES_TOTAL.inc(file.size)
        facts = self._bucket.facts(key)
        if facts is None or facts.size != file.size:
            raise BucketError(Trouble.AWAY, f"{self._note.store} has not stored all of {key}.")
        self._batch.append(UploadedFile(file.file, key, file.size, digest))
        metrics.UPLOADED_FILES_TOTAL.inc()
        if self._max_bytes_per_s is not None:
            self._sleep(file.size / self._max_bytes_per_s)

    def _publish(self) -> None:
        """List the uploaded files in a manifest; when it exists, delete the local copies."""
        if not self._batch:
            return
        listed = self._read_listed()
        new = {file.file: file for file in self._batch}
        serial = self._serial + 1
        files = listed | new if serial % WHOLE_EVERY == 0 else new
        manifest = Manifest(
            machine=self._note.machine, serial=serial, files=tuple(files.values()), notes=_read_notes(self._folder)
        )
        key, data = manifest_key(self._note.machine, serial), encode_manifest(manifest)
        try:
            self._bucket.create(key, data)
        except ExistsError:
            if self._bucket.read(key) != data:  # of a copy of this folder: go on behind it
                self._listed = None
                self._publish()
                return
        self._serial = serial
        listed |= new
        done, self._batch = self._batch, []
        for file in done:
            self._delete(file)

    def _delete(self, uploaded: UploadedFile) -> None:
        """Delete the local copy of a file that a manifest lists, if it is the same."""
        path = self._folder / uploaded.file
        if self._keep_local or not path.exists() or _is_needed(path):
            return
        if _sha256(path) == uploaded.sha256:
            remove(path)
            index = (self._listed or {}).get(uploaded.file.removesuffix(names.SEGMENT_SUFFIX) + names.INDEX_SUFFIX)
            if index is not None:  # which went up before its segment
                self._delete(index)
        elif self._listed is not None:
            del self._listed[uploaded.file]  # another file of the same name, which never occurs: upload it too

    def _say_alive(self) -> None:
        if time.monotonic() - self._alive_s >= LIVE_EVERY_S:
            say_alive(self._bucket, self._note, self._folder)
            self._alive_s = time.monotonic()


def _is_needed(path: Path) -> bool:
    """Return whether a file is the index of a segment that is still here: without it, the segment would seem open."""
    name = path.name.removesuffix(names.INDEX_SUFFIX)
    return name != path.name and path.with_name(name + names.SEGMENT_SUFFIX).exists()


def _read_notes(folder: Path) -> dict[str, str]:
    found = {}
    for name in NOTES:
        path = folder / name
        if path.exists():
            found[name] = path.read_text(encoding="utf-8", errors="replace")
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
