"""Patterns by which the operator includes and excludes URLs."""

from __future__ import annotations

import time

import pytest

from gossamer.rules.keeping import KeepingSettings, is_foreign
from gossamer.rules.scope import Exclusions, ScopeSettings, select_links
from gossamer.rules.url_patterns import UrlPatterns
from gossamer.urls import host_of, identify, normalise


def matches(pattern: str, url: str) -> bool:
    normal = normalise(url)
    assert isinstance(normal, str)
    return UrlPatterns((pattern,)).find(normal, host_of(normal)) == pattern


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("/blog/", "https://example.org/blog/2026?x=1", True),
        ("/blog/", "http://example.com:8080/blog/", True),
        ("/blog/", "https://example.org/de/blog/", False),
        ("/blog/", "https://example.org/Blog/", False),
        ("/blog/$", "https://example.org/blog/", True),
        ("/blog/$", "https://example.org/blog/a", False),
        ("/*/blog/", "https://example.org/de/blog/a", True),
        ("/*/blog/", "https://example.org/blog/a", False),
        ("/*?*print=", "https://example.org/a?b=1&print=1", True),
        ("/", "https://example.org/", True),
        ("*.pdf$", "https://example.org/a/b.pdf", True),
        ("*.pdf$", "https://example.org/a/b.pdf?page=2", False),
        ("*", "https://example.org/", True),
        ("*://*.example.org/", "https://www.example.org/a", True),
        ("*://*.example.org/", "https://example.org/a", False),
        ("https://example.org/blog/", "https://example.org/blog/a", True),
        ("https://example.org/blog/", "http://example.org/blog/a", False),
        ("https://example.org", "https://example.org/a", True),
        ("https://example.org", "https://example.org.evil.test/a", False),
        ("HTTPS://EXAMPLE.org:443/a", "https://example.org/a", True),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4", True),
        ("https://*.example.org/a", "https://www.example.org/a", True),
        ("/%7euser/", "https://example.org/~user/", True),
        ("/grün", "https://example.org/gr%C3%BCn", True),
    ],
)
def test_a_pattern_matches_what_begins_with_it(pattern: str, url: str, expected: bool) -> None:
    assert matches(pattern, url) is expected


@pytest.mark.parametrize("pattern", ["blog", "example.org/blog/", "ftp://example.org/", "https://", "https://a b/", ""])
def test_a_pattern_that_can_match_nothing_is_refused_with_advice(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"^include .* matches nothing.*: write it like "):
        ScopeSettings(include=(pattern,))
    with pytest.raises(ValueError, match=r"^exclude .* matches nothing.*: write it like "):
        ScopeSettings(exclude=(pattern,))


def test_no_pattern_is_costly() -> None:
    pattern = UrlPatterns(("*" + "a*" * 2_000 + "b$",))
    began_s = time.process_time()
    assert pattern.find("https://example.org/" + "a" * 100_000, "https://example.org") is None
    assert time.process_time() - began_s < 1


def test_links_have_to_match_an_include_pattern_and_none_that_excludes() -> None:
    links = [identify(f"https://example.org/{path}") for path in ("blog/a", "blog/a.pdf", "shop/a")]
    exclusions = Exclusions(patterns=UrlPatterns(("*.pdf$",)))
    include = UrlPatterns(("/blog/", "/nothing/"))
    found = select_links(links, depth=0, max_depth=None, exclusions=exclusions, include=include)
    assert [link.url for link in found] == ["https://example.org/blog/a"]
    assert (exclusions | Exclusions(names=frozenset({"a.test"}))).find(links[1].url, links[1].host) == "*.pdf$"


@pytest.mark.parametrize(
    ("language", "wanted", "foreign"),
    [("de", ("de", "en"), False), ("fr", ("de", "en"), True), ("", ("de",), False), ("fr", (), False)],
)
def test_a_page_is_foreign_if_it_declares_an_unwanted_language(
    language: str, wanted: tuple[str, ...], foreign: bool
) -> None:
    assert is_foreign(language, wanted) is foreign


@pytest.mark.parametrize("language", ["de-AT", "DE", "german", ""])
def test_languages_are_named_by_their_letters(language: str) -> None:
    with pytest.raises(ValueError, match="use two or three small letters"):
        KeepingSettings(languages=(language,))
