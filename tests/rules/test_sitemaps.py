"""Which sitemaps a host has, and for whom a sitemap may speak."""

from __future__ import annotations

import pytest

from gossamer.records import HostState
from gossamer.rules.robots import parse_robots
from gossamer.rules.sitemaps import (
    guess_sitemap,
    is_guess,
    is_same_host,
    names_any,
    on_behalf,
    sitemaps_of,
    submission_of,
)
from gossamer.urls import hash_url, identify

HOST = "https://example.org"
MAP = "https://example.org/map.xml"


def state(robots: str = "", *, host: str = HOST, failures: int = 0) -> HostState:
    return HostState(host=host, rules=parse_robots(robots.encode(), "Gossamer").to_text(), failures=failures)


def test_sitemaps_are_those_that_robots_names_resolved_and_each_once() -> None:
    named = state(
        "Sitemap: /map.xml\nUser-agent: *\nDisallow: /\nSitemap: HTTPS://EXAMPLE.org:443/map.xml\n"
        "sitemap: http://cdn.example.net/a.xml#top\nSitemap: mailto:me\nSitemap:\n"
    )
    assert [url.url for url in sitemaps_of(named)] == [MAP, "http://cdn.example.net/a.xml"]


@pytest.mark.parametrize(
    ("robots", "failures", "guess"),
    [
        ("", 0, HOST + "/sitemap.xml"),
        ("User-agent: *\nDisallow: /private", 0, HOST + "/sitemap.xml"),
        ("User-agent: *\nDisallow: /", 0, None),
        ("User-agent: *\nDisallow: /*.xml$", 0, None),
        ("Sitemap: /map.xml", 0, None),
        ("", 1, None),
    ],
)
def test_where_robots_names_none_it_is_looked_for_by_convention(robots: str, failures: int, guess: str | None) -> None:
    found = guess_sitemap(state(robots, failures=failures))
    assert (found and found.url) == guess


def test_a_guess_is_told_from_what_was_promised() -> None:
    assert is_guess(HOST + "/sitemap.xml", state())
    assert not is_guess(HOST + "/sitemap.xml", state("Sitemap: /sitemap.xml"))
    assert not is_guess(HOST + "/sitemap.xml", state("Sitemap: /map.xml"))
    assert not is_guess(MAP, state())
    assert not is_guess(HOST + "/sitemap.xml", None)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://example.org", "https://example.org", True),
        ("https://example.org", "http://example.org", True),
        ("https://[::1]", "http://[::1]", True),
        ("https://example.org", "https://www.example.org", False),
        ("https://example.org", "https://example.org:8443", False),
        ("https://example.org:8443", "http://example.org:8443", False),
        ("https://[::1]:81", "http://[::1]:81", False),
    ],
)
def test_a_host_is_the_same_under_http_and_https_but_not_on_another_port(one: str, other: str, same: bool) -> None:
    assert is_same_host(one, other) is same
    assert is_same_host(other, one) is same


def test_a_robots_file_names_a_sitemap_by_its_normalised_url() -> None:
    named = state("Sitemap: HTTPS://Example.ORG/map.xml#x")
    assert names_any(named, {hash_url(MAP)})
    assert not names_any(named, {hash_url(MAP + "?")})
    assert not names_any(state(), {hash_url(MAP)})


def test_what_is_read_on_behalf_of_a_host_is_another_row_of_the_same_site() -> None:
    plain = identify(MAP)
    once_more = on_behalf(plain, "https://shop.example.org")
    assert submission_of(once_more.url) == (MAP, "https://shop.example.org")
    assert once_more.url_hash != plain.url_hash
    assert once_more.url_hash != on_behalf(plain, "https://www.example.org").url_hash
    assert (once_more.site, once_more.host) == (plain.site, plain.host)
    assert submission_of(plain.url) == (MAP, "")
