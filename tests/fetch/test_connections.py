"""Connections that cannot be made: refused, never answered, or not to be trusted."""

from __future__ import annotations

import datetime
import socket
import ssl
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest
import trustme

from gossamer.errors import GossamerError
from gossamer.records import Failed, Fetched, Reason
from tests.fetch.nameserver import a, naming
from tests.fetch.servers import OK, PAGE, Peer, fetcher, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fetch.servers import Behaviour, Server

NAME = "www.example.test"
ENOUGH_S = 2.0  # for what takes milliseconds, also on a busy machine


class Authority(NamedTuple):
    """A certificate authority, and the file with which we trust it."""

    issuer: trustme.CA
    file: Path

    def context(self, name: str = NAME, *, expired: bool = False) -> ssl.SSLContext:
        """Return a server's TLS context with a certificate for this name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        last = datetime.datetime(2020 if expired else 2035, 1, 1)  # noqa: DTZ001
        first = datetime.datetime(2019, 1, 1)  # noqa: DTZ001
        self.issuer.issue_cert(name, not_before=first, not_after=last).configure_cert(context)
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that is not trusted by default."""
    made = Authority(trustme.CA(), tmp_path_factory.mktemp("authority") / "ca.pem")
    made.issuer.cert_pem.write_to_path(made.file)
    return made


@asynccontextmanager
async def secured(
    context: ssl.SSLContext | None, behaviour: bytes | Behaviour = PAGE
) -> AsyncIterator[tuple[Server, str]]:
    """Run a server under our name; yields it with the address of a name server that knows it."""
    async with (
        serving(behaviour, tls=context, listens=context is not None) as server,
        naming({(NAME, "A"): [a("127.0.0.1")]}) as names,
    ):
        server.scheme = "https"
        yield server, names.address


async def test_a_certificate_of_a_trusted_authority_for_the_right_name_is_accepted(authority: Authority) -> None:
    async with (
        secured(authority.context()) as (server, nameserver),
        fetcher(ca_file=authority.file, nameserver=nameserver) as web,
    ):
        outcome = await web.fetch(server.url("/a", host=NAME))
        assert isinstance(outcome, Fetched), outcome
        assert (outcome.body, outcome.address) == (b"hello", "127.0.0.1")
        assert [outcome.request_head] == server.heard
        assert b"\r\nHost: www.example.test:%d\r\n" % server.port in outcome.request_head


async def test_a_certificate_for_an_address_is_accepted_for_that_address(authority: Authority) -> None:
    async with serving(PAGE, tls=authority.context("127.0.0.1")) as server, fetcher(ca_file=authority.file) as web:
        assert isinstance(await web.fetch(server.url()), Fetched)


@pytest.mark.parametrize("wrong", ["name", "authority", "date"])
async def test_a_wrong_certificate_is_refused_and_nothing_is_sent(authority: Authority, wrong: str) -> None:
    context = authority.context("other.test") if wrong == "name" else authority.context(expired=wrong == "date")
    ca_file = None if wrong == "authority" else authority.file
    async with secured(context) as (server, nameserver):
        async with fetcher(nameserver=nameserver, ca_file=ca_file) as web:
            outcome = await web.fetch(server.url(host=NAME))
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.TLS_FAILED
        assert {"name": "example.test", "authority": "issuer", "date": "expired"}[wrong] in outcome.detail
        assert server.heard == []
        async with fetcher(nameserver=nameserver, insecure=True) as web:
            assert isinstance(await web.fetch(server.url(host=NAME)), Fetched), "insecure means insecure"


async def test_servers_without_the_cheapest_curve_or_the_newest_protocol_can_be_spoken_to(
    authority: Authority,
) -> None:
    for curve, newest in (("secp384r1", ssl.TLSVersion.TLSv1_3), ("prime256v1", ssl.TLSVersion.TLSv1_2)):
        context = authority.context()
        context.set_ecdh_curve(curve)
        context.maximum_version = newest
        async with (
            secured(context) as (server, nameserver),
            fetcher(ca_file=authority.file, nameserver=nameserver) as web,
        ):
            assert isinstance(await web.fetch(server.url(host=NAME)), Fetched), curve


async def say_http(peer: Peer) -> None:
    await peer.send(PAGE)


async def hang_up(_: Peer) -> None:
    return


async def reset(peer: Peer) -> None:
    peer.reset()


async def be_silent(peer: Peer) -> None:
    await peer.wait_until_gone()


@pytest.mark.parametrize("behaviour", [say_http, hang_up, reset])
async def test_a_server_that_does_not_speak_tls_fails_by_tls(behaviour: Behaviour) -> None:
    async with secured(None, behaviour) as (server, nameserver), fetcher(nameserver=nameserver) as web:
        outcome = await web.fetch(server.url(host=NAME))
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.TLS_FAILED


async def test_a_handshake_that_takes_too_long_fails_by_tls_not_by_connecting() -> None:
    async with (
        secured(None, be_silent) as (server, nameserver),
        fetcher(nameserver=nameserver, connect_timeout_s=ENOUGH_S) as web,
    ):
        outcome = await web.fetch(server.url(host=NAME))
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.TLS_FAILED
        assert "timed out" in outcome.detail


async def test_a_server_that_falls_silent_after_the_handshake_has_timed_out(authority: Authority) -> None:
    async with (
        secured(authority.context(), be_silent) as (server, nameserver),
        fetcher(nameserver=nameserver, ca_file=authority.file, total_timeout_s=ENOUGH_S) as web,
    ):
        outcome = await web.fetch(server.url(host=NAME))
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.TIMEOUT


async def test_a_server_that_wants_a_certificate_of_us_fails_by_tls(authority: Authority) -> None:
    context = authority.context()
    context.verify_mode = ssl.CERT_REQUIRED
    authority.issuer.configure_trust(context)
    async with (
        secured(context) as (server, nameserver),
        fetcher(nameserver=nameserver, ca_file=authority.file) as web,
    ):
        outcome = await web.fetch(server.url(host=NAME))
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.TLS_FAILED


async def test_the_veto_is_asked_for_after_the_handshake(authority: Authority) -> None:
    async with (
        secured(authority.context("other.test")) as (server, nameserver),
        fetcher(nameserver=nameserver, ca_file=authority.file) as web,
    ):
        answers = [True, False]  # before it connects, and before it sends
        outcome = await web.fetch(server.url(host=NAME), before_send=lambda: answers.pop(0))
        assert isinstance(outcome, Failed)
        assert (outcome.reason, answers) == (Reason.TLS_FAILED, [False])


async def test_half_a_page_over_tls_is_kept_and_marked(authority: Authority) -> None:
    async with (
        secured(authority.context(), OK + b"Content-Length: 100\r\n\r\nhel") as (server, nameserver),
        fetcher(nameserver=nameserver, ca_file=authority.file) as web,
    ):
        outcome = await web.fetch(server.url(host=NAME))
        assert isinstance(outcome, Fetched)
        assert outcome.truncated == "disconnect"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_refused_connection_is_refused(scheme: str) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # a port that no other process can get, and on which none listens
        async with fetcher() as web:
            outcome = await web.fetch(f"{scheme}://127.0.0.1:{deaf.getsockname()[1]}/")
        assert isinstance(outcome, Failed)
        assert (outcome.reason, outcome.address) == (Reason.CONNECT_REFUSED, "127.0.0.1")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems fill a backlog otherwise")
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_connection_that_is_never_answered_has_timed_out_in_connecting(scheme: str) -> None:
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for other in (first, second):  # fill the backlog: from now on no connection is accepted
            other.setblocking(False)
            other.connect_ex(deaf.getsockname())
        async with fetcher(connect_timeout_s=0.2) as web:
            outcome = await web.fetch(f"{scheme}://127.0.0.1:{deaf.getsockname()[1]}/")
            assert isinstance(outcome, Failed)
            assert outcome.reason is Reason.CONNECT_TIMEOUT
            assert outcome.duration_s < 20


@pytest.mark.parametrize("content", [None, "this is no certificate"])
async def test_a_file_without_authorities_is_the_operators_mistake(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(GossamerError, match="--ca-file"):
        async with fetcher(ca_file=file):
            pass
