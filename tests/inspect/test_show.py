"""`gossamer show`: everything about a URL, and its stored content."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gossamer.cli import run
from gossamer.commands import to_type
from gossamer.records import GivenUp, Reason, Retry
from gossamer.store.warc import encode_exchange
from tests.inspect.crawls import CHARSET, HTML, Crawl, html_answer, page_row

if TYPE_CHECKING:
    from pathlib import Path


def show(folder: Path, url: str, *options: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["show", url, "--data-dir", str(folder), *options]) == 0
    return capsys.readouterr().out


def test_a_stored_page_shows_its_state_its_requests_and_where_it_lies(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = show(folder, "https://a.test/1", capsys=capsys).splitlines()
    (segment,) = (folder / "warc").glob("*.warc.gz")
    assert shown[:6] == [
        "URL       https://a.test/1",
        "state     done, depth 0",
        "site      a.test, 0 queued, nothing to do",
        "request   2026-01-01 00:00:01Z  200                  3.5 kB    0.25 s  attempt 1, 192.0.2.7",
        "page      stored, fetched 2026-01-01 00:00:01Z",
        "title     Größe",
    ]
    assert shown[6] == "content   text/html, macintosh, language de"
    assert shown[8] == f"archive   warc/{segment.name}"
    assert "sha1:" in shown[9]


@pytest.mark.parametrize("spelling", ["HTTPS://A.test:443/x/../1#top", "a.test/1"])
def test_a_url_is_normalised_as_in_a_crawl(folder: Path, spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(folder, spelling, capsys=capsys).startswith("URL       https://a.test/1\n")


def test_the_text_the_decoded_body_and_the_raw_answer_can_be_printed(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for option, content in (
        ("--text", "Ein paar Wörter.\n".encode()),
        ("--html", HTML.encode()),
        ("--raw", html_answer("", 1).head + zlib.compress(HTML.encode(CHARSET))),
    ):
        assert run(["show", "https://a.test/1", option, "--data-dir", str(folder)]) == 0
        assert capfdbinary.readouterr().out == content


def test_what_was_given_up_is_queued_or_in_hand_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/1", "https://b.test/1", "https://c.test/1")
        by_site = {claim.site: claim for claim in crawl.claim()}
        crawl.complete(by_site["a.test"], [GivenUp(reason=Reason.TLS_FAILED)])
        crawl.complete(by_site["b.test"], [Retry(wait_s=7_500)])
        assert "state     given up: tls_failed" in show(tmp_path, "https://a.test/1", capsys=capsys)
        waiting = show(tmp_path, "https://b.test/1", capsys=capsys)
        assert "queued, depth 0, 1 try so far, may be asked for in 2 h 5 min" in waiting
        assert "page      not stored" in waiting
        assert "c.test, 1 queued, in hand of worker 1" in show(tmp_path, "https://c.test/1", capsys=capsys)
        crawl.frontier.exclude(["a.test"])
        assert "a.test, 0 queued, excluded" in show(tmp_path, "https://a.test/1", capsys=capsys)


def keep_page_with_links(crawl: Crawl, links: int) -> None:
    body = "".join(f"<p>Word {number} <a href=/{number}>x</a></p>" for number in range(links)).encode()
    answer = replace(
        html_answer("https://a.test/links", 1), body=body, head=b"HTTP/1.1 200 OK\r\nX-Evil: \x1b[2J\r\n\r\n"
    )
    encoded = encode_exchange(answer)
    row = page_row(answer, encoded.payload_digest)._replace(body_bytes=len(body), text="Word 0\n\nWord 1 " + "x" * 400)
    crawl.store.keep_page(row, encoded.archive, encoded.response_offset)


def test_headers_the_beginning_of_the_text_and_some_links_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(tmp_path) as crawl:
        keep_page_with_links(crawl, 12)
    shown = show(tmp_path, "https://a.test/links", capsys=capsys)
    assert "\nheaders   HTTP/1.1 200 OK\n          X-Evil:  [2J\ntext      Word 0\n\n          Word 1 xxx" in shown
    assert "x\n          ... --text prints all of it\nlinks     https://a.test/0\n          https://a.test/1\n" in shown
    assert shown.endswith("          https://a.test/9\n          ... 2 more: --links prints all\n")
    links = show(tmp_path, "https://a.test/links", "--links", capsys=capsys)
    assert links.splitlines() == [f"https://a.test/{number}" for number in range(12)]


def test_an_unknown_url_is_answered_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "https://a.test/unknown", "--data-dir", str(folder)]) == 1
    assert capsys.readouterr() == ("", f"https://a.test/unknown is not known to the crawl in {folder}.\n")


def test_a_url_without_a_page_has_no_content(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "https://a.test/gone", "--text", "--data-dir", str(folder)]) == 1
    assert "no page is stored; without --text you see why." in capsys.readouterr().err


def test_what_cannot_be_a_url_is_a_mistake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "mailto://me", "--data-dir", str(folder)]) == 2
    said = "'mailto://me' cannot be part of a crawl (neither http nor https): write it like https://example.org/page."
    assert capsys.readouterr().err == f"gossamer: {said}\n"


def test_the_last_of_several_fetches_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/1")
        for _ in range(3):
            crawl.keep("https://a.test/1")
        crawl.run()
    shown = show(tmp_path, "https://a.test/1", capsys=capsys)
    assert "stored, fetched 2026-01-01 00:00:04Z (4 times; this is the last)" in shown
    assert shown.count("request ") == 4


def test_a_page_without_an_archive_record_still_has_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Crawl(tmp_path, warc=False) as crawl:
        crawl.add("https://a.test/1")
        crawl.run()
    assert "archive   none" in show(tmp_path, "https://a.test/1", capsys=capsys)
    assert show(tmp_path, "https://a.test/1", "--text", capsys=capsys) == "Ein paar Wörter.\n"
    assert run(["show", "https://a.test/1", "--raw", "--data-dir", str(tmp_path)]) == 2
    assert "without an archive record" in capsys.readouterr().err


def test_a_record_that_is_gone_is_answered_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (segment,) = (folder / "warc").glob("*.warc.gz")
    segment.unlink()
    assert run(["show", "https://a.test/1", "--html", "--data-dir", str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"gossamer: {segment.name} does not exist; `{to_type('verify', folders=folder)}` lists all damage.\n"
    )
