"""Which hosts a crawl sends requests to at all: those with a name, on the ports of the web. Pure.

One page can hold thousands of links to addresses and ports of strangers. An address has no name that says who runs it,
and every address would be a site of its own; on another port is often no web server. So links lead only to hosts that
the seeds could lead to: a host on another port, or at an address, is followed only from a page of the same port, or of
the same address.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.records import Reason
from gossamer.urls import is_address, name_of_host

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gossamer.urls import Url

WEB_PORTS: Final = frozenset({80, 443})
# Those that browsers never contact: https://fetch.spec.whatwg.org/#port-blocking
BLOCKED_PORTS: Final = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
        110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530,
        531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190,
        5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    }
)  # fmt: skip


class TargetRules(NamedTuple):
    """What the operator allows beyond the hosts of the web."""

    ip_hosts: bool = False
    ports: Collection[int] = ()

    def refuse(self, host: str, *, by: str, same_port: bool = True) -> Reason | None:
        """Return why a host to which the host `by` leads gets no request; None if it may get one.

        Without `same_port`, the port counts as allowed: a seed and a robots.txt may redirect to another port of
        their own site.
        """
        if host == by:
            return None
        port, address = _door(host)
        if port in BLOCKED_PORTS:
            return Reason.PORT_REFUSED
        by_port, by_address = _door(by) if by else (0, "")
        # Only seeds lead from ports 80 and 443 to others. A crawl of a web on such ports follows links to all of them.
        is_open = port in WEB_PORTS or port in self.ports or (by_port and by_port not in WEB_PORTS)
        if same_port and not is_open:
            return Reason.PORT_REFUSED
        return Reason.IP_HOST if address and address != by_address and not self.ip_hosts else None

    def select(self, links: Iterable[Url], *, by: str) -> tuple[list[Url], dict[Reason, int]]:
        """Return the links of a page at a host that may be followed, and how many were refused, by reason."""
        kept: list[Url] = []
        refused: dict[Reason, int] = {}
        for link in links:
            if link.host == by or (reason := self.refuse(link.host, by=by)) is None:
                kept.append(link)
            else:
                refused[reason] = refused.get(reason, 0) + 1
        return kept, refused


def is_blocked(host: str) -> bool:
    """Return whether no request ever goes to a host, even if the operator names it: its port is no port of the web."""
    return _door(host)[0] in BLOCKED_PORTS


def target_in_words(host: str, reason: Reason) -> str:
    """Return why links to a host are not followed."""
    port, _ = _door(host)
    if reason is Reason.IP_HOST:
        return "links to addresses instead of names are not followed without --allow-ip-hosts"
    if port in BLOCKED_PORTS:
        return f"port {port} is never contacted, as in browsers"
    return f"links to port {port} are followed only from pages on that port, or with --allow-ports {port}"


@lru_cache(maxsize=1 << 12)
def _door(host: str) -> tuple[int, str]:
    """Return the port of a host, and its address if it has no name."""
    scheme, _, rest = host.partition("://")
    _, colon, port = rest.rpartition("]")[2].partition(":")
    name = name_of_host(host)
    return int(port) if colon else (443 if scheme == "https" else 80), name if is_address(name) else ""
