"""A crawl whose files go to a bucket that fails: in the end the bucket has what an undisturbed crawl has."""

from __future__ import annotations

import json
import random
import signal
import time
import urllib.request
from typing import TYPE_CHECKING

import pytest

import gossamer
import gossamer_simweb as simweb
from gossamer.bucket.paths import readable
from gossamer.bucket.uploading import closed_files
from gossamer.store.checking import check
from gossamer_simweb import WebSpec
from tests.bucket.conftest import running_s3, s3, store
from tests.bucket.s3_server import Fault, S3Server
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.ports import free_port

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["running_s3", "s3", "store"]  # fixtures

SPEC = WebSpec(sites=6, pages=6, broken=0, slow_s=0.05)
SHORT_LIVED = ("--set", "part_age=1", "--set", "segment_size=1MB")  # so that files are closed while the crawl runs
KILLS = 3


def _pages(*folders: str) -> dict[str, str]:
    """Return the digest of each page's payload, by URL."""
    return {row["url"]: row["payload_digest"] for row in gossamer.open(*folders).query("select * from pages")}


def _digests(crawl: Crawl) -> dict[str, str]:
    """Return what the pages of a web are, independent of the crawl under test."""
    crawl.finish()
    return _pages(str(crawl.folder))


def test_a_bucket_that_fails_and_kills_change_nothing(store: str, s3: S3Server, tmp_path: Path) -> None:
    dice, kills = random.Random(3), []
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1)
        faults = [Fault.BUSY, Fault.CUT, Fault.LOST_ANSWER, Fault.SLOW]
        s3.fault = lambda method, _path: dice.choice(faults) if method == "PUT" and dice.random() < 0.2 else None
        for number in range(KILLS):
            before = server.answered()
            with crawl.start("--store", store, *SHORT_LIVED) as start:
                if not crawl.is_under_way(start, before + dice.randrange(4, 12)):
                    break
                if number == KILLS - 1:
                    s3.fault = lambda _method, _path: Fault.AWAY
                time.sleep(dice.uniform(0, 0.3))  # not to wait for anything: this is the random instant
                kills.append(time.monotonic())
                start.kill_group()
        assert len(kills) > 1
        with crawl.start() as start:  # the bucket is away, and the crawl goes on
            wait_until(lambda: "cannot be uploaded and stay here" in crawl.log, "the log to say so")
            wait_until(lambda: "cannot be reached" in _status(crawl)["uploads"], "the status to say so")
            wait_until(lambda: bool(closed_files(crawl.folder)), "files that stay")
            s3.fault = lambda _method, _path: None
            start.end()
        verdict = crawl.judge(allowed_repeats=len(kills) * 18, kills=kills)
        assert verdict.ok, verdict.summary()
        undisturbed = _digests(Crawl(server, tmp_path / "undisturbed", delay_s=0.1))
    assert _pages(store) == undisturbed
    assert said("verify", "--data-dir", str(crawl.folder), "--data-dir", store).endswith("No problems.\n")
    assert said("verify", "--data-dir", store).endswith("No problems.\n")
    assert [problem for folder in readable(store) for problem in check(folder).problems] == []
    assert not list((crawl.folder / "warc").iterdir())
    _assert_no_secret(crawl.folder)


def _status(crawl: Crawl) -> dict[str, str]:
    return dict(json.loads(said("status", "--data-dir", str(crawl.folder), "--json")))


def _assert_no_secret(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            assert b"a-very-secret-key" not in path.read_bytes(), path
            assert b"AKIAEXAMPLEKEY" not in path.read_bytes(), path


def test_metrics_tell_how_uploads_go(store: str, s3: S3Server, tmp_path: Path) -> None:
    port = free_port()

    def metric(name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            found = [line for line in answer.read().decode().splitlines() if line.startswith(name)]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.2)
        with crawl.start("--store", store, "--metrics", str(port), *SHORT_LIVED) as start:
            wait_until(lambda: metric_or_0(metric, "gossamer_uploaded_files_total") > 0, "the first upload")
            s3.fault = lambda _method, _path: Fault.BUSY
            wait_until(lambda: metric("gossamer_upload_failures_total") > 0, "the first failure")
            wait_until(lambda: metric("gossamer_upload_waiting_files") > 0, "files that wait")
            wait_until(lambda: metric("gossamer_upload_failing_seconds") > 0, "the failure to last")
            start.signal(signal.SIGTERM)
            assert "Stopped" in start.end()
            assert closed_files(crawl.folder), "what was not uploaded stays"
        s3.fault = lambda _method, _path: None
        assert "finished file" in said("status", "--data-dir", str(crawl.folder))
        assert f"uploaded to {store}.\n" in crawl.finish()
        assert not list((crawl.folder / "pages").iterdir())
        assert "nothing is left to upload" in said("status", "--data-dir", str(crawl.folder))


def metric_or_0(metric: object, name: str) -> float:
    try:
        return float(metric(name))  # type: ignore[operator]
    except OSError:
        return 0.0


@pytest.mark.parametrize("kind", ["scheme", "bucket", "rights", "region", "other crawl"])
def test_a_store_that_cannot_be_used_is_refused_before_anything_is_fetched(
    kind: str, store: str, s3: S3Server, tmp_path: Path
) -> None:
    address, sentence = {
        "scheme": ("ftp://somewhere", "is not a place to store files"),
        "bucket": ("s3://no-such-bucket/x", "does not exist"),
        "rights": (store, "may not be used with these credentials"),
        "region": (store, "is in another region"),
        "other crawl": (store, "holds another crawl"),
    }[kind]
    faults = {"rights": Fault.DENIED, "region": Fault.ELSEWHERE}
    if kind == "other crawl":
        from gossamer.bucket.address import parse_address
        from gossamer.bucket.manifests import CRAWL_KEY, encode_crawl
        from gossamer.bucket.objects import Bucket

        Bucket(parse_address(store)).create(CRAWL_KEY, encode_crawl("another"))
    s3.fault = lambda _method, _path: faults.get(kind)
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1)
        with crawl.start("--store", address) as start:
            told = start.end(status=2)
        assert sentence in told
        assert len(told.strip().splitlines()) == 1
        assert server.answered() == 0


def test_a_crawl_from_python_uploads_too(store: str, s3: S3Server, tmp_path: Path) -> None:
    with simweb.serve(SPEC) as server:
        with gossamer.Crawl(
            server.seeds(), data_dir=tmp_path / "data", email="tests@example.org", delay=0.1, store=store,
            nameserver=server.dns, allow_network=[server.network],
        ) as crawl:  # fmt: skip
            pages = {page.url for page in crawl}
        assert pages
    assert set(_pages(store)) == pages
    assert not list((tmp_path / "data" / "pages").iterdir())
