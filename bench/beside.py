"""What a page costs beside other crawlers, on a web with as many links as real pages have: CPU of all processes.

    python -m bench beside                                   # small and large pages, three rounds each
    python -m bench beside --web small --rounds 10 --crawler gossamer --crawler scrapy

The web is larger than the crawl, which stops after some pages: about 50 links a page, of which about 70 % were seen
before, with the popularity of pages by a power law. A page has 12 KB (small) or 250 KB (large) on average once
inflated; most pages travel as gzip, Brotli or zstd; every host has a robots.txt, which every crawler obeys. The delay
is 0. What was really served is printed beside the figures.

Each crawler keeps its usual promises, so the work differs: Gossamer archives every answer, writes tables and syncs
them; the others write title and text as JSON lines and keep their queue on disk. The crawlers alternate, and each round
gives a ratio. What a crawl of one page takes is taken off. `compare/adapters` has the programs that run the other
crawlers.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import gossamer_simweb as simweb
from compare.crawlers import AGENT, CRAWLERS
from compare.trials import crawl
from gossamer_simweb.links import planned_links
from tools.environments import MissingError

if TYPE_CHECKING:
    from compare.crawlers import Crawler
    from compare.trials import Trial

LINKS = {"links": 47.0, "links_across": 2.0}  # means, without those of a site's tree
TINY = simweb.plain_web(sites=1, pages=1, token=AGENT)


class Web(NamedTuple):
    """A web, and how much of it is crawled. Its size decides how many links are known."""

    spec: simweb.WebSpec
    max_pages: int


WEBS = {
    "small": Web(simweb.plain_web(sites=60, pages=800, token=AGENT, **LINKS), 2_400),
    "large": Web(simweb.plain_web(sites=60, pages=400, token=AGENT, profile="large", **LINKS), 1_200),
}


class Served(NamedTuple):
    """What a crawl was served."""

    pages: int
    wire_bytes: int
    links: int
    known_links: int  # that an earlier page, or the same one, had before


def served(trial: Trial) -> Served:
    """Return what a crawl was served, from the server's log and the plan of the web."""
    seen, links, known = set(trial.web.seeds()), 0, 0
    for url in trial.pages():
        page = trial.web.find(url)
        for link in planned_links(trial.web, page) if page is not None else ():
            links += 1
            known += link.url in seen
            seen.add(link.url)
    wire_bytes = sum(request.body_bytes for request in trial.log if request.kind == "page" and request.status == 200)
    return Served(len(trial.pages()), wire_bytes, links, known)


def compare(name: str, web: Web, crawlers: list[Crawler], rounds: int) -> None:
    """Let the crawlers alternate on a web, and print what a page costs and how that compares with the first crawler."""
    starts_s = {crawler.name: crawl(crawler, TINY, delay_s=0).cpu_s for crawler in crawlers}
    found_ms: dict[str, list[float]] = {crawler.name: [] for crawler in crawlers}
    for number in range(rounds):
        for crawler in crawlers if number % 2 else reversed(crawlers):
            trial = crawl(crawler, web.spec, delay_s=0, max_pages=web.max_pages)
            got = served(trial)
            ms = (trial.cpu_s - starts_s[crawler.name]) / got.pages * 1000
            found_ms[crawler.name].append(ms)
            print(f"{name:<6} {crawler.name:<16} {ms:7.2f} ms CPU per page; {got.pages:,} pages of "
                  f"{got.wire_bytes / got.pages / 1000:.0f} KB on the wire, {got.links / got.pages:.0f} links a page, "
                  f"{got.known_links / got.links:.0%} of them known; {trial.wall_s:.0f} s", flush=True)  # fmt: skip
    first, *others = found_ms
    for other in others:
        ratios = [theirs / ours for ours, theirs in zip(found_ms[first], found_ms[other], strict=True)]
        print(f"{name:<6} {other} divided by {first}: median of {rounds} rounds {median(ratios):.1f} "
              f"({min(ratios):.1f} to {max(ratios):.1f})", flush=True)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="python -m bench beside", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--web", choices=WEBS, action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crawler", choices=CRAWLERS, action="append", help="default: all that can be installed")
    options = parser.parse_args(arguments)
    crawlers = []
    for name in options.crawler or CRAWLERS:
        try:
            crawlers.append(CRAWLERS[name]())
        except MissingError as error:
            print(f"{name} is left out: {error}.", file=sys.stderr)
    for name in options.web or WEBS:
        compare(name, WEBS[name], crawlers, options.rounds)
