"""The elements of a document that describe it or lead to other pages, found in one walk: each walk of a tree costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from turbohtml import Document, Element

_TAGS: Final = (
    "a",
    "area",
    "base",
    "frame",
    "frameset",
    "iframe",
    "link",
    "meta",
    "script",
    "template",
    "time",
    "title",
)


class PageElements(NamedTuple):
    """Elements of a document, each kind in the order of the document."""

    anchors: list[Element]  # `a` and `area`
    bases: list[Element]
    frames: list[Element]  # `frame` and `iframe`
    framesets: list[Element]
    links: list[Element]  # `link`
    metas: list[Element]
    scripts: list[Element]
    times: list[Element]
    titles: list[Element]


def find_elements(document: Document) -> PageElements:
    """Return the elements that matter; remove templates, which browsers do not show.

    Declarative shadow roots stay, if they were parsed as templates, so that their links are found.
    """
    found = _by_tag(document)
    if found["template"]:
        document.remove("template:not([shadowrootmode])")
        found = _by_tag(document)
    return PageElements(
        anchors=found["a"],
        bases=found["base"],
        frames=found["frame"],
        framesets=found["frameset"],
        links=found["link"],
        metas=found["meta"],
        scripts=found["script"],
        times=found["time"],
        titles=found["title"],
    )


def _by_tag(document: Document) -> dict[str, list[Element]]:
    found: dict[str, list[Element]] = {tag: [] for tag in _TAGS}
    found["area"], found["iframe"] = found["a"], found["frame"]
    for element in document.iter_elements(_TAGS):
        found[element.tag].append(element)
    return found
