"""The name of a stored file says what it is, and no name is used twice."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import GossamerError
from gossamer.store import names
from gossamer.store.store import Store, StoreSettings
from tests.store.samples import keep, new_store

if TYPE_CHECKING:
    from collections.abc import Callable


def test_names_say_what_when_and_by_whom(tmp_path: Path) -> None:
    stem = names.Stems(tmp_path, "host-3.w1").next(1_767_225_600.25)
    assert stem == "20260101000000250-host-3.w1-00001"
    segment = names.SegmentNames("my-crawl_1.2", "crawler-1.example.org").path(tmp_path, stem)
    journal = names.journal_path(tmp_path, "pages", stem)
    name = "my-crawl_1.2-20260101000000250-00001-crawler-1.example.org~host-3.w1"
    assert segment.name == f"{name}.warc.gz"
    assert names.index_of(segment).name == f"{name}.cdxj"
    assert names.part_of(journal) == tmp_path / "pages" / f"part-{stem}.parquet"
    assert names.table_of(journal) == "pages"
    for path in (segment, journal, names.index_of(segment), names.open_index_of(segment), names.part_of(journal)):
        assert names.worker_of(path) == "host-3.w1"
        assert names.worker_of(path.with_name(path.name + ".123.tmp")) == "host-3.w1"
        assert names.stem_of(path) == stem


def test_segments_of_version_0_1_are_known_by_their_names() -> None:
    for name in ("gossamer-20260101000000250-w1-00001.warc.gz", "gossamer-20260101000000250-w1-00001.cdxj.open"):
        assert names.worker_of(Path(name)) == "w1"
        assert names.stem_of(Path(name)) == "20260101000000250-w1-00001"
        assert names.begun_by(name) == ("w1", 1_767_225_600.25)


def test_files_of_other_programs_belong_to_no_worker() -> None:
    for name in ("notes.txt", "part-1.parquet", "gossamer-20260101-w-1.warc.gz", "crawl.tmp"):
        assert names.worker_of(Path(name)) is None


def test_a_stopped_clock_gives_no_name_twice(tmp_path: Path) -> None:
    stems = names.Stems(tmp_path, "w")
    assert len({stems.next(1_767_225_600.0) for _ in range(50)}) == 50


FAMILY = names.SegmentNames()


@pytest.mark.parametrize(
    "path_of",
    [FAMILY.path, partial(names.journal_path, table="requests"), partial(names.part_path, table="pages")],
    ids=["segment", "journal", "part"],
)
def test_a_new_start_at_the_same_moment_avoids_the_names_of_the_last(
    tmp_path: Path, path_of: Callable[..., Path]
) -> None:
    first = names.Stems(tmp_path, "w", FAMILY).next(1_767_225_600.0)
    path = path_of(folder=tmp_path, stem=first)
    path.parent.mkdir()
    path.touch()
    assert names.Stems(tmp_path, "w", FAMILY).next(1_767_225_600.0) != first


def test_starts_within_one_moment_never_share_a_file(tmp_path: Path) -> None:
    seen: list[str] = []
    for start in range(4):
        store = Store(
            tmp_path, "w", StoreSettings(), operator="a@b.test", user_agent="Test", clock=lambda: 1_767_225_600.0
        )
        with store:
            keep(store, start)
        seen = [path.name for path in tmp_path.rglob("*.parquet")]
        assert len(seen) == 2 * (start + 1)
    assert len(set(seen)) == 8


@pytest.mark.parametrize("worker", ["", "a/b", "a b", "ä"])
def test_a_worker_whose_name_cannot_be_part_of_a_file_name_is_refused(tmp_path: Path, worker: str) -> None:
    with pytest.raises(GossamerError, match="letters, digits"):
        new_store(tmp_path, worker)
