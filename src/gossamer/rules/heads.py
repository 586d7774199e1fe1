"""Reads header lines of a raw response head. Pure; no input is an error."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_FOLD: Final = re.compile(rb"\r?\n[ \t]+")


def header(head: bytes, name: str) -> str | None:
    """Return the first header of this name, in upper or lower case; None if there is none.

    The first and not the last: a server's own headers come before those that its scripts append by mistake.
    """
    found = _line(name).search(_unfold(head))
    return None if found is None else found[1].decode("latin-1").strip()


def headers_all(head: bytes, name: str) -> list[str]:
    """Return all headers of this name, in order: several of them mean the same as one list with commas."""
    return [value.decode("latin-1").strip() for value in _line(name).findall(_unfold(head))]


def _unfold(head: bytes) -> bytes:
    """Join continuation lines (obsolete, but still sent) to the line that they continue."""
    return _FOLD.sub(b" ", head) if b"\n " in head or b"\n\t" in head else head


@lru_cache(maxsize=64)
def _line(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"^" + re.escape(name.encode("latin-1")) + rb"[ \t]*:([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
