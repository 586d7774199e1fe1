"""The files that one machine has uploaded, found by its manifests and read by ranges."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from gossamer.bucket.address import parse_address
from gossamer.bucket.manifests import CRAWL_KEY, MANIFESTS, live_key, merge
from gossamer.bucket.objects import Bucket
from gossamer.bucket.range_reader import AHEAD_BYTES, RangeReader
from gossamer.bucket.ranges import RangeCache
from gossamer.bucket.uploading import read_manifests
from gossamer.errors import GossamerError
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.bucket.address import BucketAddress
    from gossamer.bucket.manifests import Manifest, UploadedFile


_READERS: Final = 4  # objects that are checked at once


class MachineFiles:
    """What the manifests of a machine list. They are read on first use, and again if the machine may still upload."""

    def __init__(self, bucket: Bucket, machine: str, *, is_growing: bool, ranges: RangeCache | None = None) -> None:
        """`ranges` is shared by the machines of a bucket."""
        self._bucket = bucket
        self._ranges = ranges or RangeCache(bucket)
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

    def open(self, uploaded: UploadedFile) -> RangeReader:
        """Open a file to read."""
        return RangeReader(partial(self._ranges.read, uploaded.key), uploaded.size)

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
            while data := file.read(AHEAD_BYTES):
                digest.update(data)
        return "" if digest.hexdigest() == uploaded.sha256 else "its content is not what was uploaded"


def open_machines(address: BucketAddress) -> dict[str, MachineFiles]:
    """Return the files of all machines in a bucket; raise GossamerError if it holds no crawl."""
    bucket = Bucket(address)
    if bucket.read(CRAWL_KEY) is None:
        raise GossamerError(f"No crawl in {address}: name the prefix that a crawl has as its store.")
    manifests, ranges = read_manifests(bucket), RangeCache(bucket)
    found = {}
    for machine in sorted({manifest.machine for manifest in manifests}):
        found[machine] = MachineFiles(bucket, machine, is_growing=False, ranges=ranges)
        found[machine].take([manifest for manifest in manifests if manifest.machine == machine])
    return found


def open_machine(store: str, machine: str) -> MachineFiles:
    """Return the files of one machine, which may still upload."""
    return MachineFiles(Bucket(parse_address(store)), machine, is_growing=True)
