"""Reads documents that only arrange others: framesets, and pages with frames of their own site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turbohtml import parse

from gossamer.parse.elements import find_elements
from gossamer.parse.links import find_hrefs
from gossamer.urls import normalise, site_of

if TYPE_CHECKING:
    from turbohtml import Document, Element

MAX_FRAMES: Final = 100  # read of a page

_BLANKS: Final = " \t\n\r\f"


def find_frames(frames: list[Element], url: str, base: str) -> list[str]:
    """Return the sources of frames of the same site, as they are spelled: they count as links."""
    site = site_of(url) if frames else ""
    found: dict[str, None] = {}
    for frame in frames[:MAX_FRAMES]:
        source = (frame.attr("src") or "").strip(_BLANKS)
        target = normalise(source, base) if source and not source.startswith("#") else None
        if isinstance(target, str) and site_of(target) == site:
            found[source] = None
    return [*found]


def without_frames(document: Document) -> Document:
    """Return what a frameset shows to readers without frames, as a document."""
    # The parser keeps it as text, as a browser does that shows frames.
    return parse("".join(element.text for element in document.select("noframes")), positions=False)


def frame_links(frames: list[Element], shown: Document | None, url: str, base: str, *, has_base: bool) -> list[str]:
    """Return the hrefs of frames, and of what a frameset shows without them."""
    hrefs = find_hrefs(find_elements(shown).anchors, has_base=has_base) if shown else []
    return [*find_frames(frames, url, base), *hrefs]
