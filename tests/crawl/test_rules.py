"""Rules that change between two starts: what they admit, and what becomes of what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.crawl.exclusions import give_up_queued, readmit
from gossamer.crawl.folder import write_settings
from gossamer.crawl.rejudging import rejudge
from gossamer.crawl.rules import RULES_FILE, Judged, Rules, read_judged, rules_of, write_judged
from gossamer.crawl.settings import SECTIONS, Settings
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.records import Kind, Reason, Scope, UrlStatus
from gossamer.rules.scope import ScopeSettings
from tests.frontier.samples import link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gossamer.frontier import Frontier

WEB = Rules(scope=Scope.WEB)


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[SqliteFrontier]:
    with SqliteFrontier(tmp_path / "frontier.sqlite") as frontier:
        frontier.resume(delay_s=1)
        yield frontier


def settings(scope: ScopeSettings) -> Settings:
    return Settings(**{name: section() for name, section in SECTIONS.items()} | {"scope": scope})


def interrupt(_: str) -> None:
    """Let a start be cut off when it first has something to say."""
    raise KeyboardInterrupt


def start(frontier: Frontier, folder: Path, say: Callable[[str], None] | None = None, **scope: object) -> list[str]:
    """Let a start judge by these rules; return what it says."""
    chosen = ScopeSettings(**{"scope": Scope.WEB, **scope})  # type: ignore[arg-type]
    folder.mkdir(exist_ok=True)
    before = read_judged(folder, frontier)
    frontier.resume(delay_s=1, scope=chosen.scope)
    said: list[str] = []
    rejudge(frontier, folder, settings(chosen), before, say=say or said.append)
    return said


def queued(frontier: Frontier) -> set[str]:
    return {one.url.removeprefix("https://") for one in frontier.all_queued()}


@pytest.mark.parametrize(
    ("before", "now", "more", "less"),
    [
        (WEB, WEB, False, False),
        (WEB, Rules(scope=Scope.SITE), False, True),
        (Rules(scope=Scope.HOST), Rules(scope=Scope.SITE), True, False),
        (WEB, Rules(scope=Scope.WEB, max_depth=3), False, True),
        (Rules(scope=Scope.WEB, max_depth=1), Rules(scope=Scope.WEB, max_depth=3), True, False),
        (Rules(scope=Scope.WEB, max_depth=1), WEB, True, False),
        (WEB, Rules(scope=Scope.WEB, include=("/a",)), False, True),
        (Rules(scope=Scope.WEB, include=("/a",)), WEB, True, False),
        (Rules(scope=Scope.WEB, include=("/a",)), Rules(scope=Scope.WEB, include=("/a", "/b")), True, False),
        (Rules(scope=Scope.WEB, include=("/a",)), Rules(scope=Scope.WEB, include=("/b",)), True, True),
        (Rules(scope=Scope.WEB, exclude=("/a",)), Rules(scope=Scope.WEB, exclude=("/b",)), True, True),
        (WEB, Rules(scope=Scope.WEB, exclusions=("a.test",)), False, True),
        (Rules(scope=Scope.WEB, exclusions=("a.test",)), WEB, True, False),
        (WEB, Rules(scope=Scope.WEB, readmissions=2), True, False),
        (Rules(scope=Scope.SITE), Rules(scope=Scope.WEB, max_depth=2), True, True),
    ],
)
def test_rules_admit_more_or_less_than_others(before: Rules, now: Rules, more: bool, less: bool) -> None:
    assert now.admit_more_than(before) is more
    assert now.admit_less_than(before) is less


def test_only_the_deepest_pages_are_read_again_if_nothing_but_the_depth_grew() -> None:
    before = Rules(scope=Scope.WEB, max_depth=2)
    assert Rules(scope=Scope.WEB, max_depth=5).least_depth(before) == 2
    assert Rules(scope=Scope.WEB, max_depth=5, include=("/a",)).least_depth(before) == 0


def test_rules_are_kept_as_they_were(tmp_path: Path, frontier: SqliteFrontier) -> None:
    assert read_judged(tmp_path / "new", frontier) is None
    rules = Rules(scope=Scope.HOST, max_depth=2, include=("/ä",), exclude=("*.pdf$",), exclusions=("a.test",))
    judged = Judged(rules=rules, tried=(WEB, rules), reread=frozenset({"one", "two"}))
    write_judged(tmp_path, judged)
    assert read_judged(tmp_path, frontier) == judged


def test_narrower_rules_bar_what_is_queued_and_wider_ones_bring_it_back(
    tmp_path: Path, frontier: SqliteFrontier
) -> None:
    start(frontier, tmp_path)
    seed = link("a.test/seed", 0, seeded=True)
    all_urls = ["a.test/blog/1", "a.test/shop/1", "a.test/blog/1.pdf", "b.test/blog/1"]
    frontier.add([seed, *map(link, all_urls), link("a.test/blog/deep", 3)])
    everything = queued(frontier)
    said = start(frontier, tmp_path, scope=Scope.SITE, max_depth=2, include=("/blog/",), exclude=("*.pdf$",))
    assert said == ["The rules admit less than before: 4 queued URLs left out."]
    assert queued(frontier) == {"a.test/seed", "a.test/blog/1"}
    reasons = {one.url.removeprefix("https://"): reason for one, reason in frontier.barred()}
    assert reasons == {
        "a.test/shop/1": Reason.NOT_INCLUDED,
        "a.test/blog/1.pdf": Reason.EXCLUDED,
        "b.test/blog/1": Reason.OUT_OF_SCOPE,
        "a.test/blog/deep": Reason.TOO_DEEP,
    }
    assert dict(frontier.stats().given_up) == dict.fromkeys(reasons.values(), 1)
    assert start(frontier, tmp_path, scope=Scope.SITE, max_depth=2, include=("/blog/",), exclude=("*.pdf$",)) == []
    start(frontier, tmp_path, scope=Scope.SITE, max_depth=3, include=("/blog/",), exclude=("*.pdf$",))
    assert queued(frontier) == {"a.test/seed", "a.test/blog/1", "a.test/blog/deep"}
    start(frontier, tmp_path)
    assert queued(frontier) == everything
    assert frontier.audit() == []


def test_a_start_that_was_cut_off_is_made_up_for(tmp_path: Path, frontier: SqliteFrontier) -> None:
    start(frontier, tmp_path)
    frontier.add([link("a.test/", 0, seeded=True), link("b.test/x")])
    was = (tmp_path / RULES_FILE).read_text()
    start(frontier, tmp_path, scope=Scope.SITE)
    (tmp_path / RULES_FILE).write_text(was)  # it was barred, and then the machine stopped
    start(frontier, tmp_path, scope=Scope.SITE)
    assert queued(frontier) == {"a.test/"}
    was = (tmp_path / RULES_FILE).read_text()
    start(frontier, tmp_path)
    (tmp_path / RULES_FILE).write_text(was)
    start(frontier, tmp_path)
    assert queued(frontier) == {"a.test/", "b.test/x"}
    assert frontier.audit() == []


@pytest.mark.parametrize("first", [Scope.WEB, Scope.SITE])
def test_rules_of_a_start_that_was_cut_off_do_not_outlive_it(
    first: Scope, tmp_path: Path, frontier: SqliteFrontier
) -> None:
    start(frontier, tmp_path)
    frontier.add([link("a.test/", 0, seeded=True), link("b.test/x")])
    start(frontier, tmp_path, scope=first)
    expected = queued(frontier)
    for scope in (Scope.SITE, Scope.WEB, Scope.SITE):
        if scope is not first:
            with pytest.raises(KeyboardInterrupt):
                start(frontier, tmp_path, scope=scope, say=interrupt)
            assert queued(frontier) != expected, "it had begun"
        start(frontier, tmp_path, scope=first)
    assert queued(frontier) == expected
    assert frontier.audit() == []


def test_excluded_seeds_are_barred_and_seeds_need_no_pattern_that_includes_them(
    tmp_path: Path, frontier: SqliteFrontier
) -> None:
    start(frontier, tmp_path)
    frontier.add([link("a.test/", 0, seeded=True), link("b.test/private/", 0, seeded=True)])
    start(frontier, tmp_path, include=("/blog/",), exclude=("/private/",), max_depth=0)
    assert queued(frontier) == {"a.test/"}


def test_a_machine_that_joins_a_crawl_begun_elsewhere_judges_all_that_is_queued(
    tmp_path: Path, frontier: SqliteFrontier
) -> None:
    frontier.add([link("a.test/", 0, seeded=True), link("a.test/x"), link("b.test/x")])
    start(frontier, tmp_path / "new", scope=Scope.SITE)
    assert queued(frontier) == {"a.test/", "a.test/x"}


def test_sitemaps_need_no_pattern_that_includes_them(tmp_path: Path, frontier: SqliteFrontier) -> None:
    start(frontier, tmp_path)
    frontier.add([link("a.test/sitemap.xml")._replace(kind=Kind.SITEMAP), link("a.test/shop")])
    start(frontier, tmp_path, include=("/blog/",))
    assert queued(frontier) == {"a.test/sitemap.xml"}


def test_a_crawl_of_an_older_version_is_judged_by_the_settings_it_had(tmp_path: Path, frontier: SqliteFrontier) -> None:
    had = ScopeSettings(scope=Scope.WEB, exclude_file=tmp_path / "gone.txt")
    write_settings(tmp_path, settings(had))
    frontier.add([link("a.test/", 0, seeded=True), link("a.test/x"), link("b.test/x")])
    start(frontier, tmp_path, scope=Scope.SITE)
    assert queued(frontier) == {"a.test/", "a.test/x"}


def test_whole_sites_that_are_excluded_keep_their_queue(tmp_path: Path, frontier: SqliteFrontier) -> None:
    start(frontier, tmp_path)
    frontier.add([link("a.test/1"), link("www.b.test/1"), link("b.test/1")])
    frontier.exclude(["a.test", "www.b.test"])
    start(frontier, tmp_path)
    assert queued(frontier) == {"a.test/1", "b.test/1"}
    assert [one.url for one, _ in frontier.barred()] == ["https://www.b.test/1"]


def test_what_an_exclusion_barred_is_queued_again_when_it_is_taken_back(
    tmp_path: Path, frontier: SqliteFrontier
) -> None:
    start(frontier, tmp_path)
    frontier.add([link("a.test/x/1"), link("a.test/x/2", 4), link("a.test/y")])
    frontier.exclude(["https://a.test/x/"])
    start(frontier, tmp_path)
    assert queued(frontier) == {"a.test/y"}
    assert readmit(frontier, ["https://a.test/x/"], ScopeSettings(scope=Scope.WEB, max_depth=3)) == 1
    assert queued(frontier) == {"a.test/x/1", "a.test/y"}, "the other is too deep by now"
    rules = rules_of(frontier, ScopeSettings(scope=Scope.WEB))
    judged = read_judged(tmp_path, frontier)
    assert judged is not None
    assert judged.rules is not None
    assert rules.admit_more_than(judged.rules), "the next start reads links again"


def test_what_is_purged_does_not_come_back(tmp_path: Path, frontier: SqliteFrontier) -> None:
    start(frontier, tmp_path)
    frontier.add([link("a.test/x/1"), link("a.test/x/2")])
    entry = "https://a.test/x/"
    frontier.exclude([entry])
    start(frontier, tmp_path)
    frontier.add([link("a.test/x/3")])
    assert give_up_queued(frontier, [entry]) == 3
    assert readmit(frontier, [entry], ScopeSettings()) == 0
    assert queued(frontier) == set()
    state = frontier.find_url("a.test", link("a.test/x/3").url_hash)
    assert state is not None
    assert (state.status, state.reason) == (UrlStatus.GIVEN_UP, Reason.EXCLUDED)
    assert frontier.audit() == []
