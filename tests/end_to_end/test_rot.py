"""A crawl whose disk rots in one place resumes, restores what was lost, and tells what it could not restore."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.crawl.engines import change_existing, open_existing
from gossamer.crawl.folder import read_settings
from gossamer.crawl.restoring import restore
from gossamer.store.journals import HEADER_BYTES
from gossamer.store.quarantine import read_quarantine
from gossamer.store.reading import links, pages
from gossamer.store.repair import repair
from gossamer.wording import count
from gossamer_simweb import WebSpec
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.records import LinkRow

DELAY_S = 0.3
WEB = WebSpec(sites=3, pages=6, seed=5, slow=0, busy=0, crawl_delay=0, broken=0)


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    with simweb.serve(WEB) as server:
        yield Crawl(server, tmp_path / "data", delay_s=DELAY_S, workers=1)


def journal_in(folder: Path, table: str) -> Path:
    (found,) = (folder / "journal").glob(f"{table}-*")
    return found


def kill_with_pages(crawl: Crawl, *flags: str) -> list[str]:
    """Start a crawl, and kill it when it has stored some pages; return their URLs."""
    with crawl.start(*flags) as start:
        wait_until(lambda: crawl.folder.is_dir() and len(list(pages(crawl.folder))) > 4, "pages")
        with open_existing(crawl.folder) as frontier:
            wait_until(lambda: frontier.stats().pages > 2, "pages that are done")
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
    journal = journal_in(crawl.folder, "pages")
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
    flip_in_first_frame(journal_in(crawl.folder, "pages"))
    printed = crawl.finish("--no-warc")
    assert "0 rows restored from archives, " in printed
    assert "queued again." in printed
    assert_all_stored(crawl, stored)
    said("verify", "--data-dir", str(crawl.folder))


def restored(folder: Path) -> list[str]:
    """Repair a folder and restore its rows, as a start does; return what that says."""
    sentences: list[str] = []
    doubtful = repair(folder).doubtful
    with change_existing(folder) as frontier:
        restore(frontier, folder, read_settings(folder), doubtful=doubtful, say=sentences.append)
    return sentences


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl that keeps links and was killed."""
    folder = tmp_path_factory.mktemp("killed")
    with simweb.serve(WEB) as server:
        kill_with_pages(Crawl(server, folder / "data", delay_s=DELAY_S, workers=1), "--links")
    return folder / "data"


@pytest.fixture
def copied(killed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(killed, tmp_path / "data")


def test_pages_are_fetched_again_also_if_other_machines_share_the_frontier(tmp_path: Path) -> None:
    with simweb.serve(WEB) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, workers=1, frontier=new_database())
        kill_with_pages(crawl, "--no-warc")
    lost = len(list(pages(crawl.folder)))
    flip_in_first_frame(journal_in(crawl.folder, "pages"))
    lost -= len(list(pages(crawl.folder)))
    with open_existing(crawl.folder) as frontier:
        before = frontier.stats()
    (sentence,) = restored(crawl.folder)
    assert f"0 rows restored from archives, {count(lost, 'page')} queued again." in sentence
    with open_existing(crawl.folder) as frontier:
        assert frontier.stats().pages == before.pages - lost


def test_rows_that_nothing_can_restore_are_counted(copied: Path) -> None:
    flip_in_first_frame(journal_in(copied, "requests"))
    flip_in_first_frame(journal_in(copied, "pages"))
    (sentence,) = restored(copied)
    assert "Not all rows of 1 file can be restored" in sentence
    found = said("verify", "--data-dir", str(copied), status=1)
    assert "lost rows: bytes 0 to" in found
    assert "cannot be restored" in found
    assert "damage" in said("status", "--data-dir", str(copied))


def assert_links_are_whole(folder: Path, kept: list[LinkRow]) -> None:
    """Check that each page that has a row has the links that it had. A page that is not done may have lost its row."""
    stored = {(page.url_hash, page.fetched_at) for page in pages(folder)}
    before = {(row.from_hash, row.fetched_at) for row in kept} & stored
    assert before
    for rows in (kept, found := list(links(folder))):
        rows[:] = sorted(row for row in rows if (row.from_hash, row.fetched_at) in before)
    assert found == kept


@pytest.mark.parametrize("rotten", [("links",), ("pages",), ("links", "pages")])
def test_lost_links_are_restored_from_the_archives_and_none_is_there_twice(
    copied: Path, rotten: tuple[str, ...]
) -> None:
    kept = list(links(copied))
    for table in rotten:
        flip_in_first_frame(journal_in(copied, table))
    assert (len(list(links(copied))) < len(kept)) == ("links" in rotten)
    (sentence,) = restored(copied)
    assert ": 0 rows" not in sentence
    assert_links_are_whole(copied, kept)
    assert len(read_quarantine(copied)) == len(rotten)
    assert "was damaged" in said("verify", "--data-dir", str(copied))
    assert restored(copied) == []


def test_links_whose_frame_was_cut_off_at_the_end_are_restored(copied: Path) -> None:
    kept = list(links(copied))
    journal = journal_in(copied, "links")
    journal.write_bytes(journal.read_bytes()[: HEADER_BYTES + 100])
    assert not list(links(copied))
    assert f"journal/{journal.name}: no row in links: " in said("verify", "--data-dir", str(copied), status=1)
    restored(copied)
    assert_links_are_whole(copied, kept)
    said("verify", "--data-dir", str(copied))


def test_links_of_a_page_whose_archive_record_is_lost_too_are_counted(copied: Path) -> None:
    flip_in_first_frame(journal_in(copied, "links"))
    for segment in (copied / "warc").iterdir():
        segment.unlink()
    (sentence,) = restored(copied)
    assert "Not all rows of 1 file can be restored" in sentence
    assert "cannot be restored" in said("verify", "--data-dir", str(copied), status=1)


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
