"""The address of a place in a bucket: `s3://BUCKET/PREFIX`, or `file:///FOLDER`. Pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

SCHEMES: Final = ("s3://", "file://")
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX: Final = re.compile(r"[A-Za-z0-9!_.*'()/=@, -]*")


class BucketAddress(NamedTuple):
    """A bucket and a prefix in it, or a folder of this machine."""

    bucket: str  # empty: a folder
    prefix: str  # without a slash at either end; of a folder, its absolute path

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/") if self.bucket else f"file://{self.prefix}"


def is_address(text: str) -> bool:
    """Return whether a text has the form of a URL, so that it is no path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def parse_address(text: str) -> BucketAddress:
    """Return the address in a text; raise ValueError with the expected form."""
    scheme, found, rest = text.partition("://")
    if not found or f"{scheme}://" not in SCHEMES:
        raise ValueError(f"{text!r} is not a place to store files: write it like s3://bucket/prefix or file:///folder")
    if "@" in rest.partition("/")[0] or "?" in rest:
        raise ValueError(
            "the address of a bucket holds no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if scheme == "file":
        if not rest.startswith("/") or ".." in rest.split("/"):
            raise ValueError(f"{text!r} names no folder of this machine: write it like file:///srv/crawl")
        return BucketAddress("", unquote(rest).rstrip("/") or "/")
    bucket, _, prefix = rest.partition("/")
    prefix = prefix.strip("/")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{bucket!r} is not the name of a bucket: write the address like s3://bucket/prefix")
    if not _PREFIX.fullmatch(prefix) or {"", ".", ".."} & set(prefix.split("/") if prefix else ()):
        raise ValueError(f"{prefix!r} cannot be a prefix in a bucket: use letters, digits, -, _, . and / between names")
    return BucketAddress(bucket, prefix)
