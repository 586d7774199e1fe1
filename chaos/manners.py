"""Politeness to sites that ask for everything that a site can ask for, and traps: judged by the simulated web's log.

    python -m chaos manners                      delay 2 s, four workers; subdomains, http and https, redirects across
                                                 sites (of robots.txt, too), Crawl-delay, 429 and 503 with
                                                 Retry-After, failures, sitemaps
    python -m chaos manners --traps              a crawl of good sites and of traps of every kind
    python -m chaos manners --runs 1 --seed 7 --engine sqlite

No turn comes early and no URL is requested that robots.txt forbids; exactly the pages that a perfect crawler requests
are visited, and of a trap no more than its bound.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import gossamer_simweb as simweb
from chaos.campaign import Campaign, Run, Size
from chaos.judging import verify
from gossamer_simweb import PlantedPage, WebSpec, plain_web
from tests.end_to_end.crawls import Crawl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gossamer_simweb import LoggedRequest, Verdict

DELAY_S: Final = 2.0
WORKERS: Final = 4
TIMEOUT_S: Final = 1_800.0

# Lower than the defaults, so that a crawl ends soon.
TRAP_LIMITS: Final = {
    "max_years_ahead": 1, "max_years_back": 1, "max_parameter_sets": 15, "max_hosts_per_site": 20,
    "same_content_pages": 20, "site_budget": 30,
}  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the named campaign; with --short both."""
    if "--traps" in arguments:
        TRAPS.main([argument for argument in arguments if argument != "--traps"])
    else:
        MANNERS.main(arguments)
        if "--short" in arguments:
            TRAPS.main(["--short"])


# ---------------------------------------------------------------------- manners


def polite_web(*, sites: int, pages: int, seed: int, turning_away: int) -> WebSpec:
    """Return a web in which sites ask for everything that they can ask for."""
    return WebSpec(
        sites=sites, pages=pages, seed=seed, tls=True, crawl_delay=0.2, crawl_delay_s=3.0, retry_after_s=5, busy=0.03,
        moved=0.1, away=0.04, redirect=0.06, subdomains=0.5, slow_s=0.2, sitemaps=0.5, robots_elsewhere=0.2,
        planted=tuple(page for number in range(turning_away) for page in _turning_away(f"busy{number}.test")),
    )  # fmt: skip


def _turning_away(host: str) -> tuple[PlantedPage, ...]:
    """A host whose second page always answers 503 with a Retry-After."""
    links = ("/away", "/last")
    body = "".join(f"<a href={link}>{link}</a>" for link in links).encode()
    found = tuple(f"http://{host}:{{port}}{link}" for link in links)
    later = (("Content-Type", "text/plain"), ("Retry-After", "4"))
    return (
        PlantedPage(host=host, body=body, links=found),
        PlantedPage(host=host, path="/away", status=503, headers=later),
        PlantedPage(host=host, path="/last", body=b"<title>Last</title>"),
    )


def run_manners(run: Run) -> None:
    """Crawl such a web, and judge its log."""
    spec = polite_web(sites=run.size.sites, pages=run.size.pages, seed=run.seed, turning_away=run.size.faults)
    with simweb.serve(spec) as server:
        busy = [f"http://busy{number}.test:{server.port}/" for number in range(run.size.faults)]
        crawl = Crawl(server, run.folder / "data", *busy, delay_s=DELAY_S, workers=WORKERS, frontier=run.new_frontier())
        with crawl.start("--sitemaps") as start:
            start.end(timeout_s=TIMEOUT_S)
        verdict = crawl.judge(sitemaps=True)
        log = server.log()
    run.check(verdict.ok, verdict.summary())
    asked = {what: sum(request.wait_s > 0 for request in log if is_it(request)) for what, is_it in _ASKING.items()}
    run.check(all(asked.values()), f"not everything was asked for: {asked}")
    verify(run, crawl.folder)  # the crawl's own log of requests has to agree
    run.facts.append(
        f"{verdict.requests:,} requests, {verdict.visited:,} pages, {len(verdict.early)} early, "
        f"{len(verdict.disallowed)} disallowed, {len(verdict.missed)} missed, {len(verdict.unexpected)} unexpected"
    )
    run.facts.append(", ".join(f"{count} {what}" for what, count in asked.items()))


_ASKING: Final[dict[str, Callable[[LoggedRequest], bool]]] = {
    "Crawl-delay": lambda request: request.kind == "robots" and request.status == 200,
    "429": lambda request: request.status == 429,
    "503 with Retry-After": lambda request: request.status == 503,
}

MANNERS = Campaign(
    name="manners",
    about=__doc__ or "",
    full=Size(runs=4, faults=3, sites=40, pages=15),
    short=Size(runs=2, faults=1, sites=8, pages=8),
    run=run_manners,
    faults="sites that turn us away",
)


# ---------------------------------------------------------------------- traps


def trap_bounds(limits: Mapping[str, int], *, workers: int) -> dict[str, int]:
    """Return how many pages of each kind of trap a crawl with these limits may request; `workers` over all starts.

    All workers share the count of a site's pages; for the other limits each worker has its own counts. A page that was
    accepted is fetched, also if its site has used up its budget meanwhile.
    """
    months = 12 * (limits["max_years_ahead"] + limits["max_years_back"] + 1)
    return {
        "calendar": 1 + months,
        "dates": 1 + months,
        "sessions": 7,  # it has no more pages
        "deeper": limits.get("max_path_segments", 30),
        "longer": 1 + limits.get("max_path_chars", 1_000) // 81,
        "repeated": 1 + limits.get("max_segment_repeats", 2),
        "parameters": 1 + limits.get("max_parameters", 20),
        "filters": 1 + workers * limits["max_parameter_sets"],
        "flood": 1 + workers * limits["max_hosts_per_site"],
        "same": 1 + 2 * workers * (limits["same_content_pages"] + 4),  # two links on each page
        "pagination": 1 + limits["site_budget"],
        "redirects": 1 + 2 * 11,  # two chains, and ten redirects followed of each
        "missing": 1 + 3 * limits["site_budget"],  # three links on each page
    }


def crawl_traps(spec: WebSpec, folder: Path, *, workers: int, frontier: str = "", stops: int = 0) -> Verdict:
    """Crawl good sites and traps, with stops on the way, and judge by the log how many requests each got."""
    with simweb.serve(replace(spec, year=time.gmtime().tm_year)) as server:
        crawl = Crawl(server, folder, delay_s=0.0, workers=workers, frontier=frontier)
        limits = [flag for name, value in TRAP_LIMITS.items() for flag in ("--set", f"{name}={value}")]
        for _ in range(stops):
            with crawl.start(*limits) as start:
                crawl.wait_for_requests(server.answered() + 150 * spec.traps)
                start.interrupt()
                start.end(timeout_s=TIMEOUT_S)
        with crawl.start(*limits) as start:
            start.end(timeout_s=TIMEOUT_S)
        return crawl.judge(trap_bounds=trap_bounds(TRAP_LIMITS, workers=workers * (1 + stops)))


def run_traps(run: Run) -> None:
    """Crawl traps of each kind."""
    spec = plain_web(sites=run.size.sites, pages=run.size.pages, seed=run.seed, traps=run.size.faults)
    verdict = crawl_traps(spec, run.folder / "data", workers=WORKERS, frontier=run.new_frontier(), stops=1)
    run.check(verdict.ok, verdict.summary())
    run.facts.append(f"{verdict.visited:,} pages of good sites, {len(verdict.missed)} missed")
    most: Counter[str] = Counter()
    for site, pages in verdict.trap_pages.items():
        kind = site.partition("-")[0]
        most[kind] = max(most[kind], pages)
    run.facts.append("pages of traps: " + ", ".join(f"{kind} {pages}" for kind, pages in most.items()))


TRAPS = Campaign(
    name="manners --traps",
    about=__doc__ or "",
    full=Size(runs=4, faults=3, sites=30, pages=50),
    short=Size(runs=2, faults=1, sites=4, pages=15),
    run=run_traps,
    faults="traps of each kind",
)
