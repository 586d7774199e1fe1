"""Reading what a crawl has stored, from a program."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

import pytest

import gossamer
from gossamer import GossamerError
from tests.inspect.crawls import CHARSET, HTML, Crawl

if TYPE_CHECKING:
    from pathlib import Path

URLS = [f"https://a.test/{number}" for number in range(4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A running crawl: some of its rows are in a part, some in a journal, and one URL came twice."""
    with Crawl(tmp_path / "a") as crawl:
        crawl.add(*URLS)
        crawl.run()
    crawl = Crawl(tmp_path / "a", worker="w2")
    crawl.keep(URLS[0])
    crawl.store.sync()
    crawl.crash()
    return crawl.folder


def test_pages_are_the_last_of_each_url(folder: Path) -> None:
    data = gossamer.open(folder)
    assert sorted(page.url for page in data.pages()) == URLS
    assert len(list(data.query("select url from pages"))) == len(URLS)
    page = next(iter(data.pages(f"url = '{URLS[1]}' -- and no other")))
    assert (page.url, page.title, page.lang, page.charset) == (URLS[1], "Größe", "de", CHARSET)
    assert page.html == HTML


def test_pages_are_read_again_each_time(folder: Path) -> None:
    pages = gossamer.open(folder).pages()
    assert len(list(pages)) == len(list(pages)) == len(URLS)
    assert len(list(islice(pages, 2))) == 2, "and need not be read to the end"


def test_pages_as_tables(folder: Path) -> None:
    data = gossamer.open(folder)
    columns = data.to_arrow().column_names
    assert {"url", "title", "text", "fetched_at", "duplicate_of"} <= set(columns)
    assert sorted(data.to_arrow()["url"].to_pylist()) == URLS
    pandas = data.pages("url <> ''").to_pandas()
    assert sorted(pandas["url"]) == URLS
    assert list(pandas.columns) == columns
    assert data.to_pandas().shape == pandas.shape
    polars = data.to_polars()
    assert sorted(polars["url"]) == URLS
    assert polars.columns == columns


def test_queries_give_rows_and_tables(folder: Path) -> None:
    data = gossamer.open(folder)
    answer = data.query("select site, count(*) as pages from pages group by site")
    assert list(answer) == [{"site": "a.test", "pages": len(URLS)}]
    assert answer.to_pandas()["pages"].sum() == len(URLS)
    with pytest.raises(GossamerError, match="did you mean url"):
        list(data.query("select ulr from pages"))
    with pytest.raises(GossamerError, match="only reads"):
        list(data.query("drop table pages"))


def test_several_folders_are_read_as_one(folder: Path, tmp_path: Path) -> None:
    with Crawl(tmp_path / "b") as crawl:
        crawl.add("https://b.test/1")
        crawl.run()
    pages = {page.url: page for page in gossamer.open(folder, str(crawl.folder)).pages()}
    assert sorted(pages) == [*URLS, "https://b.test/1"]
    assert pages["https://b.test/1"].html == HTML


def test_a_page_without_an_archive_has_no_source(tmp_path: Path) -> None:
    with Crawl(tmp_path / "a", warc=False) as crawl:
        crawl.add(URLS[0])
        crawl.run()
    page = next(iter(gossamer.open(crawl.folder).pages()))
    assert page.text
    with pytest.raises(GossamerError, match="without an archive record"):
        _ = page.html


def test_a_crawl_that_has_stored_nothing_yet_says_so(tmp_path: Path) -> None:
    with Crawl(tmp_path / "a") as crawl:
        data = gossamer.open(crawl.folder)
        with pytest.raises(GossamerError, match="Nothing is stored yet"):
            list(data.pages())
        crawl.add(URLS[0])
        crawl.run()
        assert [page.url for page in data.pages()] == URLS[:1]


def test_a_folder_without_a_crawl_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(GossamerError, match="No crawl in"):
        gossamer.open(tmp_path)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    data = gossamer.open(folder)
    with pytest.raises(GossamerError, match=f"pip install {library}"):
        getattr(data, f"to_{library}")()


def test_pages_are_streamed(tmp_path: Path) -> None:
    with Crawl(tmp_path / "a", part_rows=1_000_000) as crawl:
        for number in range(1_000):
            crawl.keep(f"https://a.test/{number}")
    sizes = [batch.num_rows for batch in gossamer.open(crawl.folder).pages().batches()]
    assert sum(sizes) == 1_000
    assert max(sizes) <= 200
