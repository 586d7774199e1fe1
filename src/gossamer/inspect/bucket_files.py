"""Lets DuckDB read files that are in a bucket, by ranges, and only those that it may open anyway.

DuckDB asks a file system of ours for paths that begin with its name. Its own one for buckets would be an extension,
which no registry has. The gates stay as they are: DuckDB itself checks each path before this code sees it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from gossamer.bucket.paths import BucketPath
from gossamer.bucket.range_reader import LocalRangeReader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import duckdb

_PROTOCOL: Final = "gossamer"
_SCHEME: Final = f"{_PROTOCOL}://"


def source_of(path: Path) -> str:
    """Return the name by which DuckDB opens a file."""
    return f"{_SCHEME}{path}" if isinstance(path, BucketPath) else str(path)


def register(connection: duckdb.DuckDBPyConnection, sources: Iterable[str]) -> None:
    """Let DuckDB open files of buckets, if there are any among those that it needs."""
    if any(source.startswith(_SCHEME) for source in sources):
        connection.register_filesystem(_file_system())


def _file_system() -> Any:
    """Return the file system: what DuckDB asks for, and nothing that writes."""
    from fsspec import AbstractFileSystem  # of the extra s3

    class BucketFiles(AbstractFileSystem):  # type: ignore[misc]  # it comes without types
        protocol = _PROTOCOL
        cachable = False

        def open(self, path: str, mode: str = "rb", **_: Any) -> Any:
            if mode != "rb":
                raise PermissionError("a query only reads")
            try:
                return LocalRangeReader.open(_path(path))
            except FileNotFoundError:
                return _path(path).open("rb", buffering=0)

        def info(self, path: str, **_: Any) -> dict[str, Any]:
            return {"name": path, "size": _path(path).stat().st_size, "type": "file"}

        def exists(self, path: str, **_: Any) -> bool:
            return _path(path).exists()

        def glob(self, path: str, **_: Any) -> list[str]:
            return [path]

        def modified(self, path: str) -> datetime:
            return datetime.fromtimestamp(_path(path).stat().st_mtime, UTC)

    return BucketFiles()


def _path(source: str) -> BucketPath:
    return BucketPath(source.removeprefix(_SCHEME))
