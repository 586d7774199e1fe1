"""Translates DuckDB's errors into one sentence that says what to do. Pure."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import duckdb

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.inspect.folder_errors import damaged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NO_COLUMN: Final = re.compile(r'Referenced column "(.+?)" not found|does not have a column named "(.+?)"')
_NO_TABLE: Final = re.compile(r"Table with name (\S+) does not exist")
_DAMAGED: Final = (duckdb.IOException, duckdb.InvalidInputException)
_KIND: Final = re.compile(r"^[A-Z][\w -]*? Error: ")  # "Binder Error: ..."


def as_mistake(error: duckdb.Error, columns: Mapping[str, Sequence[str]], folders: Sequence[Path]) -> GossamerError:
    """Return the error of a query, given the columns of the tables and the folders of the crawl."""
    said = str(error)
    if found := _NO_COLUMN.search(said):
        every = dict.fromkeys(column for names in columns.values() for column in names)
        return _unknown("column", found[1] or found[2], list(every))
    if found := _NO_TABLE.search(said):
        return _unknown("table", found[1], list(columns))
    if isinstance(error, duckdb.PermissionException) or "configuration has been locked" in said:
        return GossamerError(f"a query reads only the crawl's own tables: {', '.join(columns)}")
    if isinstance(error, duckdb.OutOfMemoryException):
        return GossamerError("the query needs more memory and temporary disk space than there is")
    what = _KIND.sub("", said.strip().splitlines()[0]).rstrip(".!")
    if isinstance(error, _DAMAGED) and "parquet" in said.lower():
        return damaged(f"a file of the crawl cannot be read ({what})", folders)
    return GossamerError(f"the query cannot be run: {what}")


def _unknown(kind: str, name: str, known: Sequence[str]) -> GossamerError:
    nearest = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    advice = (
        f"did you mean {nearest[0]}?" if nearest else f"`{to_type('query', '--tables')}` lists all tables and columns"
    )
    return GossamerError(f"there is no {kind} {name}; {advice}")
