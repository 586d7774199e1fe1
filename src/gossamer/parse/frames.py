"""Reads documents that only arrange others: framesets, and pages with frames of their own site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turbohtml import parse

from gossamer.parse.links import find_hrefs
from gossamer.urls import normalise, site_of

if TYPE_CHECKING:
    from turbohtml import Document

MAX_FRAMES: Final = 100  # read of a page

_BLANKS: Final = " \t\n\r\f"


def find_frames(document: Document, url: str, base: str) -> list[str]:
    """Return the sources of frames of the same site, as they are spelled: they count as links."""
    frames = document.select("frame[src], iframe[src]")[:MAX_FRAMES]
    site = site_of(url) if frames else ""
    found: dict[str, None] = {}
    for frame in frames:
        source = (frame.attr("src") or "").strip(_BLANKS)
        target = normalise(source, base) if source and not source.startswith("#") else None
        if isinstance(target, str) and site_of(target) == site:
            found[source] = None
    return [*found]


def without_frames(document: Document) -> Document | None:
    """Return what a frameset shows to readers without frames, as a document; None if this is no frameset."""
    if not document.select("frameset"):
        return None
    # The parser keeps it as text, as a browser does that shows frames.
    return parse("".join(element.text for element in document.select("noframes")), positions=False)


def frame_links(document: Document, shown: Document | None, url: str, base: str, *, has_base: bool) -> list[str]:
    """Return the hrefs of frames, and of what a frameset shows without them."""
    return [*find_frames(document, url, base), *(find_hrefs(shown, has_base=has_base) if shown else [])]
