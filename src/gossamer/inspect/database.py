"""DuckDB over a crawl's tables, for SQL that can only read them.

DuckDB may open the files of the snapshot and nothing else: no other file, no network, no extension, no setting. It
could still overwrite those files, with a COPY inside a query. So a query must be one SELECT, it runs as a subquery, in
which DuckDB cannot write, and its plan must not contain an operator that runs text as SQL.
"""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import duckdb
import pyarrow.parquet as pq

from gossamer.commands import to_type
from gossamer.errors import GossamerError
from gossamer.inspect import snapshot, views
from gossamer.inspect.bucket_files import register
from gossamer.inspect.folder_errors import damaged
from gossamer.inspect.frontier_tables import FRONTIER_TABLES, QUEUE, copy_tables, needs_of
from gossamer.inspect.interrupting import ended_by_ctrl_c
from gossamer.inspect.shared_history import open_sharing, shared_tables
from gossamer.inspect.snapshot import Part
from gossamer.store.schemas import FIGURES, LINKS, PAGES, REQUESTS, TABLES, TICKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from gossamer.frontier import FrontierReader

OpenFrontier: TypeAlias = "Callable[..., AbstractContextManager[FrontierReader]]"  # given the crawl's folders

MEMORY_BYTES: Final = 1_000_000_000  # for sorting and grouping; DuckDB spills the rest to disk

_ONLY_READS: Final = "a query only reads: give it one statement that begins with SELECT, WITH or FROM"
_FORBIDDEN: Final = re.compile("COPY|EXECUTE")  # operators of a plan
_HIDDEN: Final = "stored"  # the schema of internal tables

_NO_COLUMN: Final = re.compile(r'Referenced column "(.+?)" not found|does not have a column named "(.+?)"')
_NO_TABLE: Final = re.compile(r"Table with name (\S+) does not exist")
_DAMAGED: Final = (duckdb.IOException, duckdb.InvalidInputException)
_KIND: Final = re.compile(r"^[A-Z][\w -]*? Error: ")  # "Binder Error: ..."

# All rows but the last of each URL with several rows; if times are equal, the row of the later file is the last.
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

# Where the hashes in `via` lead: every page that links was requested.
_URLS: Final = "create table {hidden}.urls as select url_hash, any_value(url) as url from ({rows}) group by url_hash"
_WITH_VIA: Final = frozenset({PAGES.name, REQUESTS.name, QUEUE.name})


class QueryDatabase:
    """The tables of a snapshot; runs one query at a time."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, folders: Sequence[Path], parts: Mapping[str, Sequence[Part]]
    ) -> None:
        self.parts = parts  # by table
        self._connection = connection
        self._folders = folders
        self._hides = False  # whether there are superseded pages

    def check(self, sql: str) -> str:
        """Return a query without its semicolon; raise GossamerError unless it only reads."""
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
        """Return the names and types of the columns of a checked query."""
        with self.asking():
            relation = self._connection.sql(as_subquery(query))
            return [(name, str(kind)) for name, kind in zip(relation.columns, relation.types, strict=True)]

    @contextmanager
    def read(self, query: str, batch_rows: int = 2_000) -> Iterator[pa.RecordBatchReader]:
        """Yield a reader of the rows of a checked query."""
        with self.asking():
            reader = self._connection.sql(as_subquery(query)).to_arrow_reader(batch_rows)
            try:
                yield reader
            finally:
                reader.close()

    def count(self, query: str) -> int:
        """Return how many rows a checked query returns."""
        with self.asking():
            (rows,) = self._connection.execute(f"select count(*) from ({query}\n)").fetchall()[0]  # noqa: S608
            return int(rows)

    def make_table(self, name: str, query: str) -> str:
        """Keep the rows of a query of our own as an internal table; return the table's name in SQL."""
        with self.asking():
            self._connection.execute(f"create table {self.table(name)} as {query}")
        return self.table(name)

    def table(self, name: str) -> str:
        """Return the name of an internal table in SQL."""
        return f"{_HIDDEN}.{name}"

    def stored_pages(self, parts: Sequence[Part]) -> str:
        """Return SQL for all rows of `pages` in some parts, in any order."""
        return views.stored_rows(PAGES, parts)

    def last_pages(self, parts: Sequence[Part]) -> str:
        """Return SQL for the rows of `pages` in some parts that are the last of their URL, in any order."""
        rows = self.stored_pages(parts)
        if not self._hides:
            return rows
        return f"select * from ({rows}) anti join {_HIDDEN}.superseded using (file, row)"  # noqa: S608

    def make_views(self, names: set[str], *, with_via: bool) -> None:
        """Create the views that queries use; `with_via`: with URLs in the column `via`."""
        self._connection.execute(f"create schema {_HIDDEN}")
        if with_via:
            asked = views.stored_rows(REQUESTS, self.parts[REQUESTS.name])
            self._connection.execute(_URLS.format(hidden=_HIDDEN, rows=asked))
        shown = names & self.parts.keys() - {TICKS.name}
        for name in sorted(shown, key=LINKS.name.__eq__):  # links last: it uses pages
            parts = [*self.parts[name], *(self.parts[TICKS.name] if name == FIGURES.name else ())]
            rows = views.stored_rows(TABLES[name], parts)
            if name == PAGES.name and self.parts[name]:
                self._connection.execute(_SUPERSEDED.format(hidden=_HIDDEN, rows=rows))
                self._hides = bool(self.count(f"select * from {_HIDDEN}.superseded"))  # noqa: S608
                rows = self.last_pages(self.parts[name])
            self._connection.execute(_view(name, rows, with_via=with_via))
        if views.SITES.name in names:
            self._connection.execute(f"create view {views.SITES.name} as {views.SITES_SQL}")

    def make_frontier_views(self, copies: Mapping[str, Path], *, with_via: bool) -> None:
        """Create the views over copies of the frontier's tables."""
        for name, path in copies.items():
            rows = f"select *, '' as file, 0 as row from read_parquet({views.quoted(str(path))})"  # noqa: S608
            self._connection.execute(_view(name, rows, with_via=with_via))

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Raise an error of DuckDB as the operator's mistake, or as damage."""
        try:
            yield
        except duckdb.Error as error:
            raise self._mistake(error) from None

    def _mistake(self, error: duckdb.Error) -> GossamerError:
        columns = {view.name: [column.name for column in view.columns] for view in views.views()}
        return as_mistake(error, columns, self._folders)


def _view(name: str, rows: str, *, with_via: bool) -> str:
    """Return the statement that creates a view over the rows of a table."""
    if name == LINKS.name:
        joined = f"({rows}) l left join (select url_hash, url as from_url from pages) p on p.url_hash = l.from_hash"  # noqa: S608
        return f"create view {name} as select coalesce(from_url, '') as from_url, l.* exclude (file, row) from {joined}"  # noqa: S608
    if with_via and name in _WITH_VIA:
        joined = f"({rows}) r left join (select url_hash as h, url as found_on from {_HIDDEN}.urls) u on u.h = r.via"  # noqa: S608
        columns = "r.* exclude (file, row) replace (coalesce(found_on, '') as via)"
        return f"create view {name} as select {columns} from {joined}"  # noqa: S608
    return f"create view {name} as select * exclude (file, row) from ({rows})"  # noqa: S608


@contextmanager
def open_tables(
    folders: Sequence[Path],
    mentioned_in: str,
    *,
    only: Mapping[tuple[Path, str], int] | None = None,
    with_urls_in_via: bool = True,
    open_frontier: OpenFrontier | None = None,
) -> Iterator[QueryDatabase]:
    """Open the tables that some SQL mentions, as they are now; all stored tables if it mentions none.

    `only` names the files of `pages` to use, and how many rows of each: see `snapshot`. Without `with_urls_in_via`, the
    column `via` has the hashes that are stored. `open_frontier` lets a query read the frontier's tables.
    """
    snapshot.check_folders(folders)
    with ExitStack() as stack:
        connection = stack.enter_context(duckdb.connect(config={"python_enable_replacements": "false"}))
        stack.enter_context(ended_by_ctrl_c(connection))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-")))
        copies = _copy_frontier(connection, mentioned_in, folders, scratch, open_frontier)
        names = _stored_names(mentioned_in, copies)
        with_via = with_urls_in_via and views.names_column(mentioned_in, "via") and bool({*names, *copies} & _WITH_VIA)
        if with_via:
            names |= {REQUESTS.name}
        parts = {
            name: snapshot.take(folders, table, scratch, only if name == PAGES.name else None)
            for name, table in TABLES.items()
            if name in names
        }
        if open_frontier and FIGURES.name in _words(mentioned_in):
            parts[FIGURES.name] += _copy_shared_figures(folders, scratch, open_frontier)
        if not any(parts.values()) and not copies:
            snapshot.check_contents(folders)
        database = QueryDatabase(connection, folders, parts)
        sources = [part.source for found in parts.values() for part in found]
        _confine(connection, scratch, [*sources, *map(str, copies.values())])
        with database.asking():  # a part whose content has changed is read here first
            database.make_views(names, with_via=with_via)
            database.make_frontier_views(copies, with_via=with_via)
        connection.execute("set lock_configuration = true")
        yield database


def _copy_frontier(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    folders: Sequence[Path],
    scratch: Path,
    open_frontier: OpenFrontier | None,
) -> dict[str, Path]:
    """Copy what a query needs of the frontier, by table; most queries mention none of its tables."""
    is_mentioned = _words(sql) & FRONTIER_TABLES.keys() and _is_utf8(sql)
    needs = needs_of(connection, sql) if open_frontier and is_mentioned else {}
    if not open_frontier or not needs:
        return {}
    with open_frontier(*folders) as frontier:
        return copy_tables(frontier, needs, scratch, with_queued=views.names_column(sql, "queued"))


def _copy_shared_figures(folders: Sequence[Path], scratch: Path, open_frontier: OpenFrontier) -> list[Part]:
    """Copy the figures that other machines share in the frontier, a file for each machine."""
    parts = []
    with open_sharing(folders, open_frontier) as frontier:
        found = shared_tables(frontier, folders) if frontier else ()
        for number, (_, table) in enumerate(found):
            path = scratch / f"shared-figures-{number}.parquet"
            pq.write_table(table, path, compression="none")
            columns = frozenset(table.column_names)
            parts.append(Part(path=path, folder=scratch, stem=path.stem, rows=table.num_rows, columns=columns))
    return parts


def _stored_names(sql: str, copies: Mapping[str, Path]) -> set[str]:
    """Return the views over stored tables that some SQL mentions; all of them if it mentions no table at all."""
    names = {view.name for view in views.views()} - FRONTIER_TABLES.keys()
    return views.with_what_they_use(names & _words(sql) or (set() if copies else names))


def _words(sql: str) -> set[str]:
    return set(re.findall(r"\w+", sql.lower()))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # Python passes bytes of other encodings as lone surrogates
        return False
    return True


def as_subquery(query: str) -> str:
    """Return a query with the same rows in which nothing can write."""
    return f"select * from ({query}\n)"  # noqa: S608  # it is the user's own; the new line ends a comment


def _confine(connection: duckdb.DuckDBPyConnection, scratch: Path, files: Sequence[str]) -> None:
    register(connection, files)
    allowed = ", ".join(views.quoted(file) for file in files)
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
