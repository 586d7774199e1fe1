"""Finds what a page says: removes what stands around the text, then chooses the element that holds the rest.

Every decision compares sizes within the page, above all how much text that is no link an element holds. `docs/text.md`
describes the steps. The tree is changed: read everything else of a document before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from turbohtml import Element

from gossamer.parse.hints import COMMENTS, FURNITURE, FURNITURE_ROLES, HIDDEN, NEVER, word_around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turbohtml import Document

_CONTAINERS: Final = ("div", "section", "ul", "ol", "dl", "table", "form", *sorted(FURNITURE))
_INNER: Final = ", ".join(_CONTAINERS)  # the same as a selector, which is faster for a small element
_NEVER: Final = tuple(sorted(NEVER))
_MARKERS: Final = ("[itemprop~=articleBody]", ":is(main, [role=main])", "article")
_PARTS: Final = frozenset({"dl", "ul", "ol", "li", "dd", "dt", "table", "tbody", "tr", "blockquote", "pre"})
_KIN: Final = frozenset({"p", "pre", "blockquote", "dl", "section", "table", "ul", "ol"})
_LISTS: Final = frozenset({"ul", "ol", "dl", "div", "section", "article", "main"})
_NOT_SHOWN: Final = re.compile(r"display\s*:\s*none", re.IGNORECASE)

_SMALL: Final = 400  # characters: an element below this is removed without weighing it
_LESS: Final = 0.35  # of a body's unlinked text: all text of an element below this is less than `_MOST`
_MOST: Final = 0.4  # of a body's unlinked text: an element above this is no side part, whatever its class says
_COVER: Final = 0.7  # of the long paragraphs: an element that holds them holds the text
_MARKED_COVER: Final = 0.35  # of them, in an element that the page names as its text
_PROSE_SHARE: Final = 0.2  # of a body's text: with fewer long paragraphs, the text is in tables, lists or code
_HIDDEN: Final = 0.6  # of a body's unlinked text: an element above this is hidden until a script shows the page
_LONG: Final = 60  # characters of a paragraph that is prose
_ARTICLE: Final = 500  # characters of prose beside comments: more than this, and the comments are not the page
_SAMPLE: Final = 120  # paragraphs: of a page with more, every n-th is measured
_MAX_LINKS: Final = 200  # of a block that is a list of links beside a text
_MAX_ELEMENTS: Final = 20_000  # looked at: a hostile page has a million
_MAX_CLIMB: Final = 40  # steps: hostile pages nest without end


class Removed(NamedTuple):
    """One element that was taken out of a page."""

    element: str  # such as `div#comments.thread`
    reason: str
    chars: int


class Content(NamedTuple):
    """The element that holds what a page says, after everything around it was removed."""

    root: Element
    reason: str  # why this element


Note = Callable[[Removed], None]


def find_content(document: Document, source_chars: int, note: Note | None = None) -> Content | None:
    """Remove what stands around the text, and return the element that holds it; None if there is no body."""
    body = document.find("body")
    if body is None:
        return None
    _remove_around(body, note)
    content = _choose(body, source_chars)
    _remove_link_lists(content.root, source_chars, note)
    return content


def unlinked(element: Element) -> int:
    """Return how many characters of text an element holds outside links."""
    return _size(element.text) - sum([_size(link.text) for link in element.iter_elements(("a",))])


def prose(element: Element) -> int:
    """Return how many characters the long paragraphs of an element hold."""
    return sum([chars for paragraph in element.iter_elements(("p",)) if (chars := len(paragraph.text)) >= _LONG])


def _size(text: str) -> int:
    """Return the length of a text, about without its indentation."""
    return len(text) - 2 * text.count("  ") - text.count("\n") - text.count("\t")


def _remove_around(body: Element, note: Note | None) -> None:
    """Remove navigation, sidebars, comments and the like, but nothing that holds most of the text."""
    more = True
    while more:
        never = [*islice(body.iter_elements(_NEVER), _MAX_ELEMENTS)]
        for element in never:
            element.decompose()
        more = len(never) == _MAX_ELEMENTS
    weight = _Weight(body)
    _remove_hidden(body, weight, note)
    kept: set[str] = set()  # words that mark what this page says
    elements = [
        *islice(body.iter_elements(_CONTAINERS), _MAX_ELEMENTS)
    ]  # in the order of the document: what is in one follows it
    index = -1
    while (index := index + 1) < len(elements):
        element = elements[index]
        reason = _reason_to_remove(element)
        if not reason or reason in kept:
            continue
        held = len(element.text)
        if held > _SMALL and weight.may_be_most(held) and _is_content(element, reason, weight):
            kept |= COMMENTS if reason in COMMENTS else {reason}
            continue
        if note is not None:
            note(Removed(name_of(element), reason, held))
        index += len(element.select(_INNER))
        element.decompose()


def _remove_hidden(body: Element, weight: _Weight, note: Note | None) -> None:
    elements = body.select(HIDDEN)
    index, kept = -1, 0
    while (index := index + 1) < len(elements) and kept < _MAX_CLIMB:
        element = elements[index]
        if not _is_hidden(element):
            continue
        if len(element.text) <= _SMALL or unlinked(element) <= _HIDDEN * weight.unlinked:
            if note is not None:
                note(Removed(name_of(element), "hidden", len(element.text)))
            index += len(element.select(HIDDEN))
            element.decompose()
        else:
            kept += 1


class _Weight:
    """What a body holds before anything is removed: found when it is first asked, because most pages need less."""

    def __init__(self, body: Element) -> None:
        self._body = body
        self._prose = self._unlinked = self._sampled = -1

    @property
    def prose(self) -> int:
        if self._prose < 0:
            self._prose = prose(self._body)
        return self._prose

    @property
    def unlinked(self) -> int:
        if self._unlinked < 0:
            self._unlinked = unlinked(self._body)
        return self._unlinked

    def may_be_most(self, held: int) -> bool:
        """Return whether an element with so much text may be what the page says. The cheapest count comes first."""
        if self._sampled < 0:
            self._sampled = sum(chars for _, chars in _long_paragraphs(self._body))
        return held > _LESS * self._sampled / 2 and held > _LESS * self.prose and held > _LESS * self.unlinked


def _is_hidden(element: Element) -> bool:
    return "display" not in (style := element.attr("style") or "") or _NOT_SHOWN.search(style) is not None


def _reason_to_remove(element: Element) -> str:
    tag = element.tag
    if tag in FURNITURE:
        return f"<{tag}>"
    names = element.attr("class")
    if names and (word := word_around(names)):
        return word
    # The id of a section of a manual is made of the words of its heading: `comments`, `related-projects`.
    is_section = tag == "section" or (names and "section" in names)
    if not is_section and (name := element.attr("id")) and (word := word_around(name)):
        return word
    if (role := element.attr("role")) and role in FURNITURE_ROLES:
        return f"role {role}"
    return "<form>" if tag == "form" else ""


def _is_content(element: Element, reason: str, weight: _Weight) -> bool:
    """Return whether an element that a name marks holds so much of a page that it is what the page says."""
    if reason in ("<nav>", "<footer>"):
        return False
    held = unlinked(element)
    if (reason[0] == "<" and reason != "<form>") or reason.startswith("role"):
        return held > 0.6 * weight.unlinked and prose(element) > 200
    if held <= _MOST * weight.unlinked:
        return False
    return not (reason in COMMENTS and weight.prose - prose(element) >= _ARTICLE)


def _choose(body: Element, source_chars: int) -> Content:
    """Return the smallest element that holds most long paragraphs; without such, what the page names as its text."""
    held: dict[Element, int] = {}  # by the parent of the paragraphs
    for paragraph, chars in _long_paragraphs(body):
        if isinstance(parent := paragraph.parent, Element):
            held[parent] = held.get(parent, 0) + chars
    total = sum(held.values())
    if total and (total >= _PROSE_SHARE * source_chars or total >= _PROSE_SHARE * len(body.text)):
        return _smallest(body, held, total)
    for selector in _MARKERS:
        found = body.select(selector)
        if not found:
            continue
        largest = max(found, key=lambda element: len(element.text)) if len(found) > 1 else found[0]
        if unlinked(largest) >= (0.35 if len(found) == 1 else 0.7) * unlinked(body):
            return Content(largest, f"it is <{largest.tag}>, with most of the text")
    return Content(body, "no part of the body holds most of the text")


def _long_paragraphs(body: Element) -> Iterator[tuple[Element, int]]:
    """Yield paragraphs of prose and their characters; of many, a sample, each with all characters it stands for."""
    paragraphs = [*islice(body.iter_elements(("p",)), _MAX_ELEMENTS)]
    step = 1 + len(paragraphs) // _SAMPLE
    for paragraph in paragraphs[::step]:
        if (chars := len(paragraph.text)) >= _LONG:
            yield paragraph, chars * step


def _smallest(body: Element, held: dict[Element, int], total: int) -> Content:
    root = max(held, key=held.__getitem__)
    path = [root]
    while path[-1] != body and len(path) < _MAX_CLIMB and isinstance(parent := path[-1].parent, Element):
        path.append(parent)
    covered = _covered(path, held)
    for element, chars in zip(path, covered, strict=True):
        enough = _MARKED_COVER if _is_marked(element) else _COVER
        if element == body or not (chars < enough * total or element.tag in _PARTS or _has_kin(element)):
            return Content(element, f"it holds {100 * chars // total} % of the long paragraphs")
    return Content(body, "paragraphs are nested too deep")


def _covered(path: list[Element], held: dict[Element, int]) -> list[int]:
    """Return how many characters of paragraphs each element of a path from a holder to the body holds."""
    place = {element: index for index, element in enumerate(path)}
    sums = [0] * len(path)
    for holder, chars in held.items():
        element: object = holder
        for _ in range(_MAX_CLIMB):
            if not isinstance(element, Element):
                break
            if (index := place.get(element)) is not None:
                sums[index] += chars
                break
            element = element.parent
    return [*accumulate(sums)]


def _is_marked(element: Element) -> bool:
    return (
        element.tag in ("main", "article")
        or element.attr("role") == "main"
        or "articleBody" in (element.attr("itemprop") or "")
    )


def _has_kin(root: Element) -> bool:
    """Return whether a sibling holds text of the same kind, so that their parent is the better choice."""
    parent, tag, names = root.parent, root.tag, root.attr("class")
    for sibling in parent.children if parent is not None else ():
        if not isinstance(sibling, Element) or sibling == root:
            continue
        if sibling.tag in _KIN or (sibling.tag == tag and sibling.attr("class") == names):
            text = sibling.text
            if len(text) >= 80 and unlinked(sibling) > 0.5 * _size(text):
                return True
    return False


def _remove_link_lists(root: Element, source_chars: int, note: Note | None) -> None:
    """Remove blocks that are little but links, unless the page is a list of links itself."""
    links = len(root.select("a"))
    if links < 3 or (links > _MAX_LINKS and links * 250 < source_chars):  # a manual with links in its sentences
        return
    blocks = _link_lists(root)
    if not blocks or sum(held for _, held in blocks) > 0.5 * len(root.text):
        return
    for element, held in blocks:
        if note is not None:
            note(Removed(name_of(element), "links", held))
        element.decompose()


def _link_lists(root: Element) -> list[tuple[Element, int]]:
    found: list[tuple[Element, int]] = []
    remaining: list[tuple[Element, int]] = [(root, 0)]
    while remaining:
        outer, depth = remaining.pop()
        for element in outer.children:
            if not isinstance(element, Element) or element.tag not in _LISTS:
                continue
            links = element.select("a")
            if len(links) < 3:
                continue
            linked = sum([len(link.text) for link in links]) if len(links) <= _MAX_LINKS else 0
            if linked > 12 * len(links):
                held, linked = _size(element.text), sum([_size(link.text) for link in links])
                if linked > 0.6 * held and held - linked < 300 and element.find("table") is None:
                    found.append((element, held))
                    continue
            if depth < _MAX_CLIMB:
                remaining.append((element, depth + 1))
    return found


def name_of(element: Element) -> str:
    """Return an element's tag, id and first classes, as a selector writes them."""
    name, names = element.attr("id"), (element.attr("class") or "").split()
    return element.tag + (f"#{name}" if name else "") + "".join(f".{word}" for word in names[:3])
