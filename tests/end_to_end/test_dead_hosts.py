"""A host that does not answer costs its site nothing but a turn now and then: the other hosts go on."""

from __future__ import annotations

import asyncio
import csv
import io
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.end_to_end.crawls import EMAIL, Start, said, wait_until
from tests.fetch.nameserver import NO_SUCH_NAME, REFUSED, SERVER_FAILURE, a, naming

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fetch.nameserver import Reply

ALIVE, EMPTY, FULL = "127.0.3.1", "127.0.3.2", "127.0.3.3"
DEAD_LINKS = 12
LIVE_PAGES = 10  # of each of two hosts
MAX_TRIES = 1
SILENT = {
    "refused": "connect_refused",
    "timed out": "connect_timeout",
    "no TLS": "tls_failed",
    "SERVFAIL": "dns_failed",
    "REFUSED": "dns_failed",
    "NXDOMAIN": "no_such_name",
}
TRIES = dict.fromkeys(SILENT, 1 + MAX_TRIES) | {"NXDOMAIN": 1}


class Site(NamedTuple):
    """A site of three hosts, one of which fails."""

    nameserver: str
    seed: str
    asked: list[str]  # host and path of every request


@contextmanager
def failing(way: str) -> Iterator[Site]:
    """Serve a site whose front page links to a failing host first, and to two healthy ones behind that."""
    asked: list[str] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stop = asyncio.Event()

    async def serve(found: asyncio.Queue[tuple[str, int]]) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, asyncio.IncompleteReadError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split()[1]
                host = head.lower().partition("host: ")[2].partition("\r\n")[0]
                asked.append(host.partition(":")[0] + path)
                writer.write(_page(way, host, path))
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, ALIVE, 0)
        port = server.sockets[0].getsockname()[1]
        lame: Reply = {"SERVFAIL": SERVER_FAILURE, "REFUSED": REFUSED, "NXDOMAIN": NO_SUCH_NAME}.get(
            way, a({"refused": EMPTY, "timed out": FULL}.get(way, ALIVE))
        )
        zone: dict[tuple[str, str], list[Reply]] = {
            ("www.a.test", "*"): [a(ALIVE)], ("docs.a.test", "*"): [a(ALIVE)], ("dead.a.test", "*"): [lame],
        }  # fmt: skip
        async with server, naming(zone) as names:
            found.put_nowait((names.address, port))
            await stop.wait()

    async def begin() -> tuple[asyncio.Task[None], tuple[str, int]]:
        found: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        task = asyncio.ensure_future(serve(found))
        return task, await found.get()

    task, (nameserver, port) = asyncio.run_coroutine_threadsafe(begin(), loop).result()
    try:
        with _full_backlog(port):
            yield Site(nameserver, f"http://www.a.test:{port}/", asked)
    finally:
        loop.call_soon_threadsafe(stop.set)
        asyncio.run_coroutine_threadsafe(asyncio.wait([task]), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def _full_backlog(port: int) -> Iterator[None]:
    """Listen without accepting, with a full queue: connecting there takes for ever."""
    with socket.socket() as full:
        full.bind((FULL, port))
        full.listen(0)
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex((FULL, port))
            waiting.append(one)
        yield
        for one in waiting:
            one.close()


def _page(way: str, host: str, path: str) -> bytes:
    name, _, port = host.partition(":")
    status, body = "200 OK", f"<title>{host}{path}</title><p>A page of {host} at {path}.</p>"
    if name == "dead.a.test" and way == ("5xx for robots" if path == "/robots.txt" else "5xx for pages"):
        status, body = "503 Service Unavailable", ""
    elif path == "/robots.txt":
        status, body = "404 Not Found", ""
    elif (name, path) == ("www.a.test", "/"):
        scheme = "https" if way == "no TLS" else "http"
        links = [f"{scheme}://dead.a.test:{port}/{number}" for number in range(DEAD_LINKS)]
        links += [f"http://{live}.a.test:{port}/{number}" for number in range(LIVE_PAGES) for live in ("www", "docs")]
        body += "".join(f"<a href='{link}'>{link}</a> " for link in links)
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return (head + body).encode()


def start(site: Site, data: Path, frontier: str, *, retry_wait_s: float) -> Start:
    return Start([
        *("crawl", site.seed, "--data-dir", str(data), "--email", EMAIL, "--delay", "0", "--workers", "1"),
        *("--nameserver", site.nameserver, "--allow-network", "127.0.0.0/8", "--set", "connect_timeout=0.5"),
        *("--set", f"retry_wait={retry_wait_s}", "--set", f"max_tries={MAX_TRIES}"),
        *(("--frontier", frontier) if frontier else ()),
    ])  # fmt: skip


def live_pages(site: Site) -> set[str]:
    return {url for url in site.asked if not url.startswith("dead.") and not url.endswith("robots.txt")}


def rows(data: Path, query: str) -> list[list[str]]:
    text = said("query", query, "--format", "csv", "--data-dir", str(data))
    return list(csv.reader(io.StringIO(text)))[1:]


@pytest.mark.parametrize("way", [*SILENT, "5xx for robots", "5xx for pages"])
def test_a_failing_host_does_not_delay_the_other_hosts_of_its_site(tmp_path: Path, way: str) -> None:
    with failing(way) as site, start(site, tmp_path / "data", "", retry_wait_s=3600) as crawl:
        wait_until(lambda: len(live_pages(site)) == 1 + 2 * LIVE_PAGES, "the pages of the healthy hosts")
        assert said("stop", "--data-dir", str(tmp_path / "data"))
        crawl.end()
        asked = rows(tmp_path / "data", "select url from requests where url like '%dead.a.test%'")
    assert 1 <= len(asked) <= (8 if way == "5xx for pages" else 1), asked


@pytest.mark.parametrize("way", SILENT)
def test_after_its_last_try_all_urls_of_a_dead_host_are_given_up_for_its_reason(tmp_path: Path, way: str) -> None:
    _check_last_try(tmp_path, way, "")


@pytest.mark.parametrize("way", ["refused", "NXDOMAIN"])
def test_a_dead_host_is_given_up_on_both_engines(tmp_path: Path, frontier: str, way: str) -> None:
    _check_last_try(tmp_path, way, frontier)


def _check_last_try(tmp_path: Path, way: str, frontier: str) -> None:
    data = tmp_path / "data"
    with failing(way) as site, start(site, data, frontier, retry_wait_s=0.5) as crawl:
        crawl.end()
        assert len(live_pages(site)) == 1 + 2 * LIVE_PAGES
        asked = rows(data, "select reason, attempt from requests where url like '%dead.a.test%' order by started_at")
        assert asked == [[SILENT[way], str(number)] for number in range(1, 1 + TRIES[way])]
        status = said("status", "--data-dir", str(data))
        assert f"{DEAD_LINKS} {SILENT[way]}" in status, status
        said("verify", "--data-dir", str(data))
