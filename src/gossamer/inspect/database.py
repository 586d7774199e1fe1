"""DuckDB over a crawl's tables, for SQL that reads them and can do nothing else.

DuckDB may open the files of the snapshot and no others: no other file, no network, no extension, no setting. Those it
could still overwrite, with a COPY that hides in a query. So three things stand before a query: it is one SELECT, it
runs as a subquery, where DuckDB lets nothing write, and its plan must not hold what runs text as SQL.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from gossamer.errors import GossamerError
from gossamer.inspect import snapshot, views
from gossamer.inspect.interrupting import ended_by_ctrl_c
from gossamer.inspect.mistakes import as_mistake
from gossamer.store.schemas import PAGES, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from gossamer.inspect.snapshot import Part

MEMORY_BYTES: Final = 1_000_000_000  # for sorting and grouping; more goes to the disk

_ONLY_READS: Final = "a query only reads: give it one statement that begins with SELECT, WITH or FROM"
_FORBIDDEN: Final = re.compile("COPY|EXECUTE")  # operators of a plan
_HIDDEN: Final = "stored"  # the schema of what nobody needs to see

# Of each URL that is there more than once, all rows but the last; when times are equal, the later file's counts.
_SUPERSEDED: Final = """
create table {hidden}.superseded as
with twice as (select url_hash from ({rows}) group by url_hash having count(*) > 1)
select file, row from (
    select file, row, row_number() over (
        partition by url_hash order by fetched_at desc, parse_filename(file) desc, file desc, row desc
    ) as age
    from ({rows}) semi join twice using (url_hash)
) where age > 1
"""


class QueryDatabase:
    """The tables of a snapshot, to be asked one query at a time."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, folders: Sequence[Path], parts: Mapping[str, Sequence[Part]]
    ) -> None:
        self.parts = parts  # by table
        self._connection = connection
        self._folders = folders
        self._hides = False  # whether there are superseded pages

    def check(self, sql: str) -> str:
        """Return a query without its semicolon; raise GossamerError unless it is one that only reads."""
        if not _is_utf8(sql):
            raise GossamerError("the query is not UTF-8 text: type it again, or save its file as UTF-8")
        try:
            statements = self._connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise GossamerError(_ONLY_READS)
            query: str = statements[0].query.strip().removesuffix(";")
            (_, plan), *_ = self._connection.execute(f"explain (format json) {as_subquery(query)}").fetchall()
        except duckdb.Error as error:
            raise self._mistake(error) from None
        if any(map(_FORBIDDEN.search, _operators(json.loads(plan)))):
            raise GossamerError(_ONLY_READS)
        return query

    def columns(self, query: str) -> list[tuple[str, str]]:
        """Return the names and types of what a checked query gives."""
        with self._asking():
            relation = self._connection.sql(as_subquery(query))
            return [(name, str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)]

    @contextmanager
    def read(self, query: str, batch_rows: int = 2_000) -> Iterator[pa.RecordBatchReader]:
        """Give the rows of a checked query, as they come."""
        with self._asking():
            reader = self._connection.sql(as_subquery(query)).to_arrow_reader(batch_rows)
            try:
                yield reader
            finally:
                reader.close()

    def count(self, query: str) -> int:
        """Return how many rows a checked query gives."""
        with self._asking():
            (rows,) = self._connection.execute(f"select count(*) from ({query}\n)").fetchall()[0]  # noqa: S608
            return int(rows)

    def last_pages(self, parts: Sequence[Part]) -> str:
        """Return SQL for the rows of `pages` that some parts hold and that are the last of their URL, in any order."""
        rows = views.stored_rows(PAGES, parts)
        if not self._hides:
            return rows
        return f"select * from ({rows}) anti join {_HIDDEN}.superseded using (file, row)"  # noqa: S608

    def make_views(self, names: set[str]) -> None:
        """Give the tables their names."""
        self._connection.execute(f"create schema {_HIDDEN}")
        for name in names & self.parts.keys():
            rows = views.stored_rows(TABLES[name], self.parts[name])
            if name == PAGES.name and self.parts[name]:
                self._connection.execute(_SUPERSEDED.format(hidden=_HIDDEN, rows=rows))
                self._hides = bool(self.count(f"select * from {_HIDDEN}.superseded"))  # noqa: S608
                rows = self.last_pages(self.parts[name])
            self._connection.execute(f"create view {name} as select * exclude (file, row) from ({rows})")  # noqa: S608
        if views.SITES.name in names:
            self._connection.execute(f"create view {views.SITES.name} as {views.SITES_SQL}")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise self._mistake(error) from None

    def _mistake(self, error: duckdb.Error) -> GossamerError:
        columns = {view.name: [column.name for column in view.columns] for view in views.views()}
        return as_mistake(error, columns, self._folders)


@contextmanager
def open_tables(
    folders: Sequence[Path], mentioned_in: str, *, only: Mapping[tuple[Path, str], int] | None = None
) -> Iterator[QueryDatabase]:
    """Open the tables that are mentioned in some SQL, as they are now; all of them if none is.

    `only` says which files of `pages` count, and how many rows of each: see `snapshot`.
    """
    snapshot.check_folders(folders)
    names = {view.name for view in views.views()}
    words = set(re.findall(r"\w+", mentioned_in.lower()))
    names = views.with_what_they_use(names & words or names)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-")))
        parts = {
            name: snapshot.take(folders, table, scratch, only if name == PAGES.name else None)
            for name, table in TABLES.items()
            if name in names
        }
        if not any(parts.values()):
            snapshot.check_contents(folders)
        connection = stack.enter_context(duckdb.connect(config={"python_enable_replacements": "false"}))
        stack.enter_context(ended_by_ctrl_c(connection))
        database = QueryDatabase(connection, folders, parts)
        _confine(connection, scratch, [part.path for found in parts.values() for part in found])
        database.make_views(names)
        connection.execute("set lock_configuration = true")
        yield database


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes of another encoding, which Python hands over as lone surrogates
        return False
    return True


def as_subquery(query: str) -> str:
    """Return a query that gives the same rows and in which nothing can write."""
    return f"select * from ({query}\n)"  # noqa: S608  # it is the user's own; the new line ends a comment


def _confine(connection: duckdb.DuckDBPyConnection, scratch: Path, files: Sequence[Path]) -> None:
    allowed = ", ".join(views.quoted(str(file)) for file in files)
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "timezone = 'UTC'",
        f"memory_limit = '{MEMORY_BYTES}B'",
        f"temp_directory = {views.quoted(str(scratch / 'spilled'))}",
        f"allowed_paths = [{allowed}]",
        "enable_external_access = false",
    ):
        connection.execute(f"set {setting}")


def _operators(plan: Any) -> Iterator[str]:
    """Yield the names of all operators of a plan."""
    for step in plan if isinstance(plan, list) else [plan]:
        yield str(step.get("name", ""))
        yield from _operators(step.get("children", []))
