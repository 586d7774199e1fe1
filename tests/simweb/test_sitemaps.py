"""Sitemaps of the simulated web: every form, the robots.txt files that name them, and the expected crawl."""

from __future__ import annotations

import gzip
from xml.etree import ElementTree as ET

import pytest

from gossamer.urls import host_of, site_of
from gossamer_simweb import WebSpec, expected
from gossamer_simweb.hosts import split_url
from gossamer_simweb.plan import WebPlan
from gossamer_simweb.responses import Responder

SPEC = WebSpec(sites=24, pages=6, sitemaps=1.0, subdomains=0.7)


@pytest.fixture(scope="module")
def web() -> WebPlan:
    return WebPlan(SPEC)


def body_of(web: WebPlan, url: str) -> bytes:
    scheme, name, target = split_url(url)
    answer = Responder(web).respond(scheme, name, target)
    assert answer is not None
    assert answer.status == 200
    return answer.body


def test_a_web_without_sitemaps_does_not_change() -> None:
    before, after = WebPlan(WebSpec(sites=12, pages=6)), WebPlan(WebSpec(sites=12, pages=6, sitemaps=1.0))
    for number in range(12):
        assert before.site(number).sitemaps == {}
        assert before.site(number).by_url.items() <= after.site(number).by_url.items()
        name = before.hosts(number).main
        assert b"Sitemap" not in before.robots(name).text()
        assert after.robots(name).text().startswith(before.robots(name).text())


def test_every_form_is_there_and_can_be_read(web: WebPlan) -> None:
    sitemaps = [sitemap for number in range(SPEC.sites) for sitemap in web.site(number).sitemaps.values()]
    assert {sitemap.form for sitemap in sitemaps} == {"urlset", "index", "rss", "atom", "text"}
    for sitemap in sitemaps:
        body = body_of(web, sitemap.url)
        body = gzip.decompress(body) if sitemap.url.endswith(".gz") else body
        if sitemap.form == "text":
            found = body.decode().splitlines()
        else:
            found = [
                (element.text or element.get("href") or "").strip()
                for element in ET.fromstring(body).iter()
                if element.tag.rpartition("}")[2] in ("loc", "link")
            ]
        assert found == [*sitemap.entries, *sitemap.sitemaps]


def test_pages_that_only_sitemaps_list_are_expected_if_the_sitemap_may_list_them(web: WebPlan) -> None:
    plain = expected(web, web.seeds(), token=SPEC.token)
    found = expected(web, web.seeds(), token=SPEC.token, sitemaps=True)
    assert not any("/only/" in url for url in plain.depths)
    assert plain.visited < found.visited
    listed = {url for url in found.visited if "/only/" in url}
    assert all(web.find(url) is not None for url in listed)
    assert not any("stolen" in url for url in listed)
    for url in listed:
        named = web.robots(split_url(url)[1]).sitemaps
        maps = [one for number in range(SPEC.sites) for one in web.site(number).sitemaps.values() if url in one.entries]
        own = any(host_of(one.url) == host_of(url) for one in maps)
        assert own or any(site_of(name) in {site_of(one.url) for one in maps} for name in named), url
    second_subs = [hosts.subs[1] for hosts in map(web.hosts, range(SPEC.sites)) if len(hosts.subs) == 2]
    assert second_subs
    assert not any(split_url(url)[1] in second_subs for url in listed)


def test_sitemaps_are_as_deep_as_links_of_a_seed(web: WebPlan) -> None:
    found = expected(web, web.seeds(), token=SPEC.token, sitemaps=True)
    depths = {found.depths[url] for url in found.visited if url.endswith(("/index.xml", "/1.xml", "/feed.rss"))}
    assert depths == {1}
    shallow = expected(web, web.seeds(), token=SPEC.token, sitemaps=True, max_depth=0)
    assert not any("/maps/" in url or "sitemap" in url for url in shallow.visited)
