"""The address guard: nothing but the public internet, however an address is written."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import GossamerError
from gossamer.fetch.addresses import AddressRefusal, judge_address, parse_network

# first, last, why; PUBLIC_EDGES has the neighbours
IPV4_RANGES = [
    ("0.0.0.0", "0.255.255.255", AddressRefusal.THIS_NETWORK),
    ("10.0.0.0", "10.255.255.255", AddressRefusal.PRIVATE),
    ("100.64.0.0", "100.127.255.255", AddressRefusal.SHARED),
    ("127.0.0.0", "127.255.255.255", AddressRefusal.LOOPBACK),
    ("169.254.0.0", "169.254.255.255", AddressRefusal.LINK_LOCAL),
    ("172.16.0.0", "172.31.255.255", AddressRefusal.PRIVATE),
    ("192.0.0.0", "192.0.0.255", AddressRefusal.PROTOCOL),
    ("192.0.2.0", "192.0.2.255", AddressRefusal.DOCUMENTATION),
    ("192.88.99.0", "192.88.99.255", AddressRefusal.PROTOCOL),
    ("192.168.0.0", "192.168.255.255", AddressRefusal.PRIVATE),
    ("198.18.0.0", "198.19.255.255", AddressRefusal.BENCHMARKING),
    ("198.51.100.0", "198.51.100.255", AddressRefusal.DOCUMENTATION),
    ("203.0.113.0", "203.0.113.255", AddressRefusal.DOCUMENTATION),
    ("224.0.0.0", "239.255.255.255", AddressRefusal.MULTICAST),
    ("240.0.0.0", "255.255.255.254", AddressRefusal.RESERVED),
    ("255.255.255.255", "255.255.255.255", AddressRefusal.BROADCAST),
]
IPV6_RANGES = [
    ("::", "::", AddressRefusal.THIS_NETWORK),
    ("::1", "::1", AddressRefusal.LOOPBACK),
    ("::2", "::fffe:ffff:ffff", AddressRefusal.RESERVED),  # IPv4-compatible addresses among them
    ("::1:0:0:0", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.RESERVED),
    ("64:ff9b::1:0:0", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", AddressRefusal.RESERVED),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", AddressRefusal.PRIVATE),
    ("64:ff9b:2::", "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.RESERVED),
    ("100::", "100::ffff:ffff:ffff:ffff", AddressRefusal.PROTOCOL),
    ("100:0:0:1::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.RESERVED),
    ("2001:1::", "2001:1:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.PROTOCOL),
    ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", AddressRefusal.BENCHMARKING),
    ("2001:2:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.PROTOCOL),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.DOCUMENTATION),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.DOCUMENTATION),
    ("4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.RESERVED),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.PROTOCOL),
    ("5f01::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.RESERVED),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.PRIVATE),
    ("fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.RESERVED),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.LINK_LOCAL),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.PRIVATE),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", AddressRefusal.MULTICAST),
]
PUBLIC_EDGES = [
    *(
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
    ),
    *("169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0"),
    *("192.0.1.255", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0"),
    *("198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0"),
    *("223.255.255.255", "192.31.196.1", "192.52.193.1", "192.175.48.1"),
    *("2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"),
    *("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    *("2003::", "2620:4f:8000::1", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"),
    "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
]
NOT_ADDRESSES = [
    *(
        "",
        " ",
        "example.org",
        "127.1",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "2130706433",
        "127.0.0.1 ",
        "[::1]",
        "::1%",
    ),
    *("1.2.3.4/32", "1.2.3.4\0", "１.2.3.4", "::ffff:0x7f.0.0.1", "\ud800", "1" * 100_000),
]

ipv4_numbers = st.one_of(
    st.integers(0, 2**32 - 1),
    st.sampled_from([n for a, b, _ in IPV4_RANGES for n in (int(IPv4Address(a)), int(IPv4Address(b)))]),
)


def embeddings_of(ipv4: int) -> dict[str, int]:
    """Every way of writing an IPv4 address inside an IPv6 one; a second one in it is public."""
    public = int(IPv4Address("8.8.8.8"))
    return {
        "mapped": 0xFFFF << 32 | ipv4,
        "compatible": ipv4,
        "translated": 0xFFFF << 48 | ipv4,
        "nat64": 0x64FF9B << 96 | ipv4,
        "local nat64": 0x64FF9B_0001 << 80 | ipv4,
        "6to4": 0x2002 << 112 | ipv4 << 80 | 1,
        "teredo client": 0x20010000 << 96 | public << 64 | ipv4 ^ 0xFFFFFFFF,
        "teredo server": 0x20010000 << 96 | ipv4 << 64 | public ^ 0xFFFFFFFF,
        "isatap": 0x2606_4700 << 96 | 0x0000_5EFE << 32 | ipv4,
        "isatap, global": 0x2606_4700 << 96 | 0x0200_5EFE << 32 | ipv4,
        "isatap behind 6to4": 0x2002 << 112 | public << 80 | 0x5EFE << 32 | ipv4,
    }


@pytest.mark.parametrize(("first", "last", "reason"), IPV4_RANGES + IPV6_RANGES)
def test_every_special_range_is_refused_from_its_first_to_its_last_address(
    first: str, last: str, reason: AddressRefusal
) -> None:
    middle = ip_address(first) + (int(ip_address(last)) - int(ip_address(first))) // 2
    for address in (first, last, str(middle), ip_address(first), ip_address(last)):
        verdict = judge_address(address)
        assert (verdict.allowed, verdict.reason) == (False, reason), address


@pytest.mark.parametrize("address", PUBLIC_EDGES)
def test_the_neighbours_of_special_ranges_are_public(address: str) -> None:
    assert judge_address(address).allowed


@pytest.mark.parametrize("text", NOT_ADDRESSES)
def test_what_is_not_an_address_is_refused_not_guessed(text: str) -> None:
    assert judge_address(text).reason is AddressRefusal.SYNTAX


@pytest.mark.parametrize("address", ["192.0.0.8", "192.0.0.9", "192.0.0.10", "192.0.0.170", "2001:1::1", "2001:20::1"])
def test_protocol_assignments_are_refused_even_where_the_registry_calls_them_reachable(address: str) -> None:
    assert judge_address(address).reason is AddressRefusal.PROTOCOL


def test_a_zone_does_not_hide_a_link_local_address() -> None:
    assert judge_address("fe80::1%eth0").reason is AddressRefusal.LINK_LOCAL
    assert judge_address(IPv6Address("::ffff:127.0.0.1%1")).reason is AddressRefusal.LOOPBACK


@given(ipv4_numbers)
def test_every_embedding_of_a_refused_ipv4_address_is_refused(ipv4: int) -> None:
    if judge_address(IPv4Address(ipv4)).allowed:
        return
    for name, number in embeddings_of(ipv4).items():
        assert not judge_address(IPv6Address(number)).allowed, name


@pytest.mark.parametrize("name", ["mapped", "nat64", "6to4", "teredo client", "teredo server", "isatap"])
def test_an_embedding_of_public_addresses_is_public(name: str) -> None:
    assert judge_address(IPv6Address(embeddings_of(int(IPv4Address("93.184.216.34")))[name])).allowed


@given(ipv4_numbers)
def test_nothing_is_allowed_that_the_standard_library_calls_private(number: int) -> None:
    address = IPv4Address(number)
    assert address.is_global or not judge_address(address).allowed


@given(st.integers(0, 2**128 - 1))
def test_any_ipv6_address_outside_global_unicast_holds_a_public_ipv4_address_or_is_refused(
    number: int,
) -> None:
    if judge_address(IPv6Address(number)).allowed and number >> 125 != 1:
        assert number >> 32 in (0xFFFF, 0x64FF9B << 64)
        assert judge_address(IPv4Address(number & 0xFFFFFFFF)).allowed


@given(st.text())
def test_no_text_makes_the_guard_raise(text: str) -> None:
    judge_address(text)


@pytest.mark.parametrize(
    ("networks", "address", "allowed"),
    [
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "::ffff:10.1.2.3", True),
        ("10.0.0.0/8", "64:ff9b::10.1.2.3", True),
        ("10.0.0.0/8", "2002:a01:203::1", True),
        ("10.0.0.0/8", "::10.1.2.3", False),  # nothing is ever found there
        ("10.0.0.0/8", "11.0.0.0", True),  # public as before
        ("10.0.0.0/8", "127.0.0.1", False),
        ("10.0.0.0/8", "::ffff:127.0.0.1", False),
        ("10.0.0.0/8", "2001:0:a01:203::f5fe:fdfc", True),  # Teredo: both 10.1.2.3
        ("10.0.0.0/8", "2001:0:a01:203::80ff:fffe", False),  # Teredo: the client is 127.0.0.1
        ("10.0.0.0/8 127.0.0.1/32", "127.0.0.1", True),
        ("10.0.0.0/8 127.0.0.1/32", "127.0.0.2", False),
        ("::ffff:10.0.0.0/104", "::ffff:10.1.2.3", True),
        ("::/0", "::1", True),
        ("::/0", "::ffff:10.1.2.3", False),
        ("2000::/3", "2002:a01:203::1", False),
        ("2002:a01::/32", "2002:a01:203::1", True),
        ("64:ff9b:1::/48", "64:ff9b:1::10.1.2.3", True),
        ("fd00::/8", "fd12::1", True),
        ("fd00::/8", "fc12::1", False),
        ("fd00::/8", "10.0.0.1", False),
        ("fe80::/10", "fe80::1%eth0", True),
        ("0.0.0.0/0", "169.254.169.254", True),
    ],
)
def test_the_operators_networks_are_permitted_and_nothing_beside_them(
    networks: str, address: str, allowed: bool
) -> None:
    assert judge_address(address, tuple(map(parse_network, networks.split()))).allowed is allowed


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), ipv4_numbers)
def test_allowing_a_network_changes_only_what_is_inside_it(base: int, bits: int, number: int) -> None:
    network = ip_network((base, bits), strict=False)
    address = IPv4Address(number)
    expected = judge_address(address).allowed or address in network
    assert judge_address(address, (network,)).allowed is expected
    assert judge_address(f"::ffff:{address}", (network,)).allowed is expected


def test_networks_are_read_as_people_write_them() -> None:
    assert parse_network("10.0.0.0/8") == IPv4Network("10.0.0.0/8")
    assert parse_network(" ::1 ") == IPv6Network("::1/128")


@pytest.mark.parametrize(
    ("text", "hint"),
    [("10.1.2.3/8", "write 10.0.0.0/8"), ("intranet", "like 10.0.0.0/8"), ("10.0.0.0/33", "like")],
)
def test_a_mistaken_network_is_answered_with_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(GossamerError, match=hint):
        parse_network(text)
