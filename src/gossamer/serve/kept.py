"""What takes long to make and is kept in a file: made again when the crawl has grown and enough time has passed."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Final

from gossamer.store.reading import row_files
from gossamer.store.schemas import PAGES, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MAKING_SHARE: Final = 0.05  # of the time, at most, while the crawl grows


class KeptFiles:
    """Files about the tables of a crawl, kept between the lives of a process."""

    def __init__(self, folders: Sequence[Path], scratch: Path) -> None:
        self._folders = folders
        self._scratch = scratch

    def find(self, name: str, make: Callable[[Path], None]) -> tuple[Path, float]:
        """Return a file and when it was made; make it if the one there is too old."""
        path, note = self._scratch / name, self._scratch / f"{name}.note"
        now_at = time.time()
        signature = self._signature()
        if path.exists() and note.exists():
            said = json.loads(note.read_text())
            is_recent = now_at - said["made_at"] < said["took_s"] / MAKING_SHARE
            if said["signature"] == signature or is_recent:
                return path, said["made_at"]
        began_s = time.monotonic()
        new = path.with_suffix(".new")
        make(new)
        new.replace(path)
        took_s = time.monotonic() - began_s
        note.write_text(json.dumps({"signature": signature, "made_at": now_at, "took_s": took_s}))
        return path, now_at

    def _signature(self) -> str:
        """Return a value that changes when rows are added."""
        files = [file.path for table in (PAGES, REQUESTS) for file in row_files(list(self._folders), table)]
        sizes = [(str(path), path.stat().st_size if path.exists() else -1) for path in files]
        return hashlib.sha256(json.dumps(sizes).encode()).hexdigest()
