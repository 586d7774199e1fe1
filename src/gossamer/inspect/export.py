"""Exports: pages that pass filters, file by file of the crawl, to a target. An interrupted export can be resumed.

After every file of the crawl the target is synced and a small state file is written next to it: which rows there were
when the export began, how many files are done, how long the target is. Started again with the same arguments, an export
truncates the target to that length and continues with those rows, whatever the crawl has done since: the result is the
same.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from gossamer.errors import GossamerError
from gossamer.inspect import snapshot
from gossamer.inspect.cc_index import CommonCrawlIndex
from gossamer.inspect.database import QueryDatabase, open_tables
from gossamer.inspect.encoders import Csv, JsonLines, PageTable, TextFiles, Warc
from gossamer.inspect.originals import Originals
from gossamer.inspect.sqlite_file import SqliteFile
from gossamer.inspect.targets import Appended, Encoder, ExportTarget, Pieces, Stream, Takes, partial_of
from gossamer.inspect.wacz import Wacz
from gossamer.inspect.wet import Wet
from gossamer.store.files import check_replaceable, remove, replacing
from gossamer.store.schemas import PAGES

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.inspect.selection import Selection
    from gossamer.inspect.snapshot import Part

FORMATS: Final = ("jsonl", "csv", "parquet", "txt", "warc", "wet", "cc-index", "wacz", "sqlite")
INDEX: Final = "index.csv"  # of text files


@dataclass(slots=True, kw_only=True)
class ExportProgress:
    """How far an export is."""

    arguments: dict[str, Any]  # of its first start
    rows: list[tuple[str, str, int]]  # at its first start: folder, stem, number of rows
    files_done: int = 0
    lengths: list[int] = field(default_factory=list)  # of the target's files when they were last synced
    pages: int = 0  # exported
    originals: int = 0  # archive records of other pages, which have the payload of duplicates
    without_record: int = 0  # pages that pass the filters, but have no complete archive record

    @property
    def rows_total(self) -> int:
        """How many rows to read."""
        return sum(rows for *_, rows in self.rows)

    @property
    def rows_done(self) -> int:
        """How many rows were read."""
        return sum(rows for *_, rows in self.rows[: self.files_done])


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What to export, and where to."""

    folders: tuple[Path, ...]
    selection: Selection
    form: str  # one of FORMATS
    output: Path | None = None  # a file, or a folder for text files; None: standard output
    since: str = ""  # as typed: a duration means another time at every start
    spreadsheet_safe: bool = False  # CSV, and the index of text files

    def run(self, stdout: BinaryIO, tell: Callable[[ExportProgress], None]) -> ExportProgress:
        """Export everything; call `tell` with the progress now and then, and return the final counts."""
        self._check_output()
        before, target = self._begun_before(), self._target(stdout)
        selection, only = self.selection, None
        if before is not None:
            selection = replace(selection, since=before.arguments["since_s"])
            only = {(Path(folder), stem): rows for folder, stem, rows in before.rows}
        with open_tables(self.folders, f"pages {selection.where}", only=only) as database:
            parts = database.parts[PAGES.name]
            if only is not None and snapshot.stems(parts) != only:
                raise self._begin_anew("was started when the crawl had other files")
            condition = selection.condition()
            database.check(f"select * from pages where {condition}")  # noqa: S608  # refused before any file is created
            originals = Originals(database, condition)
            originals.find(parts, target.takes)
            rows = [(str(part.folder), part.stem, part.rows) for part in parts]
            progress = before or ExportProgress(arguments=self._arguments(), rows=rows)
            target.begin(progress.lengths)
            for part in parts[progress.files_done :]:
                tell(progress)
                self._copy(database, part, originals, target, progress)
                progress.files_done += 1
                progress.lengths = target.settle()
                self._remember(progress)
        tell(progress)
        target.finish()
        if self.output is not None:
            remove(self._state)
        return progress

    def _check_output(self) -> None:
        """Raise OSError if the target cannot be written, before any file is created."""
        if self.output is None:
            return
        if self.form != "txt":
            check_replaceable(self.output)
        elif self.output.exists() and not self.output.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self.output))
        else:
            self.output.parent.stat()

    def _remember(self, progress: ExportProgress) -> None:
        if self.output is not None:
            with replacing(self._state) as file:
                file.write(json.dumps(asdict(progress)).encode())

    def _copy(
        self, database: QueryDatabase, part: Part, originals: Originals, target: ExportTarget, progress: ExportProgress
    ) -> None:
        # In the order of the file, so that a resumed export equals an uninterrupted one.
        pages = f"select * from ({originals.taken(part, target.takes)}) order by row"  # noqa: S608
        if target.takes is not Takes.ALL:
            extra = database.count(f"select * from ({pages}) where extra")  # noqa: S608
            there = database.count(pages) - extra
            progress.originals += extra
            progress.pages -= extra
            progress.without_record += database.count(originals.selected([part])) - there
        with database.read(target.query(pages), target.batch_rows) as reader:
            for batch in reader:
                if batch.num_rows:
                    target.add(part.folder, batch)
                    progress.pages += batch.num_rows

    def _target(self, stdout: BinaryIO) -> ExportTarget:
        if self.output is not None and (target := self._file_target(self.output)):
            return target
        encoder: Encoder
        match self.form:
            case "txt" if self.output is not None:
                encoder = TextFiles(self.output, spreadsheet_safe=self.spreadsheet_safe)
            case "warc":
                encoder = Warc(self.output.name if self.output else "export.warc.gz")
            case "wet":
                encoder = Wet(self.output.name if self.output else "export.warc.wet.gz")
            case "csv":
                encoder = Csv(spreadsheet_safe=self.spreadsheet_safe)
            case "jsonl":
                encoder = JsonLines()
            case form:
                raise GossamerError(f"{form} cannot go to standard output: add --output.")
        return Appended(encoder, self._file) if self.output else Stream(encoder, stdout)

    def _file_target(self, output: Path) -> ExportTarget | None:
        """Return the target of a format that needs a file; None for other formats."""
        match self.form:
            case "parquet":
                return Pieces(PageTable(), output)
            case "cc-index":
                return Pieces(CommonCrawlIndex(self.folders), output)
            case "wacz":
                return Wacz(output)
            case "sqlite":
                return SqliteFile(output)
        return None

    @property
    def _file(self) -> Path:
        """The file that is renamed at the end; the index for text files."""
        assert self.output is not None
        return self.output / INDEX if self.form == "txt" else self.output

    @property
    def _state(self) -> Path:
        return self._file.with_name(f"{self._file.name}.partial.state")

    def _begun_before(self) -> ExportProgress | None:
        """Return the progress of an earlier start of this export, if there was one."""
        if self.output is None:
            return None
        try:
            before = ExportProgress(**json.loads(self._state.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):
            raise self._begin_anew("cannot be resumed, because its state is damaged") from None
        if before.arguments | {"since_s": None} != self._arguments() | {"since_s": None}:
            raise self._begin_anew("was started with other arguments")
        return before

    def _begin_anew(self, why: str) -> GossamerError:
        return GossamerError(f"{partial_of(self._file)} {why}: remove {self._state} to start over.")

    def _arguments(self) -> dict[str, Any]:
        """Return what must be equal for an export to be resumed, as JSON values."""
        arguments = {
            "folders": [str(folder.absolute()) for folder in self.folders],
            "form": f"{self.form}, safe for spreadsheets" if self.spreadsheet_safe else self.form,
            "selection": asdict(self.selection) | {"since": self.since},
            "since_s": self.selection.since,
        }
        return dict(json.loads(json.dumps(arguments)))
