"""What address networks waste: requests without an answer and costly pages, against requests that were answered. Pure.

A network (IPv4 /24, IPv6 /48) is the least that an attacker has to pay for, while names are free. It is no party: many
ordinary sites share one network of a hosting provider. So a network is only judged by what its sites waste, and the
judgement concerns only sites of it that have not answered yet.
"""

from __future__ import annotations

from collections import OrderedDict
from ipaddress import ip_address
from typing import Final

LEAST_WASTE: Final = 16  # wasted requests before a network is judged at all
COSTLY_WEIGHT: Final = 3  # wasted requests as which a costly page counts
MEMORY: Final = 1_000  # requests of a network after which its counts are halved: the recent ones decide
MAX_NETWORKS: Final = 10_000  # that are remembered; those that wasted something last


def network_of(address: str) -> str:
    """Return the network of an address: the first 24 bits for IPv4, the first 48 for IPv6."""
    if ":" not in address:
        return address.rpartition(".")[0]
    return ip_address(address.partition("%")[0]).packed[:6].hex()


class NetworkLedger:
    """Counts what networks waste. It knows only networks that wasted something: an ordinary crawl costs nothing."""

    __slots__ = ("networks", "wasteful")

    def __init__(self) -> None:
        self.wasteful = 0  # networks that are so now
        self.networks: OrderedDict[str, list[int]] = OrderedDict()  # wasted and answered requests

    def note_waste(self, address: str, times: int = 1) -> None:
        """Count a request that ended without an answer."""
        network = network_of(address)
        counts = self.networks.setdefault(network, [0, 0])
        self.networks.move_to_end(network)
        self._count(counts, times, 0)
        if len(self.networks) > MAX_NETWORKS:
            self.wasteful -= _is_wasteful(*self.networks.popitem(last=False)[1])

    def note_costly(self, address: str) -> None:
        """Count a page that was costly to read. Its request and that of its robots.txt count as answered: it counts
        for both, and once more.
        """
        self.note_waste(address, COSTLY_WEIGHT)

    def note_answer(self, address: str) -> None:
        """Count a request that was answered."""
        if self.networks and (counts := self.networks.get(network_of(address))):
            self._count(counts, 0, 1)

    def is_wasteful(self, address: str) -> bool:
        """Return whether the network of an address wasted most of its recent requests."""
        if not self.networks:
            return False
        return _is_wasteful(*self.networks.get(network_of(address), (0, 0)))

    def _count(self, counts: list[int], wasted: int, answered: int) -> None:
        before = _is_wasteful(*counts)
        counts[0] += wasted
        counts[1] += answered
        if counts[0] + counts[1] > MEMORY:
            counts[:] = counts[0] // 2, counts[1] // 2
        self.wasteful += _is_wasteful(*counts) - before


def _is_wasteful(wasted: int, answered: int) -> bool:
    return wasted >= LEAST_WASTE and wasted > answered
