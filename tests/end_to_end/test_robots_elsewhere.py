"""A robots.txt that redirects, within the site or to others, is followed and obeyed; others are not flooded by that."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.records import Reason, RequestKind
from gossamer.rules.hosts import rules_of
from gossamer.store.reading import requests
from gossamer.urls import identify, site_of
from gossamer_simweb import WebSpec, plain_web
from gossamer_simweb.spec import Behaviour, PlantedPage
from tests.end_to_end.crawls import Crawl, said
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.rules.robots import RobotsRules
    from gossamer_simweb import LoggedRequest, WebServer

DELAY_S = 0.2
CROWD, SHOPS = 200, 20
HTML = (("Content-Type", "text/html"),)
TEXT = (("Content-Type", "text/plain"),)
NOT_PRIVATE = b"User-agent: *\nDisallow: /private\n"
SHORT_WAITS = ("--set", "robots_retry_waits=0.2", "--set", "robots_give_up=0")


def pages(host: str) -> list[PlantedPage]:
    """A front page with a link to a page that most robots.txt files here forbid."""
    front = PlantedPage(host=host, headers=HTML, body=b"<title>Front</title><a href=/private>private</a>")
    return [front, PlantedPage(host=host, path="/private", headers=HTML, body=b"<title>Private</title>")]


def moved(host: str, to: str, *, path: str = "/robots.txt") -> PlantedPage:
    leads_to = to if to.startswith("http") else None
    return PlantedPage(
        host=host, path=path, status=301, headers=(("Location", to),), leads_to=leads_to, is_robots=True
    )  # fmt: skip


def robots(host: str, body: bytes = NOT_PRIVATE, *, path: str = "/robots.txt", status: int = 200) -> PlantedPage:
    return PlantedPage(host=host, path=path, status=status, headers=TEXT, body=body, is_robots=True)


def at(host: str, path: str = "/robots.txt") -> str:
    return f"http://{host}:{{port}}{path}"


def chain(*hosts: str) -> list[PlantedPage]:
    """robots.txt files that redirect to each other; the last forbids something."""
    return [*(moved(host, at(target)) for host, target in pairwise(hosts)), robots(hosts[-1])]


ASKED = [
    "one.test", "five.test", "six.test", "circle.test", "self.test", "own.test", "back.test", "inside.test",
    "dead.test", "nobody.test", "busy.test", "lost.test", "huge.test", "ftp.test", "nowhere.test", "missing.test",
    "slow.test", "banned.test", "several.test", "www.several.test", "within.test",
]  # fmt: skip
PLANTED = [
    *(page for host in ASKED for page in pages(host)),
    moved("one.test", at("central.test", "/rules/one.txt")), robots("central.test", path="/rules/one.txt"),
    *chain("five.test", "f1.test", "f2.test", "f3.test", "f4.test", "f5.test"),
    *chain("six.test", "s1.test", "s2.test", "s3.test", "s4.test", "s5.test", "s6.test"),
    moved("circle.test", at("c1.test")), moved("c1.test", at("c2.test")), moved("c2.test", at("c1.test")),
    moved("self.test", at("self.test")),
    moved("own.test", at("own.test", "/policy")), moved("own.test", at("o1.test"), path="/policy"), robots("o1.test"),
    moved("back.test", at("b1.test")), moved("b1.test", at("back.test", "/really")),
    robots("back.test", path="/really"),
    moved("inside.test", "http://10.0.0.1:{port}/robots.txt"),
    moved("dead.test", "http://central.test:1/robots.txt"),
    moved("nobody.test", at("no-such-name.test")),
    moved("busy.test", at("fails.test")), robots("fails.test", status=503),
    moved("lost.test", at("cut.test")),
    PlantedPage(host="cut.test", path="/robots.txt", headers=TEXT, body=NOT_PRIVATE, behaviour=Behaviour.SHORT),
    moved("huge.test", at("vast.test")), robots("vast.test", NOT_PRIVATE + b"#" * 600_000 + b"\nDisallow: /\n"),
    moved("ftp.test", "ftp://central.test/robots.txt"),
    PlantedPage(host="nowhere.test", path="/robots.txt", status=302),
    moved("missing.test", at("lacks.test")), robots("lacks.test", status=404),
    moved("slow.test", at("patient.test", "/for/slow.txt")),
    robots("patient.test", NOT_PRIVATE + b"Crawl-delay: 1\n", path="/for/slow.txt"),
    moved("banned.test", at("leave-me.test")), robots("leave-me.test"),
    moved("several.test", at("h1.test")), moved("h1.test", at("www.h1.test")), robots("www.h1.test"),
    moved("www.several.test", at("h2.test")), robots("h2.test", b""),
    moved("within.test", at("www.within.test")), robots("www.within.test"),
]  # fmt: skip
GUARDED = {  # hosts, and where their rules are
    "one.test": ("central.test",), "five.test": ("f1.test", "f2.test", "f3.test", "f4.test", "f5.test"),
    "own.test": ("own.test", "o1.test"), "back.test": ("b1.test", "back.test"), "huge.test": ("vast.test",),
    "slow.test": ("patient.test",), "several.test": ("h1.test", "www.h1.test"), "within.test": ("www.within.test",),
}  # fmt: skip
OPEN = {  # hosts without rules, and what was met instead
    "six.test": "too_many_redirects", "circle.test": "too_many_redirects", "self.test": "bad_redirect",
    "ftp.test": "bad_redirect", "nowhere.test": "bad_redirect", "missing.test": "status 404", "www.several.test": "",
}  # fmt: skip
CLOSED = {  # hosts whose rules cannot be had, and why
    "inside.test": "ip_host", "dead.test": "port_refused", "nobody.test": "no_such_name",
    "busy.test": "status 503", "lost.test": "connection_lost", "banned.test": "excluded",
}  # fmt: skip


class Finished:
    """A crawl of all of this, over."""

    def __init__(self, crawl: Crawl) -> None:
        self.folder = crawl.folder
        self.log = crawl.server.log()
        self.port = crawl.server.port

    def asked(self, host: str) -> list[LoggedRequest]:
        return sorted(request for request in self.log if request.host.partition(":")[0] == host)

    def paths(self, host: str) -> list[str]:
        return [request.target for request in self.asked(host)]

    def rules(self, host: str) -> RobotsRules:
        with open_existing(self.folder) as frontier:
            states = {state.host: state for state in frontier.find_hosts(site_of(f"http://{host}/"))}
        return rules_of(states[f"http://{host}:{self.port}"])

    def reason(self, host: str, path: str) -> Reason | None:
        url = identify(f"http://{host}:{self.port}{path}")
        with open_existing(self.folder) as frontier:
            state = frontier.find_url(url.site, url.url_hash)
        assert state is not None
        return state.reason

    def explained(self, what: str) -> str:
        return said("explain", what, "--data-dir", str(self.folder))


def crawled(server: WebServer, folder: Path, hosts: list[str], *flags: str, frontier: str = "") -> Finished:
    seeds = [f"http://{host}:{server.port}/" for host in hosts]
    crawl = Crawl(server, folder, *seeds, delay_s=DELAY_S, workers=1, frontier=frontier)
    crawl.finish(*SHORT_WAITS, *flags)
    return Finished(crawl)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    frontier = new_database() if request.param == "postgres" else ""
    folder = tmp_path_factory.mktemp("elsewhere") / "data"
    with simweb.serve(plain_web(sites=1, pages=1, planted=tuple(PLANTED))) as server:
        yield crawled(server, folder, ASKED, "--exclude", "http://leave-me.test:*", frontier=frontier)


@pytest.mark.parametrize("host", GUARDED)
def test_rules_behind_redirects_are_obeyed(finished: Finished, host: str) -> None:
    assert "/" in finished.paths(host)
    assert "/private" not in finished.paths(host)
    assert finished.reason(host, "/private") is Reason.ROBOTS_DISALLOWED
    rules = finished.rules(host)
    assert tuple(url.split("/")[2].partition(":")[0] for url in rules.moved_to) == GUARDED[host]
    assert rules.outcome == ""
    assert f"from {rules.moved_to[-1]}" in finished.explained(f"http://{host}:{finished.port}/private")


@pytest.mark.parametrize("host", OPEN)
def test_where_there_are_none_behind_redirects_all_is_allowed_and_explained(finished: Finished, host: str) -> None:
    assert "/private" in finished.paths(host)
    assert finished.rules(host).outcome == OPEN[host]
    if OPEN[host]:
        assert OPEN[host].replace("_", " ") in finished.explained(site_of(f"http://{host}/"))


@pytest.mark.parametrize("host", CLOSED)
def test_where_they_cannot_be_had_nothing_is_allowed(finished: Finished, host: str) -> None:
    assert set(finished.paths(host)) == {"/robots.txt"}
    assert finished.reason(host, "/") is Reason.ROBOTS_UNREACHABLE
    assert finished.rules(host).outcome == CLOSED[host]
    assert CLOSED[host] in finished.explained(f"http://{host}:{finished.port}/")


def test_more_than_five_redirects_are_not_followed(finished: Finished) -> None:
    assert [len(finished.paths(f"s{number}.test")) for number in range(1, 7)] == [1, 1, 1, 1, 1, 0]
    assert len(finished.rules("six.test").moved_to) == 6


def test_a_circle_is_left_where_it_closes(finished: Finished) -> None:
    assert finished.paths("c1.test") == finished.paths("c2.test") == ["/robots.txt"]
    assert finished.paths("self.test").count("/robots.txt") == 1


def test_an_excluded_site_is_not_requested_for_its_robots_txt_either(finished: Finished) -> None:
    assert finished.asked("leave-me.test") == []


def test_the_crawl_delay_of_a_foreign_robots_txt_is_that_of_the_site_that_was_asked(finished: Finished) -> None:
    front, *_ = (request for request in finished.asked("slow.test") if request.target == "/")
    with open_existing(finished.folder) as frontier:
        slow, patient = frontier.find_site("slow.test"), frontier.find_site("patient.test")
    assert slow is not None
    assert slow.own_delay_s == 1.0
    assert patient is None
    assert all(later.arrived - front.ended >= 1.0 for later in finished.asked("slow.test") if later > front)


def test_every_hop_is_in_the_log_of_requests_with_its_kind(finished: Finished) -> None:
    kinds = {row.url: row.kind for row in requests(finished.folder)}
    assert kinds[f"http://f3.test:{finished.port}/robots.txt"] == RequestKind.ROBOTS_ELSEWHERE
    assert kinds[f"http://own.test:{finished.port}/policy"] == RequestKind.ROBOTS
    assert kinds[f"http://back.test:{finished.port}/really"] == RequestKind.ROBOTS
    assert f"http://10.0.0.1:{finished.port}/robots.txt" not in kinds, "what is refused is not requested"


def test_verify_and_the_judge_have_nothing_to_complain_about(finished: Finished) -> None:
    assert "No problems." in said("verify", "--data-dir", str(finished.folder))
    verdict = simweb.judge(finished.log, delay_s=DELAY_S, expected=None, tries=10)
    assert verdict.ok, verdict.summary()


def test_many_hosts_that_point_to_one_url_cost_its_site_one_request(tmp_path: Path) -> None:
    hosts = [f"crowd{number}.test" for number in range(CROWD)]
    planted = [page for host in hosts for page in (*pages(host), moved(host, at("central.test")))]
    with simweb.serve(plain_web(sites=1, pages=1, planted=(*planted, robots("central.test")))) as server:
        finished = crawled(server, tmp_path / "data", hosts)
    assert finished.paths("central.test") == ["/robots.txt"]
    assert all(finished.paths(host) == ["/robots.txt", "/"] for host in hosts)
    assert "No problems." in said("verify", "--data-dir", str(finished.folder))
    assert simweb.judge(finished.log, delay_s=DELAY_S, expected=None).ok


def test_many_urls_of_one_foreign_site_are_requested_at_its_pace(tmp_path: Path) -> None:
    hosts = [f"shop{number}.test" for number in range(SHOPS)]
    planted = [page for host in hosts for page in (*pages(host), moved(host, at("central.test", f"/{host}.txt")))]
    planted += [robots("central.test", path=f"/{host}.txt") for host in hosts]
    with simweb.serve(plain_web(sites=1, pages=1, planted=tuple(planted))) as server:
        finished = crawled(server, tmp_path / "data", hosts)
    asked = finished.asked("central.test")
    assert sorted(request.target for request in asked) == sorted(f"/{host}.txt" for host in hosts)
    assert min(later.arrived - earlier.ended for earlier, later in pairwise(asked)) >= DELAY_S
    for host in hosts:
        assert "/" in finished.paths(host)
        assert "/private" not in finished.paths(host)
        assert finished.reason(host, "/private") is Reason.ROBOTS_DISALLOWED
    assert "No problems." in said("verify", "--data-dir", str(finished.folder))
    assert simweb.judge(finished.log, delay_s=DELAY_S, expected=None).ok


def test_a_planned_web_with_robots_txt_files_elsewhere_is_crawled_as_it_should_be(
    tmp_path: Path, frontier: str
) -> None:
    spec = WebSpec(
        sites=24, pages=6, seed=5, robots_elsewhere=0.5, sitemaps=0.5, slow_s=0.05, crawl_delay_s=0.5, crawl_delay=0.3
    )  # fmt: skip
    with simweb.serve(spec) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=DELAY_S, workers=2, frontier=frontier)
        crawl.finish("--sitemaps")
        verdict = crawl.judge(sitemaps=True)
        assert verdict.ok, verdict.summary()
    kinds = Counter(row.kind for row in requests(crawl.folder))
    assert kinds[RequestKind.ROBOTS_ELSEWHERE] > 5
    assert "No problems." in said("verify", "--data-dir", str(crawl.folder))


def test_a_robots_txt_may_be_on_another_site_under_https(tmp_path: Path) -> None:
    target = "https://secure.test:{tls_port}/robots.txt"
    planted = (*pages("plain.test"), moved("plain.test", target), robots("secure.test"))
    with simweb.serve(plain_web(sites=1, pages=1, tls=True, planted=planted)) as server:
        finished = crawled(server, tmp_path / "data", ["plain.test"], "--allow-ports", str(server.tls_port))
    assert finished.paths("plain.test") == ["/robots.txt", "/"]
    (asked,) = finished.asked("secure.test")
    assert asked.scheme == "https"
