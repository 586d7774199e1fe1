"""A bucket that fails, is slow, or lies: in the end it has what the folder had, and nothing is lost meanwhile."""

from __future__ import annotations

import os
import random
import threading
from typing import TYPE_CHECKING

import polars as pl
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pytest

from gossamer.bucket.address import parse_address
from gossamer.bucket.claiming import check_store, claim
from gossamer.bucket.objects import Bucket, BucketError, Trouble
from gossamer.errors import GossamerError
from tests.bucket.crawls import IDENTITY, contents, make_crawl, uploaded_contents, uploader
from tests.bucket.s3_server import BUCKET, Fault, S3Server
from tests.end_to_end.crawls import said

if TYPE_CHECKING:
    from pathlib import Path

TRIES = 200  # more than a run of bad luck takes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_crawl(tmp_path / "data")


def test_a_crawl_goes_to_s3_and_is_read_from_there(folder: Path, store: str) -> None:
    before = contents(folder)
    uploading = uploader(store, folder)
    uploading.upload()
    uploading.end()
    assert (uploaded_contents(store), contents(folder)) == (before, {})
    assert said("query", "select count(*) as n from pages", "--data-dir", store, "--format", "csv") == "n\n9\n"
    assert said("verify", "--data-dir", store).endswith("No problems.\n")
    assert "Ein paar Wörter." in said("show", "https://a.test/1", "--html", "--data-dir", store)


def test_faults_of_all_kinds_lose_and_repeat_nothing(folder: Path, store: str, s3: S3Server) -> None:
    before = contents(folder)
    uploading = uploader(store, folder)
    dice = random.Random(7)
    faults = [Fault.BUSY, Fault.CUT, Fault.LOST_ANSWER, Fault.SLOW, Fault.AWAY]
    met = set()

    def fault(_method: str, _path: str) -> Fault | None:
        chosen = dice.choice(faults) if dice.random() < 0.5 else None
        met.add(chosen)
        return chosen

    s3.fault = fault
    for number in range(TRIES):
        try:
            uploading.upload()
            break
        except BucketError:
            if number % 5:
                continue
            s3.fault = lambda _method, _path: None
            assert contents(folder) | uploaded_contents(store) == before
            s3.fault = fault
    s3.fault = lambda _method, _path: None
    assert met == {*faults, None}
    assert (uploaded_contents(store), contents(folder)) == (before, {})
    prefix = store.removeprefix(f"s3://{BUCKET}/")
    data = [key for key in s3.keys(prefix) if not key.removeprefix(f"{prefix}/").startswith("_")]
    assert len(data) == len(before)


def test_a_file_that_is_never_accepted_does_not_hold_up_the_others(folder: Path, store: str, s3: S3Server) -> None:
    before = contents(folder)
    uploading = uploader(store, folder)
    s3.fault = lambda method, path: Fault.BUSY if method == "PUT" and "/pages/" in path and "00002" in path else None
    with pytest.raises(BucketError):
        uploading.upload()
    left = contents(folder)
    assert len(left) == 1
    assert left | uploaded_contents(store) == before


def test_an_object_that_the_bucket_stored_in_part_is_not_believed(
    folder: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploading = uploader(store, folder)
    before = contents(folder)
    create_from = Bucket.create_from

    def cut(self: Bucket, key: str, path: Path) -> None:
        short = path.parent.parent / "short"
        short.write_bytes(path.read_bytes()[:-1])
        create_from(self, key, short)

    monkeypatch.setattr(Bucket, "create_from", cut)  # a server that says yes and stores less
    with pytest.raises(BucketError, match="has not stored all of"):
        uploading.upload()
    assert contents(folder) == before


def test_no_upload_has_several_parts_and_a_large_file_takes_no_memory(tmp_path: Path, store: str, s3: S3Server) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        for _ in range(60):
            file.write(random.Random(1).randbytes(1_000_000))
    bucket = Bucket(parse_address(store))
    bucket.create("warm-up", b"x")
    before, most, done = _own_memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            most[0] = max(most[0], _own_memory())

    watching = threading.Thread(target=watch)
    watching.start()
    # The proxy reads the body in this process: it must not count here.
    s3.fault = lambda _method, _path: Fault.AWAY
    with pytest.raises(BucketError):
        bucket.create_from("big", big)
    done.set()
    watching.join()
    assert most[0] - before < 30_000_000
    s3.fault = lambda _method, _path: None
    bucket.create_from("big", big)
    assert bucket.facts("big") is not None
    assert not [asked for asked in s3.asked if "upload" in asked.path]


def _own_memory() -> int:
    """Return the memory of this process that is not that of files."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def test_pyarrow_and_polars_read_the_bucket_without_us(folder: Path, store: str, s3: S3Server) -> None:
    uploader(store, folder).upload()
    files = pafs.S3FileSystem(endpoint_override=f"127.0.0.1:{s3.port}", scheme="http", region="us-east-1")
    table = ds.dataset(f"{store.removeprefix('s3://')}/pages", filesystem=files, partitioning="hive").to_table()
    assert table.num_rows == 9
    options = {"aws_endpoint_url": f"http://127.0.0.1:{s3.port}", "aws_region": "us-east-1", "aws_allow_http": "true",
               "aws_access_key_id": "a", "aws_secret_access_key": "b"}  # fmt: skip
    frame = pl.scan_parquet(f"{store}/pages/**/*.parquet", storage_options=options, hive_partitioning=True).collect()
    assert sorted(frame["url"]) == sorted(table["url"].to_pylist())


# ---------------------------------------------------------------------- bad input


def test_a_bucket_that_cannot_be_used_is_told_in_one_sentence(folder: Path, store: str, s3: S3Server) -> None:
    with pytest.raises(
        GossamerError, match=r"^The bucket of s3://nowhere/x does not exist: create it, or name another"
    ):
        check_store("s3://nowhere/x")
    for fault, sentence in {
        Fault.DENIED: f"{store} may not be used with these credentials \\(403 AccessDenied\\): set AWS_ACCESS_KEY_ID",
        Fault.ELSEWHERE: f"The bucket of {store} is in another region .*: set AWS_REGION to that of the bucket.",
        Fault.AWAY: f"{store} cannot be reached .*: check the network and AWS_ENDPOINT_URL.",
    }.items():
        s3.fault = lambda _method, _path, fault=fault: fault  # type: ignore[misc]
        with pytest.raises(GossamerError, match=sentence) as refused:
            check_store(store)
        assert "AKIA" not in str(refused.value)


def test_a_prefix_that_may_only_be_read_is_refused_before_the_crawl_begins(
    folder: Path, store: str, s3: S3Server
) -> None:
    s3.fault = lambda method, _path: Fault.DENIED if method == "PUT" else None
    with pytest.raises(BucketError) as refused:
        claim(store, folder, IDENTITY, warn=print)
    assert refused.value.trouble is Trouble.NO_RIGHTS
    assert not (folder / "bucket.json").exists()


# ---------------------------------------------------------------------- what a query reads


def test_a_query_reads_what_its_columns_need(tmp_path: Path, store: str, s3: S3Server) -> None:
    folder = make_crawl(tmp_path / "data", sites="abcdefghij", part_rows=5)
    uploader(store, folder).upload()
    s3.asked.clear()
    said("query", "select sum(status) as n from pages", "--data-dir", store)
    gets = [asked for asked in s3.asked if asked.method == "GET"]
    assert not [asked for asked in gets if "/warc/" in asked.path or "/requests/" in asked.path], (
        "not what was asked for"
    )
    ranges = [asked.path for asked in gets if "/pages/" in asked.path]
    assert len(ranges) < 12 * len(set(ranges)), "the footer, and each column once"
    listings = [asked for asked in s3.asked if "list-type" in asked.path]
    assert len(listings) == 1, "by manifests and not by scanning"
