"""What the workbench costs per page, with many sites in hand.

    python -m bench workbench --sites 100000 --urls 10

Takes in a number of sites, then runs turns of one page on a simulated clock: begin, take a URL, finish. A site that has
no URLs left is claimed again. The floor for comparison is a bare heap of the same size, with one push and one pop per
page.
"""

from __future__ import annotations

import argparse
import time
from heapq import heappop, heappush

from gossamer.records import Claim, HostState, QueuedUrl
from gossamer.urls import hash_url
from gossamer.workbench import Workbench, WorkbenchSettings

RULES = "User-agent: *\nDisallow: /private/\nDisallow: /search"


def claim(site: int, urls: int, epoch: int) -> Claim:
    """Return a claim of site number `site`."""
    host = f"https://www.site-{site}.test"
    pages = [f"{host}/articles/2026/a-headline-of-common-length-{page}" for page in range(urls)]
    return Claim(
        site=f"site-{site}.test",
        epoch=epoch,
        delay_s=70.0,
        urls=tuple(QueuedUrl(url, hash_url(url), host, 1, 0, 0, 0, 0) for url in pages),
        hosts={host: HostState(host=host, rules=RULES, expires_at=1e12)},
    )


def measure(sites: int, urls: int, pages: int) -> tuple[float, float]:
    """Return µs of CPU per page in turns, and per site taken in."""
    claims = [claim(site, urls, epoch=1) for site in range(sites)]
    bench = Workbench(
        WorkbenchSettings(max_sites_in_hand=2 * sites, max_urls_in_hand=2 * sites * urls, max_in_hand_bytes=10**10)
    )
    begun = time.process_time()
    for number, one in enumerate(claims):
        bench.take_in(one, number * 70.0 / sites)
    taken_s = time.process_time() - begun
    now_s, step_s = 70.0, 70.0 / sites
    again = {one.site: one for one in claims}
    begun = time.process_time()
    for _ in range(pages):
        now_s += step_s
        bench.wants(now_s)
        assert bench.until_due(now_s) == 0.0
        site = bench.next_turn(now_s)
        assert site is not None
        site.urls.popleft()
        # a little less than a round, so that every site is due in spite of rounding
        if not bench.finish(site, now_s + 69.0):
            bench.take_in(again[site.site], now_s)
    return (time.process_time() - begun) / pages * 1e6, taken_s / sites * 1e6


def floor(sites: int, pages: int) -> float:
    """Return µs of CPU per page of a bare heap."""
    heap = [(number * 70.0 / sites, number) for number in range(sites)]
    begun = time.process_time()
    for _ in range(pages):
        due_s, number = heappop(heap)
        heappush(heap, (due_s + 70.0, number))
    return (time.process_time() - begun) / pages * 1e6


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench workbench", description=__doc__)
    parser.add_argument("--sites", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--urls", type=int, default=10, help="URLs that come with a claim")
    parser.add_argument("--pages", type=int, default=300_000)
    options = parser.parse_args(arguments)
    for sites in options.sites:
        turn_us, take_us = measure(sites, options.urls, options.pages)
        bare_us = floor(sites, options.pages)
        print(
            f"{sites:>9,} sites in hand: {turn_us:5.2f} µs CPU per page (a bare heap {bare_us:.2f}), "
            f"{take_us:5.2f} µs per site taken in",
            flush=True,
        )
