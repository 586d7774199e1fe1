"""The name server of the simulated web, queried by a real resolver."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import aiodns
import pycares
import pytest

from gossamer_simweb import PlantedName, PlantedPage, WebPlan, plain_web, serve
from gossamer_simweb.dns import AAAA, A, DnsResponder

if TYPE_CHECKING:
    from gossamer_simweb import WebServer


def look_up(server: WebServer, name: str, record: str = "A", *, patience_s: float = 30) -> list[tuple[str, int]] | int:
    """Return addresses with their time to live, or c-ares' error number."""

    async def ask() -> list[tuple[str, int]] | int:
        async with aiodns.DNSResolver(nameservers=[server.dns], timeout=patience_s, tries=1) as resolver:
            try:
                answer = (await resolver.query_dns(name, record)).answer
            except aiodns.error.DNSError as error:
                return int(error.args[0])
            found = []
            for one in answer:
                assert isinstance(one.data, pycares.ARecordData | pycares.AAAARecordData)
                found.append((one.data.addr, one.ttl))
            return found

    return asyncio.run(ask())


def test_every_host_of_a_site_has_the_sites_address(server: WebServer) -> None:
    for number in range(server.web.spec.sites):
        hosts = server.web.hosts(number)
        for name in filter(None, (hosts.main, hosts.alias, *hosts.subs)):
            address = server.web.address(name)
            assert address is not None
            assert look_up(server, name.upper()) == [(address, 300)]


def test_other_names_do_not_exist_and_ours_have_no_ipv6(server: WebServer) -> None:
    assert look_up(server, "nowhere-1.test") == aiodns.error.ARES_ENOTFOUND
    assert look_up(server, "example.org") == aiodns.error.ARES_ENOTFOUND
    assert look_up(server, server.web.hosts(0).main, "AAAA") == aiodns.error.ARES_ENODATA


def test_planted_names_resolve_to_anything_and_lookups_are_counted() -> None:
    names = (
        PlantedName(name="inside.test", addresses=("10.0.0.1", "169.254.1.1", "::1"), ttl_s=7),
        PlantedName(name="rebind.test", addresses=("192.0.2.1",), later_addresses=("127.0.0.1",)),
        PlantedName(name="empty.test"),
        PlantedName(name="broken.test", failure="servfail"),
        PlantedName(name="gone.test", failure="nxdomain"),
        PlantedName(name="silent.test", failure="silence"),
    )
    with serve(plain_web(sites=1, pages=1, planted_names=names, planted=(PlantedPage(host="page.test"),))) as server:
        assert look_up(server, "inside.test") == [("10.0.0.1", 7), ("169.254.1.1", 7)]
        assert look_up(server, "inside.test", "AAAA") == [("::1", 7)]
        assert [look_up(server, "rebind.test") for _ in range(3)] == [
            [("192.0.2.1", 300)],
            [("127.0.0.1", 300)],
            [("127.0.0.1", 300)],
        ]
        assert look_up(server, "empty.test") == aiodns.error.ARES_ENODATA
        assert look_up(server, "broken.test") == aiodns.error.ARES_ESERVFAIL
        assert look_up(server, "gone.test") == aiodns.error.ARES_ENOTFOUND
        assert look_up(server, "silent.test", patience_s=0.3) == aiodns.error.ARES_ETIMEOUT
        assert look_up(server, "page.test") == [(server.web.address("page.test"), 300)]
        asked = [(name, record) for _, name, record in server.lookups()]
        assert asked.count(("rebind.test", A)) == 3
        assert asked.count(("inside.test", AAAA)) == 1


@pytest.mark.parametrize(
    "message", [b"", b"x", b"\0" * 12, bytes(range(40)), b"\1\2\1\0\0\1\0\0\0\0\0\0\x50abc", b"\xff" * 50]
)
def test_malformed_messages_get_no_reply(message: bytes) -> None:
    lookup, reply = DnsResponder(WebPlan(plain_web(sites=1, pages=1))).reply(message)
    assert reply is None
    assert lookup is None


def test_a_reply_echoes_the_question_and_says_that_it_is_an_answer() -> None:
    name_server = DnsResponder(WebPlan(plain_web(sites=1, pages=1)))
    question = b"\x04TEST\0\0\1\0\1"
    for desired in (0, 1):
        head = b"\xab\xcd" + bytes((desired, 0)) + b"\0\1\0\0\0\0\0\0"
        _, reply = name_server.reply(head + question)
        assert reply is not None
        assert reply[:2] == b"\xab\xcd"
        assert (reply[2], reply[3] & 15) == (0x84 | desired, 3)
        assert reply[12:].startswith(question)


def test_the_name_server_survives_malformed_messages(server: WebServer) -> None:
    host, _, port = server.dns.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.sendto(b"\xff" * 100, (host, int(port)))
    name = server.web.hosts(0).main
    assert look_up(server, name) == [(server.web.address(name), 300)]
