"""Reads a sitemap: XML, a feed or plain text, from the bytes as sent. See `docs/sitemaps.md`.

XML is read as a stream, without a tree; entities are never declared or looked up. A file that cannot be read to its end
yields what was read before, as with pages.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.parsers import expat

from gossamer.inflate import NotInflated, inflate
from gossamer.parse.charset import decode
from gossamer.parse.dates import parse_time
from gossamer.parse.head import read_head
from gossamer.parse.wishes import find_wishes
from gossamer.records import ParseFailed, Reason
from gossamer.urls import normalise

if TYPE_CHECKING:
    from gossamer.records import Fetched

# The limits of the protocol (sitemaps.org); no more is read.
MAX_ENTRIES: Final = 50_000
MAX_SITEMAP_BYTES: Final = 50 << 20  # inflated

USUAL_PRIORITY: Final = 0.5  # the protocol's default
OLD_S: Final = 365 * 86_400.0  # since it was changed

_MAX_WRAPS: Final = 2  # a .gz file sent with a content encoding is compressed twice
_MAX_DEPTH: Final = 100
_MAX_FIELD_CHARS: Final = 10_000
_MAX_SHOWN_CHARS: Final = 200
_STEP_CHARS: Final = 1 << 16
_GZIP_MAGIC: Final = b"\x1f\x8b"


class Format(StrEnum):
    """The format of a sitemap."""

    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"
    ATOM = "atom"
    TEXT = "text"


class Entry(NamedTuple):
    """A page that a sitemap lists."""

    url: str  # normalised
    rank: int  # smaller is fetched earlier; other links have 0
    priority: float | None  # 0 to 1
    changed_at: float | None  # Unix seconds


class SitemapContent(NamedTuple):
    """What a sitemap lists."""

    format: Format
    entries: list[Entry]  # distinct, in the order in which to fetch them
    sitemaps: list[str]  # listed in an index: normalised, distinct, in order
    refused: list[tuple[str, str]]  # entries that are no URL to crawl, shortened, and why
    cut: str  # why not all of it was read; empty if it was
    noindex: bool = False  # of the sitemap itself, as many servers say; its entries are used


def read_sitemap(fetched: Fetched, *, agent: str, max_bytes: int = MAX_SITEMAP_BYTES) -> SitemapContent | ParseFailed:
    """Read a sitemap for the crawler named `agent`; return ParseFailed (BAD_SITEMAP) for anything else.

    Only the first `max_bytes` of an inflated sitemap are read.
    """
    head = read_head(fetched.head)
    wishes = find_wishes(head, (), agent.lower())
    inflated = inflate(fetched.body, head.encodings, max_bytes=max_bytes)
    if isinstance(inflated, NotInflated):
        if not fetched.body.startswith((_GZIP_MAGIC, b"<")):  # some servers name an encoding that they did not apply
            return _failed(inflated.detail)
        body, truncated = fetched.body, False
    else:
        body, truncated = inflated.body, inflated.truncated
    for _ in range(_MAX_WRAPS):
        if not body.startswith(_GZIP_MAGIC):
            break
        unzipped = inflate(body, "gzip", max_bytes=max_bytes)
        if isinstance(unzipped, NotInflated):
            return _failed(unzipped.detail)
        body, truncated = unzipped.body, truncated or unzipped.truncated
    text = decode(body, head.charset).text.lstrip("\ufeff\0 \t\r\n")
    found = _Listing(fetched.url)
    is_cut = truncated or fetched.truncated is not None
    failure = _read_xml(text, found) if text.startswith("<") else _read_text(text, found)
    if failure:
        return _failed(failure)
    if is_cut and not found.cut.startswith("more than"):
        found.cut = "it is too long for a sitemap, or arrived incomplete"
    sitemap = found.sitemap(fetched.started_at)
    if wishes.nofollow:
        sitemap = sitemap._replace(entries=[], sitemaps=[], cut="its server says nofollow")
    return sitemap._replace(noindex=wishes.noindex)


def rank_of(priority: float | None, changed_at: float | None, now_at: float) -> int:
    """Return the rank of an entry: 0 as for other links, higher if its site gives it a low priority or it is old."""
    below = USUAL_PRIORITY - (USUAL_PRIORITY if priority is None else priority)
    is_old = changed_at is not None and now_at - changed_at > OLD_S
    return 2 * max(0, math.ceil(10 * below - 1e-9)) + is_old


@lru_cache(maxsize=64)
def _parse_priority(text: str) -> float | None:
    found = _PRIORITY.fullmatch(text)
    return min(float(found[0].replace(",", ".")), 1.0) if found else None


def _failed(detail: str) -> ParseFailed:
    return ParseFailed(reason=Reason.BAD_SITEMAP, detail=detail)


class _EnoughError(Exception):
    """Reading ends here: the file has too many entries."""


class _Listing:
    """The entries found so far."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._pages: dict[str, tuple[float | None, float | None]] = {}
        self._sitemaps: dict[str, None] = {}
        self._refused: list[tuple[str, str]] = []
        self._seen = 0
        self.format = Format.TEXT
        self.cut = ""

    def take(self, loc: str, changed: str = "", priority: str = "", *, is_sitemap: bool = False) -> None:
        """Add an entry; raise _EnoughError if there are too many."""
        self._count()
        loc = loc.strip()
        url = normalise(loc, self._base)
        if not loc:
            self._refused.append(("", "names no URL"))
        elif not isinstance(url, str):
            self._refused.append((loc[:_MAX_SHOWN_CHARS], url.value))
        elif is_sitemap:
            self._sitemaps[url] = None
        elif url not in self._pages:
            self._pages[url] = (_parse_priority(priority.strip()), parse_time(changed.strip()) if changed else None)

    def refuse(self, text: str, why: str) -> None:
        """Record a line that is no entry; raise _EnoughError like `take`."""
        self._count()
        self._refused.append((text[:_MAX_SHOWN_CHARS], why))

    def _count(self) -> None:
        if self._seen == MAX_ENTRIES:
            self.cut = f"more than {MAX_ENTRIES:,} entries"
            raise _EnoughError
        self._seen += 1

    def sitemap(self, now_at: float) -> SitemapContent:
        """Return the result: ordered by rank, then by priority, newest first."""
        entries = [
            Entry(url, rank_of(priority, changed_at, now_at), priority, changed_at)
            for url, (priority, changed_at) in self._pages.items()
        ]
        entries.sort(key=_order)
        return SitemapContent(self.format, entries, [*self._sitemaps], self._refused, self.cut)


def _order(entry: Entry) -> tuple[int, float, float]:
    return (
        entry.rank,
        -(USUAL_PRIORITY if entry.priority is None else entry.priority),
        -(entry.changed_at or 0.0),
    )


# ---------------------------------------------------------------------- plain text


def _read_text(text: str, found: _Listing) -> str:
    """Read one URL per line; return why the text is no sitemap, or an empty string."""
    if not _URL_LINE.match(text):
        return "empty" if not text else "neither XML nor a list of URLs"
    try:
        for line in text.splitlines():
            line = line.strip()
            if _URL_LINE.match(line):
                found.take(line)
            elif line and not line.startswith("#"):
                found.refuse(line, "not an absolute URL")
    except _EnoughError:
        pass
    return ""


# ---------------------------------------------------------------------- XML


def _read_xml(text: str, found: _Listing) -> str:
    """Read XML as a stream; return why it is no sitemap, or an empty string."""
    reader = _XmlReader(found)
    parser = _parser_for(reader)
    try:
        for start in range(0, len(text), _STEP_CHARS):
            parser.Parse(text[start : start + _STEP_CHARS], start + _STEP_CHARS >= len(text))
    except _EnoughError:
        pass
    except _NoSitemapError as why:
        return str(why)
    except expat.ExpatError as error:
        if not reader.has_begun:
            return f"not XML: {error}"
        found.cut = f"not well-formed from here on: {error}"
    return ""


class _NoSitemapError(Exception):
    """The file is no sitemap, or hostile."""


def _parser_for(reader: _XmlReader) -> expat.XMLParserType:
    """Return a parser that calls a reader.

    The reader has no reference to the parser: a cycle would keep all results in memory until the next garbage
    collection, which is rare in the page process.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    parser.EntityDeclHandler = reader.refuse_entities
    return parser


class _XmlReader:
    """Follows the elements of a file, and adds each entry to the listing."""

    def __init__(self, found: _Listing) -> None:
        self._found = found
        self._depth = 0
        self._items: frozenset[str] = frozenset()  # names of the elements that are entries
        self._fields: dict[str, int] = {}  # slot of each child element that matters, by name
        self._item_depth = 0  # of the open entry; 0: no entry is open
        self._slot = -1  # of the open child; -1: none that matters
        self._values = ["", "", ""]
        self.has_begun = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        self._depth += 1
        if self._item_depth:
            if self._depth == self._item_depth + 1 and (slot := self._fields.get(name)) is not None:
                self._open_field(slot, attributes)
        elif name in self._items:
            self._item_depth = self._depth
            self._values = ["", "", ""]
        elif self._depth == 1:
            self._begin(name)
        if self._depth > _MAX_DEPTH:
            raise _NoSitemapError(f"elements nested more than {_MAX_DEPTH} deep")

    def _open_field(self, slot: int, attributes: dict[str, str]) -> None:
        if slot == _LOC and (href := attributes.get("href")) is not None:  # Atom
            if attributes.get("rel", "alternate") == "alternate" and not self._values[_LOC]:
                self._values[_LOC] = href
        elif not self._values[slot]:  # the first element of a name counts
            self._slot = slot

    def end(self, name: str) -> None:
        """Close an element; add the entry that ends with it."""
        if self._depth == self._item_depth:
            self._item_depth = 0
            self._found.take(*self._values, is_sitemap=name.endswith("sitemap"))
        elif self._depth == self._item_depth + 1:
            self._slot = -1
        self._depth -= 1

    def data(self, text: str) -> None:
        """Keep the text of a field."""
        if self._slot >= 0 and len(self._values[self._slot]) < _MAX_FIELD_CHARS:
            self._values[self._slot] += text

    def _begin(self, root: str) -> None:
        """Choose the format by the root element. Prefixes distinguish names: an image has a loc too."""
        prefix, colon, local = root.rpartition(":")
        form = _ROOTS.get(local.lower())
        if form is None:
            raise _NoSitemapError("an HTML page" if local.lower() == "html" else f"its root element is <{root[:40]}>")
        self.has_begun = True
        self._found.format, items, fields = form
        if local == "RDF":  # its entries are in another namespace than its root
            prefix = colon = ""
        self._items = frozenset(prefix + colon + item for item in items)
        self._fields = {name if ":" in name else prefix + colon + name: slot for name, slot in fields.items()}

    def refuse_entities(self, *_: object) -> None:
        """Refuse a file that declares entities: sitemaps need none, and they can expand without bound."""
        raise _NoSitemapError("it declares entities")


_LOC, _CHANGED, _PRIORITY_SLOT = 0, 1, 2
_SITEMAP_FIELDS: Final = {"loc": _LOC, "lastmod": _CHANGED, "priority": _PRIORITY_SLOT}
_RSS: Final = (Format.RSS, ("item",), {"link": _LOC, "pubDate": _CHANGED, "dc:date": _CHANGED})
_ROOTS: Final[dict[str, tuple[Format, tuple[str, ...], dict[str, int]]]] = {
    "urlset": (Format.URLSET, ("url", "sitemap"), _SITEMAP_FIELDS),
    "sitemapindex": (Format.INDEX, ("sitemap", "url"), _SITEMAP_FIELDS),
    "rss": _RSS,
    "rdf": _RSS,
    "feed": (Format.ATOM, ("entry",), {"link": _LOC, "updated": _CHANGED, "published": _CHANGED}),
}
_URL_LINE: Final = re.compile(r"https?://", re.IGNORECASE)
_PRIORITY: Final = re.compile(r"[0-9]{0,3}[.,]?[0-9]{1,20}")
