"""`gossamer bot-page` writes what a site's owner wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.cli import run
from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.parse.page import read_page
from gossamer.records import Fetched, ParseFailed
from gossamer.rules.robots import allows, parse_robots

if TYPE_CHECKING:
    from pathlib import Path


def bot_page(folder: Path, *options: str) -> int:
    return run(["bot-page", "--data-dir", str(folder), "-o", str(folder / "bot.html"), *options])


def test_the_page_says_who_crawls_why_and_how_to_be_left_alone(tmp_path: Path) -> None:
    flags = {"email": "you@example.org", "agent_name": "RiverBot", "delay": "2m"}
    write_settings(tmp_path, gather_settings(None, environment={}, flags=flags))
    assert bot_page(tmp_path, "--purpose", "Rivers & <b>lakes</b>") == 0
    page = (tmp_path / "bot.html").read_text()
    for part in (
        "<h1>RiverBot, a web crawler</h1>",
        "<p>Rivers &amp; &lt;b&gt;lakes&lt;/b&gt;</p>",
        'href="mailto:you@example.org"',
        "at least 120 s",
        "RiverBot/",
    ):
        assert part in page, part


def test_the_robots_txt_that_the_page_recommends_keeps_us_out(tmp_path: Path) -> None:
    assert bot_page(tmp_path, "--email", "you@example.org", "--agent-name", "RiverBot") == 0
    page = (tmp_path / "bot.html").read_text()
    blocks = [part.partition("</pre>")[0] for part in page.split("<pre>")[1:]]
    assert not allows(parse_robots(blocks[1].encode(), "RiverBot"), "https://a.test/")
    assert allows(parse_robots(blocks[1].encode(), "Others"), "https://a.test/")
    assert parse_robots(blocks[2].encode(), "RiverBot").delay_s == 90


def test_the_page_is_html_that_we_can_read_ourselves(tmp_path: Path) -> None:
    assert bot_page(tmp_path, "--email", "you@example.org") == 0
    answer = Fetched(
        url="https://a.test/bot.html", status=200, head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        body=(tmp_path / "bot.html").read_bytes(), address="", request_head=b"", started_at=0, duration_s=0,
    )  # fmt: skip
    read = read_page(answer, agent="gossamer", max_bytes=100_000)
    assert not isinstance(read, ParseFailed)
    assert read.row.title == "Gossamer, a web crawler"


@pytest.mark.parametrize(("delay", "promised"), [("0.5", "0.5 s"), ("1.25", "1.25 s"), ("70", "70 s")])
def test_the_page_promises_the_exact_delay(tmp_path: Path, delay: str, promised: str) -> None:
    flags = {"email": "you@example.org", "delay": delay}
    write_settings(tmp_path, gather_settings(None, environment={}, flags=flags))
    assert bot_page(tmp_path) == 0
    assert f"at least {promised}:" in (tmp_path / "bot.html").read_text()


def test_the_page_does_not_promise_to_delete_what_is_stored(tmp_path: Path) -> None:
    assert bot_page(tmp_path, "--email", "you@example.org") == 0
    page = (tmp_path / "bot.html").read_text()
    assert "delete what is" not in page
    assert "Pages that were stored before" in page


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bot-page", "--email", "you@example.org", "-o", str(tmp_path / "no" / "bot.html")]) == 2
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith(f"The folder {tmp_path / 'no'} does not exist: create it, or name a file in another folder.")
    )


def test_without_an_address_there_is_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bot_page(tmp_path) == 2
    assert "An e-mail address is needed" in capsys.readouterr().err
    assert not (tmp_path / "bot.html").exists()
