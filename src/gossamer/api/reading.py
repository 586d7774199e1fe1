"""Reads what a crawl has stored, for programs: pages one by one or as a table, and SQL over all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gossamer.api.page import stored_page
from gossamer.bucket.paths import readable
from gossamer.crawl.engines import open_existing
from gossamer.errors import GossamerError
from gossamer.inspect.database import open_tables
from gossamer.inspect.snapshot import check_folders
from gossamer.store.reading import page_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from gossamer.api.page import Page
    from gossamer.inspect.database import QueryDatabase

_BATCH_ROWS: Final = 200  # in memory at a time: pages may be large


class Rows:
    """The rows of a query. The query runs, on what is stored by then, each time the rows are read."""

    with_urls_in_via = True

    def __init__(self, folders: list[Path], sql: str) -> None:
        self._folders = folders
        self._sql = sql

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as Arrow batches. A few hundred rows are in memory at a time."""
        with self._open() as database, database.read(database.check(self._sql), _BATCH_ROWS) as reader:
            yield from reader

    def to_arrow(self) -> pa.Table:
        """Return all rows as an Arrow table."""
        with self._open() as database, database.read(database.check(self._sql)) as reader:
            return reader.read_all()

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as a pandas data frame."""
        table = self.to_arrow()
        try:
            return table.to_pandas()
        except ImportError:
            raise _missing("pandas") from None

    def to_polars(self) -> pl.DataFrame:
        """Return all rows as a Polars data frame."""
        try:
            import polars as pl
        except ImportError:
            raise _missing("polars") from None
        return pl.DataFrame(self.to_arrow())

    def _open(self) -> AbstractContextManager[QueryDatabase]:
        return open_tables(
            self._folders, self._sql, with_urls_in_via=self.with_urls_in_via, open_frontier=open_existing
        )


class QueryRows(Rows):
    """The rows of a query that the program wrote."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield rows as dictionaries of column names and values."""
        for batch in self.batches():
            yield from batch.to_pylist()


class Pages(Rows):
    """Stored pages: the latest one of each URL."""

    with_urls_in_via = False  # a page that is read has the fields of a page that is delivered

    def __iter__(self) -> Iterator[Page]:
        """Yield pages one by one, in no particular order."""
        for batch in self.batches():
            for row in page_rows(batch):
                yield stored_page(row, self._folders)


class StoredCrawl:
    """What a crawl has stored, in the folders of all its machines. The crawl may be running."""

    def __init__(self, folders: list[Path]) -> None:
        check_folders(folders)
        self._folders = folders

    def pages(self, where: str = "") -> Pages:
        """Return all pages, or those that meet a condition in SQL: `lang = 'de' and depth < 3`."""
        condition = f" where ({where}\n)" if where else ""
        return Pages(self._folders, f"select * from pages{condition}")  # noqa: S608 - it is checked before it runs

    def query(self, sql: str) -> QueryRows:
        """Query the crawl's tables with SQL; `gossamer query --tables` lists them."""
        return QueryRows(self._folders, sql)

    def to_arrow(self) -> pa.Table:
        """Return all pages as an Arrow table."""
        return self.pages().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """Return all pages as a pandas data frame."""
        return self.pages().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return all pages as a Polars data frame."""
        return self.pages().to_polars()


def open(folder: str | Path = "crawl-data", *more: str | Path) -> StoredCrawl:  # noqa: A001
    """Open the folder of a crawl for reading, with the folders of its other machines if there are any.

    The address of a bucket, `s3://BUCKET/PREFIX`, stands for all machines that upload there.
    """
    return StoredCrawl(readable(folder, *more))


def _missing(library: str) -> GossamerError:
    return GossamerError(f"{library} is not installed: pip install {library}, or use to_arrow().")
