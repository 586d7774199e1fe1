"""`gossamer exclude` changes the list that workers hear, refuses nonsense, and purges what was excluded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.cli import run
from gossamer.crawl.exclusions import apply_exclusions
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Reason
from gossamer.rules.scope import Exclusions
from gossamer.wording import count
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

QUEUED = [
    "https://a.test/", "https://www.a.test/1", "https://www.a.test/private/1", "https://b.test/x", "https://b.test/private",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl that has stored a page of each of two sites, and has more of both queued."""
    with Crawl(tmp_path / "crawl") as crawl:
        crawl.add("https://a.test/stored", "https://b.test/stored")
        crawl.run()
        crawl.add(*QUEUED)
    return crawl.folder


def exclude(folder: Path, *arguments: str) -> int:
    return run(["exclude", *arguments, "--data-dir", str(folder)])


def listed(folder: Path) -> frozenset[str]:
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        return frontier.exclusions()


def queued(folder: Path) -> set[str]:
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        assert frontier.audit() == []
        return {url for site in ("a.test", "b.test") for url, _ in frontier.queued(site)}


def test_entries_are_kept_in_their_one_spelling_and_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exclude(folder, "A.Test", "*.b.TEST", "HTTPS://b.test:443/private") == 0
    assert capsys.readouterr().out == ("Excluded: a.test, *.b.test, https://b.test/private; no crawl is running.\n")
    assert listed(folder) == {"a.test", "*.b.test", "https://b.test/private"}
    assert exclude(folder, "--list") == 0
    assert capsys.readouterr().out.splitlines() == ["*.b.test", "a.test", "https://b.test/private"]


def test_what_is_removed_goes_on_where_it_was(folder: Path) -> None:
    assert exclude(folder, "a.test") == 0
    with Crawl(folder, worker="w2") as crawl:
        crawl.run()
    assert queued(folder) == {url for url in QUEUED if "a.test" in url}
    assert exclude(folder, "a.test", "--remove") == 0
    assert listed(folder) == frozenset()
    with Crawl(folder, worker="w3") as crawl:
        crawl.run()
    assert queued(folder) == set()


@pytest.mark.parametrize(
    ("entry", "left", "stored"),
    [
        ("a.test", {"https://b.test/x", "https://b.test/private"}, ["https://a.test/stored"]),
        ("*.a.test", {"https://a.test/", "https://b.test/x", "https://b.test/private"}, []),
        ("https://www.a.test/private/", set(QUEUED) - {"https://www.a.test/private/1"}, []),
        ("https://b.test/", {url for url in QUEUED if "a.test" in url}, ["https://b.test/stored"]),
    ],
)
def test_a_purge_empties_the_queue_and_lists_stored_pages(
    folder: Path, entry: str, left: set[str], stored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exclude(folder, entry, "--purge") == 0
    gone = len(QUEUED) - len(left)
    said = f"{count(gone, 'queued URL')} given up; {count(len(stored), 'stored page')} listed in"
    assert said in capsys.readouterr().out
    assert queued(folder) == left
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        assert frontier.stats().given_up == {Reason.EXCLUDED: gone}
    head, *rows = (folder / "purged-pages.tsv").read_text().splitlines()
    assert head == "url\twarc_file\twarc_offset\twarc_length"
    assert [row.split("\t")[0] for row in rows] == stored
    for row in rows:
        _, file, offset, length = row.split("\t")
        assert int(offset) + int(length) <= (folder / "warc" / file).stat().st_size


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["two words"], "'two words' excludes nothing (not a valid URL): name a domain"),
        (["example.org/private"], "'example.org/private' excludes nothing"),
        (["https://example.org/*.pdf"], "write no star in it"),
        (["ftp://example.org/"], "neither http nor https"),
        ([""], "'' excludes nothing"),
        ([], "Name what to exclude, or to --remove or --purge, or use --list alone."),
        (["a.test", "--list"], "use --list alone"),
        (["--remove"], "Name what to exclude"),
        (["a.test", "--remove", "--purge"], "Name what to exclude"),
        (["a.test", "--remove"], "a.test is not on the list of exclusions: --list prints that list."),
    ],
)
def test_nonsense_is_refused_in_one_sentence(
    folder: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exclude(folder, *arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert listed(folder) == frozenset()


def test_what_the_exclusion_file_names_is_listed_as_such_and_removed_only_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder.parent / "exclude.txt"
    file.write_text("b.test\n*.c.test\nhttps://d.test/x\n")
    (folder / "crawl.toml").write_text(f'exclude_file = "{file}"\n')
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        apply_exclusions(frontier, folder, Exclusions.parse(file.read_text().splitlines())[0])
    exclude(folder, "a.test")
    capsys.readouterr()
    assert exclude(folder, "--list") == 0
    assert capsys.readouterr().out.splitlines() == [
        "*.c.test  (exclusion file)", "a.test", "b.test  (exclusion file)", "https://d.test/x  (exclusion file)",
    ]  # fmt: skip
    for entry in ("b.test", "*.c.test", "https://d.test/x"):
        assert exclude(folder, entry, "--remove") == 2
        assert f"{entry} stands in the crawl's exclusion file" in capsys.readouterr().err
