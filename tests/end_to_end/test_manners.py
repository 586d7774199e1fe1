"""A crawl does as sites and operator wish beyond robots.txt: pace, consent, canonical pages."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import gossamer
import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.metrics import snapshot
from gossamer.records import Reason
from gossamer.rules.robots import MAX_DELAY_S
from gossamer.store.reading import last_pages
from gossamer.urls import identify, site_of
from gossamer_simweb import plain_web
from gossamer_simweb.spec import PlantedPage, PlantedRobots
from tests.api.conftest import terms_for
from tests.end_to_end.crawls import Crawl
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.records import PageRow
    from gossamer_simweb import WebServer

HTML = ("Content-Type", "text/html; charset=utf-8")
DELAY_S = 0.2
NO_TRAINING = ("Content-Signal", "ai-train=no")


def page(
    host: str, path: str, head: str = "", *headers: tuple[str, str], links: str = "", delay_s: float = 0
) -> PlantedPage:
    anchors = "".join(f"<a href={link}>{link}</a> " for link in links.split())
    body = f"<title>{path}</title>{head}<p>This is the page {path} of {host}.</p>{anchors}"
    return PlantedPage(host=host, path=path, headers=(HTML, *headers), body=body.encode(), delay_s=delay_s)


def canonical(path: str) -> str:
    return f"<link rel=canonical href={path}>"


def moved(host: str, path: str, to: str) -> PlantedPage:
    return PlantedPage(host=host, path=path, status=301, headers=(HTML, ("Location", to)))


ROBOTS = b"User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: /free train-ai=y\nCrawl-delay: 0\n"
WEB = plain_web(
    sites=1,
    pages=1,
    planted=(
        page("given.test", "/", links="/1 /2"), page("given.test", "/1"), page("given.test", "/2"),
        page("slow.test", "/", links="/1 /2", delay_s=0.1), page("slow.test", "/1", delay_s=0.1),
        page("slow.test", "/2", delay_s=0.1),
        page("signal.test", "/", links="/header /meta /tdm /image /other /free"),
        page("signal.test", "/header", "", NO_TRAINING),
        page("signal.test", "/meta", "<meta name=robots content=noai>"),
        page("signal.test", "/tdm", "", ("TDM-Reservation", "1")),
        page("signal.test", "/image", "<meta name=robots content=noimageai>"),
        page("signal.test", "/other", "", ("X-Robots-Tag", "otherbot: noai")), page("signal.test", "/free"),
        page("reserved.test", "/"), PlantedPage(host="reserved.test", path="/robots.txt", body=ROBOTS),
        page("canon.test", "/", links="/a?x=1 /left /self /gone /away /slash /one", head=canonical("/")),
        page("canon.test", "/a?x=1", canonical("/a")), page("canon.test", "/a", canonical("/a")),
        page("canon.test", "/left", canonical("/right")), page("canon.test", "/right", canonical("/left")),
        page("canon.test", "/self", canonical("/self#top")),
        page("canon.test", "/gone", canonical("/forbidden")), page("canon.test", "/forbidden"),
        page("canon.test", "/away", canonical("https://elsewhere.test/")),
        page("canon.test", "/slash", canonical("/slash/")), moved("canon.test", "/slash/", "/slash"),
        page("canon.test", "/one", canonical("/two")), page("canon.test", "/two", canonical("/three")),
        page("canon.test", "/three", canonical("/one")),
    ),
    planted_robots=(PlantedRobots(host="canon.test", rules=((False, "/forbidden"),)),),
)  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def crawl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A crawl of all of it, as the operator has it who minds the most."""
    frontier = new_database() if request.param == "postgres" else ""
    folder = tmp_path_factory.mktemp("manners") / "data"
    with simweb.serve(WEB) as server:
        crawl = Crawl(server, folder, *seeds(server), delay_s=DELAY_S, workers=1, frontier=frontier)
        crawl.finish("--site-delay", "given.test=1", "--respect-ai-optout", "--canonical")
        yield crawl


def seeds(server: WebServer) -> list[str]:
    hosts = dict.fromkeys(planted.host for planted in WEB.planted)
    return [f"http://{host}:{server.port}/" for host in hosts]


def kept(crawl: Crawl, site: str) -> dict[str, PageRow]:
    return {row.title: row for row in last_pages(crawl.folder) if row.site == site and row.title}


def gaps_s(server: WebServer, site: str) -> list[float]:
    """Return the pauses between pages, from the end of each to the beginning of the next."""
    pages = sorted(request for request in server.log() if site_of(request.url) == site and request.kind == "page")
    return [later.arrived - earlier.ended for earlier, later in pairwise(pages)]


def test_a_site_has_the_longer_delay_that_the_operator_gave_it(crawl: Crawl) -> None:
    assert len(gaps_s(crawl.server, "given.test")) == 2
    assert min(gaps_s(crawl.server, "given.test")) >= 1


def test_a_crash_at_the_first_request_does_not_forget_that_delay(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(plain_web(sites=1, pages=3)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, workers=1, frontier=frontier)
        site = site_of(crawl.seeds[0])
        with crawl.start("--site-delay", f"{site}=100") as start:
            crawl.wait_for_requests(1)
            start.kill_group()
    with open_existing(crawl.folder) as opened:
        found = opened.find_site(site)
        assert found is not None
        assert found.own_delay_s == 100


def test_a_slow_site_is_given_more_than_the_delay(crawl: Crawl) -> None:
    assert len(gaps_s(crawl.server, "slow.test")) == 2
    assert min(gaps_s(crawl.server, "slow.test")) >= 2 * DELAY_S  # ten times 0.1 s are more than that


def test_pages_not_meant_for_artificial_intelligence_are_not_kept_and_the_reason_is(crawl: Crawl) -> None:
    assert kept(crawl, "signal.test").keys() == {"/", "/image", "/other", "/free"}
    assert kept(crawl, "reserved.test").keys() == set()
    assert reasons(crawl, "signal.test", "/header", "/meta", "/tdm") == {Reason.AI_OPTED_OUT}
    assert reasons(crawl, "reserved.test", "/") == {Reason.AI_OPTED_OUT}


def test_without_the_flags_they_are_kept_with_what_was_said(tmp_path: Path) -> None:
    with simweb.serve(WEB) as server:
        crawl = Crawl(server, tmp_path / "data", *seeds(server), delay_s=0, workers=1)
        crawl.finish()
    rows = kept(crawl, "signal.test")
    assert rows["/header"].signals == "content-signal=ai-train=no"
    assert rows["/meta"].signals == "robots=noai"
    assert rows["/tdm"].signals == "tdm-reservation=1"
    assert kept(crawl, "reserved.test")["/"].signals == "robots.txt content-signal=ai-train=no"
    assert kept(crawl, "canon.test").keys() == {"/", "/a?x=1", "/left", "/self", "/gone", "/away", "/slash", "/one"}


def test_a_page_that_names_another_is_left_out_and_no_circle_loses_all(crawl: Crawl) -> None:
    rows = kept(crawl, "canon.test").keys()
    assert {"/", "/a", "/self", "/gone", "/away", "/slash"} <= rows
    assert "/a?x=1" not in rows
    assert len(rows & {"/left", "/right"}) == 1
    assert len(rows & {"/one", "/two", "/three"}) == 1
    assert reasons(crawl, "canon.test", "/a?x=1") == {Reason.NOT_CANONICAL}


def test_a_delay_that_is_not_believed_is_counted(tmp_path: Path) -> None:
    robots = PlantedRobots(host="absurd.test", crawl_delay_s=99_999)
    web = plain_web(sites=1, pages=1, planted=(page("absurd.test", "/"),), planted_robots=(robots,))
    with simweb.serve(web) as server:
        before = snapshot()["gossamer_clamped_delays_total"]
        with gossamer.Crawl([f"http://absurd.test:{server.port}/"], **terms_for(server, tmp_path / "data")) as crawl:
            assert [page.title for page in crawl] == ["/"]
    assert snapshot()["gossamer_clamped_delays_total"] == before + 1
    with open_existing(tmp_path / "data") as frontier:
        found = frontier.find_site("absurd.test")
        assert found is not None
        assert found.own_delay_s == MAX_DELAY_S


def reasons(crawl: Crawl, host: str, *paths: str) -> set[Reason | None]:
    with open_existing(crawl.folder) as frontier:
        found = [identify(f"http://{host}:{crawl.server.port}{path}") for path in paths]
        return {state.reason if (state := frontier.find_url(url.site, url.url_hash)) else None for url in found}
