"""A SQLite file with the table `pages` and a full-text index of titles and texts, as Datasette and others serve it."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError
from gossamer.inspect import lines
from gossamer.inspect.encoders import COLUMNS
from gossamer.inspect.targets import Takes, partial_of
from gossamer.safe_files import open_file
from gossamer.store.files import remove, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

_CACHE_KIB: Final = 65_536
_TYPES: Final = {"BOOLEAN": "integer", "DOUBLE": "real", "VARCHAR": "text", "BLOB": "text", "UBIGINT": "text"}
# Datasette recognises the full-text index by its `content="pages"`.
_SEARCH: Final = (
    """create virtual table pages_fts using fts5(
        title, text, content="pages", content_rowid="id", tokenize="unicode61 remove_diacritics 2"
    )""",
    "insert into pages_fts(pages_fts) values ('rebuild')",
    "create unique index pages_url on pages(url)",
    "create index pages_site on pages(site)",
)


class SqliteFile:
    """Pages as rows, in the order of the crawl; the indexes are made at the end."""

    batch_rows = 1_000
    takes = Takes.ALL

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = partial_of(path)
        self._database: sqlite3.Connection

    def query(self, pages: str) -> str:
        """Read all columns: hashes in hexadecimal, times in ISO 8601."""
        return f"select {', '.join(_value(*column) for column in COLUMNS)} from ({pages})"  # noqa: S608  # our own names

    def begin(self, lengths: Sequence[int]) -> None:
        """Create the table, or remove rows that were committed after the export last noted its progress."""
        if not lengths:
            remove(self._partial.with_name(f"{self._partial.name}-journal"))
            open_file(self._partial, "wb").close()
        with self._writing():
            self._database = sqlite3.connect(self._partial, isolation_level=None)
            self._database.execute(f"pragma cache_size = -{_CACHE_KIB}")
            if not self._database.execute("select 1 from pragma_module_list where name = 'fts5'").fetchone():
                raise GossamerError("Python's SQLite has no full-text search (FTS5): use a Python that has it.")
            self._database.execute("begin immediate")
            columns = ", ".join(f'"{name}" {_TYPES.get(kind, "integer")} not null' for name, kind in _columns())
            self._database.execute(f"create table if not exists pages (id integer primary key, {columns})")
            self._database.execute("delete from pages where id > ?", (sum(lengths),))

    def add(self, _folder: Path, batch: pa.RecordBatch) -> None:
        """Insert rows."""
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        places = ", ".join("?" * batch.num_columns)
        with self._writing():
            self._database.executemany(f"insert into pages values (null, {places})", rows)  # noqa: S608

    def settle(self) -> list[int]:
        """Commit."""
        with self._writing():
            ((last,),) = self._database.execute("select coalesce(max(id), 0) from pages")
            self._database.execute("commit")
            self._database.execute("begin immediate")
        return [last]

    def finish(self) -> None:
        """Make the indexes, and rename the file."""
        with self._writing():
            for statement in _SEARCH:
                self._database.execute(statement)
            self._database.execute("commit")
            self._database.close()
        self._partial.rename(self._path)
        sync_folder(self._path.parent)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise an error of SQLite as that of a file that cannot be written."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OSError(errno.EIO, str(error), str(self._path)) from None


def _columns() -> list[tuple[str, str]]:
    """Return the columns of `pages`, and the type with which a time is stored."""
    return [(name, "VARCHAR" if kind.startswith("TIMESTAMP") else kind) for name, kind in COLUMNS]


def _value(name: str, kind: str) -> str:
    if kind == "UBIGINT":  # SQLite's numbers are signed
        return f"lpad(lower(hex({name})), 16, '0') as {name}"
    return f"{lines.plain_value(name, kind)} as {name}"
