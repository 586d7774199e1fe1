"""One crawl of good sites beside hostile ones: how long it runs, what it takes, and what the good sites got."""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import psutil

import gossamer_simweb as simweb
from gossamer.crawl.engines import open_existing
from gossamer.urls import site_of
from tests.end_to_end.crawls import EMAIL, Start, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer_simweb import LoggedRequest, WebServer, WebSpec

SAMPLE_S = 0.5
START_S = 120.0  # how long a crawl may take until its first request
STOP_S = 120.0  # how long a crawl may take to shut down
MB = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How the crawls of a comparison run; all of them alike."""

    sites: int  # good ones
    pages: int  # of each good site
    delay_s: float
    workers: int
    seed: int
    longest_s: float  # an undisturbed crawl that takes longer has failed


@dataclass(slots=True, kw_only=True)
class Usage:
    """What the processes of a crawl and the simulated web took."""

    peak_mb: float = 0.0  # of the crawl's process tree: memory shared by processes is counted once
    cpu_share: float = 0.0  # of all processors, the simulated web included
    others_share: float = 0.0  # of all processors, used by processes of others
    cpu_s: dict[int, float] = field(default_factory=dict)  # by process


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one crawl."""

    took_s: float  # from the first request to the last page of a good site
    usage: Usage
    pages: int  # of good sites
    gaps_s: list[float]  # between two pages of a good site
    hostile_requests: int
    lag_s: float  # the longest that an event loop was held up
    log_bytes: int
    has_traceback: bool
    politeness: str  # what the judge found wrong on good sites; empty if nothing

    @property
    def p95_gap_s(self) -> float:
        """The gap that 95 % of the gaps do not exceed."""
        return statistics.quantiles(self.gaps_s, n=20)[-1] if len(self.gaps_s) > 1 else float("inf")


def crawl(spec: WebSpec, terms: Terms, folder: Path, *, frontier: str = "", stop_s: float | None = None) -> Result:
    """Crawl a web to its end, or for `stop_s` seconds from the first request on, and measure it."""
    with simweb.serve(spec) as server:
        with Start(_arguments(server, terms, folder, frontier)) as start:
            wait_until(lambda: bool(server.answered()) or start.status is not None, "a request", timeout_s=START_S)
            usage = _watch(start, server, until_s=time.monotonic() + (stop_s or terms.longest_s))
            if stop_s is None:
                start.end(timeout_s=0.1)
            elif start.status is None:
                os.kill(start.pid, signal.SIGINT)
                start.end(timeout_s=STOP_S)
            said = start.said
        log = server.log()
    with open_existing(folder) as opened:
        lags_s = [worker.figures.get("max_loop_lag_s", 0.0) for worker in opened.workers()]
    logs = [path.read_text(errors="replace") for path in (folder / "logs").glob("*.log*")]
    good = _good_requests(server, log)
    began_s = min(each.arrived for each in log)
    until_s = began_s + stop_s if stop_s else float("inf")
    pages = [each for each in good if _is_page(each) and each.arrived <= until_s]
    return Result(
        took_s=max(each.ended for each in pages) - began_s if pages else float("inf"), usage=usage,
        lag_s=max(lags_s, default=0.0), log_bytes=sum(map(len, logs)), pages=len({each.url for each in pages}),
        gaps_s=gaps_s(pages, terms.pages, until_s), hostile_requests=sum(each.kind == "hostile" for each in log),
        has_traceback=any("Traceback (most recent call last)" in text for text in (said, *logs)),
        politeness=_judge(log, good, terms),
    )  # fmt: skip


def _arguments(server: WebServer, terms: Terms, folder: Path, frontier: str) -> list[str]:
    seeds = server.seeds()
    random.Random(terms.seed).shuffle(seeds)  # hostile sites before, between and behind good ones
    file = folder.parent / f"{folder.name}-seeds.txt"
    file.write_text("".join(f"{seed}\n" for seed in seeds))
    return [
        *("crawl", str(file), "--data-dir", str(folder), "--email", EMAIL, "--delay", str(terms.delay_s)),
        *("--scope", "web", "--sitemaps", "--workers", str(terms.workers)),
        *("--nameserver", server.dns, "--allow-network", server.network),
        *(("--ca-file", str(server.ca_file)) if server.ca_file else ()),
        *(("--frontier", frontier) if frontier else ()),
    ]


def _watch(start: Start, server: WebServer, *, until_s: float) -> Usage:
    """Take samples of a crawl's processes until it ends, or until an instant."""
    usage = Usage()
    supervisor, web = psutil.Process(start.pid), psutil.Process(server.pid)
    began_s, all_s, web_s = time.monotonic(), _busy_s(), _cpu_s(web)
    while start.status is None and time.monotonic() < until_s:
        usage.peak_mb = max(usage.peak_mb, _sample(supervisor, usage))
        time.sleep(min(SAMPLE_S, max(0.0, until_s - time.monotonic())))  # the interval of samples
    took_s = (time.monotonic() - began_s) * (os.cpu_count() or 1)
    own_s = sum(usage.cpu_s.values()) + _cpu_s(web) - web_s
    usage.cpu_share = own_s / took_s
    usage.others_share = max(0.0, (_busy_s() - all_s - own_s) / took_s)
    return usage


def _sample(supervisor: psutil.Process, usage: Usage) -> float:
    """Return the memory of a process tree in MB, and note the processor time of each of its processes."""
    total_mb = 0.0
    try:
        processes = [supervisor, *supervisor.children(recursive=True)]
    except psutil.Error:
        return 0.0
    for process in processes:
        try:
            usage.cpu_s[process.pid] = _cpu_s(process)
            total_mb += process.memory_full_info().pss / MB
        except psutil.Error:
            continue  # it has just ended
    return total_mb


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.softirq + times.irq)


def _good_requests(server: WebServer, log: Sequence[LoggedRequest]) -> list[LoggedRequest]:
    good = {server.web.hosts(number).bare for number in range(server.web.spec.sites)}
    found = [each for each in log if each.kind in ("page", "robots") and site_of(each.url) in good]
    return sorted(found, key=lambda each: each.arrived)


def _is_page(request: LoggedRequest) -> bool:
    """Return whether a request got a real page: hostile sites invent URLs of good ones, which answer 404 there."""
    return request.kind == "page" and request.status == 200


def gaps_s(got: Sequence[LoggedRequest], pages: int, until_s: float) -> list[float]:
    """Return the gaps between the pages of each good site, with the last one of a site that still has pages left."""
    by_site: defaultdict[str, list[float]] = defaultdict(list)
    for each in got:
        by_site[site_of(each.url)].append(each.arrived)
    gaps: list[float] = []
    for arrivals in by_site.values():
        arrivals_s = arrivals if len(arrivals) >= pages else [*arrivals, until_s]
        gaps += [after - before for before, after in pairwise(arrivals_s)]
    return gaps


def _judge(log: Sequence[LoggedRequest], good: Sequence[LoggedRequest], terms: Terms) -> str:
    """Return what was wrong with the requests to good sites. robots.txt files of hostile sites may redirect to them."""
    sites = {site_of(each.url) for each in good}
    judged = [each for each in log if each.kind in ("page", "robots")]
    verdict = simweb.judge(judged, delay_s=terms.delay_s, expected=None, workers=terms.workers)
    wrong = [str(each) for each in verdict.early if each.site in sites]
    wrong += [str(each) for each in (*verdict.repeated, *verdict.repeated_robots) if site_of(each.url) in sites]
    wrong += [f"{url} (before its robots.txt)" for url in verdict.before_robots if site_of(url) in sites]
    return f"{len(wrong)} requests to good sites were wrong: {'; '.join(wrong[:5])}" if wrong else ""
