"""Where a site, and a worker, lies: shard and number, worked out by the client. Fixed for a crawl's life."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_128_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

SHARDS = 256
_KEY = Struct(">B7xq")  # the first byte of a digest, and its second half


class SiteKey(NamedTuple):
    """A site's key. It sorts as in the database, so that all transactions take locks in one order."""

    shard: int
    site_id: int


@lru_cache(maxsize=1 << 12)
def site_key(crawl: int, site: str) -> SiteKey:
    """Return a site's key: 72 bits of a hash. A billion sites make a clash of two of them a matter of 1 in 10,000."""
    return SiteKey(*_KEY.unpack(xxh3_128_digest(f"{crawl}/{site}".encode())))


def worker_shard(worker: int) -> int:
    """Return the shard of a worker's own rows."""
    return worker % SHARDS


def by_shard(keys: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the numbers of sites by shard, both ascending."""
    shards: dict[int, list[int]] = {}
    for shard, site_id in sorted(keys):
        shards.setdefault(shard, []).append(site_id)
    return shards
