"""A page as programs see it, whether it has just been fetched or was stored earlier."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from gossamer.inspect.stored import archived, decode_body, read_body
from gossamer.records import PageRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gossamer.records import Fetched

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_FETCHED_AT: Final = PageRow._fields.index("fetched_at")


class Page(PageRow):
    """One page: its row of the `pages` table, with the time as a `datetime` in UTC, and its source."""

    fetched_at: datetime  # type: ignore[assignment]  # as tables show it
    _read_html: Callable[[], str]

    @property
    def html(self) -> str:
        """The page's source, decoded. Each access reads and decodes it again."""
        return self._read_html()

    def __repr__(self) -> str:
        """Return the columns by name, without the text: it may be long."""
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True) if name != "text")
        return f"Page({shown})"


def fetched_page(row: PageRow, answer: Fetched) -> Page:
    """Return a page that has just been fetched. It keeps its body: the archive may not have it yet."""
    return _page(row, partial(decode_body, answer.head, answer.body, row))


def stored_page(row: PageRow, folders: Sequence[Path]) -> Page:
    """Return a page from the tables. Its body is in the archive."""
    return _page(row, partial(_read_archived, folders, row))


def _page(row: PageRow, read_html: Callable[[], str]) -> Page:
    values: list[object] = [*row]
    values[_FETCHED_AT] = _EPOCH + timedelta(microseconds=round(row.fetched_at * 1e6))  # exactly as in the tables
    page = Page._make(values)
    page._read_html = read_html  # noqa: SLF001  # set once: no other place makes pages
    return page


def _read_archived(folders: Sequence[Path], row: PageRow) -> str:
    return read_body(archived(folders, row), row)
