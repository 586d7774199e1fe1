"""Whether the pace of addresses holds back a crawl whose sites share them, in virtual time.

    python -m bench addresses --sites 50000 --shared 0.5 --addresses 200 --delay 70 --workers 4

Uses the workbench and the address gate of a worker, with a clock that jumps to the next event: no network, no frontier.
Each worker has its part of the sites, all due at once, and its share of each address. Prints how many turns came of
those that the delay allows, with the pace of addresses and without it.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from gossamer.records import Claim, QueuedUrl
from gossamer.rules.address_pace import AddressPace
from gossamer.workbench import Workbench, WorkbenchSettings
from gossamer.worker.addresses import AddressGate

if TYPE_CHECKING:
    from gossamer.workbench import SiteInHand
    from gossamer.worker.addresses import Permit

ANSWER_S = 0.2
WARM_DELAYS, MEASURED_DELAYS = 2, 5


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        selector.select = self._skip

    def time(self) -> float:
        """Return the virtual time."""
        return self._now_s

    def _skip(self, timeout_s: float | None = None) -> list[Any]:
        self._now_s += timeout_s or 0.0
        return []


async def count_turns(sites: int, options: argparse.Namespace, address_delay_s: float) -> int:
    """Return how many turns one worker begins in the measured time."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    bench = Workbench(WorkbenchSettings(max_sites_in_hand=sites + 1, max_urls_in_hand=2 * sites))
    pace = AddressPace(delay_s=address_delay_s, most_s=options.delay, at_once=4)
    gate = AddressGate(pace, bench=bench, clock=loop.time, is_exempt=lambda _: False, announce=changed.set)
    gate.set_share(1 / options.workers)
    addresses = {}
    for number in range(sites):
        name = f"{number}.test"
        is_shared = number < options.shared * sites
        addresses[name] = f"shared {number % options.addresses}" if is_shared else name
        url = QueuedUrl(f"https://{name}/", name.encode(), f"https://{name}", 1, 0, 0, 0, 0)
        claim = Claim(site=name, epoch=1, delay_s=options.delay, own_delay_s=0.0, failures=0, urls=(url,), hosts={})
        bench.take_in(claim, loop.time())
    begun_s: list[float] = []

    def begin(site: SiteInHand, permit: Permit) -> None:
        permit.send()
        begun_s.append(loop.time())
        loop.call_later(ANSWER_S, end, site, permit)

    def end(site: SiteInHand, permit: Permit) -> None:
        permit.end()
        bench.finish(site, loop.time() + options.delay)
        changed.set()

    begins_s = (WARM_DELAYS + 0.5) * (options.delay + ANSWER_S)  # sites that began together come in the middle
    ends_s = begins_s + MEASURED_DELAYS * (options.delay + ANSWER_S)
    while loop.time() < ends_s:
        changed.clear()
        while address := gate.next_ready():
            parked = bench.next_parked(address, loop.time())
            assert parked is not None
            begin(parked, gate.enter_parked(address, parked.site))
        while site := bench.next_turn(loop.time()):
            address = addresses[site.site]
            if permit := gate.try_enter([address], site.site):
                begin(site, permit)
            else:
                bench.park(site, address)
                gate.watch(address)
        timer = loop.call_later(bench.until_due(loop.time()) or 1.0, changed.set)
        await changed.wait()
        timer.cancel()
    return sum(begins_s <= at_s < ends_s for at_s in begun_s)


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="python -m bench addresses", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=50_000)
    parser.add_argument("--shared", type=float, default=0.5, help="share of the sites that share addresses")
    parser.add_argument("--addresses", type=int, default=200, help="that they share")
    parser.add_argument("--delay", type=float, default=70.0)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--address-delay", type=float, default=0.1)
    options = parser.parse_args(arguments)
    sites = options.sites // options.workers
    turns = []
    for address_delay_s in (0.0, options.address_delay):
        loop = VirtualLoop()
        turns.append(loop.run_until_complete(count_turns(sites, options, address_delay_s)))
        loop.close()
    print(
        f"{sites:,} sites of one of {options.workers} workers, {options.shared:.0%} at {options.addresses} addresses, "
        f"delay {options.delay:g} s: {turns[1]:,} turns with the pace of addresses, {turns[0]:,} without it; "
        f"{turns[1] / (MEASURED_DELAYS * sites):.2%} of what the delay allows"
    )
