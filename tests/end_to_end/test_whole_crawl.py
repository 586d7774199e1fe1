"""A whole crawl of a web with everything in it, judged by the server's log; then what it left on the disk."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.store.checking import check
from gossamer.store.reading import find_record, last_pages, requests
from gossamer.store.scanning import Record, scan
from gossamer_simweb import WebSpec
from tests.end_to_end.crawls import Crawl
from tests.frontier.postgres_server import new_database
from tests.store.samples import refusals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENCODINGS = "gzip, deflate, br"  # what the crawler asks for


@pytest.fixture(scope="module", params=["plain", "tls", "postgres"])
def crawl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A crawl that has run to its end, with two workers."""
    spec = WebSpec(sites=16, pages=16, slow_s=0.1, crawl_delay_s=0.5, tls=request.param == "tls")
    with simweb.serve(spec) as server:
        frontier = new_database() if request.param == "postgres" else ""
        finished = Crawl(server, tmp_path_factory.mktemp("crawl") / "data", delay_s=0.2, frontier=frontier)
        said = finished.finish()
        assert "16 sites / 0.2 s = at most" in said.splitlines()[0]
        assert "Gossamer/" in said.splitlines()[1]
        assert "Nothing is left to fetch" in said
        yield finished


def test_the_server_has_nothing_to_complain_about(crawl: Crawl) -> None:
    verdict = crawl.judge()
    assert verdict.ok, verdict.summary()
    assert verdict.visited > 200


def test_both_workers_had_their_share(crawl: Crawl) -> None:
    asked = [row.worker for row in requests(crawl.folder)]
    assert sorted(set(asked)) == ["w1", "w2"]
    assert min(map(asked.count, ("w1", "w2"))) > len(asked) / 10


def test_other_programs_accept_the_archives(crawl: Crawl) -> None:
    segments = sorted((crawl.folder / "warc").glob("*.warc.gz"))
    assert segments
    for segment in segments:
        assert refusals(segment) == {}


def test_nothing_is_torn_and_every_row_has_its_record(crawl: Crawl) -> None:
    checked = check(crawl.folder)
    assert checked.problems == []
    assert checked.pages > 150
    assert checked.requests == len(crawl.server.log())
    assert list((crawl.folder / "journal").iterdir()) == []


def test_every_page_is_stored_exactly_as_the_server_sent_it(crawl: Crawl) -> None:
    rows = list(last_pages(crawl.folder))
    assert len(rows) > 150
    for row in rows:
        assert row.status == 200
        sent = bytes.fromhex(crawl.server.payload_digest(row.url, ENCODINGS))
        assert row.payload_digest == f"sha1:{base64.b32encode(sent).decode()}", row.url


def test_every_robots_txt_that_was_answered_is_archived_apart(crawl: Crawl) -> None:
    asked = sorted(row.url for row in requests(crawl.folder) if row.kind == "robots" and row.status)
    segments = (crawl.folder / "warc").glob("gossamer-robots-*.warc.gz")
    records = [each for segment in segments for each in scan(segment) if isinstance(each, Record)]
    assert sorted(each.headers["warc-target-uri"] for each in records if each.is_answer) == asked
    assert len(asked) >= 16
    others = (crawl.folder / "warc").glob("gossamer-2*.cdxj")
    assert not [line for index in others for line in index.read_text().splitlines() if "/robots.txt " in line]


def test_the_index_leads_to_the_right_records(crawl: Crawl) -> None:
    lines = [line for index in (crawl.folder / "warc").glob("*.cdxj") for line in index.read_text().splitlines()]
    assert len(lines) > 200
    for line in lines:
        entry = json.loads(line.split(" ", 2)[2])
        record = find_record(crawl.folder, entry["filename"], int(entry["offset"]))
        assert record.headers["warc-type"] == "response"
        assert record.headers["warc-target-uri"] == entry["url"]
        assert record.headers["warc-payload-digest"] == entry["digest"]
        assert record.length == int(entry["length"])


def test_the_folder_holds_the_settings_that_were_given(crawl: Crawl, tmp_path: Path) -> None:
    text = (crawl.folder / "crawl.toml").read_text()
    assert "\ndelay = 0.2\n" in text
    assert '\nemail = "tests@example.org"\n' in text
    assert '\nallow_network = ["127.0.0.0/8"]\n' in text
