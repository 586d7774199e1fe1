"""A crawl whose disk rots in one place resumes, restores what was lost, and tells what it could not restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.store.frames import HEADER_BYTES
from gossamer.store.quarantine import read_quarantine
from gossamer.store.reading import pages
from gossamer_simweb import WebSpec
from tests.end_to_end.crawls import Crawl, said, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DELAY_S = 0.3


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    with simweb.serve(WebSpec(sites=3, pages=6, seed=5, slow=0, busy=0, crawl_delay=0, broken=0)) as server:
        yield Crawl(server, tmp_path / "data", delay_s=DELAY_S, workers=1)


def journal_of(crawl: Crawl, table: str) -> Path:
    (found,) = (crawl.folder / "journal").glob(f"{table}-*")
    return found


def kill_with_pages(crawl: Crawl, *flags: str) -> list[str]:
    """Start a crawl, and kill it when it has stored some pages; return their URLs."""
    with crawl.start(*flags) as start:
        wait_until(lambda: crawl.folder.is_dir() and len(list(pages(crawl.folder))) > 4, "pages")
        start.kill_group()
    return [page.url for page in pages(crawl.folder)]


def flip_in_first_frame(journal: Path) -> None:
    data = bytearray(journal.read_bytes())
    data[HEADER_BYTES + 100] ^= 4
    journal.write_bytes(data)


def assert_all_stored(crawl: Crawl, stored: list[str]) -> None:
    verdict = crawl.judge(allowed_repeats=100, kills=[0.0])
    assert not verdict.missed, verdict.summary()
    assert set(stored) <= {page.url for page in pages(crawl.folder)}


def test_rows_of_a_rotten_journal_are_restored_from_the_archives(crawl: Crawl) -> None:
    stored = kill_with_pages(crawl)
    before = {page.url: page for page in pages(crawl.folder)}
    journal = journal_of(crawl, "pages")
    flip_in_first_frame(journal)
    assert f"journal/{journal.name}: damaged journal: bytes 0 to" in said(
        "verify", "--data-dir", str(crawl.folder), status=1
    )
    printed = crawl.finish()
    assert "restored from archives, 0 pages queued again." in printed
    assert_all_stored(crawl, stored)
    (quarantined,) = read_quarantine(crawl.folder)
    assert quarantined.restored
    assert not quarantined.missing
    after = {page.url: page for page in pages(crawl.folder)}
    assert {
        url: after[url] for url in stored if after[url].fetched_at == before[url].fetched_at
    }.items() <= before.items()
    assert "was damaged" in said("verify", "--data-dir", str(crawl.folder))
    assert "damage" not in said("status", "--data-dir", str(crawl.folder))
    assert journal.name in crawl.log


def test_pages_without_an_archive_are_fetched_again(crawl: Crawl) -> None:
    stored = kill_with_pages(crawl, "--no-warc")
    flip_in_first_frame(journal_of(crawl, "pages"))
    printed = crawl.finish("--no-warc")
    assert "0 rows restored from archives, " in printed
    assert "queued again." in printed
    assert_all_stored(crawl, stored)
    said("verify", "--data-dir", str(crawl.folder))


def test_rows_that_nothing_can_restore_are_counted(crawl: Crawl) -> None:
    kill_with_pages(crawl)
    flip_in_first_frame(journal_of(crawl, "requests"))
    crawl.finish()
    found = said("verify", "--data-dir", str(crawl.folder), status=1)
    assert "lost rows: bytes 0 to" in found
    assert "cannot be restored" in found
    assert "damage" in said("status", "--data-dir", str(crawl.folder))


def test_small_files_that_rot_are_named_and_written_again(crawl: Crawl) -> None:
    crawl.finish()
    for name in ("rules.json", "frontier.json", "delays.tsv"):
        data = bytearray((crawl.folder / name).read_bytes())
        data[len(data) // 2] ^= 1
        (crawl.folder / name).write_bytes(data)
    found = said("verify", "--data-dir", str(crawl.folder), status=1)
    assert all(name in found for name in ("rules.json", "frontier.json", "delays.tsv"))
    crawl.finish()
    said("verify", "--data-dir", str(crawl.folder))


def test_a_damaged_frontier_is_told_in_one_sentence(crawl: Crawl) -> None:
    crawl.finish()
    file = crawl.folder / "frontier.sqlite"
    data = file.read_bytes()
    for start in (0, 4096):
        file.write_bytes(data[:start] + b"\xcc" * 2_000 + data[start + 2_000 :])
        for command in ("status", "verify", "crawl"):
            arguments = ["--email", "a@b.test"] if command == "crawl" else []
            found = said(command, "--data-dir", str(crawl.folder), *arguments, status=2)
            assert "frontier" in found
            assert found.count("\n") <= 2
