"""The address guard: which IP addresses a crawl may contact. Pure.

Only addresses of the public internet and of networks that the operator named are allowed. The tables
below follow IANA's special-purpose registries instead of `ipaddress.is_global`, which differs
between Python releases and accepts several spellings of a private IPv4 address inside an IPv6 address.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable

Network: TypeAlias = IPv4Network | IPv6Network


class AddressRefusal(Enum):
    """Why an address may not be contacted."""

    SYNTAX = "not an IP address"
    THIS_NETWORK = "means this machine or this network"
    LOOPBACK = "a loopback address"
    PRIVATE = "a private network"
    SHARED = "shared address space of a carrier"
    LINK_LOCAL = "a link-local address"
    PROTOCOL = "reserved for a protocol, not for servers"
    DOCUMENTATION = "an address for documentation"
    BENCHMARKING = "an address for benchmarks"
    MULTICAST = "a multicast address"
    BROADCAST = "the broadcast address"
    RESERVED = "reserved, not part of the public internet"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressVerdict:
    """Whether an address may be contacted, and why not."""

    reason: AddressRefusal | None = None

    @property
    def allowed(self) -> bool:
        """Whether a request may go there."""
        return self.reason is None


def judge_address(
    address: str | IPv4Address | IPv6Address, allowed_networks: tuple[Network, ...] = ()
) -> AddressVerdict:
    """Judge an address by where a packet to it could arrive: every IPv4 address inside it counts.

    A network in `allowed_networks` permits its addresses in every spelling: 10.0.0.0/8 permits
    ::ffff:10.1.2.3. ::/0 does not permit it, because it is an IPv4 address.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return _VERDICTS[AddressRefusal.SYNTAX]
    if isinstance(parsed, IPv4Address):
        return _VERDICTS[_judge_ipv4(int(parsed), allowed_networks)]
    return _VERDICTS[_judge_ipv6(int(parsed), allowed_networks)]


def parse_network(text: str) -> Network:
    """Read a network as the operator writes it (`10.0.0.0/8`, `::1`)."""
    try:
        return ip_network(text.strip())
    except ValueError:
        try:
            meant = ip_network(text.strip(), strict=False)
        except ValueError:
            raise GossamerError(f"{text!r} is not a network: write it like 10.0.0.0/8 or fd00::/8.") from None
        raise GossamerError(f"{text!r} is an address within a network: write {meant} to allow that.") from None


def _judge_ipv4(number: int, allowed_networks: tuple[Network, ...]) -> AddressRefusal | None:
    if _is_inside(number, 4, 0, allowed_networks):
        return None
    return next((reason for first, last, reason in _IPV4_RANGES if first <= number <= last), None)


def _judge_ipv6(number: int, allowed_networks: tuple[Network, ...]) -> AddressRefusal | None:
    embedding = next((each for each in _EMBEDDINGS if each.first <= number <= each.last), None)
    # The operator must have named a part of the embedding: 2000::/3 does not permit 10.0.0.1 written as 6to4.
    if _is_inside(number, 6, embedding.prefix_bits if embedding else 0, allowed_networks):
        return None
    inside = embedding.ipv4_inside(number) if embedding else ()
    if number >> 32 & _ISATAP_MASK == _ISATAP_MARK:
        inside += (number & _LOW_32,)
    for ipv4 in inside:
        if reason := _judge_ipv4(ipv4, allowed_networks):
            return reason
    if embedding:
        return None
    return next((reason for first, last, reason in _IPV6_RANGES if first <= number <= last), None)


def _is_inside(number: int, version: int, min_prefix_bits: int, networks: tuple[Network, ...]) -> bool:
    return any(
        network.version == version
        and network.prefixlen >= min_prefix_bits
        and number & int(network.netmask) == int(network.network_address)
        for network in networks
    )


class _Embedding(NamedTuple):
    """A part of the IPv6 space whose packets arrive at the IPv4 addresses written inside the address."""

    first: int
    last: int
    prefix_bits: int
    ipv4_inside: Callable[[int], tuple[int, ...]]


def _embedding(prefix: str, ipv4_inside: Callable[[int], tuple[int, ...]]) -> _Embedding:
    network = IPv6Network(prefix)
    return _Embedding(int(network.network_address), int(network.broadcast_address), network.prefixlen, ipv4_inside)


def _ranges(table: dict[str, AddressRefusal]) -> list[tuple[int, int, AddressRefusal]]:
    networks = [(ip_network(text), reason) for text, reason in table.items()]
    return [(int(each.network_address), int(each.broadcast_address), reason) for each, reason in networks]


_LOW_32 = 0xFFFF_FFFF

_EMBEDDINGS = (
    _embedding("::ffff:0:0/96", lambda number: (number & _LOW_32,)),  # mapped: the kernel speaks IPv4
    _embedding("64:ff9b::/96", lambda number: (number & _LOW_32,)),  # NAT64, what DNS64 answers
    _embedding("2002::/16", lambda number: (number >> 80 & _LOW_32,)),  # 6to4
    _embedding("2001::/32", lambda number: (number >> 64 & _LOW_32, ~number & _LOW_32)),  # Teredo: server, client
)

# ISATAP can follow any prefix: the interface identifier is 0:5efe or 200:5efe, then an IPv4 address.
_ISATAP_MASK, _ISATAP_MARK = 0xFDFF_FFFF, 0x0000_5EFE

# IANA IPv4 Special-Purpose Address Registry and multicast; the first range that holds an address decides.
# 192.0.0.0/24 is refused as a whole: the nearest device, often the operator's own gateway, answers at the addresses
# in it that are marked reachable (PCP and TURN anycast). The AS112 and AMT blocks are ordinary public addresses.
_IPV4_RANGES = _ranges(
    {
        "0.0.0.0/8": AddressRefusal.THIS_NETWORK,
        "10.0.0.0/8": AddressRefusal.PRIVATE,
        "100.64.0.0/10": AddressRefusal.SHARED,
        "127.0.0.0/8": AddressRefusal.LOOPBACK,
        "169.254.0.0/16": AddressRefusal.LINK_LOCAL,
        "172.16.0.0/12": AddressRefusal.PRIVATE,
        "192.0.0.0/24": AddressRefusal.PROTOCOL,
        "192.0.2.0/24": AddressRefusal.DOCUMENTATION,
        "192.88.99.0/24": AddressRefusal.PROTOCOL,  # 6to4 relays, withdrawn
        "192.168.0.0/16": AddressRefusal.PRIVATE,
        "198.18.0.0/15": AddressRefusal.BENCHMARKING,
        "198.51.100.0/24": AddressRefusal.DOCUMENTATION,
        "203.0.113.0/24": AddressRefusal.DOCUMENTATION,
        "224.0.0.0/4": AddressRefusal.MULTICAST,
        "255.255.255.255/32": AddressRefusal.BROADCAST,
        "240.0.0.0/4": AddressRefusal.RESERVED,
    }
)

# IANA IPv6 Special-Purpose Address Registry, then everything outside 2000::/3, the only part that is assigned.
_IPV6_RANGES = _ranges(
    {
        "::/128": AddressRefusal.THIS_NETWORK,
        "::1/128": AddressRefusal.LOOPBACK,
        "64:ff9b:1::/48": AddressRefusal.PRIVATE,  # NAT64 within a network
        "100::/64": AddressRefusal.PROTOCOL,  # discarded by routers
        "2001:2::/48": AddressRefusal.BENCHMARKING,
        "2001:db8::/32": AddressRefusal.DOCUMENTATION,
        "2001::/23": AddressRefusal.PROTOCOL,  # refused as a whole, like 192.0.0.0/24
        "3fff::/20": AddressRefusal.DOCUMENTATION,
        "5f00::/16": AddressRefusal.PROTOCOL,  # segment routing
        "fc00::/7": AddressRefusal.PRIVATE,
        "fe80::/10": AddressRefusal.LINK_LOCAL,
        "fec0::/10": AddressRefusal.PRIVATE,  # site-local, withdrawn
        "ff00::/8": AddressRefusal.MULTICAST,
        "::/3": AddressRefusal.RESERVED,  # IPv4-compatible addresses (::/96) lie here
        "4000::/2": AddressRefusal.RESERVED,
        "8000::/1": AddressRefusal.RESERVED,
    }
)

_VERDICTS = {reason: AddressVerdict(reason=reason) for reason in (None, *AddressRefusal)}
