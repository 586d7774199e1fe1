"""Folders of a crawl whose files are in a bucket, wholly or in part.

Every reader of a crawl takes a folder as a `Path`. A `BucketPath` is one that finds a file in the folder first and in
the bucket otherwise, so that readers need not know where a file is. It only reads from the bucket; what is written goes
to the folder. The prefix of a bucket is a folder for each machine.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any, Final

from gossamer.bucket.address import is_address, parse_address
from gossamer.bucket.claiming import read_bucket_note
from gossamer.bucket.machine_files import MachineFiles, open_machine, open_machines
from gossamer.errors import GossamerError
from gossamer.store import names

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator

    from gossamer.bucket.manifests import UploadedFile

_MACHINES: Final[dict[str, MachineFiles]] = {}  # by the folder of each; paths are values, and cannot hold it


def readable(*folders: str | Path) -> list[Path]:
    """Return the folders of a crawl as all readers can use them: `s3://…` for a bucket, or the folder of a machine.

    A bucket has a folder for each machine, except those whose folders are named beside it.
    """
    found: list[Path] = []
    for folder in folders:
        found += [] if is_address(str(folder)) else [with_bucket(Path(folder))]
    notes = [read_bucket_note(folder) for folder in found]
    beside = {note.machine for note in notes if note is not None}
    for folder in folders:
        found += _of_bucket(str(folder), beside) if is_address(str(folder)) else []
    return found


def with_bucket(folder: Path) -> Path:
    """Return a folder with those of its files that are in the bucket."""
    note = read_bucket_note(folder)
    if note is None:
        return folder
    for each in (folder, folder.absolute(), folder.resolve()):
        _MACHINES[str(each)] = open_machine(note.store, note.machine)
    return BucketPath(folder)


def _of_bucket(text: str, beside: Collection[str]) -> Iterable[Path]:
    try:
        address = parse_address(text)
    except ValueError as error:
        raise GossamerError(str(error)) from None
    machines = open_machines(address)
    for machine, files in machines.items():
        if machine in beside:
            continue
        root = BucketPath(str(address), machine)
        _MACHINES[str(root)] = files
        yield root


class BucketPath(PosixPath):
    """A path in the folder of a machine. See the module."""

    __slots__ = ()

    def __str__(self) -> str:
        text = super().__str__()
        scheme, colon, rest = text.partition(":/")
        return f"{scheme}://{rest.lstrip('/')}" if colon and scheme == "s3" else text

    def bucket_files(self) -> MachineFiles | None:
        """Return the files of the machine whose folder this is."""
        return _MACHINES.get(str(self))

    def _split(self) -> tuple[MachineFiles, str] | None:
        """Return the machine, and the path relative to its folder."""
        for folder in (self, *self.parents[:2]):
            if machine := _MACHINES.get(str(folder)):
                return machine, str(self.relative_to(folder))
        return None

    def find_uploaded(self) -> UploadedFile | None:
        """Return the file as the bucket has it; None if the bucket does not have it."""
        place = self._split()
        return place[0].find(place[1]) if place and _is_file(place[1]) else None

    def _names(self) -> list[str]:
        """Return the names in this folder that the bucket has."""
        place = self._split()
        if place is None or place[1] not in names.FOLDERS:
            return []
        return [file.rpartition("/")[2] for file in place[0].files(now=True) if file.startswith(f"{place[1]}/")]

    # ------------------------------------------------------------------ as Path does it

    def iterdir(self) -> Generator[BucketPath, None, None]:
        """Yield all files, each once. The folder is listed first: a file leaves it when the bucket has it."""
        try:
            there = os.listdir(self)  # noqa: PTH208 - this is what `iterdir` does
        except FileNotFoundError:
            there = None
        found = self._names()
        if there is None and not found:
            raise FileNotFoundError(str(self))
        yield from (self / name for name in dict.fromkeys([*(there or ()), *found]))

    def glob(self, pattern: str, **_: Any) -> Iterator[Any]:  # type: ignore[override]
        """Yield the files of this folder that match a pattern."""
        if self.exists():
            yield from (path for path in self.iterdir() if path.match(pattern))

    def open(self, mode: str = "r", buffering: int = -1, *args: Any, **options: Any) -> Any:
        """Open a file; only to read, if it is in the bucket."""
        try:
            return super().open(mode, buffering, *args, **options)
        except FileNotFoundError:
            if any(letter in mode for letter in "wax+"):
                raise
            raw = self._open_remote()
            if raw is None:
                raise
        if "b" in mode and buffering == 0:
            return raw
        buffered = io.BufferedReader(raw, 1 << 16 if buffering < 2 else buffering)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **options)

    def _open_remote(self) -> Any:
        place = self._split()
        if place is None:
            return None
        machine, file = place
        if uploaded := self.find_uploaded():
            return machine.open(uploaded)
        text = machine.note(file) if "/" not in file and file != "." else None
        return None if text is None else io.BytesIO(text.encode())

    def read_bytes(self) -> bytes:
        """Return the content of a file."""
        with self.open("rb") as file:
            return bytes(file.read())

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        """Return the content of a text file."""
        with self.open("r", encoding=encoding, errors=errors, newline=newline) as file:
            return str(file.read())

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return the size of a file, and when it was begun."""
        try:
            return super().stat(follow_symlinks=follow_symlinks)
        except FileNotFoundError:
            uploaded = self.find_uploaded()
            if uploaded is None:
                raise
        _, begun_at = names.begun_by(self.name)
        return os.stat_result((stat.S_IFREG | 0o400, 0, 0, 1, 0, 0, uploaded.size, *[int(begun_at)] * 3))

    def exists(self, **options: Any) -> bool:
        """Return whether there is a file or a folder."""
        if super().exists(**options):
            return True
        place = self._split()
        if place is None:
            return False
        machine, file = place
        return file == "." or bool(
            self._names() if file in names.FOLDERS else self.find_uploaded() or machine.note(file)
        )

    def is_file(self, **options: Any) -> bool:
        """Return whether it is a file."""
        return super().is_file(**options) or self.find_uploaded() is not None

    def is_dir(self, **options: Any) -> bool:
        """Return whether it is a folder."""
        place = self._split()
        return super().is_dir(**options) or (place is not None and (place[1] == "." or bool(self._names())))

    def resolve(self, strict: bool = False) -> BucketPath:
        """Return the path without links; that of a bucket has none."""
        return self if is_remote_folder(self) else super().resolve(strict)

    def absolute(self) -> BucketPath:
        """Return the path from the root; that of a bucket has one."""
        return self if is_remote_folder(self) else super().absolute()


def is_remote_folder(folder: Path) -> bool:
    """Return whether a folder is only in a bucket: it has tables and archives, and no frontier."""
    return str(folder).startswith(("s3:/", "file:/"))


def object_key(path: Path) -> str:
    """Return the key of the object that a file is in its bucket, relative to the prefix; empty if it is in none."""
    uploaded = path.find_uploaded() if isinstance(path, BucketPath) else None
    return uploaded.key if uploaded else ""


def _is_file(file: str) -> bool:
    folder, _, name = file.partition("/")
    return folder in names.FOLDERS and bool(name)
