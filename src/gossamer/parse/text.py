"""Finds the main text of a document in one of three ways. `docs/text.md` compares their quality and cost.

The fast one needs no second parsing. The others are libraries, imported when they are chosen; they parse the page
again. If a page is too large for them, if they fail, or if they keep too little of it, the fast text is used.
"""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal

from turbohtml import parse

from gossamer.errors import GossamerError
from gossamer.parse.content import find_content, unlinked
from gossamer.parse.render import as_markdown, as_text

if TYPE_CHECKING:
    from turbohtml import Document, Element

Choice = Literal["fast", "balanced", "best"]
# Of a document and its source. It removes from the document what is not text: read everything else before.
FindText = Callable[["Document", str], str]
Render = Callable[["Element"], str]

# trafilatura takes half a second for such a page; reading a page may take one second.
MAX_SLOW_CHARS: Final = 500_000

# The modules that each choice imports, and their requirements for pip: the same as the extras in pyproject.toml.
# trafilatura requires lxml-html-clean itself, but in a syntax that older versions of pip (23.2) do not understand.
REQUIREMENTS: Final[dict[str, dict[str, str]]] = {
    "balanced": {"resiliparse": "resiliparse>=1.0,<2"},
    "best": {"trafilatura": "trafilatura>=2.0,<3", "lxml_html_clean": "lxml-html-clean"},
}
KEPT: Final = 0.4  # of the unlinked text of a page: a library that keeps less has missed what the page says


def check_choice(choice: Choice) -> None:
    """Refuse a choice whose library is not installed."""
    modules = REQUIREMENTS.get(choice, {})
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        # With the Python that runs this copy: Gossamer is on no package index, and may run from a clone.
        install = shlex.join([sys.executable, "-m", "pip", "install", *modules.values()])
        raise GossamerError(f"--text {choice} needs {missing[0]}: install it with {install}")


def text_finder(choice: Choice, *, markdown: bool) -> FindText:
    """Return a function that finds the main text. It imports the library, which takes a moment."""
    render = as_markdown if markdown else as_text
    check_choice(choice)
    if choice == "fast":
        return fast_markdown if markdown else fast_text
    return _or_else(_balanced() if choice == "balanced" else _best(markdown=markdown), render)


def fast_text(document: Document, source: str) -> str:
    """Return the main text; all text of a page that has none."""
    return _fast(document, source, as_text)


def fast_markdown(document: Document, source: str) -> str:
    """Return the main text as Markdown; all text of a page that has none."""
    return _fast(document, source, as_markdown)


def _fast(document: Document, source: str, render: Render) -> str:
    content = find_content(document, len(source))
    return (render(content.root) if content else "") or _everything(source, render)


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


def _or_else(find: Callable[[str], str], render: Render) -> FindText:
    """Return a finder that falls back to the fast text where another library keeps too little of a page."""

    def find_text(document: Document, source: str) -> str:
        text = ""
        if len(source) <= MAX_SLOW_CHARS:
            try:
                text = find(source).strip()
            except MemoryError:
                raise
            except Exception:  # a bug of the library must not cost the page
                text = ""
        content = find_content(document, len(source))
        if text and (content is None or len(text) >= KEPT * unlinked(content.root)):
            return text
        return (render(content.root) if content else "") or text or _everything(source, render)

    return find_text
