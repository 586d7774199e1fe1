"""A file that grows is never torn, whatever fails; a file that is replaced is always complete."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.store import files
from gossamer.store.files import GrowingFile, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Make the kernel refuse files larger than `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_was_synced_is_in_the_file_in_order(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "file")
    file.add(b"one")
    file.add(b"two")
    assert not file.path.exists()
    file.sync(1)
    assert file.path.read_bytes() == b"one"
    file.add(b"three")
    file.sync(file.waiting())
    assert file.path.read_bytes() == b"onetwothree"
    assert file.length == 11
    file.close()


def test_a_write_that_fails_half_way_leaves_the_file_as_it_was_and_can_be_repeated(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "file")
    file.add(b"a" * 100)
    file.sync(1)
    file.add(b"b" * 100)
    file.add(b"c" * 100)
    with largest_file(150), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        file.sync(2)
    assert file.path.read_bytes() == b"a" * 100
    assert file.waiting() == 2
    file.add(b"d" * 100)
    file.sync(file.waiting())
    assert file.path.read_bytes() == b"a" * 100 + b"b" * 100 + b"c" * 100 + b"d" * 100
    file.close()


def test_a_first_write_that_fails_can_be_repeated(tmp_path: Path) -> None:
    file = GrowingFile(tmp_path / "file")
    file.add(b"a" * 100)
    with largest_file(50), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        file.sync(1)
    assert file.path.read_bytes() == b""
    file.sync(1)
    assert file.path.read_bytes() == b"a" * 100
    file.close()


@pytest.mark.parametrize("call", ["pwrite", "ftruncate", "open"])
def test_other_calls_that_fail_lose_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "planted")

    file = GrowingFile(tmp_path / "file")
    if call != "open":
        file.add(b"a" * 100)
        file.sync(1)
    file.add(b"b" * 100)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        patch.setattr(files, "sync_data", fail)  # so that there is something to cut back
        with pytest.raises(OSError, match="planted"):
            file.sync(1)
        with pytest.raises(OSError, match="planted"):
            file.sync(1)
    before = file.length
    if call == "ftruncate":  # it was not cut back then; it is before anything is written
        assert file.path.read_bytes() == b"a" * 100 + b"b" * 100
    file.sync(1)
    assert file.path.read_bytes() == b"a" * before + b"b" * 100
    file.close()


def test_what_could_not_be_cut_off_is_gone_with_the_next_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "planted")

    file = GrowingFile(tmp_path / "file")
    file.add(b"a" * 100)
    file.add(b"b" * 100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        patch.setattr(files, "sync_data", fail)
        with pytest.raises(OSError, match="planted"):
            file.sync(2)
    assert file.path.read_bytes() == b"a" * 100 + b"b" * 100
    file.sync(1)
    assert file.path.read_bytes() == b"a" * 100
    file.close()


def test_a_growing_file_never_takes_over_one_that_exists(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"precious")
    file = GrowingFile(tmp_path / "file")
    file.add(b"x")
    with pytest.raises(FileExistsError):
        file.sync(1)
    assert (tmp_path / "file").read_bytes() == b"precious"


def test_replacing_shows_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with suppress(ZeroDivisionError), replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        raise ZeroDivisionError
    assert [found.name for found in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_replaced_file_is_on_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def watch(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: Any) -> Any:
            calls.append(name)
            return real(*arguments)

        monkeypatch.setattr(os, name, call)

    watch("fsync")
    watch("rename")
    with replacing(tmp_path / "file") as file:
        file.write(b"x")
    assert calls == ["fsync", "rename", "fsync"]  # the file, then its name, then the folder's list of names


def test_a_process_that_only_writes_tables_does_not_import_pandas() -> None:
    code = (
        "import sys\n"
        "import pyarrow as pa\n"
        "from gossamer.extras import do_without_pandas\n"
        "do_without_pandas()\n"
        "pa.array(['a'])\n"
        "print('pandas' in sys.modules)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n", "pyarrow imports it with the first array, which takes 50 MB of each worker"
