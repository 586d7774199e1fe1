"""Finds the main text of a document in one of three ways. `docs/text.md` compares their quality and cost.

The fast one needs no second parsing. The others are libraries, imported when they are chosen; they parse the page
again. If a page is too large for them, if they fail, or if they keep too little of it, the fast text is used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from turbohtml import parse

from gossamer.extras import require
from gossamer.parse.content import Removed, find_content, name_of, unlinked
from gossamer.parse.render import as_markdown, as_text
from gossamer.wording import count

if TYPE_CHECKING:
    from turbohtml import Document, Element

Choice = Literal["fast", "balanced", "best"]
# Of a document and its source. It removes from the document what is not text: read everything else before.
FindText = Callable[["Document", str], str]
Render = Callable[["Element"], str]

# trafilatura takes half a second for such a page; reading a page may take one second.
MAX_SLOW_CHARS: Final = 500_000

_LIBRARIES: Final = {"balanced": "resiliparse", "best": "trafilatura"}
KEPT: Final = 0.4  # of the unlinked text of a page: a library that keeps less has missed what the page says


class ChosenText(NamedTuple):
    """What was taken as the text of a page, and why."""

    by: str  # `fast`, or the library
    element: str  # such as `div#content`; empty if a library chose
    reason: str


Note = Callable[[Removed | ChosenText], None]


def check_choice(choice: Choice) -> None:
    """Refuse a choice whose library is not installed."""
    if choice != "fast":
        require(choice, f"--text {choice}")


def text_finder(choice: Choice, *, markdown: bool, note: Note | None = None) -> FindText:
    """Return a function that finds the main text. It imports the library, which takes a moment.

    The function calls `note` with what it removes and keeps, and why.
    """
    render = as_markdown if markdown else as_text
    check_choice(choice)
    if choice == "fast":
        if note is not None:
            return lambda document, source: _fast(document, source, render, note)
        return fast_markdown if markdown else fast_text
    return _or_else(_balanced() if choice == "balanced" else _best(markdown=markdown), _LIBRARIES[choice], render, note)


def fast_text(document: Document, source: str) -> str:
    """Return the main text; all text of a page that has none."""
    return _fast(document, source, as_text)


def fast_markdown(document: Document, source: str) -> str:
    """Return the main text as Markdown; all text of a page that has none."""
    return _fast(document, source, as_markdown)


def _fast(document: Document, source: str, render: Render, note: Note | None = None) -> str:
    content = find_content(document, len(source), note)
    kept = ChosenText("fast", name_of(content.root), content.reason) if content and note else None
    text = render(content.root) if content else ""
    if not text:
        kept = ChosenText("fast", "body", "all of its text counts as navigation, so that all of it is kept")
        text = _everything(source, render)
    if note is not None and kept is not None:
        note(kept)
    return text


def _everything(source: str, render: Render) -> str:
    """Return all text of a small page whose text is only in what was removed; a large page is no such page."""
    if len(source) > MAX_SLOW_CHARS:
        return ""
    document = parse(source, positions=False, allow_declarative_shadow_roots=False)
    document.remove("template")
    body = document.find("body") or document.root
    return render(body) if body is not None else ""


def _balanced() -> Callable[[str], str]:
    from resiliparse.extract.html2text import extract_plain_text

    def find(source: str) -> str:
        return str(extract_plain_text(source, main_content=True, links=False))

    return find


def _best(*, markdown: bool) -> Callable[[str], str]:
    from trafilatura import extract

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs every page without an article
    output = "markdown" if markdown else "txt"

    def find(source: str) -> str:
        return extract(source, include_comments=False, output_format=output) or ""

    return find


def _or_else(find: Callable[[str], str], library: str, render: Render, note: Note | None) -> FindText:
    """Return a finder that falls back to the fast text where another library keeps too little of a page."""

    def find_text(document: Document, source: str) -> str:
        text = _by_library(find, source)
        removed: list[Removed | ChosenText] = []
        content = find_content(document, len(source), removed.append if note else None)
        held = unlinked(content.root) if content else 0
        enough = bool(text) and len(text) >= KEPT * held
        if note is not None:
            sizes = f"{library} keeps {count(len(text), 'character')}, the fast text has {held:,} outside links"
            removed.append(ChosenText("fast", name_of(content.root) if content else "", f"{sizes}: too little is kept"))
            for each in [ChosenText(library, "", sizes)] if enough else removed:
                note(each)
        if enough:
            return text
        return (render(content.root) if content else "") or text or _everything(source, render)

    return find_text


def _by_library(find: Callable[[str], str], source: str) -> str:
    if len(source) > MAX_SLOW_CHARS:
        return ""
    try:
        return find(source).strip()
    except MemoryError:
        raise
    except Exception:  # a bug of the library must not cost the page
        return ""
