"""The objects of a bucket, by way of obstore: the only module that imports it.

An object is created by one conditional request: it exists whole, or not at all, and is never overwritten. No upload has
several parts, so that a killed one leaves nothing behind. A large file is mapped into memory, not read into it.

An error of the bucket is a `BucketError` with a sentence of our own: what a server says may hold a key.
"""

from __future__ import annotations

import mmap
import os
import re
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gossamer.errors import GossamerError
from gossamer.extras import require
from gossamer.store.files import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.bucket.address import BucketAddress

_SMALL_BYTES: Final = 8_000_000  # of an object that must be through within the short time limit
_SHORT_S: Final = 60
_LONG_S: Final = 10_800  # 1 GB at 100 kB a second
_CONNECT_S: Final = 10
_CODE: Final = re.compile(r"<Code>([A-Za-z]{3,60})</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3})")
_REGION: Final = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
_KEYS: Final = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "InvalidSecurity")


class Trouble(StrEnum):
    """What is wrong with a bucket."""

    NO_BUCKET = "no bucket"
    NO_RIGHTS = "no rights"
    WRONG_REGION = "wrong region"
    AWAY = "away"  # it may answer later


class BucketError(GossamerError):
    """A bucket does not do what it was asked for."""

    def __init__(self, trouble: Trouble, sentence: str) -> None:
        super().__init__(sentence)
        self.trouble = trouble


class ExistsError(Exception):
    """There is an object of this name."""


class ObjectFacts(NamedTuple):
    """What a bucket tells about an object."""

    key: str
    size: int
    modified_at: float  # Unix seconds, by the clock of the bucket


class Bucket:
    """A prefix of a bucket. Keys are relative to it. Every method raises BucketError, and may be called by threads."""

    def __init__(self, address: BucketAddress, *, retries: int = 5, may_create: bool = False) -> None:
        """`may_create`: the folder of a `file://` address; a bucket must exist."""
        require("s3", f"the store {address}")
        self.address = address
        self._retries = retries
        self._may_create = may_create
        self._stores: dict[int, Any] = {}  # by time limit

    def create(self, key: str, data: bytes) -> None:
        """Create a small object; raise ExistsError if there is one of this name."""
        self._put(key, data, "create")

    def overwrite(self, key: str, data: bytes) -> None:
        """Write a small object, whether there is one of this name or not."""
        self._put(key, data, "overwrite")

    def create_from(self, key: str, path: Path) -> None:
        """Create an object from a file that no process changes; raise ExistsError if there is one of this name."""
        size = path.stat().st_size
        if not size:
            self._put(key, b"", "create")
            return
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # It is not closed: after a failure, a thread of obstore may still hold it for a moment.
        self._put(key, data, "create", limit_s=_SHORT_S if size <= _SMALL_BYTES else _LONG_S)

    def facts(self, key: str) -> ObjectFacts | None:
        """Return the facts of an object; None if there is none."""
        import obstore

        with self._asking():
            try:
                found = obstore.head(self._store(), key)
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None
        return ObjectFacts(key, found["size"], found["last_modified"].timestamp())

    def read(self, key: str) -> bytes | None:
        """Return the content of a small object; None if there is none."""
        import obstore

        with self._asking():
            try:
                return bytes(obstore.get(self._store(), key).bytes())
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return a range of an object; raise FileNotFoundError if there is no object."""
        import obstore

        with self._asking():
            return bytes(obstore.get_range(self._store(), key, start=start, length=length))

    def list(self, folder: str, after: str = "") -> Iterator[ObjectFacts]:
        """Yield the objects below a folder in the order of their keys, or those after one of them."""
        import obstore

        with self._asking():
            found = obstore.list(self._store(), folder, offset=after or None, chunk_size=1_000)
            keys = [each for chunk in found for each in chunk]
        for each in sorted(keys, key=lambda each: each["path"]):
            yield ObjectFacts(each["path"], each["size"], each["last_modified"].timestamp())

    def _put(self, key: str, data: Any, mode: Any, limit_s: int = _SHORT_S) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._asking():
            try:
                obstore.put(self._store(limit_s), key, data, mode=mode, use_multipart=False)
            except AlreadyExistsError:
                raise ExistsError(key) from None
            except FileNotFoundError as error:
                self._check_bucket(error)
                raise
        if not self.address.bucket:
            _sync_file(Path(self.address.prefix) / key)

    def _store(self, limit_s: int = _SHORT_S) -> Any:
        """Return the store with this limit of time for a request."""
        if limit_s not in self._stores:
            self._stores[limit_s] = self._open(limit_s)
        return self._stores[limit_s]

    def _open(self, limit_s: int) -> Any:
        from obstore.store import LocalStore

        if self.address.bucket:
            return _open_s3(self.address, limit_s, self._retries)
        folder = Path(self.address.prefix)
        try:
            if self._may_create:
                folder.mkdir(parents=True, exist_ok=True)
            if not folder.is_dir():
                raise BucketError(Trouble.NO_BUCKET, _ADVICE[Trouble.NO_BUCKET].format(address=self.address))
            return LocalStore(folder)
        except OSError as error:
            raise BucketError(Trouble.NO_RIGHTS, f"{self.address} cannot be used ({error.strerror}).") from None

    def _check_bucket(self, error: FileNotFoundError) -> None:
        """Raise BucketError if an object was not found because its bucket does not exist."""
        if "NoSuchBucket" in str(error):
            raise self._error(error) from None

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise an error of obstore as ours."""
        from obstore.exceptions import BaseError

        try:
            yield
        except BaseError as error:
            raise self._error(error) from None
        except (PermissionError, NotADirectoryError) as error:  # of a folder
            raise BucketError(Trouble.NO_RIGHTS, f"{self.address} cannot be used ({error.strerror}).") from None

    def _error(self, error: Exception) -> BucketError:
        trouble, why = judge_error(type(error).__name__, str(error))
        return BucketError(trouble, _ADVICE[trouble].format(address=self.address, why=why))


_ADVICE: Final = {
    Trouble.NO_BUCKET: "The bucket of {address} does not exist: create it, or name another.",
    Trouble.NO_RIGHTS: "{address} may not be used with these credentials ({why}): set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or give the role of this machine the right to get, put and list objects there.",
    Trouble.WRONG_REGION: "The bucket of {address} is in another region ({why}): set AWS_REGION to that of the bucket.",
    Trouble.AWAY: "{address} cannot be reached ({why}): check the network and AWS_ENDPOINT_URL.",
}


def judge_error(kind: str, said: str) -> tuple[Trouble, str]:
    """Return what an error of obstore means, and its cause in a few words that hold no secret."""
    code = found[1] if (found := _CODE.search(said)) else ""
    status = found[1] if (found := _STATUS.search(said)) else ""
    why = " ".join(filter(None, (status, code))) or "no answer"
    if code == "NoSuchBucket":
        return Trouble.NO_BUCKET, why
    if code in _REGION or status in ("301", "307") or "redirect" in said.lower():
        return Trouble.WRONG_REGION, why
    if kind in ("PermissionDeniedError", "UnauthenticatedError") or code in _KEYS or status in ("401", "403"):
        return Trouble.NO_RIGHTS, why
    if "credential" in said.lower() or "169.254.169.254" in said:
        return Trouble.NO_RIGHTS, "there are none"
    if "timed out" in said.lower():
        why = "no answer in time"
    return Trouble.AWAY, why


def _open_s3(address: BucketAddress, limit_s: int, retries: int) -> Any:
    from obstore.store import S3Store

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    endpoint = endpoint or os.environ.get("AWS_ENDPOINT") or ""
    return S3Store(
        address.bucket,
        prefix=address.prefix or None,
        checksum_algorithm="sha256",
        client_options={
            "allow_http": endpoint.startswith("http://"),  # the operator has written it so
            "connect_timeout": f"{_CONNECT_S}s",
            "timeout": f"{limit_s}s",
        },
        retry_config={"max_retries": retries},
    )


def _sync_file(path: Path) -> None:
    """Sync a file and the folders above it, as a bucket does with an object."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    for folder in path.parents[:4]:
        sync_folder(folder)
