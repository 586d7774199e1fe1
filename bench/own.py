"""How fast one's own site is crawled, in wall time: a server that takes 200 ms for every answer.

    python -m bench own
    python -m bench own --answer 0.05 --parallel 16 --rounds 5

Gossamer and Scrapy make as many requests at once (`--parallel`, 8) and obey robots.txt. The rate is that of the
server's log: pages from the first answer to the last. "Ideal" is what as many requests at once can reach.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

from compare.crawlers import AGENT, CRAWLERS, gossamer
from compare.trials import crawl
from gossamer_simweb import PlantedPage, plain_web
from tools.environments import MissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compare.crawlers import Crawler, Errand
    from compare.trials import Trial
    from gossamer_simweb import WebSpec

SITE = "own.test"
LINKS = 10  # of each page to further ones


def own_web(pages: int, answer_s: float) -> WebSpec:
    """Return a web with one site, whose every answer takes as long."""

    def page(number: int) -> PlantedPage:
        linked = range(LINKS * number + 1, min(LINKS * number + LINKS + 1, pages))
        urls = tuple(f"http://{SITE}:{{port}}/{each}" for each in linked)
        anchors = "".join(f'<a href="{url}">to</a> ' for url in urls)
        body = f"<!doctype html><title>{number}</title><p>Page {number}. {anchors}"
        return PlantedPage(
            host=SITE, path=f"/{number}" if number else "/", body=body.encode(), links=urls, delay_s=answer_s
        )

    return plain_web(sites=1, pages=1, token=AGENT, links_across=0, planted=tuple(map(page, range(pages))))


def on_own_site(crawler: Crawler, *flags: str) -> Crawler:
    """Return a crawler that begins at the site, with further flags."""

    def command(errand: Errand) -> Sequence[str]:
        line = [*crawler.command(errand), *flags]
        errand.seeds_file().write_text(f"http://{SITE}:{errand.web.port}/\n")
        return line

    return replace(crawler, command=command)


def pages_per_s(trial: Trial, pages: int) -> float:
    """Return how many pages a second the server has sent, without the first."""
    ended_s = sorted(request.ended for request in trial.log if request.kind == "page" and request.status == 200)
    if len(ended_s) != pages:
        raise SystemExit(f"{len(ended_s)} pages were crawled, not {pages}.")
    return (pages - 1) / (ended_s[-1] - ended_s[0])


def most_at_once(trial: Trial) -> int:
    """Return how many requests were under way at once."""
    arrivals = [(request.arrived, 1) for request in trial.log]
    events = sorted([*arrivals, *((request.ended, -1) for request in trial.log)])
    return max(accumulate(step for _, step in events))


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        prog="python -m bench own", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answer", type=float, default=0.2, help="seconds that every answer takes")
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    crawlers = [on_own_site(gossamer(), "--own", SITE, "--parallel", str(options.parallel))]
    try:
        crawlers.append(on_own_site(CRAWLERS["scrapy"](), "--parallel", str(options.parallel)))
    except MissingError as error:
        print(f"Scrapy is left out: {error}.", file=sys.stderr)
    ideal = options.parallel / options.answer
    found: dict[str, list[float]] = {crawler.name: [] for crawler in crawlers}
    for number in range(options.rounds):
        for crawler in crawlers if number % 2 else reversed(crawlers):
            trial = crawl(crawler, own_web(options.pages, options.answer), delay_s=0)
            rate = pages_per_s(trial, options.pages)
            found[crawler.name].append(rate)
            print(f"{crawler.name:<16} {rate:6.1f} pages/s, {rate / ideal:.2f} of the ideal {ideal:.0f}; "
                  f"{most_at_once(trial)} requests at once", flush=True)  # fmt: skip
    ours, *others = found.values()
    for theirs in others:
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        print(f"Gossamer divided by Scrapy: median {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
