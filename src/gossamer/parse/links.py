"""Finds the links, the canonical URL and the refresh of a document. `docs/links.md` says which elements count."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import ada_url

from gossamer.records import Anchor
from gossamer.urls import normalise, normalise_links

if TYPE_CHECKING:
    from turbohtml import Element

    from gossamer.urls import Url

MAX_LINKS: Final = 10_000  # distinct hrefs read of a page
MAX_ANCHORS: Final = 10_000  # kept of a page
MAX_ANCHOR_CHARS: Final = 200  # kept of a link's text
MAX_REFRESH_S: Final = 10  # a page shown for longer is meant to be read

_BLANKS: Final = " \t\n\r\f"
# A cheap test for most hrefs that name no page; `normalise` refuses their other spellings by scheme.
_NOWHERE: Final = ("javascript:", "mailto:", "tel:", "data:")
_UTF: Final = frozenset({"utf-8", "utf-16le", "utf-16be"})
_NOT_ASCII: Final = re.compile("[^\0-\x7f]+")
_REFRESH: Final = re.compile(r"\s*(?:(\d+)(?:\.[\d.]*)?|\.[\d.]*)(?:\s*[;,]|\s)\s*(.*)", re.DOTALL)
_REFRESH_URL: Final = re.compile(r"""(?:url\s*=\s*)?(?:(['"])(.*?)(?:\1|$)|(.*))""", re.DOTALL | re.IGNORECASE)
_MAX_REFRESH_CHARS: Final = 5_000


def base_of(bases: list[Element], url: str) -> str:
    """Return the URL against which the links of a document at `url` are resolved."""
    for element in bases:
        href = element.attr("href")
        if href is None:
            continue
        try:
            base = ada_url.join_url(url, href.strip(_BLANKS))
        except ValueError:
            return url
        return url if base.startswith(("data:", "javascript:")) else base
    return url


def find_hrefs(anchors: list[Element], *, has_base: bool) -> list[str]:
    """Return the hrefs of links to follow, as they are spelled in the document: distinct, in order."""
    skipped = _skipped(has_base=has_base)
    follow: dict[str, None] = {}
    for element in anchors:
        href = element.attr("href")
        if href is None or (href := href.strip(_BLANKS)).startswith(skipped):
            continue
        rel = element.attr("rel")
        if rel is not None and "nofollow" in rel.lower().split():
            continue
        follow[href] = None
        if len(follow) == MAX_LINKS:
            break
    return [*follow]


def find_anchors(anchors: list[Element], base: str, charset: str, *, has_base: bool) -> list[Anchor]:
    """Return the links of a document to pages, including nofollow links: distinct, in order."""
    skipped = _skipped(has_base=has_base)
    targets: dict[str, str] = {}  # by href: pages repeat hrefs
    found: dict[Anchor, None] = {}
    for element in anchors:
        href = element.attr("href")
        if href is None or (href := href.strip(_BLANKS)).startswith(skipped):
            continue
        target = targets.get(href)
        if target is None:
            url = normalise(href if charset in _UTF else _query_in_charset(href, charset), base)
            target = targets[href] = url if isinstance(url, str) else ""
        if target:
            text = " ".join(element.text.split())[:MAX_ANCHOR_CHARS].rstrip()
            rel = " ".join((element.attr("rel") or "").split())[:MAX_ANCHOR_CHARS]
            found[Anchor(target, text, rel)] = None
            if len(found) == MAX_ANCHORS:
                break
    return [*found]


def _skipped(*, has_base: bool) -> tuple[str, ...]:
    return _NOWHERE if has_base else ("#", *_NOWHERE)  # without a base, a bare fragment names the page itself


def resolve_links(hrefs: list[str], base: str, charset: str) -> list[Url]:
    """Return the distinct URLs of the hrefs of a document in `charset`."""
    if charset not in _UTF:
        hrefs = [_query_in_charset(href, charset) for href in hrefs]
    return normalise_links(hrefs, base)


def canonical_of(links: list[Element], base: str) -> str:
    """Return the canonical URL that a page names; empty if it names none that can be crawled."""
    for link in links:
        href = link.attr("href")
        if href is not None and "canonical" in (link.attr("rel") or "").lower().split():
            url = normalise(href.strip(_BLANKS), base)
            return url if isinstance(url, str) else ""
    return ""


def refresh_of(metas: list[Element], header: str, base: str, url: str) -> str:
    """Return the target of a refresh within a few seconds; empty if there is none, or if it is `url` itself."""
    content = header
    for meta in metas:
        if (meta.attr("http-equiv") or "").strip().lower() == "refresh" and meta.closest("noscript") is None:
            content = meta.attr("content") or ""
            break
    found = _REFRESH.match(content[:_MAX_REFRESH_CHARS])
    if found is None or not found[2] or len(found[1] or "") > 9 or int(found[1] or 0) > MAX_REFRESH_S:
        return ""
    target = _REFRESH_URL.match(found[2])
    assert target is not None  # it matches everything
    leads_to = normalise((target[2] or target[3] or "").strip(_BLANKS), base)
    return leads_to if isinstance(leads_to, str) and leads_to != url else ""


def _query_in_charset(href: str, charset: str) -> str:
    """Escape a query as a browser does: in the charset of its page. All other parts are escaped as UTF-8."""
    if href.isascii():
        return href
    path, question, rest = href.partition("?")
    query, hash_, fragment = rest.partition("#")
    query = _NOT_ASCII.sub(lambda found: _escape(found[0], charset), query)
    return path + question + query + hash_ + fragment


def _escape(text: str, charset: str) -> str:
    try:
        encoded = text.encode(charset, _REFERENCES)
    except (LookupError, UnicodeError):  # a charset that Python cannot encode
        return text
    return quote(encoded, safe="%!$&'()*+,-./:;=?@[\\]^_`{|}~")


def _as_references(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(f"%26%23{ord(char)}%3B" for char in missing), error.end


_REFERENCES: Final = "gossamer-references"
codecs.register_error(_REFERENCES, _as_references)
