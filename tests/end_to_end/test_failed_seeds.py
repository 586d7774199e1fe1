"""A crawl prints at its end how its seeds ended; its exit status says whether any of them gave a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer_simweb import PlantedPage, plain_web
from tests.end_to_end.crawls import EMAIL, Start

if TYPE_CHECKING:
    from pathlib import Path

HOME = PlantedPage(host="a.test", body=b"<title>Home</title><p>Home, sweet home.</p>")
MOVED = PlantedPage(host="b.test", status=301, headers=(("Location", "http://b.test:{port}/gone"),))
WEB = plain_web(sites=1, pages=1, planted=(HOME, MOVED))


def crawl(data: Path, frontier: str, dns: str, *seeds: str, status: int) -> str:
    arguments = ["crawl", *seeds, "--data-dir", str(data), "--email", EMAIL, "--delay", "0.1", "--workers", "1"]
    where = ("--frontier", frontier) if frontier else ()
    network = ("--nameserver", dns, "--allow-network", "127.0.0.0/8", "--set", "max_tries=0")
    with Start([*arguments, *network, *where]) as start:
        return start.end(status=status)


def test_a_crawl_without_a_page_from_any_seed_says_why_and_exits_with_3(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(WEB) as server:
        said = crawl(
            tmp_path / "data", frontier, server.dns, "nosuch.test", "nothere.test", "http://10.1.2.3/",
            f"http://b.test:{server.port}/", status=3,
        )  # fmt: skip
        again = crawl(tmp_path / "data", frontier, server.dns, status=3)
    for text in (said, again):
        assert "2 seeds failed with no_such_name, for example https://no" in text
        assert "1 seed failed with address_refused, http://10.1.2.3/: its address is not public" in text
        assert "--allow-network" in text
        assert f"1 seed failed with http_error, http://b.test:{server.port}/gone: the server refused it" in text


def test_one_page_from_a_seed_is_enough(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(WEB) as server:
        said = crawl(
            tmp_path / "data", frontier, server.dns, "nosuch.test", f"http://a.test:{server.port}/", status=0
        )  # fmt: skip
    assert "1 seed failed with no_such_name, https://nosuch.test/: no such name exists; check the spelling." in said


def test_a_seed_that_went_on_under_http_has_not_failed(tmp_path: Path, frontier: str) -> None:
    with simweb.serve(WEB) as server:
        said = crawl(tmp_path / "data", frontier, server.dns, f"a.test:{server.port}", status=0)
    assert "failed with" not in said
