"""The bodies of pages: HTML as real sites write it, plain text and images. Pure."""

from __future__ import annotations

import math
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from gossamer_simweb.hosts import split_url
from gossamer_simweb.links import planned_links, spell
from gossamer_simweb.plan import WITH_LINKS, PageKind
from gossamer_simweb.seeded_random import SeededRandom
from gossamer_simweb.sitemaps import write_sitemap
from gossamer_simweb.text import PAGE_WORDS, articles, furniture

if TYPE_CHECKING:
    from gossamer_simweb.links import PlannedLink
    from gossamer_simweb.plan import PlannedPage, WebPlan

_MEDIAN_BYTES = {"small": 10_000, "large": 138_000}
_SIGMA = {"small": 0.7, "large": math.sqrt(2 * math.log(242 / 138))}  # mean = median * exp(sigma² / 2)
_MAX_BODY_BYTES = 4_000_000
_FOREIGN_CHARSETS = ("iso-8859-1", "windows-1252", "shift_jis")
_DEAD_HREFS = ("mailto:someone@example.org", "javascript:void(0)", "tel:+4930123456", "data:,no", "#top")


_PHRASES = tuple(f"{first} {second}" for first in PAGE_WORDS for second in PAGE_WORDS)


class Body(NamedTuple):
    """A body before any content coding."""

    content_type: str
    data: bytes


def render(web: WebPlan, page: PlannedPage) -> Body:
    """Return the body of a page in a normal response."""
    dice = SeededRandom(web.spec.seed, "body", page.site, page.number)
    if page.kind in WITH_LINKS:
        return _article(web, page, dice)
    if page.kind is PageKind.TEXT:
        text = articles(web.spec.seed, "utf-8").take(dice.unit(), _size_bytes(web, dice) // 2)
        return Body("text/plain; charset=utf-8", b'<a href="/trap/text">not HTML, so not a link</a>\n' + text)
    if page.kind is PageKind.IMAGE:
        return Body("image/png", _picture(dice, _size_bytes(web, dice)))
    if page.kind is PageKind.SITEMAP:
        return Body(*write_sitemap(web.site(page.site).sitemaps[page.url], dice))
    if page.kind is PageKind.REFRESH and page.leads_to is not None:
        return Body("text/html; charset=utf-8", _refresh(page.leads_to, page.url, dice))
    return Body("text/html; charset=utf-8", _NOTE % (page.status, page.status))


def _size_bytes(web: WebPlan, dice: SeededRandom) -> int:
    profile = web.spec.profile
    return min(int(_MEDIAN_BYTES[profile] * math.exp(_SIGMA[profile] * dice.normal())), _MAX_BODY_BYTES)


def _article(web: WebPlan, page: PlannedPage, dice: SeededRandom) -> Body:
    spec = web.spec
    size_bytes = _size_bytes(web, dice)
    charset = dice.pick(_FOREIGN_CHARSETS) if dice.chance(spec.foreign) else "utf-8"
    in_header = dice.chance(0.7)
    base, base_tag = page.url, ""
    if dice.chance(spec.based):
        base = f"{page.url[: -len(split_url(page.url)[2])]}/based/on/"
        base_tag = f'<base href="{base}">\n'
    title = f"{dice.pick(PAGE_WORDS)} and {dice.pick(PAGE_WORDS)} {page.number}".capitalize()
    charset_tag = "" if in_header else f'<meta charset="{charset}">\n'
    robots_tag = '<meta name="robots" content="nofollow">\n' if page.kind is PageKind.NOFOLLOW else ""
    anchors = _anchors(planned_links(web, page), base, dice, utf8=charset == "utf-8")
    first, rest = anchors[:6], anchors[6:]
    head = _HEAD.format(title=title, tags=charset_tag + base_tag + robots_tag, nav="".join(first))
    dead = dice.pick(
        _DEAD_HREFS if base == page.url else _DEAD_HREFS[:-1]
    )  # with a <base>, "#top" would be a link to the base
    foot = _FOOT.format(related="\n".join(rest), dead=dead, year=2000 + page.number % 25)
    left_bytes = size_bytes - len(head) - len(foot)
    article = articles(spec.seed, charset).take(dice.unit(), left_bytes * 6 // 10)
    filler = furniture(spec.seed).take(dice.unit(), left_bytes * 4 // 10)
    data = b"".join((head.encode(charset), article, _MIDDLE, filler, foot.encode(charset)))
    return Body(f"text/html; charset={charset}" if in_header else "text/html", data)


def _anchors(found: list[PlannedLink], base: str, dice: SeededRandom, *, utf8: bool) -> list[str]:
    anchors = []
    unit = dice.unit
    for url, follow in found:
        href = spell(url, base, dice, utf8=utf8).replace("&", "&amp;")
        way = unit()
        if not follow:
            anchors.append(f'<li><a rel="nofollow" href="{href}">{_phrase(way)}</a></li>')
        elif way < 0.03:
            anchors.append(f'<map name="m"><area shape="default" href="{href}" alt="more"></map>')
        else:
            anchors.append(f'<li><a href="{href}">{_phrase(way)}</a></li>')
    return anchors


def _phrase(place: float) -> str:
    return _PHRASES[int(place * len(_PHRASES))]


def _refresh(target: str, base: str, dice: SeededRandom) -> bytes:
    url = spell(target, base, dice, utf8=True).strip().replace("&", "&amp;")
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8">'
        f'<meta http-equiv="refresh" content="0; url={url}">'
        "<title>This page has moved</title></head><body><p>This page has moved.</p></body></html>\n"
    ).encode()


def _picture(dice: SeededRandom, size_bytes: int) -> bytes:
    """Return a PNG of noise, which no coding can compress."""
    side = max(8, math.isqrt(size_bytes))
    noise = struct.Struct("<Q")
    row = b"".join(noise.pack(dice.below(1 << 32) * 0x9E3779B97F4A7C15 % (1 << 64)) for _ in range(side // 8 + 1))
    rows = b"".join(b"\0" + bytes(row[i % 8 :] + row[: i % 8])[:side] for i in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


_NOTE = b"<!DOCTYPE html>\n<html><head><title>%d</title></head><body><h1>%d</h1></body></html>\n"
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
{tags}<title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{title}: all you want to know">
<link rel="stylesheet" href="/static/site.css">
<script src="/static/site.js" async></script>
</head>
<body>
<header><nav><ul class="menu">
{nav}
</ul></nav></header>
<main><article>
<h1>{title}</h1>
"""
_MIDDLE = b'</article>\n<div class="furniture">\n'
_FOOT = """</div></main>
<aside><h2>Related</h2><ul class="related">
{related}
</ul></aside>
<footer><p>&copy; {year} <a href="{dead}">Write to us</a></p></footer>
</body>
</html>
"""
