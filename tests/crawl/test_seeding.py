"""Seeds on their way into the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.crawl.exclusions import apply_exclusions
from gossamer.crawl.seeding import CHUNK_LINES, Seeding, Seeds, load_all
from gossamer.errors import GossamerError
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.rules.scope import Exclusions
from gossamer.urls import identify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[SqliteFrontier]:
    with SqliteFrontier(tmp_path / "frontier.sqlite") as opened:
        opened.resume(delay_s=1)
        opened.join("test")
        yield opened


def load(frontier: SqliteFrontier, *sources: str | Path) -> tuple[list[tuple[int, int]], list[str]]:
    """Load seeds; return how progress was shown, and what was warned of."""
    shown: list[tuple[int, int]] = []
    warned: list[str] = []

    def show(done: Seeding, total_lines: int) -> None:
        shown.append((done.lines, total_lines))

    load_all(frontier, Seeds(sources), show=show, warn=warned.append)
    return shown, warned


def test_seeds_come_from_arguments_and_files(frontier: SqliteFrontier, tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("example.com\nhttps://example.net/a\n")
    load(frontier, "example.org", file)
    assert frontier.stats().known == 3
    for url in ("https://example.org/", "https://example.com/", "https://example.net/a"):
        named = identify(url)
        assert frontier.known(named.site, named.url_hash)
    site = frontier.find_site("example.net")
    assert site is not None
    assert site.seeded


def test_a_file_that_was_loaded_is_not_read_again_unless_it_has_changed(
    frontier: SqliteFrontier, tmp_path: Path
) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("example.org\n")
    assert load(frontier, file)[0] == [(1, 1)]
    assert load(frontier, file)[0] == []
    file.write_text("example.org\nexample.com\n")
    assert load(frontier, file)[0] == [(2, 2)]
    assert frontier.stats().known == 2


def test_progress_is_shown_after_every_small_transaction(frontier: SqliteFrontier, tmp_path: Path) -> None:
    lines = 2 * CHUNK_LINES + 1
    file = tmp_path / "seeds.txt"
    file.write_text("".join(f"https://example.org/{number}\n" for number in range(lines)))
    shown, _ = load(frontier, file)
    assert shown == [(CHUNK_LINES, lines), (2 * CHUNK_LINES, lines), (lines, lines)]


def test_a_wrong_argument_is_a_mistake_but_a_wrong_line_is_not(frontier: SqliteFrontier, tmp_path: Path) -> None:
    with pytest.raises(GossamerError, match="is no seed"):
        Seeds(["mailto:you@example.org"])
    file = tmp_path / "seeds.txt"
    file.write_text("mailto:you@example.org\nexample.org\n")
    _, warned = load(frontier, file)
    assert warned == [f"{file}, line 1: 'mailto:you@example.org' is no seed (neither http nor https); it is left out"]
    assert frontier.stats().known == 1


def test_sites_that_leave_the_exclusion_file_are_readmitted(frontier: SqliteFrontier, tmp_path: Path) -> None:
    load(frontier, "example.org", "example.com")

    def excluded() -> list[bool]:
        sites = [frontier.find_site(name) for name in ("example.org", "example.com")]
        return [site.excluded for site in sites if site is not None]

    apply_exclusions(frontier, tmp_path, Exclusions(names=frozenset({"example.org", "www.example.com"})))
    assert excluded() == [True, False], "a host is no site"
    apply_exclusions(frontier, tmp_path, Exclusions(names=frozenset({"example.com"})))
    assert excluded() == [False, True]
    apply_exclusions(frontier, tmp_path, Exclusions())
    assert excluded() == [False, False]


def test_what_was_excluded_by_other_means_stays_so(frontier: SqliteFrontier, tmp_path: Path) -> None:
    load(frontier, "example.org")
    frontier.exclude(["example.org"])
    apply_exclusions(frontier, tmp_path, Exclusions())
    site = frontier.find_site("example.org")
    assert site is not None
    assert site.excluded
