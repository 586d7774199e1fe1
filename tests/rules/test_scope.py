"""How far a crawl goes, and whom it leaves alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.sitemaps import rank_of
from gossamer.rules.scope import FOREIGN_RANK, BadLine, Exclusions, Scope, ScopeSettings, rank_from, select_links
from gossamer.urls import host_of, identify, normalise


def exclusions(*lines: str) -> Exclusions:
    found, bad = Exclusions.parse(lines)
    assert not bad
    return found


def find(found: Exclusions, url: str) -> str | None:
    normal = normalise(url)
    assert isinstance(normal, str)
    return found.find(normal, host_of(normal))


@pytest.mark.parametrize(
    ("entry", "url", "decides"),
    [
        ("example.org", "https://example.org/", "example.org"),
        ("example.org", "http://example.org:8080/x", "example.org"),
        ("example.org", "https://www.example.org/", "example.org"),
        ("example.org", "https://a.b.c.example.org/", "example.org"),
        ("example.org", "https://notexample.org/", None),
        ("example.org", "https://example.org.evil.test/", None),
        ("example.org", "https://example.net/", None),
        ("EXAMPLE.org.", "https://example.org/", "example.org"),
        ("blog.example.org", "https://blog.example.org/", "blog.example.org"),
        ("blog.example.org", "https://a.blog.example.org/", "blog.example.org"),
        ("blog.example.org", "https://example.org/", None),
        ("blog.example.org", "https://myblog.example.org/", None),
        ("*.example.org", "https://www.example.org/", "*.example.org"),
        ("*.example.org", "https://a.b.example.org/", "*.example.org"),
        ("*.example.org", "https://example.org/", None),
        ("gov", "https://www.nasa.gov/", "gov"),
        ("*.co.uk", "https://example.co.uk/", "*.co.uk"),
        ("bücher.example", "https://www.xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("192.0.2.1", "http://192.0.2.1:8080/", "192.0.2.1"),
        ("192.0.2.1", "http://1.192.0.2.1.example.org/", None),
        ("2.1", "http://192.0.2.1/", None),
        ("2001:db8::1", "http://[2001:db8::1]/", "2001:db8::1"),
        ("[2001:DB8:0::1]", "http://[2001:db8::1]:8080/", "2001:db8::1"),
        ("::1", "http://[::1]/", "::1"),
        ("localhost", "http://localhost/", "localhost"),
        ("https://example.org/private/", "https://example.org/private/", "https://example.org/private/"),
        ("https://example.org/private/", "https://example.org/private/x?y", "https://example.org/private/"),
        ("https://example.org/private/", "https://example.org/private", None),
        ("https://example.org/private/", "https://example.org/Private/", None),
        ("https://example.org/private/", "http://example.org/private/", None),
        ("https://example.org/private/", "https://www.example.org/private/", None),
        ("https://example.org/priv", "https://example.org/private", "https://example.org/priv"),
        ("https://EXAMPLE.org:443/%7Ejoe", "https://example.org/~joe/x", "https://example.org/~joe"),
        ("https://example.org", "https://example.org/x", "https://example.org/"),
        ("https://example.org", "http://example.org/x", None),
        ("http://example.org:8080/", "http://example.org:8080/x", "http://example.org:8080/"),
        ("http://example.org:8080/", "http://example.org/x", None),
        ("https://example.org/?lang=", "https://example.org/?lang=de", "https://example.org/?lang="),
    ],
)
def test_an_entry_excludes_what_it_names_and_nothing_else(entry: str, url: str, decides: str | None) -> None:
    assert find(exclusions(entry), url) == decides


def test_the_entry_that_decides_is_named_among_many() -> None:
    found = exclusions("a.test", "*.b.test", "https://c.test/x", "https://c.test/y", "https://c.test/y", "a.test")
    assert find(found, "https://www.a.test/") == "a.test"
    assert find(found, "https://www.b.test/") == "*.b.test"
    assert find(found, "https://c.test/y/z") == "https://c.test/y"
    assert find(found, "https://c.test/z") is None


def test_comments_and_empty_lines_are_skipped() -> None:
    found = exclusions("\ufeffa.test", "", "   ", "# nobody", "  b.test  # asked us to\r\n", "https://c.test/x#why")
    assert find(found, "https://a.test/") == "a.test"
    assert find(found, "https://b.test/") == "b.test"
    assert find(found, "https://c.test/x") == "https://c.test/x"


@pytest.mark.parametrize(
    "line",
    [
        "example.org/private",  # a path needs a scheme: a name alone would exclude too much, a guess too little
        "example.org:8080",
        "*",
        "*.",
        "*example.org",
        "www.*.org",
        "*.*.org",
        ".example.org",
        "ftp://example.org/",
        "https://user@example.org/",
        "user@example.org",
        "two words",
        "https://",
        "example.org?x",
        "[::1]:80",
        "mailto:someone@example.org",
    ],
)
def test_a_line_that_excludes_nothing_is_reported_with_its_number(line: str) -> None:
    found, bad = Exclusions.parse(["a.test", line, "b.test"])
    assert [(entry.line, entry.text) for entry in bad] == [(2, line)]
    assert bad[0].reason
    assert found == exclusions("a.test", "b.test")


def test_a_very_long_line_is_reported_shortened() -> None:
    _, bad = Exclusions.parse(["x" * 100_000])
    assert isinstance(bad[0], BadLine)
    assert len(bad[0].text) == 200


@given(st.lists(st.text()))
def test_any_lines_are_read(lines: list[str]) -> None:
    found, _ = Exclusions.parse(lines)
    find(found, "https://www.example.org/")


def test_exclusions_are_true_if_there_are_any() -> None:
    assert not Exclusions()
    assert not exclusions("# none")
    assert all(exclusions(line) for line in ("a.test", "*.a.test", "https://a.test/x"))


names = st.lists(st.sampled_from(["a", "b", "aa"]), min_size=1, max_size=4).map(lambda labels: ".".join(labels) + ".x")


@given(st.lists(names), st.lists(names), names)
def test_names_agree_with_the_plain_rule(excluded: list[str], parents: list[str], name: str) -> None:
    found = exclusions(*excluded, *("*." + parent for parent in parents))
    expected = any(name == entry or name.endswith("." + entry) for entry in excluded) or any(
        name.endswith("." + parent) for parent in parents
    )
    assert (find(found, f"https://{name}/") is not None) is expected


LINKS = [identify(url) for url in ("https://a.test/", "https://www.b.test/x", "https://c.test/private/1")]


@pytest.mark.parametrize(
    ("depth", "max_depth", "kept"), [(0, None, 3), (99, None, 3), (0, 0, 0), (0, 1, 3), (1, 1, 0), (1, 2, 3), (5, 2, 0)]
)
def test_links_are_followed_down_to_the_greatest_depth(depth: int, max_depth: int | None, kept: int) -> None:
    found = select_links(LINKS, depth=depth, max_depth=max_depth, exclusions=Exclusions())
    assert found == LINKS[:kept]


def test_a_sites_own_links_come_before_those_of_other_sites() -> None:
    assert rank_from("a.test", "a.test", 3) == 3
    assert rank_from("a.test", "b.test", 3) == FOREIGN_RANK > rank_of(0.0, 0.0, 1e9), (
        "and so do all entries of sitemaps"
    )
    assert rank_from("a.test", "b.test", FOREIGN_RANK + 1) == FOREIGN_RANK + 1


def test_links_that_are_excluded_are_left_out() -> None:
    found = select_links(
        LINKS, depth=0, max_depth=None, exclusions=exclusions("b.test", "https://c.test/private/", "d.test")
    )
    assert found == LINKS[:1]


def test_by_default_a_crawl_stays_on_its_sites_to_any_depth() -> None:
    assert ScopeSettings() == ScopeSettings(scope=Scope.SITE, max_depth=None, exclude_file=None)


def test_a_url_is_judged_in_microseconds_whatever_the_length_of_the_list() -> None:
    many = exclusions(*(f"site-{number}.test" for number in range(20_000)), "https://c.test/private/")
    url, host = "https://www.some.example.org/articles/1", "https://www.some.example.org"
    begun = time.process_time()
    for _ in range(10_000):
        many.find(url, host)
    assert time.process_time() - begun < 0.2  # 20 µs each: ten times what it takes


def test_two_lists_exclude_together_what_each_excludes() -> None:
    both = exclusions("a.test", "https://b.test/x") | exclusions("*.c.test", "https://b.test/y", "https://d.test/")
    assert both == exclusions("a.test", "*.c.test", "https://b.test/x", "https://b.test/y", "https://d.test/")
