"""The same queries while a crawl runs, after a kill, and when it is over: what they count is what the server saw."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from gossamer_simweb import WebServer

SPEC = plain_web(sites=8, pages=12, missing=0.1, redirect=0.1)


def ask(crawl: Crawl, sql: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run(["query", sql, "--data-dir", str(crawl.folder), "--format", "json"]) == 0, capsys.readouterr().err
    return list(json.loads(capsys.readouterr().out))


def asked_for(server: WebServer) -> Counter[tuple[str, str, int]]:
    return Counter((request.kind, request.url, request.status) for request in server.log())


def written_down(crawl: Crawl, capsys: pytest.CaptureFixture[str]) -> Counter[tuple[str, str, int]]:
    rows = ask(crawl, "select kind, url, status from requests", capsys)
    return Counter((row["kind"], row["url"], row["status"]) for row in rows)


def good_pages(server: WebServer) -> set[str]:
    return {request.url for request in server.log() if request.kind == "page" and request.status == 200}


def stored(crawl: Crawl, capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [row["url"] for row in ask(crawl, "select url from pages", capsys)]


def test_queries_agree_with_the_server_during_a_crawl_after_a_kill_and_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with simweb.serve(SPEC) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.8)  # so that it lasts while it is queried
        with crawl.start() as start:
            crawl.wait_for_requests(30)
            before = asked_for(server)
            # A request is on disk half a second after its end, at the latest.
            wait_until(lambda: before <= written_down(crawl, capsys), "the requests so far to be seen")
            assert written_down(crawl, capsys) <= asked_for(server)
            pages = stored(crawl, capsys)
            assert len(pages) == len(set(pages)) > 10
            assert set(pages) <= good_pages(server)
            assert list((crawl.folder / "journal").iterdir()), "rows of a running crawl lie in journals"
            assert start.status is None
            start.kill_group()
        assert list((crawl.folder / "journal").iterdir()), "and after a kill they still do"
        killed = written_down(crawl, capsys)
        assert before <= killed <= asked_for(server)
        assert set(pages) <= set(stored(crawl, capsys)) <= good_pages(server)
        lost = asked_for(server) - killed
        crawl.finish("--delay", "0.1")
        # Only what was under way at the kill was never written down.
        assert asked_for(server) - written_down(crawl, capsys) == lost
        pages = stored(crawl, capsys)
        assert len(pages) == len(set(pages))
        assert set(pages) == good_pages(server)
        (total,) = ask(crawl, "select sum(requests)::int as requests, sum(pages)::int as pages from sites", capsys)
        assert total == {"requests": written_down(crawl, capsys).total(), "pages": len(pages)}
        (least,) = ask(crawl, "select min(min_gap_s) as gap_s from sites", capsys)
        assert least["gap_s"] >= 0.1
