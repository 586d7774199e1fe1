"""Most links lead to a handful of sites: do the others still get all the turns that politeness allows them?

    python -m bench postgres domains --hot 10 --cold 10000 --turns 5

Workers share a crawl whose clock is set by hand, with the default delay. Sites come in over the first delay, so that at
any time some are due and others are not. Each page brings ten links, four in five of them to the hot sites. Whatever is
claimed must be due, and fetched; at the end every site must have had one turn per delay, if it had the pages.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from bench.postgres.building import database, load_average, server
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.records import Batch, Claimed, Done, Link, Release, Visit
from gossamer.urls import identify

CLAIM_SITES = 100
DELAY_S = 70.0
HOT_SHARE = 0.8
LINKS_PER_PAGE = 10
PHASES = 10  # in which sites come in
CRAWL = "domains"


class Hand:
    """A clock that the benchmark moves."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s

    def server_ms(self) -> float:
        """Return what the server's clock says."""
        return self.now_s * 1000 + 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    fetched: int
    ideal: int
    unfetched: int  # claims that were too early, or empty
    hot_share: float  # of all links
    wall_s: float


class Fetched(NamedTuple):
    """When a site was asked, and how often."""

    last_s: dict[str, float]
    turns: Counter[str]


class Web:
    """The sites, on their way in: the hot ones at once, the cold ones in groups over the first delay."""

    def __init__(self, hot: int, cold: int, began_s: float) -> None:
        self._hot, self._sites, self._began_s = hot, hot + cold, began_s
        self._groups: list[range] = []
        self._draw = random.Random(3)
        self.pages: defaultdict[str, set[bytes]] = defaultdict(set)
        self.links = self.hot_links = 0

    @property
    def next_s(self) -> float:
        """When the next group comes in."""
        come = len(self._groups)
        return self._began_s + come * DELAY_S / PHASES if come < PHASES else math.inf

    def come_in(self, pages: int) -> list[Link]:
        """Return this many pages of each site of the next group."""
        group = range(self._hot + len(self._groups), self._sites, PHASES)
        sites = group if self._groups else [*range(self._hot), *group]
        self._groups.append(group)
        return self._known([_page(site, number) for site in sites for number in range(pages)])

    def find_links(self, count: int) -> list[Link]:
        """Return links to sites that have come in, most of them to the hot ones."""
        hot = [self._draw.random() < HOT_SHARE for _ in range(count)]
        self.links += count
        self.hot_links += sum(hot)
        return self._known([
            _page(
                self._draw.randrange(self._hot) if one else self._draw.choice(self._draw.choice(self._groups)),
                self._draw.randrange(1_000_000),
            )
            for one in hot
        ])  # fmt: skip

    def _known(self, links: list[Link]) -> list[Link]:
        for link in links:
            self.pages[link.site].add(link.url_hash)
        return links


def run(address: str, *, hot: int, cold: int, turns: int, workers: int = 4) -> Outcome:
    """Crawl for this many delays, and compare with what politeness allows."""
    began_s = time.perf_counter()
    clock = Hand()
    fetched = Fetched({}, Counter())
    web = Web(hot, cold, clock.now_s)
    ends_s = clock.now_s + turns * DELAY_S
    unfetched = 0
    with ExitStack() as stack:
        frontiers = [
            stack.enter_context(PostgresFrontier(address, CRAWL, clock=clock, server_clock=clock.server_ms))
            for _ in range(workers)
        ]
        frontiers[0].resume(delay_s=DELAY_S)
        for frontier in frontiers:
            frontier.join("bench")
        while clock.now_s < ends_s:
            if clock.now_s >= web.next_s:
                frontiers[0].add(web.come_in(turns))
            waits: list[float] = []
            for frontier in frontiers:
                claimed = frontier.claim(CLAIM_SITES)
                assert isinstance(claimed, Claimed)
                if not claimed.claims:
                    waits.append(claimed.wait_s or DELAY_S)
                    continue
                unfetched += sum(not _fetch(fetched, claim.site, len(claim.urls), clock()) for claim in claimed.claims)
                frontier.complete(_report(claimed, web.find_links(LINKS_PER_PAGE * len(claimed.claims))))
            if len(waits) == workers:
                clock.now_s = min(web.next_s, clock.now_s + max(0.001, min(waits)))
    return Outcome(
        fetched=fetched.turns.total(),
        ideal=sum(min(turns, len(pages)) for pages in web.pages.values()),
        unfetched=unfetched,
        hot_share=web.hot_links / web.links,
        wall_s=time.perf_counter() - began_s,
    )


def _page(site: int, number: int) -> Link:
    return Link(*identify(f"https://site-{site}.test/{number}"), 1)


def _fetch(fetched: Fetched, site: str, urls: int, now_s: float) -> bool:
    """Pretend to fetch; return whether a site was due and had a page. With this delay a claim brings one page."""
    last_s = fetched.last_s.get(site)
    fetched.last_s[site] = now_s
    fetched.turns[site] += 1
    return urls == 1 and (last_s is None or now_s - last_s >= DELAY_S)


def _report(claimed: Claimed, links: list[Link]) -> Batch:
    return Batch(
        links=links,
        visits=[
            Visit(
                site=claim.site,
                epoch=claim.epoch,
                outcomes=[(url.url_hash, Done()) for url in claim.urls],
                release=Release(wait_s=claim.delay_s),
            )
            for claim in claimed.claims
        ],
    )


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench postgres domains", description=__doc__)
    parser.add_argument("--address", help="a server to use instead of one of our own")
    parser.add_argument("--hot", type=int, default=10)
    parser.add_argument("--cold", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=3, help="delays that pass")
    options = parser.parse_args(arguments)
    with database(server(options.address)) as place:
        done = run(place, hot=options.hot, cold=options.cold, turns=options.turns)
    rate = (options.hot + options.cold) / DELAY_S
    print(f"{done.hot_share:.0%} of all links on {options.hot} sites, the others on {options.cold:,}; "
          f"{options.turns} delays of {DELAY_S:.0f} s: {done.fetched:,} pages of {done.ideal:,} that politeness allows "
          f"({rate:,.0f} a second); {done.unfetched} claims not to be fetched; {done.wall_s:.0f} s of real time, "
          f"{load_average()}")  # fmt: skip
    assert done.fetched == done.ideal
    assert done.unfetched == 0
