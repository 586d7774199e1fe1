"""Reads a fetched page: links, title and text, from the bytes as sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from turbohtml import Namespace, parse
from xxhash import xxh3_128_digest

from gossamer.inflate import NotInflated, inflate
from gossamer.media_types import media_type_of
from gossamer.parse.blocks import block_in_head, block_in_page
from gossamer.parse.charset import decode
from gossamer.parse.elements import find_elements
from gossamer.parse.frames import frame_links, without_frames
from gossamer.parse.head import read_head
from gossamer.parse.language import declared_language, language_of, primary_language
from gossamer.parse.links import MAX_LINKS, base_of, canonical_of, find_anchors, find_hrefs, refresh_of, resolve_links
from gossamer.parse.published import PageDates, find_dates, in_iso
from gossamer.parse.simhash import simhash
from gossamer.parse.text import FindText, fast_text
from gossamer.parse.wishes import find_wishes
from gossamer.records import PageRow, ParsedPage, ParseFailed, Reason

if TYPE_CHECKING:
    from turbohtml import Element

    from gossamer.inflate import Inflated
    from gossamer.parse.head import ResponseHead
    from gossamer.records import Fetched

MAX_TITLE_CHARS: Final = 1_000
MAX_ETAG_CHARS: Final = 500
SHORT_TEXT_CHARS: Final = 300  # of a main text that may be too short to show its language
SHORT_SOURCE_CHARS: Final = 50_000  # of a page whose whole text is looked at in its place

_MARKUP: Final = frozenset({"text/html", "application/xhtml+xml", "text/xml", "application/xml"})
_PROSE: Final = frozenset({"text/plain", "text/markdown"})  # other text is code or data, in no language
_TEXT: Final = frozenset({"application/json", "application/javascript", "application/ld+json"})


class FoundInDocument(NamedTuple):
    """What was found in a document, as its row needs it; a body that is no document has only some of it."""

    title: str
    text: str
    declared: str  # language
    signals: str
    links: int = 0
    canonical: str = ""
    dates: PageDates = PageDates()


def read_page(
    fetched: Fetched, *, agent: str, max_bytes: int, find_text: FindText = fast_text, anchors: bool = False
) -> ParsedPage | ParseFailed:
    """Read a page for the crawler named `agent`; only the first `max_bytes` of an inflated body are read.

    With `anchors`, it also returns all links with their texts.
    """
    head = read_head(fetched.head)
    inflated = inflate(fetched.body, head.encodings, max_bytes=max_bytes)
    if isinstance(inflated, NotInflated):
        return ParseFailed(reason=Reason.BAD_ENCODING, detail=inflated.detail)
    if is_markup(head.media_type):
        page = _read_document(inflated, head, fetched.url, agent.lower(), find_text, anchors=anchors)
    else:
        page = _read_plain(inflated, head, agent.lower())
    mark = block_in_head(fetched.head, fetched.status)
    return page._replace(blocked=mark) if mark else page


def is_markup(media_type: str) -> bool:
    """Return whether to parse a document; a missing or malformed type counts as HTML."""
    return media_type in _MARKUP or media_type.endswith("+xml") or "/" not in media_type


def _read_document(
    inflated: Inflated, head: ResponseHead, url: str, agent: str, find_text: FindText, *, anchors: bool
) -> ParsedPage:
    source, charset = decode(inflated.body, head.charset)
    # Declarative shadow roots stay templates, so that their links are found.
    document = parse(source, positions=False, allow_declarative_shadow_roots=False)
    elements = find_elements(document)
    wishes = find_wishes(head, elements.metas, agent)
    base = base_of(elements.bases, url)
    has_base = base is not url
    hrefs = find_hrefs(elements.anchors, has_base=has_base)
    shown = without_frames(document) if elements.framesets else None
    if elements.frames or shown:
        hrefs = [*dict.fromkeys(hrefs + frame_links(elements.frames, shown, url, base, has_base=has_base))]
    links = [] if wishes.nofollow else resolve_links(hrefs, base, charset)
    found_anchors = find_anchors(elements.anchors, base, charset, has_base=has_base) if anchors else []
    title = _title_of(elements.titles)
    declared = declared_language(document, elements.metas, head)
    dates = find_dates(elements)
    # Last: it removes from the tree what is not text.
    text = find_text(document, source) if shown is None else shown.to_text().strip()
    canonical = canonical_of(elements.links, base)
    found = FoundInDocument(title, text, declared, wishes.signals, len(links), canonical, dates)
    row = _row(inflated, head, charset, found)
    if not row.lang and len(text) < SHORT_TEXT_CHARS and len(source) <= SHORT_SOURCE_CHARS:
        row = _with_language_of_all(row, source)
    return ParsedPage(
        row=row,
        links=links,
        anchors=found_anchors,
        refresh=refresh_of(elements.metas, head.refresh, base, url),
        noindex=wishes.noindex,
        nofollow=wishes.nofollow,
        noai=wishes.noai,
        blocked=block_in_page(source, title=row.title, text=text),
        links_cut=len(hrefs) >= MAX_LINKS,
    )


def _read_plain(inflated: Inflated, head: ResponseHead, agent: str) -> ParsedPage:
    """Read a body that is no document: text is kept as it is, other types are only measured and hashed."""
    charset = text = ""
    if head.media_type.startswith("text/") or head.media_type in _TEXT:
        text, charset = decode(inflated.body, head.charset)
        text = text.replace("\0", "\ufffd").strip()
    wishes = find_wishes(head, (), agent)
    is_prose = head.media_type in _PROSE
    declared = primary_language(head.language)
    found = FoundInDocument("", text, declared, wishes.signals)
    return ParsedPage(
        row=_row(inflated, head, charset, found, is_prose=is_prose),
        links=[],
        anchors=[],
        refresh="",
        noindex=wishes.noindex,
        nofollow=wishes.nofollow,
        noai=wishes.noai,
    )


def _row(
    inflated: Inflated, head: ResponseHead, charset: str, found: FoundInDocument, *, is_prose: bool = True
) -> PageRow:
    """Return the columns of a body, and its language, which is looked for only in prose."""
    title, text, declared, signals, links, canonical, dates = found
    language = language_of(declared, title, text if is_prose else "")
    return PageRow(
        content_type=head.content_type,
        charset=charset,
        lang=language.counts,
        title=title,
        text=text,
        links=links,
        content_hash=xxh3_128_digest(inflated.body),
        canonical=canonical,
        signals=signals,
        truncated=inflated.truncated,
        body_bytes=len(inflated.body),
        simhash=simhash(text),
        lang_declared=language.declared,
        lang_detected=language.detected,
        lang_score=language.score,
        last_modified=in_iso(head.last_modified),
        etag=head.etag[:MAX_ETAG_CHARS],
        mime_detected=media_type_of(inflated.body, head.media_type),
        published=dates.published,
        published_from=dates.published_from,
        modified=dates.modified,
        modified_from=dates.modified_from,
    )


def _with_language_of_all(row: PageRow, source: str) -> PageRow:
    """Return a row with the language of everything on its page: a table of contents says more than its heading."""
    document = parse(source, positions=False, allow_declarative_shadow_roots=False)
    document.remove("script, style, template")
    body = document.find("body")
    language = language_of("", row.title, body.to_text() if body is not None else "")
    if not language.counts:
        return row
    return row._replace(lang=language.counts, lang_detected=language.detected, lang_score=language.score)


def without_content(page: ParsedPage) -> ParsedPage:
    """Return a noindex page without what it says: only that it was fetched, and its links, may be recorded."""
    return page._replace(row=page.row._replace(title="", text="", simhash=0), anchors=[])


def _title_of(titles: list[Element]) -> str:
    for element in titles:
        if element.namespace is Namespace.HTML:  # SVG pictures have titles too
            return " ".join(element.text.split())[:MAX_TITLE_CHARS]
    return ""
