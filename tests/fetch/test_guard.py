"""Private networks are unreachable: by name, by address in any spelling, and by the socket itself."""

from __future__ import annotations

import pytest

from gossamer.fetch.addresses import judge_address
from gossamer.fetch.multi import Multi
from gossamer.fetch.settings import FetchSettings
from gossamer.fetch.slots import RequestGate, RequestPlace
from gossamer.fetch.transfer import Transfer, TransferContext, TransferRequest
from gossamer.records import Failed, Fetched, Reason, RequestKind
from gossamer.urls import normalise
from tests.fetch.nameserver import Record, a, naming
from tests.fetch.servers import PAGE, fetcher, serving


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "①②⑦.0.0.1",
        "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[0:0:0:0:0:0:0:1]",
    ],
)  # fmt: skip
async def test_a_literal_address_of_this_machine_is_refused_in_every_spelling(host: str) -> None:
    async with serving(PAGE) as server, serving(PAGE, address="::1") as server6, fetcher(allow_network=()) as web:
        for port in (server.port, server6.port):
            url = normalise(f"http://{host}:{port}/")
            assert isinstance(url, str)
            outcome = await web.fetch(url)
            assert isinstance(outcome, Failed)
            assert outcome.reason is Reason.ADDRESS_REFUSED
            assert outcome.detail
        assert server.connections == server6.connections == 0


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "::"],
)
async def test_a_name_that_leads_inside_is_refused(address: str) -> None:
    kind = "AAAA" if ":" in address else "A"
    async with (
        naming({("inside.test", kind): [a(address)]}) as names,
        fetcher(allow_network=(), nameserver=names.address) as web,
    ):
        outcome = await web.fetch("http://inside.test/")
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.ADDRESS_REFUSED


async def test_an_alias_that_leads_inside_is_refused() -> None:
    answer = [Record("CNAME", "inside.test"), Record("A", "10.0.0.1", name="inside.test")]
    async with (
        naming({("outside.test", "A"): [answer]}) as names,
        fetcher(allow_network=(), nameserver=names.address) as web,
    ):
        outcome = await web.fetch("http://outside.test/")
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.ADDRESS_REFUSED


async def test_of_several_addresses_one_that_is_allowed_is_taken_every_time() -> None:
    async with (
        serving(PAGE, address="127.0.0.2") as server,
        naming({("mixed.test", "A"): [a("10.0.0.1", "127.0.0.2", "192.168.0.1")]}) as names,
        fetcher(allow_network=("127.0.0.2/32",), nameserver=names.address) as web,
    ):
        for _ in range(5):
            outcome = await web.fetch(server.url(host="mixed.test"))
            assert isinstance(outcome, Fetched)
            assert outcome.address == "127.0.0.2"


async def test_a_name_that_changes_its_address_after_the_check_is_not_asked_again() -> None:
    async with serving(PAGE, address="127.0.0.2") as allowed, serving(PAGE) as inside:
        zone = {("rebind.test", "A"): [a("127.0.0.2", ttl_s=0), a("127.0.0.1", ttl_s=0)]}
        async with naming(zone) as names:  # type: ignore[arg-type]
            async with fetcher(allow_network=("127.0.0.2/32",), nameserver=names.address) as web:
                outcome = await web.fetch(allowed.url(host="rebind.test"))
                assert isinstance(outcome, Fetched)
                assert outcome.address == "127.0.0.2"
                outcome = await web.fetch(f"http://rebind.test:{inside.port}/")
                assert isinstance(outcome, Failed), "no server listens there on 127.0.0.2"
            assert names.asked == [("rebind.test", "A")]
            assert inside.connections == 0


async def test_the_socket_itself_refuses_an_address_that_got_past_all_else() -> None:
    context = TransferContext(
        settings=FetchSettings(),
        headers=(),
        judge=judge_address,
        authorities=None,
        gate=RequestGate(limit=1, max_held_bytes=1_000),
    )
    async with serving(PAGE) as server, serving(PAGE, address="::1") as server6, Multi() as multi:
        transfer = Transfer(context)
        for address, port in (("127.0.0.1", server.port), ("::1", server6.port), ("::ffff:127.0.0.1", server.port)):
            request = TransferRequest(
                f"http://a.test:{port}/",
                address,
                RequestKind.PAGE,
                False,
                None,
                RequestPlace(),
            )
            outcome = await transfer.perform(multi, request)
            transfer.reset()
            assert isinstance(outcome, Failed)
            assert outcome.reason is Reason.ADDRESS_REFUSED
            assert "loopback" in outcome.detail
        transfer.close()
        assert server.connections == server6.connections == 0
