"""Seeds: where a crawl starts, read from files, standard input or the command line.

One domain or URL per line; `#` starts a comment. A bad line is reported with its number and does not stop the
rest. Seeds are streamed, so that a million of them need no more memory than one; duplicates pass through,
because the frontier knows what it has.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from gossamer.errors import GossamerError
from gossamer.urls import Refusal, Url, hash_url, identify, normalise, site_of_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_LINE_CHARS = 10_000  # a longer line is not a seed, and must not fill the memory
MAX_NAME_CHARS = 253  # of DNS
MAX_SHOWN_CHARS = 200
_PEEK_BYTES = 4096  # enough to distinguish text from an archive or a picture
STANDARD_INPUT = "-"


class Seed(NamedTuple):
    """A URL from which a crawl starts. A named tuple: there may be a million of them."""

    url: Url
    bare: bool  # written without a scheme: https is our guess, http the next one
    source: str  # the file's name, `-`, or `argument`
    line: int  # of the file, or which argument; the first is 1


class BadSeed(NamedTuple):
    """A line that is not a seed."""

    text: str  # shortened
    reason: str
    source: str
    line: int


def read_seeds(sources: Iterable[str | Path]) -> Iterator[Seed | BadSeed]:
    """Yield the seeds of `sources`, in order; see `find_seed_file` for the kinds of sources.

    A file that cannot be read raises an error at once, before the first seed.
    """
    found = [(source, find_seed_file(source)) for source in sources]
    return _read_all(found)


def find_seed_file(source: str | Path) -> Path | None:
    """Return the file that a source names, or None if it is standard input (`-`), a domain or a URL.

    A `Path` is always a file. Text is a file if there is one of that name, and if it looks like one.
    """
    if source == STANDARD_INPUT or "://" in str(source) or not str(source).strip():
        return None
    path = Path(source)
    try:
        mode = path.stat().st_mode
    except PermissionError as error:
        raise _unreadable(path, error) from None
    except (OSError, ValueError):  # no such file, or a name that no file can have
        if isinstance(source, Path) or _looks_like_a_file(source):
            hint = "" if isinstance(source, Path) else " (a URL begins with https://)"
            raise GossamerError(f"No such seed file: {source}{hint}.") from None
        return None
    if stat.S_ISDIR(mode):
        # A folder `example.org`, left by a download, must not prevent the operator from naming the domain.
        if isinstance(source, str) and "." in source and not _looks_like_a_file(source):
            return None
        raise GossamerError(f"{source} is a folder: name the file in it that holds the seeds.")
    if not os.access(path, os.R_OK):
        raise GossamerError(f"Cannot read seed file {path}: permission denied.")
    return path


def digest_seed_file(path: Path) -> str | None:
    """Return the SHA-256 of a seed file, or None if it can be read only once (a pipe)."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(source: str | Path, error: OSError) -> GossamerError:
    name = "standard input" if source == STANDARD_INPUT else f"seed file {source}"
    return GossamerError(f"Cannot read {name}: {(error.strerror or str(error)).lower()}.")


def _no_text(source: str) -> GossamerError:
    name = "Standard input" if source == STANDARD_INPUT else f"Seed file {source}"
    return GossamerError(f"{name} is not text: name a file that holds one domain or URL per line.")


def _looks_like_a_file(name: str) -> bool:
    """Return True for `seeds`, `lists/seeds` and `seeds.txt`, False for `localhost` and `example.org/path`."""
    first, slash, _ = name.partition("/")
    is_path = slash and (first in (".", "..") or not (set(first) & set(".:[")))
    is_word = _WORD.fullmatch(name) is not None and name != "localhost"
    return bool(is_path) or is_word or name.endswith((".txt", ".csv", ".lst"))


def _read_all(sources: list[tuple[str | Path, Path | None]]) -> Iterator[Seed | BadSeed]:
    for position, (source, path) in enumerate(sources, start=1):
        try:
            if path is not None:
                with path.open("rb") as file:
                    yield from _read_lines(file, str(source))
            elif source == STANDARD_INPUT:
                yield from _read_lines(_open_standard_input(), STANDARD_INPUT)
            elif seed := _read_line(str(source), "argument", position):
                yield seed
        except OSError as error:
            raise _unreadable(source, error) from None


def _open_standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise GossamerError("Standard input is closed: name a seed file instead of `-`.")
    return sys.stdin.buffer


def _read_lines(file: BinaryIO, source: str) -> Iterator[Seed | BadSeed]:
    for number, text in enumerate(_split_lines(file, source), start=1):
        if seed := _read_line(text, source, number):
            yield seed


def _split_lines(file: BinaryIO, source: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, or of a UTF-16 one with a byte-order mark; overlong ones are cut."""
    chunk = file.read(_PEEK_BYTES)
    if chunk[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and b"\0" in chunk:
        raise _no_text(source)
    if chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
    else:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    newlines = io.IncrementalNewlineDecoder(decoder, translate=True)
    rest = ""
    while chunk:
        *lines, rest = (rest + newlines.decode(chunk)).split("\n")
        yield from lines
        rest = rest[: MAX_LINE_CHARS + 1]
        chunk = file.read(1 << 16)
    yield rest + newlines.decode(b"", final=True)


def _read_line(text: str, source: str, line: int) -> Seed | BadSeed | None:
    text = text.partition("#")[0].strip()  # a comment, or a fragment, which is ignored
    if not text:
        return None
    if len(text) <= MAX_NAME_CHARS and _PLAIN_NAME.fullmatch(text):
        host = f"https://{text}"
        url = f"{host}/"
        return Seed(Url(url, hash_url(url), site_of_name(text), host), True, source, line)
    bare = not _SCHEME.match(text)
    normalised = _normalise_seed(text, bare)
    if isinstance(normalised, str):
        return Seed(identify(normalised), bare, source, line)
    readable = text[:MAX_SHOWN_CHARS].encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return BadSeed(readable, "not UTF-8 text" if _LONE_SURROGATE.search(text) else normalised.value, source, line)


def _normalise_seed(text: str, bare: bool) -> str | Refusal:
    if len(text) > MAX_LINE_CHARS:
        return Refusal.LENGTH
    if not bare:
        return normalise(text)
    # The parser would skip leading slashes: `/path` is not the domain `path`.
    return Refusal.SYNTAX if text[0] in "/\\?" else normalise("https://" + text)


# Most seeds are plain domains in normal form, which need no parser. A name that ends in a number would be an address.
_PLAIN_NAME = re.compile(r"(?:[a-z0-9_-]{1,63}\.)+[a-z]{1,63}")
_WORD = re.compile(r"[\w-]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])")  # followed by a digit, it is a port
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
