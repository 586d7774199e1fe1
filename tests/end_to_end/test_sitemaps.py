"""Crawls that read sitemaps visit exactly what those may speak for, undisturbed or killed."""

from __future__ import annotations

import gzip
import random
import time
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer.crawl.engines import open_existing
from gossamer.records import Reason, RequestKind
from gossamer.store.reading import last_pages, requests
from gossamer_simweb import PlantedPage, PlantedRobots, WebSpec, plain_web
from tests.end_to_end.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer_simweb import Verdict

SITES = 12
DELAY_S = 0.1
SPEC = WebSpec(
    sites=SITES, pages=5, sitemaps=0.9, slow_s=0.05, crawl_delay_s=0.2, broken=0, subdomains=0.6, robots_missing=0.1
)
KILLS = 2
ON_DISK = pytest.mark.parametrize("frontier", [""])


def judge(crawl: Crawl, *, kills: tuple[float, ...] = (), **terms: object) -> Verdict:
    expected = simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer", sitemaps=True, **terms)  # type: ignore[arg-type]
    return simweb.judge(
        crawl.server.log(),
        delay_s=crawl.delay_s,
        expected=expected,
        allowed_repeats=len(kills) * len(crawl.seeds) * 3,
        kills=kills,
    )


def test_a_killed_crawl_with_sitemaps_visits_the_exact_set(tmp_path: Path, frontier: str) -> None:
    dice = random.Random(6)
    kills = []
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, frontier=frontier)
        for _ in range(KILLS):
            before = server.answered()
            with crawl.start("--sitemaps") as start:
                if not crawl.is_under_way(start, before + dice.randrange(1, 3 * SITES)):
                    break  # on a busy machine, more happens between two looks than we want
                kills.append(time.monotonic())
                start.kill_group()
        assert kills
        crawl.finish("--sitemaps")
        verdict = judge(crawl, kills=tuple(kills))
        assert verdict.ok, verdict.summary()


@ON_DISK
def test_a_crawl_with_sitemaps_visits_the_exact_set(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, frontier=frontier)
        crawl.finish("--sitemaps")
        verdict = judge(crawl)
        assert verdict.ok, verdict.summary()
        asked = {request.url for request in server.log()}
        for only in ("/only/1.html", "/only/abroad.html", "/only/guest.html", "/only/more.html"):
            assert any(url.endswith(only) for url in asked), only
        assert not any(url.endswith("/only/stolen.html") for url in asked)
        sitemaps = {row.url for row in requests(crawl.folder) if row.kind == RequestKind.SITEMAP}
        assert {url.rpartition("/")[2] for url in sitemaps} >= {
            *("sitemap.xml", "index.xml", "1.xml", "2.xml.gz", "3.txt", "more.xml", "feed.rss", "feed.atom"),
            *("urls.txt", "for-sub.xml"),
        }
        assert not sitemaps & {row.url for row in last_pages(crawl.folder)}
        assert run(["verify", "--data-dir", str(crawl.folder)]) == 0


@ON_DISK
def test_without_the_flag_no_sitemap_is_requested(tmp_path: Path, frontier: str) -> None:
    spec = plain_web(sites=2, pages=3, sitemaps=1.0)
    with simweb.serve(spec) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0, frontier=frontier)
        crawl.finish()
        verdict = crawl.judge()
        assert verdict.ok, verdict.summary()


XML = (("Content-Type", "application/xml"),)
ODD = (
    # By convention, and a page for everything: no robots.txt promised a sitemap.
    PlantedPage(host="soft.test"),
    PlantedPage(host="soft.test", path="/sitemap.xml", body=b"<html>Not found, with status 200"),
    # Named, and no sitemap; named, and disallowed; named, and there at the second try.
    PlantedPage(host="bad.test"),
    PlantedPage(host="bad.test", path="/map", body=b"<html>A page about maps"),
    PlantedPage(host="bad.test", path="/busy.xml", status=503, headers=XML),
    # Entities, and a bomb that also lists a page.
    PlantedPage(host="evil.test"),
    PlantedPage(host="evil.test", path="/laughs.xml", headers=XML, body=b"<!DOCTYPE x [<!ENTITY l 'ha'>]><urlset>&l;"),
    PlantedPage(
        host="evil.test", path="/bomb.xml.gz", headers=(("Content-Type", "application/gzip"),),
        body=gzip.compress(b"<urlset><url><loc>/found</loc></url>" + bytes(60_000_000), 1),
        links=("http://evil.test:{port}/found",),
    ),
    PlantedPage(host="evil.test", path="/found"),
    # What it lists is as deep as a link of the front page, and no deeper is gone.
    PlantedPage(host="deep.test"),
    PlantedPage(
        host="deep.test", path="/sitemap.xml", headers=XML,
        body=b"<urlset><url><loc>/one</loc></url></urlset>", links=("http://deep.test:{port}/one",),
    ),
    PlantedPage(host="deep.test", path="/one", body=b"<a href=/two>two</a>", links=("http://deep.test:{port}/two",)),
)  # fmt: skip
ODD_ROBOTS = (
    PlantedRobots(
        host="bad.test",
        rules=((False, "/private"),),
        sitemaps=(
            "http://bad.test:{port}/map",
            "http://bad.test:{port}/private.xml",
            "http://bad.test:{port}/busy.xml",
        ),
    ),
    PlantedRobots(
        host="evil.test", sitemaps=("http://evil.test:{port}/laughs.xml", "http://evil.test:{port}/bomb.xml.gz")
    ),
)


@ON_DISK
def test_what_is_odd_costs_nothing_but_itself(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(plain_web(sites=1, pages=1, planted=ODD, planted_robots=ODD_ROBOTS)) as server:
        seeds = [f"http://{name}.test:{server.port}/" for name in ("soft", "bad", "evil", "deep")]
        crawl = Crawl(server, tmp_path / "data", *seeds, delay_s=0, workers=1, frontier=frontier)
        crawl.finish("--sitemaps", "--max-depth", "1", "--set", "max_tries=1")
        verdict = judge(crawl, max_depth=1)
        assert verdict.ok, verdict.summary()
        with open_existing(crawl.folder) as opened:
            given_up = opened.stats().given_up
        assert given_up == {
            Reason.NO_SITEMAP: 2,  # of soft.test, and of the planned site
            Reason.BAD_SITEMAP: 2,
            Reason.ROBOTS_DISALLOWED: 1,
            Reason.HTTP_ERROR: 1,
        }
        assert "/two" not in {request.target for request in server.log()}


@ON_DISK
def test_what_a_site_calls_important_comes_first(tmp_path: Path, frontier: str) -> None:
    """Also in a sitemap that is handed in piece by piece; what the limit leaves over stays queued."""
    entries = "".join(f"<url><loc>/{n}</loc><priority>0.{n % 9}</priority></url>" for n in range(5_000))
    entries += "<url><loc>/first</loc><priority>1.0</priority></url>"
    pages = (
        PlantedPage(host="a.test"),
        PlantedPage(host="a.test", path="/sitemap.xml", headers=XML, body=f"<urlset>{entries}</urlset>".encode()),
        *(PlantedPage(host="a.test", path=f"/{n}", body=str(n).encode()) for n in ("first", *range(100))),
    )
    with simweb.serve(plain_web(sites=1, pages=1, planted=pages)) as server:
        crawl = Crawl(
            server, tmp_path / "data", f"http://a.test:{server.port}/", delay_s=0, workers=1, frontier=frontier
        )
        crawl.finish("--sitemaps", "--max-pages", "6")
        asked = [request.target for request in server.log() if "a.test" in request.host and request.kind == "page"]
        assert asked[:5] == ["/", "/sitemap.xml", "/first", "/8", "/17"]
        with open_existing(crawl.folder) as opened:
            stats = opened.stats()
        assert stats.known == 5_005
        assert stats.queued == 5_005 - stats.done - sum(stats.given_up.values())
