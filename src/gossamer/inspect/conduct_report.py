"""A report in Markdown on how sites were treated, which an operator can send to a site's owner."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from gossamer.inspect.conduct import SLACK_S, conduct_of_sites, judge_conduct
from gossamer.records import Reason
from gossamer.rules.hosts import rules_of
from gossamer.wording import count, delay, moment, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.conduct import ConductSummary, SiteConduct
    from gossamer.store.reading import Folders

MAX_SITES = 1_000  # in the table
MAX_NAMED = 1_000  # violations
OBEYED = (Reason.ROBOTS_DISALLOWED, Reason.ROBOTS_UNREACHABLE, Reason.EXCLUDED)


def write_conduct_report(
    frontier: FrontierReader, folders: Folders, *, user_agent: str, now_at: float, site: str | None = None
) -> tuple[str, int]:
    """Return the report on all sites, or on one, and how many violations there are."""
    conduct = judge_conduct(folders, at_most=MAX_NAMED, site=site)
    sites = conduct_of_sites(folders, at_most=MAX_SITES, site=site)
    late = _crawl_delay_violations(frontier, sites)
    violations = (conduct.violations if conduct else 0) + len(late)
    refused = _refused(frontier, site)
    lines = [f"# How {site or 'sites'} {'was' if site else 'were'} crawled", ""]
    lines += [
        f"Crawled by `{plain(user_agent)}`; this report was made {moment(now_at)}, from the log of every request."
    ]
    lines += ["", *_summary(conduct, violations)]
    if site:
        lines += _one_site(frontier, site, sites, refused[site])
    else:
        lines += _table(sites, refused, conduct)
    lines += ["", "## Violations", ""]
    lines += (
        [f"- {moment(one.began_at)} `{plain(one.url)}` {one.sentence}." for one in conduct.named] if conduct else []
    )
    lines += [f"- {sentence}" for sentence in late]
    if not violations:
        lines.append("None." if conduct else "Not checked: this crawl did not record its delays.")
    lines += ["", _NOTE]
    return "\n".join(lines) + "\n", violations


def _summary(conduct: ConductSummary | None, violations: int) -> Iterator[str]:
    if conduct is None:
        return
    gap = f"; the shortest wait between two of one site was {conduct.min_gap_s:.1f} s" if conduct.min_gap_s else ""
    yield (
        f"{count(conduct.requests, 'request')} in {count(conduct.turns, 'turn')}{gap}. "
        f"The delay is {delay(conduct.delay_s)}. Violations: {violations:,}."
    )


def _table(
    sites: list[SiteConduct], refused: Mapping[str, Counter[Reason]], conduct: ConductSummary | None
) -> Iterator[str]:
    yield from ("", "## Sites", "")
    yield "| site | requests | turns | robots.txt | shortest wait | failed | left out by robots.txt | first | last |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|---|"
    for one in sites:
        gap = "-" if one.min_gap_s is None else f"{one.min_gap_s:.1f} s"
        yield (
            f"| {plain(one.site)} | {one.requests:,} | {one.turns:,} | {one.robots:,} | {gap} | {one.failed:,} | "
            f"{refused[one.site][Reason.ROBOTS_DISALLOWED]:,} | {moment(one.first_at)} | {moment(one.last_at)} |"
        )
    if conduct and conduct.sites > len(sites):
        more = count(conduct.sites - len(sites), "more site")
        yield from ("", f"Requested less often: {more}; `--site` reports on any.")


def _one_site(frontier: FrontierReader, site: str, sites: list[SiteConduct], refused: Counter[Reason]) -> Iterator[str]:
    yield from ("", "## Requests", "")
    for one in sites:
        yield f"- {one.pages:,} for pages and {one.robots:,} for robots.txt, in {count(one.turns, 'turn')}"
        yield f"- from {moment(one.first_at)} to {moment(one.last_at)}"
        if one.min_gap_s is not None:
            yield f"- at least {one.min_gap_s:.1f} s between the end of one turn and the beginning of the next"
        yield f"- {one.failed:,} without an answer, or with an error status"
    if not sites:
        yield "None."
    yield from ("", "## robots.txt", "")
    state = frontier.find_site(site)
    if state and state.own_delay_s:
        yield f"It asks for {delay(state.own_delay_s)} between two pages."
        yield ""
    for reason in OBEYED:
        yield f"- {count(refused[reason], 'URL')} not requested: {reason.replace('_', ' ')}"
    for host in frontier.find_hosts(site):
        rules = rules_of(host).to_text() if not host.failures else f"failed {count(host.failures, 'time')}"
        yield from ("", f"Rules that apply to this crawler at {plain(host.host)}:", "")
        yield from (f"    {plain(line)}" for line in rules.splitlines() or ["nothing"])


def _refused(frontier: FrontierReader, site: str | None) -> Mapping[str, Counter[Reason]]:
    """Count the refused URLs of each site by reason."""
    found: defaultdict[str, Counter[Reason]] = defaultdict(Counter)
    for name, _, reason in frontier.settled():
        if reason is not None and reason in OBEYED and site in (None, name):
            found[name][reason] += 1
    return found


def _crawl_delay_violations(frontier: FrontierReader, sites: list[SiteConduct]) -> list[str]:
    """Name sites that were requested sooner than their Crawl-delay after it was known."""
    late = []
    for one in sites:
        state = frontier.find_site(one.site)
        if state and one.settled_gap_s is not None and one.settled_gap_s + SLACK_S < state.own_delay_s:
            late.append(
                f"{plain(one.site)} asks for {delay(state.own_delay_s)} between two pages and once had "
                f"{one.settled_gap_s:.3f} s."
            )
    return late


_NOTE = """\
A turn is one visit: all requests for one page, that is, robots.txt if it is not known, redirects within the site, and
the page. A wait lasts from the end of a turn to the beginning of the next, by the crawler's own clock."""
