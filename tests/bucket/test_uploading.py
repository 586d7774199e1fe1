"""Closed files reach the bucket, each once, and leave the folder only after that, whatever happens on the way."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.bucket.address import parse_address
from gossamer.bucket.claiming import claim, read_bucket_note
from gossamer.bucket.manifests import WHOLE_EVERY, manifests_to_read
from gossamer.bucket.objects import Bucket, BucketError, Trouble
from gossamer.bucket.uploading import Uploader, closed_files
from gossamer.errors import GossamerError
from gossamer.store import names
from tests.bucket.crawls import IDENTITY, contents, make_crawl, uploaded_contents, uploader
from tests.end_to_end.crawls import said
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_crawl(tmp_path / "data")


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store"


class KilledError(Exception):
    """Stands for a kill at this instant."""


class FragileBucket(Bucket):
    """A bucket at which a process is killed: before the request number `dies_at` is made, or after it is done."""

    def __init__(self, store: str, dies_at: int, *, after: bool) -> None:
        super().__init__(parse_address(store), retries=0)
        self._left = dies_at
        self._after = after

    def _put(self, *arguments: Any, **options: Any) -> None:
        self._left -= 1
        if not self._left and not self._after:
            raise KilledError
        super()._put(*arguments, **options)
        if not self._left:
            raise KilledError


def test_all_closed_files_go_up_and_leave_the_folder(folder: Path, store: str) -> None:
    before = contents(folder)
    assert {name.partition("/")[0] for name in before} == {"warc", "pages", "requests"}
    uploader(store, folder).upload()
    assert uploaded_contents(store) == before
    assert contents(folder) == {}


def test_kept_copies_stay_and_are_not_uploaded_again(folder: Path, store: str) -> None:
    before = contents(folder)
    uploader(store, folder, keep_local=True).upload()
    uploader(
        store, folder, bucket=FragileBucket(store, 2, after=False), keep_local=True
    ).upload()  # the first is `_live`
    assert contents(folder) == before == uploaded_contents(store)


@pytest.mark.parametrize("after", [False, True], ids=["before a request", "after it"])
def test_a_kill_at_any_request_loses_nothing_and_repeats_nothing(
    folder: Path, store: str, tmp_path: Path, *, after: bool
) -> None:
    before = contents(folder)
    kills = 0
    while True:
        kills += 1
        try:
            uploader(store, folder, bucket=FragileBucket(store, kills + 1, after=after)).upload()
        except KilledError:
            both = contents(folder) | uploaded_contents(store)
            assert both == before, "a file is neither here nor listed"
        else:
            break
    assert kills > 3
    assert uploaded_contents(store) == before
    assert contents(folder) == {}
    objects = [path for path in (tmp_path / "store").rglob("*") if path.is_file() and "_" not in path.parts[-2][:1]]
    assert len([path for path in objects if path.name != "_gossamer.json"]) == len(before)


def test_a_file_is_deleted_only_if_a_manifest_lists_the_same_content(folder: Path, store: str) -> None:
    first = next(file.file for file in closed_files(folder) if file.file.endswith(names.SEGMENT_SUFFIX))
    changed = bytearray((folder / first).read_bytes())
    changed[-1] ^= 1
    uploader(store, folder).upload()
    (folder / first).write_bytes(changed)
    names.index_of(folder / first).touch()  # so that it counts as closed
    before = contents(folder)
    uploader(store, folder).upload()
    assert contents(folder) == {}
    assert uploaded_contents(store)[first] == before[first]


def test_files_that_are_being_written_stay(folder: Path, store: str) -> None:
    with Crawl(folder, worker="w2") as crawl:
        crawl.add("https://d.test/1")
        crawl.run()
        open_files = {path.name for name in (names.JOURNAL, names.WARC) for path in (folder / name).glob("*w2*")}
        assert open_files
        uploader(store, folder).upload()
        assert {path.name for name in (names.JOURNAL, names.WARC) for path in (folder / name).iterdir()} == open_files
    uploader(store, folder).upload()
    assert contents(folder) == {}


def test_a_part_whose_journal_is_left_waits_for_the_repair(folder: Path, store: str) -> None:
    part = next(iter((folder / names.PAGES).glob("*.parquet")))
    journal = names.journal_path(folder, names.PAGES, names.stem_of(part))
    journal.touch()
    uploader(store, folder).upload()
    assert [path.name for path in (folder / names.PAGES).iterdir()] == [part.name]


def test_a_damaged_part_stays_and_the_others_go_up(folder: Path, store: str) -> None:
    part = next(iter((folder / names.PAGES).glob("*.parquet")))
    damaged = bytearray(part.read_bytes())
    damaged[100] ^= 1
    part.write_bytes(damaged)
    uploader(store, folder).upload()
    assert list(contents(folder)) == [f"pages/{part.name}"]


def test_a_machine_that_comes_back_overwrites_nothing(folder: Path, store: str, tmp_path: Path) -> None:
    note = claim(store, folder, IDENTITY, warn=print)
    dead = tmp_path / "dead"
    shutil.copytree(folder, dead)
    make_crawl(dead, worker="w9", sites="x")
    before, more = contents(folder), contents(dead)
    back = Uploader(Bucket(parse_address(store)), dead, note, keep_local=False, max_bytes_per_s=None)
    back._read_listed()  # and then it was away for a while
    uploader(store, folder).upload()
    back.upload()  # its manifest would have the number of the other's
    assert uploaded_contents(store) == before | more
    assert contents(dead) == {}


def test_two_machines_write_one_dataset(tmp_path: Path, store: str) -> None:
    folders = [make_crawl(tmp_path / f"m{n}", worker=f"w{n}", sites=sites) for n, sites in enumerate(("ab", "cd"))]
    before = contents(folders[0]) | contents(folders[1])
    for folder in folders:
        uploader(store, folder).upload()
    assert uploaded_contents(store) == before
    assert said(
        "query", "select count(*), count(distinct site) from pages", "--data-dir", store, "--format", "csv"
    ) == ("count_star(),count(DISTINCT site)\n12,4\n")


def test_every_hundredth_manifest_lists_everything() -> None:
    keys = [f"_manifests/{machine}-{serial:08d}.json" for machine in ("a" * 12, "b" * 12) for serial in range(1, 204)]
    wanted = manifests_to_read([*keys[:203], *keys[203:253], "_manifests/strange.json"])
    assert wanted == [("a" * 12, serial) for serial in range(2 * WHOLE_EVERY, 204)] + [
        ("b" * 12, serial) for serial in range(1, 51)
    ]


def test_many_manifests_list_all_files(tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.bucket.uploading.WHOLE_EVERY", 3)
    monkeypatch.setattr("gossamer.bucket.manifests.WHOLE_EVERY", 3)
    monkeypatch.setattr("gossamer.bucket.uploading.BATCH_FILES", 2)
    folder = make_crawl(tmp_path / "data")
    before = contents(folder)
    uploader(store, folder).upload()
    assert len(list((tmp_path / "store" / "_manifests").iterdir())) > 3
    assert uploaded_contents(store) == before


def test_a_prefix_with_another_crawl_is_refused(folder: Path, store: str, tmp_path: Path) -> None:
    uploader(store, folder).end()
    with pytest.raises(GossamerError, match="is in use by another crawl, which runs now: name another prefix"):
        claim(store, make_crawl(tmp_path / "other"), "another crawl", warn=print)


def test_a_crawl_keeps_its_store(folder: Path, store: str) -> None:
    claim(store, folder, IDENTITY, warn=print)
    with pytest.raises(GossamerError, match=f"The files of {folder} are in {store}: use --store"):
        claim(f"{store}2", folder, IDENTITY, warn=print)


def test_a_copy_of_a_running_crawl_is_refused(folder: Path, store: str, tmp_path: Path) -> None:
    running = uploader(store, folder)
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    with pytest.raises(GossamerError, match=f"in use by a running crawl, of which {copy} is a copy"):
        claim(store, copy, IDENTITY, warn=print)
    running.end()
    claim(store, copy, IDENTITY, warn=print)


def test_a_crawl_that_has_its_prefix_starts_while_the_bucket_is_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    warned: list[str] = []
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret-value")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(BucketError, match="cannot be reached") as refused:
        claim("s3://bucket/prefix", folder, IDENTITY, warn=warned.append)
    assert refused.value.trouble is Trouble.AWAY
    note = claim(f"file://{tmp_path}/store", folder, IDENTITY, warn=warned.append)
    text = (folder / "bucket.json").read_text()
    assert "secret-value" not in text
    from dataclasses import replace

    from gossamer.store.notes import encode_note

    (folder / "bucket.json").write_text(
        encode_note({"store": "s3://bucket/prefix", "crawl": note.crawl, "machine": note.machine})
    )
    assert claim("s3://bucket/prefix", folder, IDENTITY, warn=warned.append) == replace(
        note, store="s3://bucket/prefix"
    )
    assert len(warned) == 1
    assert "finished files stay" in warned[0]
    assert read_bucket_note(folder) is not None
