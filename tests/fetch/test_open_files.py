"""A worker raises its own limit of open files before it decides how many requests it makes at once."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from tests.fetch.nameserver import a, naming
from tests.fetch.servers import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fetch.nameserver import Reply
    from tests.fetch.servers import Peer

AT_ONCE = 60
SOFT_LIMIT, HARD_LIMIT = 128, 1_024  # 128 open files suffice for 32 requests at once, 1,024 for all
HELD_S = 10  # how long the server holds its answers back for requests that never come
GONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from gossamer import Crawl
folder, nameserver, *seeds = sys.argv[1:]
with Crawl(
    seeds, data_dir=folder, nameserver=nameserver, in_flight=len(seeds),
    email="tests@example.org", delay=0, allow_network="127.0.0.0/8",
) as crawl:
    for page in crawl:
        pass
"""


async def test_a_worker_under_a_low_soft_limit_makes_as_many_requests_at_once_as_the_hard_limit_allows(
    tmp_path: Path,
) -> None:
    under_way = most = 0
    all_there = asyncio.Event()

    async def answer_when_all_are_there(peer: Peer) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if most == AT_ONCE:
            all_there.set()
        try:
            await asyncio.wait_for(all_there.wait(), HELD_S)
        except TimeoutError:
            all_there.set()
        under_way -= 1
        await peer.send(GONE)

    names = [f"site{number}.test" for number in range(AT_ONCE)]
    zone: dict[tuple[str, str], list[Reply]] = {(name, "A"): [a("127.0.0.1")] for name in names}
    async with naming(zone) as nameserver, serving(answer_when_all_are_there) as server:
        seeds = [server.url(host=name) for name in names]
        program = PROGRAM.format(soft=SOFT_LIMIT, hard=HARD_LIMIT)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, str(tmp_path / "data"), nameserver.address, *seeds
        )
        assert await child.wait() == 0
    assert most == AT_ONCE
