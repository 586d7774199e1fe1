"""Finds the main text of a document with one of three libraries. `docs/text.md` compares their quality and cost.

turbohtml is always installed and needs no second parsing. The others are extras, imported when they are chosen; they
parse the page again. If a page is too large for them, or they fail, turbohtml's text is used.
"""

from __future__ import annotations

import logging
import re
import shlex
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal

from turbohtml import Markdown

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from turbohtml import Document

Choice = Literal["fast", "balanced", "best"]
FindText = Callable[["Document", str], str]  # of a document and its source

# trafilatura takes half a second for such a page; reading a page may take one second.
MAX_SLOW_CHARS: Final = 500_000

# The modules that each choice imports, and their requirements for pip: the same as the extras in pyproject.toml.
# trafilatura requires lxml-html-clean itself, but in a syntax that older versions of pip (23.2) do not understand.
REQUIREMENTS: Final[dict[str, dict[str, str]]] = {
    "balanced": {"resiliparse": "resiliparse>=1.0"},
    "best": {"trafilatura": "trafilatura>=2.0", "lxml_html_clean": "lxml-html-clean"},
}
_PADDING: Final = re.compile(" {3,}")
_PROSE: Final = Markdown(strip=("a", "img"))  # without links: the table `links` has them


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
    fast = fast_markdown if markdown else fast_text
    check_choice(choice)
    if choice == "fast":
        return fast
    return _or_else(_balanced() if choice == "balanced" else _best(markdown=markdown), fast)


def fast_text(document: Document, source: str) -> str:
    """Return the main text; all text of a page that is too small to have one."""
    text = document.main_text() or document.to_text()
    if len(text) > len(source):  # tables are padded with blanks, and one wide cell widens every row
        text = _PADDING.sub("  ", text)
    return text.strip()


def fast_markdown(document: Document, source: str) -> str:
    """Return the main text as Markdown; all text of a page that is too small to have one."""
    content = document.main_content()
    text = (document if content is None else content).to_markdown(_PROSE)
    if len(text) > len(source):
        text = _PADDING.sub("  ", text)
    return text.strip()


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


def _or_else(find: Callable[[str], str], fast: FindText) -> FindText:
    """Return a finder that falls back to the fast text where another library finds none."""

    def find_text(document: Document, source: str) -> str:
        text = ""
        if len(source) <= MAX_SLOW_CHARS:
            try:
                text = find(source).strip()
            except MemoryError:
                raise
            except Exception:  # a bug of the library must not cost the page
                text = ""
        return text or fast(document, source)

    return find_text
