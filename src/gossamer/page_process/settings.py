"""The settings of reading pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

QUICK_MEMORY_BYTES: Final = 40_000_000  # a page that takes more is left to the slow lane: more than 2 MB of HTML
SITEMAP_PAGES: Final = 10  # a sitemap may take this many times the deadline of a page: it lists more links


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """What is extracted from a page, and how much time and memory that may take."""

    text: Literal["fast", "balanced", "best"] = field(
        default="fast",
        metadata={"help": "How the main text of a page is found; balanced and best need an extra library."},
    )
    markdown: bool = field(default=False, metadata={"help": "Keep the main text of pages as Markdown."})
    links: bool = field(default=False, metadata={"help": "Keep the link graph of the crawl, in the table links."})

    parse_deadline_s: float = field(
        default=1.0,
        metadata={
            "help": "The processor time that reading one page may take; then the page is given up. "
            "Raise it on a slow machine or for large pages.",
            "minimum": 0.01,
        },
    )
    parse_memory_bytes: int = field(
        default=72_000_000,
        metadata={
            "help": "The memory that reading one page may take; if it takes more, only its first part is read. "
            "Raise it together with max_inflated.",
            "minimum": 16_000_000,
        },
    )
    max_inflated_bytes: int = field(
        default=8_000_000,
        metadata={
            "help": "The most bytes of a page that are read once its content encoding is undone; the rest is left out. "
            "Raise it together with max_body.",
            "minimum": 1,
        },
    )

    def __post_init__(self) -> None:
        if self.markdown and self.text == "balanced":
            raise ValueError("--text balanced writes no Markdown: use --text fast or --text best with --markdown.")
