"""What requests contain, which address they go to, and how often they are made."""

from __future__ import annotations

import asyncio
import random
import string
import time
from typing import TYPE_CHECKING

import pytest
import uvloop

from gossamer.errors import GossamerError
from gossamer.records import Failed, Fetched, Reason, RequestKind
from gossamer.urls import normalise
from tests.fetch.servers import OK, PAGE, Peer, fetcher, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("run", [uvloop.run, asyncio.run])
def test_a_page_comes_back_as_it_was_sent_on_either_event_loop(run: Callable[..., None]) -> None:
    async def scenario() -> None:
        async with serving(PAGE) as server, fetcher() as web:
            before = time.time()
            outcome = await web.fetch(server.url("/a?b"))
            assert isinstance(outcome, Fetched)
            assert outcome.url == server.url("/a?b")
            assert outcome.status == 200
            assert outcome.head + outcome.body == PAGE
            assert outcome.truncated is None
            assert not outcome.type_refused
            assert outcome.address == "127.0.0.1"
            assert before <= outcome.started_at <= outcome.started_at + outcome.duration_s <= time.time()
            assert [outcome.request_head] == server.heard

    run(scenario())


@pytest.mark.parametrize(("archives", "encodings"), [(True, b"gzip, deflate, br"), (False, b"gzip, deflate, br, zstd")])
async def test_a_request_says_who_we_are_and_what_we_want_and_no_more(archives: bool, encodings: bytes) -> None:
    async with (
        serving(PAGE) as server,
        fetcher(user_agent="Bot/2 (+x)", email="me@example.org", archives=archives) as web,
    ):
        await web.fetch(server.url("/robots.txt"), kind=RequestKind.ROBOTS)
        assert server.heard == [
            b"GET /robots.txt HTTP/1.1\r\n"
            b"Host: 127.0.0.1:%d\r\n" % server.port + b"User-Agent: Bot/2 (+x)\r\n"
            b"Accept: text/html,application/xhtml+xml,text/plain,*/*;q=0.1\r\n"
            b"Accept-Encoding: " + encodings + b"\r\n"
            b"From: me@example.org\r\n"
            b"Connection: close\r\n\r\n"
        ]


async def test_the_request_head_is_kept_to_the_byte_whatever_the_url_holds() -> None:
    draw = random.Random(3)
    tails = ["/%2e%2E/%2f//a;b=c", "/a|b[c]^{d}~`'\"<>", "/?{}|\\^`'<>\"", "/??&&==", "/%00%0d%0a%", "/x:80@y/*"]
    tails += ["/" + "".join(draw.choices(string.printable.strip() + "äß漢", k=30)) for _ in range(100)]
    async with serving(PAGE) as server, fetcher() as web:
        urls = [normalise(server.url(tail)) for tail in tails]
        for url in (*urls, server.url("/not/../normalised/./at/%2e%2e/all")):
            assert isinstance(url, str)
            outcome = await web.fetch(url)
            assert isinstance(outcome, Fetched), outcome
            assert outcome.request_head == server.heard[-1]
            assert outcome.request_head.startswith(b"GET %s HTTP/1.1\r\n" % url.removeprefix(server.url("")).encode())


async def test_the_request_head_is_kept_to_the_byte_for_an_ipv6_host() -> None:
    async with serving(PAGE, address="::1") as server, fetcher() as web:
        outcome = await web.fetch(server.url(host="[::1]"))
        assert isinstance(outcome, Fetched), outcome
        assert outcome.address == "::1"
        assert [outcome.request_head] == server.heard
        assert b"\r\nHost: [::1]:%d\r\n" % server.port in outcome.request_head


async def test_every_request_has_a_connection_of_its_own_and_brings_no_cookie_along() -> None:
    answer = OK + b"Set-Cookie: a=b\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"

    async def stay(peer: Peer) -> None:
        await peer.send(answer)
        await peer.wait_until_gone()

    async with serving(stay) as server, fetcher() as web:
        for _ in range(3):
            assert isinstance(await web.fetch(server.url()), Fetched)
        assert server.connections == 3
        assert b"cookie" not in b"".join(server.heard).lower()


@pytest.mark.parametrize("status", [b"301", b"302", b"303", b"307", b"308", b"300", b"401"])
async def test_redirects_and_challenges_are_answers_not_orders(status: bytes) -> None:
    answer = b"HTTP/1.1 %s No\r\nLocation: /b\r\nRefresh: 0; url=/c\r\nWWW-Authenticate: Basic\r\n\r\nthere" % status
    async with serving(answer) as server, fetcher() as web:
        outcome = await web.fetch(server.url("/a"))
        assert isinstance(outcome, Fetched)
        assert (outcome.status, outcome.body) == (int(status), b"there")
        assert len(server.heard) == 1


async def test_neither_proxies_nor_passwords_of_the_environment_are_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with serving(b"HTTP/1.1 200 I am the proxy\r\n\r\n") as proxy, serving(PAGE) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\ndefault login me password x\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        async with fetcher() as web:
            assert isinstance(await web.fetch(server.url()), Fetched)
        assert proxy.connections == 0
        assert b"Authorization" not in server.heard[0]


async def test_a_veto_leaves_the_server_without_a_connection_or_without_a_request() -> None:
    async with serving(PAGE) as server, fetcher(in_flight=1) as web:
        outcome = await web.fetch(server.url(), before_send=lambda: False)
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.address) == (Reason.CANCELLED, "")
        assert server.connections == 0
        answers = [True, False]
        outcome = await web.fetch(server.url(), before_send=lambda: answers.pop(0))
        await server.gone.wait()
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.address) == (Reason.CANCELLED, "127.0.0.1")
        assert (server.connections, server.heard) == (1, [])
        assert isinstance(await web.fetch(server.url(), before_send=lambda: True), Fetched)
        assert isinstance(await web.fetch(server.url()), Fetched), "the veto outlived its request"


async def test_a_cancelled_request_hangs_up_at_once_and_its_place_is_free_again() -> None:
    heard = asyncio.Event()

    async def be_silent(peer: Peer) -> None:
        heard.set()
        await peer.wait_until_gone()

    async with serving(be_silent) as silent, serving(PAGE) as server, fetcher(in_flight=1) as web:
        under_way = asyncio.create_task(web.fetch(silent.url()))
        await heard.wait()
        under_way.cancel()
        async with asyncio.timeout(5):
            await silent.gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        assert isinstance(await web.fetch(server.url()), Fetched)


async def test_what_is_under_way_when_the_fetcher_closes_is_cancelled() -> None:
    heard = asyncio.Event()

    async def be_silent(peer: Peer) -> None:
        heard.set()
        await peer.wait_until_gone()

    async with serving(be_silent) as silent:
        async with fetcher() as web:
            under_way = asyncio.create_task(web.fetch(silent.url()))
            await heard.wait()
        async with asyncio.timeout(5):
            await silent.gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await under_way


async def test_no_more_requests_are_under_way_than_the_setting_says() -> None:
    under_way, most = 0, 0
    full = asyncio.Event()

    async def count(peer: Peer) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if most == 7:
            full.set()
        await full.wait()
        under_way -= 1
        await peer.send(PAGE)

    async with serving(count) as server, fetcher(in_flight=7) as web:
        outcomes = await asyncio.gather(*(web.fetch(server.url()) for _ in range(50)))
        assert all(isinstance(outcome, Fetched) for outcome in outcomes)
        assert most == 7


async def test_hundreds_of_requests_at_once_each_get_their_own_answer() -> None:
    async def echo(peer: Peer) -> None:
        path = server.heard[-1].split()[1]
        await peer.send(OK + b"Content-Length: %d\r\n\r\n" % len(path) + path)

    async with serving(echo) as server, fetcher() as web:
        outcomes = await asyncio.gather(*(web.fetch(server.url(f"/{n}")) for n in range(400)))
        for number, outcome in enumerate(outcomes):
            assert isinstance(outcome, Fetched), outcome
            assert outcome.body == b"/%d" % number
            assert outcome.request_head.startswith(b"GET /%d HTTP" % number)


@pytest.mark.parametrize("user_agent", ["Bot\r\nX-Evil: 1", "Böt"])
def test_a_user_agent_that_is_no_header_is_refused(user_agent: str) -> None:
    with pytest.raises(GossamerError, match="printable ASCII"):
        fetcher(user_agent=user_agent)
