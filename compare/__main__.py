"""Compare crawlers on a simulated web, by the server's own log. Prints one table, as Markdown.

    make compare
    make compare ARGS="--sites 50 --crawler gossamer --crawler scrapy"

Every crawler visits the same web with the same delay, and goes by the same name in robots.txt. It crawls undisturbed,
then once more with kill -9 after a quarter, a half and three quarters of its requests; after each kill the same command
is given again. The CPU time is that of the undisturbed crawl, without what a crawl of one page takes.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

import gossamer_simweb as simweb
from compare.crawlers import AGENT, CRAWLERS
from compare.trials import crawl
from tools.environments import MissingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compare.crawlers import Crawler
    from compare.trials import Trial

TINY = simweb.plain_web(sites=1, pages=1, token=AGENT)


class Outcome(NamedTuple):
    """What one crawler did."""

    name: str
    start: Trial  # a crawl of one page
    undisturbed: Trial
    killed: Trial


def compare(crawler: Crawler, spec: simweb.WebSpec, delay_s: float) -> Outcome:
    """Crawl a web undisturbed and with kills."""
    start = crawl(crawler, TINY, delay_s=delay_s)
    undisturbed = crawl(crawler, spec, delay_s=delay_s)
    requests = len(undisturbed.log)
    killed = crawl(crawler, spec, delay_s=delay_s, kill_after=[requests * part // 4 for part in (1, 2, 3)])
    return Outcome(crawler.name, start, undisturbed, killed)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a table with one column per crawler."""
    columns = [_figures(outcome) for outcome in outcomes]
    lines = [f"| by the server's log | {' | '.join(outcome.name for outcome in outcomes)} |"]
    lines.append("|---" * (len(outcomes) + 1) + "|")
    lines += [f"| {row} | {' | '.join(column[row] for column in columns)} |" for row in columns[0]]
    return "\n".join(lines)


def _figures(outcome: Outcome) -> dict[str, str]:
    calm, killed = outcome.undisturbed.judge(), outcome.killed.judge()
    early = (*calm.early, *killed.early)
    very_early = sum(request.gap_s < request.needed_s / 2 for request in early)
    lost = _without_port(killed.missed) - _without_port(calm.missed)
    pages = len(outcome.undisturbed.pages()) - len(outcome.start.pages())
    cpu_ms = (outcome.undisturbed.cpu_s - outcome.start.cpu_s) / max(1, pages) * 1000
    return {
        "requests, undisturbed and with kill -9": f"{calm.requests:,} and {killed.requests:,}",
        "early: before the site's delay was over, both crawls": f"{len(early):,}",
        "of these before half of it was over": f"{very_early:,}",
        "pages that robots.txt disallows": f"{len(calm.disallowed):,}",
        "pages missed": f"{len(calm.missed):,}",
        "pages lost at a kill": f"{len(lost):,} ({_times(len(outcome.killed.kills))})",
        "requests repeated, undisturbed": f"{calm.repeats:,}",
        "requests repeated, with kills": f"{killed.repeats:,}",
        "CPU per page": f"{cpu_ms:.1f} ms",
        "time of the undisturbed crawl": f"{outcome.undisturbed.wall_s:.0f} s",
    }


def _without_port(urls: Sequence[str]) -> set[str]:
    """Return URLs of two webs in a form that can be compared: each web has a port of its own."""
    return {re.sub(r":\d+/", "/", url, count=1) for url in urls}


def _times(kills: int) -> str:
    return "1 kill" if kills == 1 else f"{kills} kills"


def main(arguments: list[str]) -> None:
    """Run the crawlers one after another and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=100)
    parser.add_argument("--pages", type=int, default=20, help="per site")
    parser.add_argument("--delay", type=float, default=0.5, help="seconds between two pages of a site")
    parser.add_argument("--crawler", choices=CRAWLERS, action="append", help="default: all that can be installed")
    options = parser.parse_args(arguments)
    spec = simweb.WebSpec(sites=options.sites, pages=options.pages, slow_s=0.2, token=AGENT)
    outcomes = []
    for name in options.crawler or CRAWLERS:
        try:
            crawler = CRAWLERS[name]()
        except MissingError as error:
            print(f"{name} is left out: {error}.", file=sys.stderr)
            continue
        print(f"{crawler.name} ...", file=sys.stderr, flush=True)
        outcomes.append(compare(crawler, spec, options.delay))
    if outcomes:
        print(table(outcomes))


if __name__ == "__main__":
    main(sys.argv[1:])
