"""The plan of a simulated web, and the pages made from it."""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter

import pytest
from turbohtml import parse

from gossamer.urls import normalise, site_of
from gossamer_simweb import WebPlan, WebSpec, plain_web
from gossamer_simweb.hosts import split_url
from gossamer_simweb.links import planned_links
from gossamer_simweb.plan import WITH_LINKS, PageKind, PlannedPage
from gossamer_simweb.render import render
from gossamer_simweb.responses import Responder
from tests.simweb.naive import Links

SPECS = [WebSpec(sites=30, pages=30), WebSpec(sites=30, pages=30, tls=True, seed=7)]


def all_pages(web: WebPlan) -> list[PlannedPage]:
    return [page for number in range(web.spec.sites) for page in web.site(number).by_url.values()]


def text_of(web: WebPlan, page: PlannedPage) -> str:
    """Decode a page as its header or its meta element says."""
    kind, data = render(web, page)
    declared = re.search(r"charset=([\w-]+)", kind) or re.search(r'charset="([\w-]+)"', data[:500].decode("latin-1"))
    assert declared is not None
    return data.decode(declared[1])


def test_the_same_seed_gives_the_same_web_whatever_was_asked_before() -> None:
    first, second = WebPlan(WebSpec(sites=9, pages=9)), WebPlan(WebSpec(sites=9, pages=9))
    pages = all_pages(first)
    assert [second.find(page.url) for page in reversed(pages)] == pages[::-1]
    assert [render(first, page) for page in pages] == [render(second, page) for page in pages]
    assert [p.url for p in all_pages(WebPlan(WebSpec(sites=9, pages=9, seed=2)))] != [p.url for p in pages]


@pytest.mark.parametrize("spec", SPECS)
def test_every_url_is_normalised_and_on_a_test_domain(spec: WebSpec) -> None:
    web = WebPlan(spec)
    for page in all_pages(web):
        for url in filter(None, (page.url, page.leads_to)):
            assert normalise(url) == url
            assert re.fullmatch(r"[a-z]+-\d+\.test", site_of(url))


@pytest.mark.parametrize("spec", SPECS)
def test_every_link_means_what_the_plan_says_however_it_is_spelled(spec: WebSpec) -> None:
    web = WebPlan(spec)
    spellings = Counter[str]()
    for page in all_pages(web):
        if page.kind not in WITH_LINKS:
            continue
        parser = Links(page.url)
        parser.feed(text_of(web, page))
        meant = [(target.url, target.follow) for target in planned_links(web, page)]
        found = []
        for href, follow in parser.found:
            url = normalise(href, parser.base)
            if isinstance(url, str) and href != "#top":
                found.append((url, follow and not parser.nofollow))
                spellings["relative" if not href.strip().startswith(("http", "/")) else href.strip()[:5]] += 1
        assert Counter(found) == Counter(meant)
    assert spellings["relative"] > 50


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_default_web_has_every_feature(seed: int) -> None:
    web = WebPlan(WebSpec(seed=seed))
    pages = all_pages(web)
    assert {page.kind for page in pages} == set(PageKind) - {PageKind.PLANTED, PageKind.SITEMAP}
    assert {page.status for page in pages} >= {200, 301, 302, 303, 307, 308, 404, 500}
    hosts = [web.hosts(number) for number in range(web.spec.sites)]
    assert any(h.subs for h in hosts)
    assert any(h.alias == h.bare for h in hosts)
    assert any(h.moved_to is not None for h in hosts)
    robots = [web.robots(name) for h in hosts for name in (h.main, *h.subs)]
    assert {r.status for r in robots} == {200, 404}
    assert any(r.moved for r in robots)
    assert any(r.crawl_delay_s for r in robots)
    assert any(len(r.groups) == 3 for r in robots)
    bodies = [render(web, page) for page in pages]
    assert {"text/plain; charset=utf-8", "image/png", "text/html"} <= {body.content_type for body in bodies}
    for charset in ("iso-8859-1", "windows-1252", "shift_jis"):
        assert any(charset in body.content_type or charset.encode() in body.data[:200] for body in bodies)


def test_a_plain_web_has_ordinary_pages_only() -> None:
    web = WebPlan(plain_web(sites=20, pages=20))
    assert {page.kind for page in all_pages(web)} == {PageKind.PAGE}
    assert {web.robots(web.hosts(number).main).crawl_delay_s for number in range(20)} == {None}


def test_every_page_can_be_reached_from_its_front_page_by_links_that_every_crawler_may_follow() -> None:
    web = WebPlan(WebSpec(sites=20, pages=40))
    for number in range(web.spec.sites):
        site = web.site(number)
        met = {site.numbered[0].url}
        queue = list(met)
        while queue:
            page = web.find(queue.pop())
            assert page is not None
            ways = [t.url for t in planned_links(web, page) if t.follow] if page.leads_to is None else [page.leads_to]
            for url in ways:
                if (
                    url not in met
                    and url in site.by_url
                    and not split_url(url)[2].startswith(("/private/", "/members/"))
                ):
                    met.add(url)
                    queue.append(url)
        assert not [url for url in met if site.by_url[url].kind is PageKind.UNLINKED or "/secret/" in url]
        unreached = {page.kind for url, page in site.by_url.items() if url not in met and "/secret/" not in url}
        hidden = {PageKind.UNLINKED, PageKind.PRIVATE, PageKind.MEMBERS}
        assert unreached <= hidden | {PageKind.PAGE}
        plain = [u for u, p in site.by_url.items() if u not in met and p.kind is PageKind.PAGE]
        assert all(split_url(url)[2].startswith(("/secret/", "/private/")) for url in plain)


def test_redirects_take_at_most_four_hops_within_a_site_unless_they_never_end() -> None:
    web = WebPlan(WebSpec(sites=40, pages=40))
    longest = 0
    for page in all_pages(web):
        hops, seen, at = 0, set(), page
        while at.leads_to is not None and at.url not in seen and site_of(at.leads_to) == site_of(page.url):
            seen.add(at.url)
            hops += 1
            found = web.find(at.leads_to)
            assert found is not None
            at = found
        longest = max(longest, hops)
    assert longest == 4


@pytest.mark.parametrize(("profile", "median", "mean"), [("small", 10_000, 12_800), ("large", 138_000, 242_000)])
def test_sizes_are_log_normal_as_the_profile_says(profile: str, median: int, mean: int) -> None:
    web = WebPlan(plain_web(sites=40, pages=25, profile=profile))
    sizes = [len(render(web, page).data) for page in all_pages(web)]
    assert statistics.median(sizes) == pytest.approx(median, rel=0.12)
    assert statistics.mean(sizes) == pytest.approx(mean, rel=0.15)


def test_popularity_follows_a_power_law() -> None:
    web = WebPlan(plain_web(sites=300, pages=5))
    popularity = Counter(site_of(t.url) for page in all_pages(web) for t in planned_links(web, page))
    across = sorted(popularity.values(), reverse=True)
    assert across[0] > 3 * across[150]
    lengths = [len(planned_links(web, page)) for page in all_pages(web)]
    assert max(lengths) > 3 * statistics.median(lengths)


def test_the_main_text_of_a_page_is_its_article() -> None:
    web = WebPlan(plain_web(sites=1, pages=3))
    page = web.site(0).numbered[1]
    document = parse(render(web, page).data, encoding="utf-8")
    article = document.select("article")[0].text
    main = document.main_text()
    words = set(re.findall(r"\w{6,}", main))
    assert len(words) > 50
    assert len(words & set(re.findall(r"\w{6,}", article))) / len(words) > 0.95


def test_a_vast_web_costs_nothing_until_it_is_looked_at() -> None:
    started = time.process_time()
    web = WebPlan(WebSpec(sites=20_000, pages=20))
    for number in range(0, 20_000, 200):
        web.site(number)
    assert time.process_time() - started < 1.0
    assert len({web.hosts(number).bare for number in range(20_000)}) == 20_000
    addresses = {web.address(web.hosts(number).main) for number in range(20_000)}
    assert len(addresses) == 20_000


def test_names_that_only_look_like_ours_do_not_exist() -> None:
    web = WebPlan(WebSpec(sites=20, pages=2))
    real = web.hosts(3).main
    assert web.address(real) is not None
    word = "amber" if "amber" not in real else "basil"
    for name in ("x." + real, f"{word}-3.test", f"{word}-20.test", "amber-03.test", "test", "example.org", ""):
        assert web.address(name) is None


def test_shares_that_leave_no_room_for_ordinary_pages_are_refused() -> None:
    with pytest.raises(ValueError, match="ordinary"):
        WebSpec(slow=0.5, missing=0.5)


def test_some_robots_txt_files_are_on_other_sites() -> None:
    web = WebPlan(WebSpec(sites=60, robots_elsewhere=0.4))
    ways = {
        name: web.robots(name).elsewhere for site in range(60) for name in (web.hosts(site).main, *web.hosts(site).subs)
    }
    away = {name: urls for name, urls in ways.items() if urls}
    assert len(away) > len(ways) / 4
    assert {len(urls) for urls in away.values()} == {1, 2}
    for name, urls in away.items():
        own = web.site_number(name)
        assert all(web.site_number(split_url(url)[1]) not in (None, own) for url in urls)
        assert all(web.hosts(web.site_number(split_url(url)[1]) or 0).moved_to is None for url in urls)
    shared = [name for name, urls in away.items() if split_url(urls[-1])[2] in ("/robots.txt", "/policy/robots.txt")]
    assert 0 < len(shared) < len(away) / 2
    for name in shared:
        theirs = web.robots(split_url(away[name][-1])[1])
        assert (web.robots(name).groups, web.robots(name).crawl_delay_s) == (theirs.groups, theirs.crawl_delay_s)
    assert not any(WebPlan(WebSpec(sites=60)).robots(name).elsewhere for name in away)


def test_a_robots_txt_on_another_site_is_served_there_hop_by_hop() -> None:
    web = WebPlan(WebSpec(sites=60, robots_elsewhere=0.4))
    responder = Responder(web)
    for site in range(60):
        name = web.hosts(site).main
        robots = web.robots(name)
        url, way = web.origin(name) + "/robots.txt", []
        answer = responder.respond(*split_url(url))
        while answer is not None and answer.leads_to:
            assert answer.kind == "robots"
            way.append(answer.leads_to)
            answer = responder.respond(*split_url(answer.leads_to))
        assert answer is not None
        assert answer.status == robots.status
        if robots.elsewhere:
            assert tuple(way) == robots.elsewhere
        if answer.status == 200:
            assert answer.body == robots.text()
            assert answer.wait_s == (robots.crawl_delay_s or 0)
    stray = responder.respond("http", web.hosts(0).main, "/policy/nobody-7.test/robots.txt")
    assert stray is not None
    assert (stray.status, stray.kind) == (404, "page")
