"""What is in a bucket: the objects, their names, and the manifests that list them. Pure.

    _gossamer.json                             whose crawl it is, and the version of this layout
    _manifests/<machine>-<serial>.json         which files a machine has uploaded, with size and SHA-256
    _live/<machine>.json                       written every minute while a machine uploads
    <table>/date=<day>/part-<stem>-<machine>-<digest>.parquet
    warc/date=<day>/<machine>-<digest>/<name>  a segment or its index, by the name that rows have

The name of an object holds the machine, the time, the worker, a number and the digest of its content. So it never
recurs, and an upload that is repeated finds its object there. Every hundredth manifest lists all files of its machine:
a reader needs the last of these and those after it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gossamer.errors import GossamerError
from gossamer.store import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA: Final = 1
CRAWL_KEY: Final = "_gossamer.json"
MANIFESTS: Final = "_manifests"
LIVE: Final = "_live"
WHOLE_EVERY: Final = 100  # manifests

_MANIFEST: Final = re.compile(rf"{MANIFESTS}/(?P<machine>[0-9a-f]{{12}})-(?P<serial>\d{{8}})\.json")
_UNSOUND: Final = (ValueError, TypeError, LookupError, AttributeError)


class UploadedFile(NamedTuple):
    """A file that is in the bucket."""

    file: str  # relative to the folder of its machine: "pages/part-….parquet"
    key: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Some files of a machine, or all of them."""

    machine: str
    serial: int
    files: tuple[UploadedFile, ...]
    notes: dict[str, str]  # small files of its folder that readers need, by name, with their text


def key_of(machine: str, file: str, sha256: str) -> str:
    """Return the name of the object of a file."""
    folder, _, name = file.partition("/")
    _, begun_at = names.begun_by(name)
    day = f"{folder}/date={datetime.fromtimestamp(begun_at, UTC):%Y-%m-%d}"
    digest = sha256[:16]
    if folder == names.WARC:
        return f"{day}/{machine}-{digest}/{name}"
    return f"{day}/{name.removesuffix(names.PART_SUFFIX)}-{machine}-{digest}{names.PART_SUFFIX}"


def manifest_key(machine: str, serial: int) -> str:
    """Return the name of a manifest."""
    return f"{MANIFESTS}/{machine}-{serial:08d}.json"


def live_key(machine: str) -> str:
    """Return the name of the object that says that a machine uploads."""
    return f"{LIVE}/{machine}.json"


def manifests_to_read(keys: Iterable[str]) -> list[tuple[str, int]]:
    """Return the machines and serial numbers of the manifests that list everything, oldest first."""
    serials: defaultdict[str, list[int]] = defaultdict(list)
    for key in keys:
        if match := _MANIFEST.fullmatch(key):
            serials[match["machine"]].append(int(match["serial"]))
    found = []
    for machine, there in sorted(serials.items()):
        start = max((serial for serial in there if serial % WHOLE_EVERY == 0), default=0)
        found += [(machine, serial) for serial in sorted(there) if serial >= start]
    return found


def encode_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON."""
    said = asdict(manifest) | {"schema": SCHEMA, "files": [file._asdict() for file in manifest.files]}
    return json.dumps(said, indent=1).encode()


def decode_manifest(key: str, data: bytes) -> Manifest:
    """Return the manifest in an object; raise GossamerError if it is none."""
    try:
        said = _of_this_version(key, json.loads(data))
        return Manifest(
            machine=str(said["machine"]),
            serial=int(said["serial"]),
            files=tuple(map(_read_file, said["files"])),
            notes={str(name): str(text) for name, text in said["notes"].items()},
        )
    except _UNSOUND as error:
        raise GossamerError(f"The manifest {key} in the bucket is damaged ({error}).") from None


def encode_crawl(crawl: str) -> bytes:
    """Return what `_gossamer.json` says: whose files these are."""
    return json.dumps({"schema": SCHEMA, "crawl": crawl}, indent=1).encode()


def decode_crawl(data: bytes) -> str:
    """Return the crawl to which a bucket belongs."""
    try:
        return str(_of_this_version(CRAWL_KEY, json.loads(data))["crawl"])
    except _UNSOUND as error:
        raise GossamerError(f"{CRAWL_KEY} in the bucket is damaged ({error}).") from None


def _of_this_version(key: str, said: Mapping[str, Any]) -> Mapping[str, Any]:
    if int(said["schema"]) > SCHEMA:
        raise GossamerError(f"{key} in the bucket was written by a newer version of Gossamer: use that version.")
    return said


def _read_file(said: Mapping[str, Any]) -> UploadedFile:
    file = UploadedFile(str(said["file"]), str(said["key"]), int(said["size"]), str(said["sha256"]))
    folder, _, name = file.file.partition("/")
    if folder not in names.FOLDERS or "/" in name or names.worker_of(Path(name)) is None:
        raise ValueError(f"{file.file!r} is no file of a crawl")
    return file


def merge(manifests: Sequence[Manifest]) -> dict[str, dict[str, UploadedFile]]:
    """Return the files of each machine by their names."""
    merged: defaultdict[str, dict[str, UploadedFile]] = defaultdict(dict)
    for manifest in manifests:
        merged[manifest.machine] |= {file.file: file for file in manifest.files}
    return dict(merged)
