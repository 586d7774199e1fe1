"""How long a million seeds take to load into PostgreSQL, in the way that `gossamer crawl` loads them.

python -m bench postgres seeds --seeds 1000000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench.postgres.building import Meter, database, load_average, server
from gossamer.crawl.seeding import Seeds, load_all
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.records import Scope


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench postgres seeds", description=__doc__)
    parser.add_argument("--address", help="a server to use instead of one of our own")
    parser.add_argument("--seeds", type=int, default=20_000)
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        database(server(options.address)) as place,
        PostgresFrontier(place, "seeds") as frontier,
    ):
        file = Path(folder) / "seeds.txt"
        with file.open("w") as lines:
            lines.writelines(f"{'www.' if n % 3 == 0 else ''}domain-{n}.example\n" for n in range(options.seeds))
        frontier.resume(delay_s=70, scope=Scope.SITE)
        meter = Meter(frontier)
        began, client_s, server_s = time.perf_counter(), time.process_time(), meter.cpu_s()
        load_all(frontier, Seeds([file]), show=lambda _done, _total: None, warn=print)
        wall_s, client_s = time.perf_counter() - began, time.process_time() - client_s
        server_s = meter.cpu_s() - server_s
        known = frontier.stats().known
    assert known == options.seeds
    print(f"{known:,} seeds in {wall_s:.1f} s: {known / wall_s:,.0f}/s; CPU per seed {client_s / known * 1e6:.1f} µs "
          f"client, {server_s / known * 1e6:.1f} µs server; {load_average()}")  # fmt: skip
