"""What every engine does with a batch: count its links and claims, and leave out links that were just committed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from gossamer import metrics
from gossamer.urls import WEB_PORTS, port_of_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.records import Claim, Link


def count_links(offered: int, new: int) -> None:
    """Count links that were offered to the frontier, and how many of them were new."""
    metrics.FRONTIER_LINKS_TOTAL.labels("new").inc(new)
    metrics.FRONTIER_LINKS_TOTAL.labels("known").inc(offered - new)


def count_claims(claims: Sequence[Claim]) -> None:
    """Count what was claimed."""
    metrics.FRONTIER_CLAIMS_TOTAL.labels("some" if claims else "empty").inc()
    metrics.FRONTIER_CLAIMED_SITES_TOTAL.inc(len(claims))
    metrics.FRONTIER_CLAIMED_URLS_TOTAL.inc(sum(len(claim.urls) for claim in claims))


def odd_ports(links: Iterable[Link]) -> set[int]:
    """Return the ports of the seeds among these links, besides 80 and 443. The target of a redirect is no seed."""
    hosts = {link.host for link in links if link.seeded and not link.hops and link.via is None}
    return {*map(port_of_host, hosts)} - WEB_PORTS


def ports_of(text: str) -> frozenset[int]:
    """Return the ports that a column lists."""
    return frozenset(map(int, text.split(","))) if text else frozenset()


class RecentLinks:
    """The hashes last committed, with the depth they were committed at. Exact: a false positive would lose a URL.

    A link is left out only if the very same URL is known to be in the frontier at no greater depth.
    """

    def __init__(self, most: int) -> None:
        """Remember at most `most` links; the oldest are forgotten first."""
        self._most = most
        self._depths: dict[bytes, int] = {}

    def unknown(self, links: Iterable[Link]) -> list[Link]:
        """Return the links that may be new. Seeds always may: they also mark their site."""
        depths = self._depths
        return [
            link for link in links
            if link.seeded or (depth := depths.get(link.url_hash)) is None or depth > link.depth
        ]  # fmt: skip

    def remember(self, links: Sequence[Link]) -> None:
        """Note links whose transaction has committed."""
        depths = self._depths
        for link in links:
            depth = depths.pop(link.url_hash, link.depth)  # moves to the young end
            depths[link.url_hash] = min(depth, link.depth)
        if (excess := len(depths) - self._most) > 0:
            for oldest in list(islice(depths, excess)):
                del depths[oldest]

    def clear(self) -> None:
        """Forget everything: after an error it is unknown what was committed."""
        self._depths.clear()
