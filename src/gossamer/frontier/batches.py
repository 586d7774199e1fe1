"""What every engine does with a batch: count its links and claims, and leave out links that were just committed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer import metrics
from gossamer.records.rows import HASH_BYTES
from gossamer.story import tell
from gossamer.urls import WEB_PORTS, port_of_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gossamer.records import Batch, Claim, Link
    from gossamer.urls import Url

log = logging.getLogger("gossamer.frontier")

RECENT_LINKS: Final = 1 << 19  # 9 MB per worker
MAX_DEPTH: Final = 255  # links at this depth or deeper are not remembered

_ENTRY_BYTES: Final = HASH_BYTES + 1  # the hash, and how much nearer than MAX_DEPTH it is: 0 in a free place


def count_links(offered: int, new: int) -> None:
    """Count links that were offered to the frontier, and how many of them were new."""
    metrics.FRONTIER_LINKS_TOTAL.labels("new").inc(new)
    metrics.FRONTIER_LINKS_TOTAL.labels("known").inc(offered - new)


def note_claims(claims: Sequence[Claim], took_s: float, shard_of: Callable[[str], int] | None = None) -> None:
    """Count and tell what was claimed."""
    metrics.FRONTIER_CLAIMS_TOTAL.labels("some" if claims else "empty").inc()
    metrics.FRONTIER_CLAIMED_SITES_TOTAL.inc(len(claims))
    metrics.FRONTIER_CLAIMED_URLS_TOTAL.inc(sum(len(claim.urls) for claim in claims))

    if log.isEnabledFor(logging.DEBUG):
        names = [claim.site for claim in claims]
        shards = {} if shard_of is None else {"shards": sorted(set(map(shard_of, names)))}
        urls = sum(len(claim.urls) for claim in claims)
        tell(log, "claim", sites=len(claims), urls=urls, took_s=took_s, **shards, names=names)


def note_completion(batch: Batch, *, new: int, lost: int, took_s: float) -> None:
    """Count the links of a batch, and tell what it brought."""
    count_links(len(batch.links), new)
    if log.isEnabledFor(logging.DEBUG):
        tell(
            log,
            "completion",
            sites=len(batch.visits),
            outcomes=sum(len(visit.outcomes) for visit in batch.visits),
            released=sum(visit.release is not None for visit in batch.visits),
            links=len(batch.links),
            new=new,
            lost=lost,
            took_s=took_s,
        )


def odd_ports(links: Iterable[Link]) -> set[int]:
    """Return the ports of the seeds among these links, besides 80 and 443. The target of a redirect is no seed."""
    hosts = {link.host for link in links if link.seeded and not link.hops and link.via is None}
    return {*map(port_of_host, hosts)} - WEB_PORTS


def ports_of(text: str) -> frozenset[int]:
    """Return the ports that a column lists."""
    return frozenset(map(int, text.split(","))) if text else frozenset()


class RecentLinks:
    """The hashes committed lately, each with the depth it was committed at. Exact: a false positive would lose a URL.

    A link is left out only if the very same URL is known to be in the frontier at no greater depth. The table has its
    full size from the start, and each hash has one place in it: a newer one takes the place of an older one. The thread
    of the frontier writes to it, and turns read it in another one: an entry is read and written at once, as a slice.
    """

    def __init__(self, places: int = RECENT_LINKS) -> None:
        """Remember at most `places` links, a power of two."""
        self._places = places
        self._table = bytearray(places * _ENTRY_BYTES)

    def is_known(self, url_hash: bytes, depth: int) -> bool:
        """Return whether a URL is known at this depth or a smaller one."""
        at = (hash(url_hash) & (self._places - 1)) * _ENTRY_BYTES
        entry = self._table[at : at + _ENTRY_BYTES]
        return entry.startswith(url_hash) and entry[HASH_BYTES] >= MAX_DEPTH - depth > 0

    def unknown(self, links: Iterable[Link]) -> list[Link]:
        """Return the links that may be new. Seeds always may: they also mark their site."""
        return [link for link in links if link.seeded or not self.is_known(link.url_hash, link.depth)]

    def unknown_at(self, depth: int, links: Sequence[Url]) -> Sequence[Url]:
        """Return the links of a page, which are no seeds and have this depth, that may be new."""
        if (nearness := MAX_DEPTH - depth) <= 0:
            return links
        table, mask = self._table, self._places - 1
        return [  # as `is_known`, but without a call for each link of a page
            link for link in links
            if not (
                entry := table[(at := (hash(link.url_hash) & mask) * _ENTRY_BYTES) : at + _ENTRY_BYTES]
            ).startswith(link.url_hash)
            or entry[HASH_BYTES] < nearness
        ]  # fmt: skip

    def remember(self, links: Iterable[Link]) -> None:
        """Note links whose transaction has committed."""
        table, mask = self._table, self._places - 1
        for link in links:
            if link.depth < MAX_DEPTH and not self.is_known(link.url_hash, link.depth):
                at = (hash(link.url_hash) & mask) * _ENTRY_BYTES
                table[at : at + _ENTRY_BYTES] = link.url_hash + bytes((MAX_DEPTH - link.depth,))

    def clear(self) -> None:
        """Forget everything: after an error it is unknown what was committed."""
        self._table = bytearray(len(self._table))
