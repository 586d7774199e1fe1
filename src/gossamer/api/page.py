"""A page as programs see it, whether it has just been fetched or was stored earlier."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from gossamer.inspect.stored import archived, decode_body, read_body

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gossamer.records import Fetched, PageRow

_EPOCH: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page. The fields have the names of the columns of the `pages` table."""

    url: str  # normalised
    site: str  # registrable domain or IP address
    depth: int  # links from the nearest seed
    fetched_at: datetime  # in UTC
    status: int
    content_type: str
    charset: str  # the text was read with
    lang: str  # as the page declares it; empty if it does not
    title: str
    text: str = field(repr=False)  # the main text
    links: int  # how many distinct links it has
    canonical: str  # URL that the page names as its own; empty if none
    signals: str  # consent signals as found: name=value, one per line
    duplicate_of: str  # URL of a page stored before with the same content; empty if none
    truncated: bool  # whether the body is incomplete
    body_bytes: int  # inflated
    _read_html: Callable[[], str] = field(repr=False, compare=False)

    @property
    def html(self) -> str:
        """The page's source, decoded. Each access reads and decodes it again."""
        return self._read_html()


def fetched_page(row: PageRow, answer: Fetched) -> Page:
    """Return a page that has just been fetched. It keeps its body: the archive may not have it yet."""
    return _page(row, partial(decode_body, answer.head, answer.body, row))


def stored_page(row: PageRow, folders: Sequence[Path]) -> Page:
    """Return a page from the tables. Its body is in the archive."""
    return _page(row, partial(_read_archived, folders, row))


def _page(row: PageRow, read_html: Callable[[], str]) -> Page:
    return Page(
        url=row.url,
        site=row.site,
        depth=row.depth,
        fetched_at=_EPOCH + timedelta(microseconds=round(row.fetched_at * 1e6)),  # exactly as in the tables
        status=row.status,
        content_type=row.content_type,
        charset=row.charset,
        lang=row.lang,
        title=row.title,
        text=row.text,
        links=row.links,
        canonical=row.canonical,
        signals=row.signals,
        duplicate_of=row.duplicate_of,
        truncated=row.truncated,
        body_bytes=row.body_bytes,
        _read_html=read_html,
    )


def _read_archived(folders: Sequence[Path], row: PageRow) -> str:
    return read_body(archived(folders, row), row)
