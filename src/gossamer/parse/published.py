"""When a page says that it was published and last changed, and where it says so. Pure.

The first that is found counts: JSON-LD, Open Graph, other `<meta>` elements, `<time>`. URLs are not searched.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gossamer.parse.dates import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turbohtml import Element

    from gossamer.parse.elements import PageElements

MAX_JSON_CHARS: Final = 200_000
MAX_NODES: Final = 1_000  # of JSON-LD, in one page
MAX_TIMES: Final = 1_000  # `<time>` elements that are looked at

_DAY: Final = re.compile(r"[0-9]{4}(?:-[0-9]{2}){2}")
_OPEN_GRAPH: Final = {
    "article:published_time": "published", "og:article:published_time": "published", "og:published_time": "published",
    "article:modified_time": "modified", "og:article:modified_time": "modified", "og:updated_time": "modified",
}  # fmt: skip
_META: Final = {
    "citation_publication_date": "published", "citation_online_date": "published", "date": "published", "dc.date":
    "published", "dc.date.created": "published", "dc.date.issued": "published", "dcterms.created": "published",
    "dcterms.date": "published", "dcterms.issued": "published", "parsely-pub-date": "published", "pubdate":
    "published", "publish-date": "published", "publish_date": "published", "publishdate": "published",
    "publication_date": "published", "sailthru.date": "published", "datepublished": "published", "dc.date.modified":
    "modified", "dcterms.modified": "modified", "last-modified": "modified", "lastmod": "modified", "revised":
    "modified", "datemodified": "modified",
}  # fmt: skip
# Of `<time>`: an attribute, and the words in it, in lower case, that say what the time is; with none, any value does.
_TIMES: Final[tuple[tuple[str, str, frozenset[str]], ...]] = (
    ("published", "itemprop", frozenset({"datepublished"})),
    ("published", "pubdate", frozenset()),
    ("published", "class", frozenset({"dt-published", "published", "entry-date"})),
    ("modified", "itemprop", frozenset({"datemodified"})),
    ("modified", "class", frozenset({"dt-updated", "updated"})),
)


class PageDates(NamedTuple):
    """When a page was published and changed, in ISO 8601, and where it says so; empty if it does not."""

    published: str = ""
    published_from: str = ""
    modified: str = ""
    modified_from: str = ""


def find_dates(elements: PageElements) -> PageDates:
    """Return the dates of a document."""
    found: dict[str, str] = {}
    for kind, said, where in _said(elements):
        if kind not in found and (date := in_iso(said)):
            found[kind] = date
            found[f"{kind}_from"] = where
            if len(found) == len(PageDates._fields):
                break
    return PageDates(**found)


def in_iso(said: str) -> str:
    """Return a date in ISO 8601: a day as it is, a moment in UTC; empty if it is no date."""
    said = said.strip()
    if _DAY.fullmatch(said):
        return said if parse_time(said) is not None else ""
    moment_at = parse_time(said) if len(said) > len("2000-01") else None
    if moment_at is None:
        return ""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment_at))
    except (OverflowError, ValueError, OSError):
        return ""


def _said(elements: PageElements) -> Iterator[tuple[str, str, str]]:
    """Yield what a document says about its dates, the most reliable first: kind, text and where it is said."""
    yield from _in_json(elements.scripts)
    named = []
    for meta in elements.metas:
        name = (meta.attr("property") or meta.attr("name") or meta.attr("itemprop") or "").strip().lower()
        if name in _OPEN_GRAPH or name in _META:
            named.append((name, meta.attr("content") or ""))
    for kinds, where in ((_OPEN_GRAPH, "opengraph"), (_META, "meta")):
        yield from ((kinds[name], said, where) for name, said in named if name in kinds)
    yield from _in_times(elements.times[:MAX_TIMES])


def _in_times(times: list[Element]) -> Iterator[tuple[str, str, str]]:
    dated = [(element, said) for element in times if (said := element.attr("datetime")) is not None]
    for kind, name, words in _TIMES:
        for element, said in dated:
            value = element.attr(name)
            if value is not None and (not words or not words.isdisjoint(value.lower().split())):
                yield kind, said, "time"
                break
    in_articles = {said for element, said in dated if element.closest("article") is not None}
    if len(in_articles) == 1:
        yield "published", in_articles.pop(), "time"


def _in_json(scripts: list[Element]) -> Iterator[tuple[str, str, str]]:
    nodes = 0
    for script in scripts:
        if (script.attr("type") or "").lower() != "application/ld+json":
            continue
        text = script.text
        if len(text) > MAX_JSON_CHARS:
            continue
        try:
            waiting: list[Any] = [json.loads(text, strict=False)]
        except (ValueError, RecursionError):
            continue
        while waiting and nodes < MAX_NODES:
            node = waiting.pop(0)
            nodes += 1
            if isinstance(node, list):
                waiting += node
            elif isinstance(node, dict):
                for kind, key in (("published", "datePublished"), ("modified", "dateModified")):
                    if isinstance(node.get(key), str):
                        yield kind, node[key], "json-ld"
                waiting += [node[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in node]
