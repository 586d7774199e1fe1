"""The files that one machine has uploaded, found by its manifests and read by ranges."""

from __future__ import annotations

import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from gossamer.bucket.address import parse_address
from gossamer.bucket.manifests import CRAWL_KEY, MANIFESTS, live_key, merge
from gossamer.bucket.objects import Bucket
from gossamer.bucket.uploading import read_manifests
from gossamer.errors import GossamerError
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.bucket.address import BucketAddress
    from gossamer.bucket.manifests import Manifest, UploadedFile

_AHEAD_BYTES: Final = 8 << 20  # read at most ahead of a program that reads a file from its begin to its end

_READERS: Final = 4  # objects that are checked at once


class MachineFiles:
    """What the manifests of a machine list. They are read on first use, and again if the machine may still upload."""

    def __init__(self, bucket: Bucket, machine: str, *, is_growing: bool) -> None:
        self._bucket = bucket
        self._machine = machine
        self._is_growing = is_growing
        self._lock = threading.Lock()
        self._files: dict[str, UploadedFile] | None = None
        self._notes: dict[str, str] = {}
        self._manifests: tuple[str, ...] = ()  # that were there at the last look

    def take(self, manifests: Sequence[Manifest]) -> None:
        """Take in manifests that were read already, oldest first."""
        self._files = merge(manifests).get(self._machine, {})
        self._notes = {name: text for manifest in manifests for name, text in manifest.notes.items()}

    def files(self, *, now: bool = False) -> dict[str, UploadedFile]:
        """Return the files by their names relative to the folder; `now`: those of this moment."""
        with self._lock:
            if self._files is None or (now and self._is_growing):
                there = tuple(facts.key for facts in self._bucket.list(MANIFESTS) if self._machine in facts.key)
                if self._files is None or there != self._manifests:
                    self.take(read_manifests(self._bucket, self._machine))
                    self._manifests = there
            assert self._files is not None
            return self._files

    def note(self, name: str) -> str | None:
        """Return the text of a small file of the machine's folder; None if the bucket does not have it."""
        self.files()
        return self._notes.get(name)

    def find(self, file: str) -> UploadedFile | None:
        """Return a file of this name; a machine that still uploads may have uploaded it a moment ago."""
        return self.files().get(file) or self.files(now=True).get(file)

    def open(self, uploaded: UploadedFile) -> ObjectReader:
        """Open a file to read."""
        return ObjectReader(self._bucket, uploaded)

    def check(self) -> dict[str, str]:
        """Read all objects and compare them with the manifests; return what is wrong with each file that is damaged.

        Damaged files count as missing from now on, so that other checks can read the rest.
        """
        files = self.files(now=True)
        with ThreadPoolExecutor(_READERS) as pool:
            found = dict(zip(files, pool.map(self._find_damage, list(files.values())), strict=True))
        damaged = {file: what for file, what in found.items() if what}
        self._files = {file: uploaded for file, uploaded in files.items() if file not in damaged}
        self._is_growing = False
        return damaged

    @property
    def has_ended(self) -> bool:
        """Whether the machine has uploaded all files of its crawl, and ended."""
        try:
            return json.loads(self._bucket.read(live_key(self._machine)) or b"{}").get("ended") is True
        except ValueError:
            return False

    def _find_damage(self, uploaded: UploadedFile) -> str:
        """Return what is wrong with an object in a few words, or nothing."""
        facts = self._bucket.facts(uploaded.key)
        if facts is None:
            return "it is not in the bucket"
        if facts.size != uploaded.size:
            return f"it has {count(facts.size, 'byte')} in place of {uploaded.size:,}"
        digest = sha256()
        with self.open(uploaded) as file:
            while data := file.read(_AHEAD_BYTES):
                digest.update(data)
        return "" if digest.hexdigest() == uploaded.sha256 else "its content is not what was uploaded"


def open_machines(address: BucketAddress) -> dict[str, MachineFiles]:
    """Return the files of all machines in a bucket; raise GossamerError if it holds no crawl."""
    bucket = Bucket(address)
    if bucket.read(CRAWL_KEY) is None:
        raise GossamerError(f"No crawl in {address}: name the prefix that a crawl has as its store.")
    manifests = read_manifests(bucket)
    found = {}
    for machine in sorted({manifest.machine for manifest in manifests}):
        found[machine] = MachineFiles(bucket, machine, is_growing=False)
        found[machine].take([manifest for manifest in manifests if manifest.machine == machine])
    return found


def open_machine(store: str, machine: str) -> MachineFiles:
    """Return the files of one machine, which may still upload."""
    return MachineFiles(Bucket(parse_address(store)), machine, is_growing=True)


class ObjectReader(io.RawIOBase):
    """An object as a file: each read is one request, for as much as is asked for; in sequence, for more and more."""

    def __init__(self, bucket: Bucket, uploaded: UploadedFile) -> None:
        super().__init__()
        self.size = uploaded.size
        self.name = uploaded.key
        self._bucket = bucket
        self._at = 0
        self._ahead = b""  # read, and not asked for yet; begins at `_ahead_at`
        self._ahead_at = -1
        self._next_bytes = 0  # to read ahead

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that any range can be read."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; this asks for nothing."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as there is room for."""
        data = self._read(len(memoryview(buffer).cast("B")))
        memoryview(buffer).cast("B")[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        """Return this many bytes, or all that follow."""
        return self._read(self.size if size is None or size < 0 else size)

    def readall(self) -> bytes:
        """Return all bytes that follow."""
        return self._read(self.size)

    def _read(self, length: int) -> bytes:
        length = min(length, self.size - self._at)
        if length <= 0:
            return b""
        skipped = self._at - self._ahead_at
        if not (skipped >= 0 and skipped + length <= len(self._ahead)):
            is_in_sequence = self._at == self._ahead_at + len(self._ahead)
            self._next_bytes = min(_AHEAD_BYTES, 2 * max(self._next_bytes, length)) if is_in_sequence else 0
            wanted = min(max(length, self._next_bytes), self.size - self._at)
            self._ahead, self._ahead_at, skipped = self._bucket.read_range(self.name, self._at, wanted), self._at, 0
        data = self._ahead[skipped : skipped + length]
        self._at += len(data)
        return data
