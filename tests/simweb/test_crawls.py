"""The judge on real crawls: it finds no fault in a correct crawler, and finds every fault of a faulty one."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gossamer_simweb import Verdict, WebSpec, expected, judge, serve
from tests.simweb.naive import MISDEEDS, NaiveCrawler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb import WebServer
    from gossamer_simweb.expected import Scope

DELAY_S = 0.02
EVERYTHING = WebSpec(slow_s=0.05, crawl_delay_s=0.06)
# The features that the faults need, in few pages.
TEMPTING = WebSpec(
    sites=4, pages=12, seed=3, private=0.15, unlinked=0.1, broken=0.1, busy=0, redirect=0.1,
    crawl_delay=1.0, crawl_delay_s=0.06, slow=0, robots_missing=0, moved=0, www=1.0, flaky=0,
)  # fmt: skip


def crawl(server: WebServer, seeds: list[str], scope: Scope = "site", misdeed: str = "") -> NaiveCrawler:
    async def run() -> NaiveCrawler:
        crawler = NaiveCrawler(server, seeds, scope=scope, delay_s=DELAY_S, misdeed=misdeed)
        async with asyncio.timeout(60):
            await crawler.run()
        return crawler

    return asyncio.run(run())


def verdict_on(server: WebServer, seeds: list[str], scope: Scope = "site") -> Verdict:
    should = expected(server.web, seeds, scope=scope, token="gossamer")
    return judge(server.log(), delay_s=DELAY_S, expected=should)


@pytest.mark.parametrize("spec", [EVERYTHING, replace(EVERYTHING, tls=True, seed=2)], ids=["http", "https"])
def test_the_judge_finds_no_fault_in_a_correct_crawl_of_a_web_with_every_feature(spec: WebSpec) -> None:
    with serve(spec) as server:
        seeds = server.seeds()
        crawler = crawl(server, seeds)
        verdict = verdict_on(server, seeds)
        assert verdict.ok, verdict.summary()
        assert verdict.visited > 350
        for url, body in crawler.bodies.items():
            assert hashlib.sha1(body).hexdigest() == server.payload_digest(url, "gzip, br, zstd")


@pytest.mark.parametrize(("scope", "seeds"), [("host", 20), ("web", 1)])
def test_the_judge_finds_no_fault_in_a_correct_crawl_in_any_scope(scope: Scope, seeds: int) -> None:
    with serve(replace(EVERYTHING, pages=10, busy=0)) as server:
        crawl(server, server.seeds(seeds), scope)
        verdict = verdict_on(server, server.seeds(seeds), scope)
        assert verdict.ok, verdict.summary()
        assert verdict.visited > 100


FINDINGS = {
    "hurry": "early",
    "hurry within turns": "early",
    "overlap": "early",
    "ignore Crawl-delay": "early",
    "ignore robots.txt": "disallowed",
    "skip robots.txt": "before_robots",
    "ask robots.txt again": "repeated_robots",
    "forget a page": "missed",
    "repeat a page": "repeated",
    "insist": "repeated",
    "follow nofollow": "unexpected",
    "leave the scope": "unexpected",
    "use a wrong address": "unexpected",
}


CRAWLS = 20  # on a busy machine, a crawler that hurries may be late by chance


@pytest.fixture(scope="module")
def tempting() -> Iterator[WebServer]:
    with serve(TEMPTING) as server:
        yield server


@pytest.mark.parametrize("misdeed", ["", *sorted(MISDEEDS - {"ignore Retry-After"})])
def test_the_judge_finds_every_fault(tempting: WebServer, misdeed: str) -> None:
    seeds = tempting.seeds(3)
    should = expected(tempting.web, seeds, token="gossamer")
    for _ in range(CRAWLS if misdeed else 1):
        before = len(tempting.log())
        crawl(tempting, seeds, misdeed=misdeed)
        verdict = judge(tempting.log()[before:], delay_s=DELAY_S, expected=should)
        if not verdict.ok:
            break
    if misdeed:
        assert getattr(verdict, FINDINGS[misdeed]), verdict.summary()
        assert not verdict.ok
    else:
        assert verdict.ok, verdict.summary()


def test_the_judge_finds_a_crawler_that_ignores_retry_after() -> None:
    with serve(replace(TEMPTING, busy=0.2)) as server:
        crawl(server, server.seeds(1), misdeed="ignore Retry-After")
        assert max(early.needed_s for early in verdict_on(server, server.seeds(1)).early) > 0.5
