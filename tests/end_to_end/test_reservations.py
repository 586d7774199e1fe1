"""A crawl that respects reservations asks each host for its tdmrep.json, once, in a turn of its own, and obeys it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import gossamer_simweb as simweb
from gossamer.records import Reason, RequestKind
from gossamer.store.reading import last_pages, requests
from gossamer_simweb import PlantedPage, WebSpec
from tests.end_to_end.crawls import Crawl, said
from tests.end_to_end.test_manners import page, reasons
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

DELAY_S = 0.2
PATH = "/.well-known/tdmrep.json"
HOSTS = ("some.test", "all.test", "broken.test", "people.test", "header.test")


def tdmrep(host: str, body: bytes | list[dict[str, Any]]) -> PlantedPage:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return PlantedPage(host=host, path=PATH, headers=(("Content-Type", "application/json"),), body=data)


def linked(host: str, *paths: str) -> tuple[PlantedPage, ...]:
    """The front page of a host and the pages to which it links."""
    front = page(host, "/", links=" ".join(paths))
    links = tuple(f"http://{host}:{{port}}{path}" for path in paths)
    return (
        PlantedPage(host=host, path="/", headers=front.headers, body=front.body, links=links),
        *(page(host, path) for path in paths),
    )


ALL = [{"location": "/", "tdm-reservation": 1}]
WEB = WebSpec(
    sites=4, pages=5, crawl_delay=0.0, busy=0.0, flaky=0.0, broken=0.0, slow=0.0, tls=True,
    planted=(
        *linked("some.test", "/free/1", "/articles/1", "/articles/2.jpg.html", "/other"),
        tdmrep("some.test", [
            {"location": "/articles/*.jpg$", "tdm-reservation": 0},
            {"location": "/articles/", "tdm-reservation": 1, "tdm-policy": "https://some.test/policy.json"},
            {"location": "/free/", "tdm-reservation": 0},
        ]),
        *linked("all.test", "/1"), tdmrep("all.test", ALL),
        *linked("broken.test", "/1"), tdmrep("broken.test", b'[{"location": "/"'),
        *linked("people.test", "/1"), tdmrep("people.test", b"<!DOCTYPE html><title>Not found</title>"),
        page("header.test", "/", "", ("TDM-Reservation", "0")), tdmrep("header.test", ALL),
    ),
)  # fmt: skip


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def crawl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    frontier = new_database() if request.param == "postgres" else ""
    folder = tmp_path_factory.mktemp("reservations") / "data"
    with simweb.serve(WEB) as server:
        seeds = [f"http://{host}:{server.port}/" for host in HOSTS]
        crawl = Crawl(server, folder, *seeds, delay_s=DELAY_S, workers=2, frontier=frontier)
        crawl.finish("--respect-ai-optout")
        yield crawl


def test_the_judge_finds_every_file_asked_for_once_in_a_turn_of_its_own(crawl: Crawl) -> None:
    verdict = crawl.judge(tdmrep=True)
    assert verdict.ok, verdict.summary()
    assert len([request for request in crawl.server.log() if request.kind == "tdmrep"]) > len(HOSTS)
    assert not crawl.judge().ok


def test_the_crawls_own_log_names_them_and_agrees(crawl: Crawl) -> None:
    rows = [row.url for row in requests(crawl.folder) if row.kind == RequestKind.TDMREP]
    assert sorted(rows) == sorted(request.url for request in crawl.server.log() if request.kind == "tdmrep")
    assert "No problems" in said("verify", "--data-dir", str(crawl.folder))


def test_what_is_reserved_is_not_kept_and_the_rest_says_what_the_file_said(crawl: Crawl) -> None:
    kept = {
        row.url.partition(".test")[0].rpartition("/")[2] + row.title: row.signals for row in last_pages(crawl.folder)
    }
    kept = {name: signals for name, signals in kept.items() if name.partition("/")[0] + ".test" in HOSTS}
    free = "tdmrep.json tdm-reservation=0"
    assert kept == {
        "some/": "", "some/free/1": free, "some/other": "", "people/": "", "people/1": "",
        "header/": "tdm-reservation=0\ntdmrep.json tdm-reservation=1",
    }  # fmt: skip
    assert reasons(crawl, "some.test", "/articles/1", "/articles/2.jpg.html") == {Reason.AI_OPTED_OUT}
    assert reasons(crawl, "all.test", "/", "/1") == {Reason.AI_OPTED_OUT}
    assert reasons(crawl, "broken.test", "/", "/1") == {Reason.AI_OPTED_OUT}


def test_explain_says_what_the_file_says_about_a_page(crawl: Crawl) -> None:
    for path, words in {
        "/articles/1": "reserves it",
        "/free/1": "does not reserve it",
        "/other": "no rule matches",
    }.items():
        url = f"http://some.test:{crawl.server.port}{path}"
        assert f"tdmrep    {words}" in said("explain", url, "--data-dir", str(crawl.folder))
