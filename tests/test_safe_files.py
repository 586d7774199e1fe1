"""What we write goes into our own files: no planted link, pipe or umask leads it elsewhere or opens it to others."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from gossamer import safe_files
from gossamer.cli import run
from gossamer.safe_files import make_folder, open_descriptor, open_file
from gossamer.store.files import cut, replacing
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODES = ["wb", "xb", "ab", "r+b"]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that must stay as it is."""
    file = tmp_path / "victim"
    file.write_bytes(b"precious")
    return file


@pytest.fixture
def umask() -> Iterator[None]:
    """A umask that takes nothing away."""
    former = os.umask(0)
    yield
    os.umask(former)


@pytest.mark.parametrize("mode", MODES)
def test_a_link_is_not_followed(tmp_path: Path, victim: Path, mode: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(victim)
    with pytest.raises(OSError, match=r"symbolic link|exists"):
        open_file(link, mode)  # type: ignore[arg-type]
    assert victim.read_bytes() == b"precious"


@pytest.mark.parametrize("mode", ["wb", "xb", "ab"])
def test_nothing_is_created_at_the_end_of_a_link(tmp_path: Path, mode: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match=r"symbolic link|exists"):
        open_file(link, mode)  # type: ignore[arg-type]
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("mode", ["wb", "ab", "r+b"])
def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path: Path, mode: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file") as refused:
        open_file(tmp_path / "pipe", mode)  # type: ignore[arg-type]
    assert refused.value.errno == errno.EINVAL


@pytest.mark.usefixtures("umask")
def test_no_umask_lets_others_write(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    for mode in ("wb", "ab"):
        with open_file(tmp_path / mode, mode):
            pass
    with replacing(tmp_path / "replaced"):
        pass
    os.close(open_descriptor(tmp_path / "lock", os.O_RDWR | os.O_CREAT))
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert found == {"a": 0o755, "b": 0o755, "wb": 0o644, "ab": 0o644, "replaced": 0o644, "lock": 0o644}


@pytest.mark.usefixtures("umask")
def test_a_file_that_others_could_write_to_is_theirs_no_more(tmp_path: Path) -> None:
    (tmp_path / "old").touch(0o666)
    with open_file(tmp_path / "old", "ab"):
        pass
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o664  # a group that shares a crawl keeps its right


@pytest.mark.usefixtures("umask")
def test_a_protected_process_creates_nothing_for_others(tmp_path: Path) -> None:
    safe_files.protect_from_others()
    (tmp_path / "file").touch()
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644


def test_a_link_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "warc").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        make_folder(tmp_path / "warc")


def test_a_planted_temporary_file_is_not_written_through(tmp_path: Path, victim: Path) -> None:
    (tmp_path / f"crawl.toml.{os.getpid()}.tmp").symlink_to(victim)
    with replacing(tmp_path / "crawl.toml") as file:
        file.write(b"ours")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "crawl.toml").read_bytes() == b"ours"


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "report.html").symlink_to(victim)
    with replacing(tmp_path / "report.html") as file:
        file.write(b"ours")
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "report.html").is_symlink()


def test_a_link_is_not_cut(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "segment").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"):
        cut(tmp_path / "segment", 3)
    assert victim.read_bytes() == b"precious"


PLANTED = [
    *("lock", "home", "delays.tsv", "frontier.sqlite", "frontier.sqlite-next", "frontier.sqlite-door"),
    *("logs", "logs/gossamer.log", "warc", "journal", "pages", "requests", "links"),
]


@pytest.mark.parametrize("name", PLANTED)
def test_a_start_refuses_a_planted_link_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder, elsewhere = tmp_path / "crawl-data", tmp_path / "elsewhere"
    with Crawl(folder) as crawl:
        crawl.add("https://a.test/1")
        crawl.run()
    path = folder / name
    if path.is_dir() or name == "logs":
        for file in path.glob("*"):
            file.unlink()
        path.rmdir() if path.exists() else None
        elsewhere.mkdir()
        before: object = []
    else:
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        elsewhere.write_bytes(b"precious")
        before = b"precious"
    path.symlink_to(elsewhere)
    assert run(["crawl", "--email", "you@example.org", "--data-dir", str(folder)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gossamer: ")
    assert said.count("\n") == 1
    assert "symbolic link" in said
    assert (sorted(elsewhere.iterdir()) if elsewhere.is_dir() else elsewhere.read_bytes()) == before


def test_the_folder_itself_may_be_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "large-disk").mkdir()
    (tmp_path / "crawl-data").symlink_to("large-disk")
    assert run(["crawl", "--email", "you@example.org", "--data-dir", str(tmp_path / "crawl-data")]) == 2
    assert "Nothing to crawl" in capsys.readouterr().err
