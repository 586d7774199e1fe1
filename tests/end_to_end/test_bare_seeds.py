"""A seed without a scheme: https is our guess, and http is tried in the same turn if nothing answers there."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import gossamer_simweb as simweb
from gossamer_simweb import PlantedPage, plain_web
from tests.end_to_end.crawls import EMAIL, Start, said
from tests.end_to_end.test_dead_hosts import rows

if TYPE_CHECKING:
    from pathlib import Path

PAGES = (
    PlantedPage(host="a.test", body=b"<title>Home</title><p>Home, sweet home.</p><a href=/2>two</a>"),
    PlantedPage(host="a.test", path="/2", body=b"<title>Two</title><p>The second page.</p>"),
)
REQUESTS = "select kind || ' ' || url || ' ' || reason || status from requests order by started_at"


def crawl(seed: str, data: Path, nameserver: str, *, delay_s: float = 0.5, status: int = 0) -> str:
    flags = ("--workers", "1", "--allow-network", "127.0.0.0/8", "--set", "retry_wait=0.2", "--set", "max_tries=1")
    arguments = ["crawl", seed, "--data-dir", str(data), "--email", EMAIL, "--delay", str(delay_s), *flags]
    with Start([*arguments, "--nameserver", nameserver]) as start:
        return start.end(status=status)


def test_http_is_tried_in_the_same_turn_and_takes_the_place_of_https(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with simweb.serve(plain_web(sites=1, pages=1, planted=PAGES)) as server:
        crawl(f"a.test:{server.port}", data, server.dns)
        host = f"a.test:{server.port}"
    assert [row for (row,) in rows(data, REQUESTS)] == [
        f"robots https://{host}/robots.txt tls_failed0",
        f"robots http://{host}/robots.txt 404",
        f"page http://{host}/ 200",
        f"page http://{host}/2 200",
    ]
    assert "given up" in said("explain", f"https://{host}/", "--data-dir", str(data))
    said("verify", "--data-dir", str(data))


def test_a_seed_that_says_https_never_becomes_http(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with simweb.serve(plain_web(sites=1, pages=1, planted=PAGES)) as server:
        crawl(f"https://a.test:{server.port}/", data, server.dns, status=3)
    assert {row.split(":")[0] for (row,) in rows(data, REQUESTS)} == {"robots https"}


def test_a_name_that_does_not_exist_is_not_asked_for_under_http(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with simweb.serve(plain_web(sites=1, pages=1, planted=PAGES)) as server:
        crawl("nosuch.test", data, server.dns, status=3)
    assert [row for (row,) in rows(data, REQUESTS)] == ["robots https://nosuch.test/robots.txt no_such_name0"]


def test_where_neither_answers_both_are_tried_until_the_seed_is_given_up(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with simweb.serve(plain_web(sites=1, pages=1, planted=PAGES)) as server, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # no server listens
        port = unused.getsockname()[1]
        crawl(f"127.0.0.1:{port}", data, server.dns, status=3)
    https, http = f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port}"
    asked = [row for (row,) in rows(data, REQUESTS)]
    assert asked == [
        f"robots {https}/robots.txt connect_refused0",
        f"robots {http}/robots.txt connect_refused0",
        f"robots {https}/robots.txt connect_refused0",
        f"robots {http}/robots.txt connect_refused0",
    ]
    assert "1 connect_refused" in said("status", "--data-dir", str(data))
    said("verify", "--data-dir", str(data))


def test_the_guess_keeps_its_place_when_https_answers(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with simweb.serve(plain_web(sites=1, pages=1, planted=PAGES, tls=True)) as server:
        arguments = ["crawl", f"a.test:{server.tls_port}", "--data-dir", str(data), "--email", EMAIL, "--delay", "0.2"]
        network = ("--nameserver", server.dns, "--allow-network", "127.0.0.0/8", "--ca-file", str(server.ca_file))
        with Start([*arguments, *network]) as start:
            start.end()
    assert {row.split(":")[0] for (row,) in rows(data, REQUESTS)} == {"robots https", "page https"}
