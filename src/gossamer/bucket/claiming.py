"""Takes a prefix of a bucket for a crawl, before anything is fetched, and notes that in the crawl's folder."""

from __future__ import annotations

import json
import secrets
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from gossamer.bucket.address import parse_address
from gossamer.bucket.manifests import CRAWL_KEY, LIVE, decode_crawl, encode_crawl, live_key
from gossamer.bucket.objects import Bucket, BucketError, ExistsError, Trouble
from gossamer.errors import GossamerError
from gossamer.store.files import replacing
from gossamer.store.notes import damaged_note, encode_note, read_note

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTE_FILE: Final = "bucket.json"
LIVE_EVERY_S: Final = 60.0
LIVE_FOR_S: Final = 3 * LIVE_EVERY_S  # after its last sign of life


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketNote:
    """Where the files of a folder go. It stays: readers find the files by it."""

    store: str
    crawl: str  # the identity of the crawl
    machine: str  # the name of this folder in the bucket


def read_bucket_note(folder: Path) -> BucketNote | None:
    """Return where the files of a folder go; None if they stay."""
    said = read_note(folder / NOTE_FILE)
    if said is None:
        return None
    try:
        return BucketNote(**said)
    except TypeError as error:
        raise damaged_note(folder / NOTE_FILE, error) from None


def check_store(store: str) -> None:
    """Raise an error in one sentence if a store cannot be used at all."""
    Bucket(parse_address(store), retries=0, may_create=True).read(CRAWL_KEY)


def claim(store: str, folder: Path, crawl: str, warn: Callable[[str], object]) -> BucketNote:
    """Take the prefix for a crawl, or see that it is the crawl's already; return the note, which is in the folder.

    A crawl that has its prefix starts also while the bucket cannot be reached.
    """
    address = parse_address(store)
    note = read_bucket_note(folder)
    if note is not None and note.store != str(address):
        raise GossamerError(f"The files of {folder} are in {note.store}: use --store {note.store}, or another folder.")
    bucket = Bucket(address, retries=1, may_create=True)
    try:
        owner = _owner(bucket, crawl)
        if owner != crawl:
            raise _taken(bucket)
        if note is not None:
            _refuse_second(bucket, note, folder)
        else:
            note = BucketNote(store=str(address), crawl=crawl, machine=secrets.token_hex(6))
        say_alive(bucket, note, folder)
    except BucketError as error:
        if note is None or error.trouble is not Trouble.AWAY:
            raise
        warn(f"{str(error).rstrip('.')}; finished files stay in {folder} until then")
        return note
    with replacing(folder / NOTE_FILE) as file:
        file.write(encode_note(asdict(note)).encode())
    return note


def say_alive(bucket: Bucket, note: BucketNote, folder: Path, *, ended: bool = False) -> None:
    """Write that this machine uploads, or has ended."""
    said = {"place": _place(folder), "ended": ended}
    bucket.overwrite(live_key(note.machine), json.dumps(said).encode())


def _owner(bucket: Bucket, crawl: str) -> str:
    """Return the crawl to which the prefix belongs; if it belongs to none, it is this one's from now on."""
    said = bucket.read(CRAWL_KEY)
    if said is None:
        with suppress(ExistsError):  # another machine was faster
            bucket.create(CRAWL_KEY, encode_crawl(crawl))
        said = bucket.read(CRAWL_KEY)
    return decode_crawl(said) if said is not None else ""


def _taken(bucket: Bucket) -> GossamerError:
    is_live = any(_is_fresh(each.modified_at) for each in bucket.list(LIVE))
    now = "is in use by another crawl, which runs now" if is_live else "holds another crawl"
    return GossamerError(f"{bucket.address} {now}: name another prefix with --store.")


def _refuse_second(bucket: Bucket, note: BucketNote, folder: Path) -> None:
    """Refuse a copy of a folder while the original uploads. An earlier start in this folder is dead: we hold its lock.

    Clocks are compared, so that one that is wrong by minutes may let a copy through. It still overwrites nothing.
    """
    facts = bucket.facts(live_key(note.machine))
    said = bucket.read(live_key(note.machine)) if facts and _is_fresh(facts.modified_at) else None
    try:
        other = json.loads(said or b"{}")
        is_other = not other.get("ended", True) and other.get("place") != _place(folder)
    except (ValueError, AttributeError):
        is_other = False
    if is_other:
        raise GossamerError(
            f"{bucket.address} is in use by a running crawl, of which {folder} is a copy: stop that crawl first."
        )


def _is_fresh(at: float) -> bool:
    return time.time() - at < LIVE_FOR_S


def _place(folder: Path) -> str:
    """Return what differs between a folder and its copy, without telling the name of the machine."""
    return sha256(f"{socket.gethostname()} {folder.resolve()}".encode()).hexdigest()[:16]
