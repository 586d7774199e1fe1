"""Traps of the simulated web: the URL determines a page, pages never end, and the judge counts them."""

from __future__ import annotations

import re

import pytest

from gossamer.urls import host_of, normalise
from gossamer_simweb import LoggedRequest, WebPlan, expected, judge, plain_web
from gossamer_simweb.hosts import split_url
from gossamer_simweb.responses import Responder
from gossamer_simweb.traps import TRAPS, trap_site

WEB = WebPlan(plain_web(sites=2, pages=3, traps=2, tls=True))
ENDLESS = TRAPS.keys() - {"filters"}  # its filters have 4,096 combinations


def following(responder: Responder, url: str) -> list[str]:
    """Return the links of a trap's page, as a crawler finds them."""
    scheme, name, target = split_url(url)
    answer = responder.respond(scheme, name, target)
    assert answer is not None
    assert answer.kind == "trap"
    hrefs = re.findall('href="([^"]+)"', answer.body.decode().replace("&amp;", "&"))
    found = [normalise(href, url) for href in hrefs]
    return [answer.leads_to] if answer.leads_to else [one for one in found if isinstance(one, str)]


@pytest.mark.parametrize("kind", TRAPS)
def test_each_trap_is_endless_and_the_same_for_every_client(kind: str) -> None:
    answers, others = Responder(WEB), Responder(WEB)
    seen: dict[str, None] = {}
    url = f"{WEB.origin(trap_site(kind, 1))}/"
    for _ in range(20):
        seen[url] = None
        links = following(answers, url)
        assert following(others, url) == links
        assert all(WEB.trap(split_url(link)[1]) == kind and WEB.address(split_url(link)[1]) for link in links)
        url = next((link for link in links if link not in seen), "")
        if not url:
            break
    assert len(seen) == (20 if kind in ENDLESS else 1 + 12)


def test_traps_are_among_the_seeds_and_no_crawler_is_expected_to_visit_them() -> None:
    seeds = WEB.seeds()
    assert sum("-trap-" in seed for seed in seeds) == 2 * len(TRAPS)
    visited = expected(WEB, seeds, token="x").visited
    assert visited
    assert not any("-trap-" in url for url in visited)


def test_a_web_without_traps_has_no_such_names() -> None:
    assert WebPlan(plain_web()).address(trap_site("same", 0)) is None
    assert WEB.address(trap_site("same", 2)) is None
    assert WEB.address(f"0badcafe.{trap_site('flood', 0)}") is not None
    assert WEB.address(f"0badcafe.{trap_site('same', 0)}") is None


def test_more_pages_than_the_bound_are_a_fault_and_fewer_are_not() -> None:
    log = []
    for number, path in enumerate(("/robots.txt", "/", "/item/1", "/item/2")):
        url = f"{WEB.origin(trap_site('same', 0))}{path}"
        kind = "robots" if number == 0 else "trap"
        host = host_of(url).partition("//")[2]
        log.append(LoggedRequest(number, number, kind, "GET", "https", host, path, 200, 9, "", 0.0, False, "x", url))
    verdict = judge(log, delay_s=0, expected=None, trap_bounds={"same": 2})
    assert not verdict.ok
    assert "same-trap-0.test (pages: 3, at most 2)" in verdict.summary()
    assert judge(log, delay_s=0, expected=None, trap_bounds={"same": 3}).ok
    assert judge(log, delay_s=0, expected=None).trap_pages == {"same-trap-0.test": 3}


def test_a_trap_page_requested_before_its_robots_txt_is_a_fault() -> None:
    url = f"{WEB.origin(trap_site('same', 0))}/"
    log = [LoggedRequest(0, 0, "trap", "GET", "https", split_url(url)[1], "/", 200, 9, "", 0.0, False, "x", url)]
    assert judge(log, delay_s=0, expected=None).before_robots == (url,)
