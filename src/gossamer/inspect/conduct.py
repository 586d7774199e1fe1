"""Checks from the crawl log how sites were treated: number of requests, waits between them, and every violation.

Times are those of the crawl's wall clock, but workers keep the waits by another clock: a wall clock that was set back,
or differs between two machines, may look like a violation. Waits longer than the crawl's delay, which a site or the
operator asked for, are in the log too (`wait_s`). They are checked only where a crash cannot have lost them: for the
same worker, or if the worker that received them lived long enough to report them.
"""

from __future__ import annotations

import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from gossamer.frontier.settings import FrontierSettings
from gossamer.inspect.address_conduct import crowded_sql
from gossamer.inspect.database import open_tables
from gossamer.inspect.delays import read_all_delays
from gossamer.inspect.views import quoted
from gossamer.rules.answers import NOTHING_UNDER_HTTPS
from gossamer.rules.elsewhere import KEEP_S, MAX_ANSWER_BYTES, MAX_ANSWERS
from gossamer.rules.hosts import MAX_CACHE_S
from gossamer.rules.pace import PaceSettings
from gossamer.store.reading import listed, row_files
from gossamer.store.schemas import REQUESTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.inspect.database import QueryDatabase
    from gossamer.store.reading import Folders

SLACK_S: Final = 0.005  # between two clocks
ROBOTS_SLACK_S: Final = 60.0
TOLD_S: Final = 1.0  # requests that had begun when an answer asked for a wait are sent within this
NEVER_US: Final = 1 << 62
SUPPOSED_ANSWER_BYTES: Final = 4_000  # memory that an answer takes in a worker, besides its body
COLUMNS: Final = (
    "site, url, kind, status, reason, began_us, over_before_us, last_robots_us, gap_s, needed_s, continues, parallel, "
    "what"
)
REPORTED_S: Final = 120.0  # after this time a worker has reported a wait, or begins no more turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A request that was not allowed, or came too early."""

    site: str
    url: str
    began_at: float  # Unix seconds
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConduct:
    """How one site was treated."""

    site: str
    requests: int
    pages: int  # requests for pages, and for sitemaps
    robots: int  # requests for robots.txt, including those that another site's robots.txt redirects to
    turns: int
    min_gap_s: float | None  # between two turns; None: there was only one
    settled_gap_s: float | None  # the same after its last robots.txt, when a Crawl-delay was known
    first_at: float
    last_at: float
    failed: int  # no answer, or a status of 400 and above; a missing robots.txt or sitemap is no failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ConductSummary:
    """How all sites were treated."""

    delay_s: float  # the current one
    sites: int
    requests: int
    turns: int
    min_gap_s: float | None
    violations: int
    named: tuple[Violation, ...]  # the first ones


def judge_conduct(
    folders: Folders, *, at_most: int, site: str | None = None, is_complete: bool = True
) -> ConductSummary | None:
    """Return how all sites, or one, were treated; None if the crawl did not record its delays.

    Without `is_complete`, rows of the log are lost: the request for a robots.txt may be one of them.
    """
    delays = read_all_delays(listed(folders))
    if not delays:
        return None
    if not row_files(folders, REQUESTS):
        return ConductSummary(
            delay_s=delays[-1][1], sites=0, requests=0, turns=0, min_gap_s=None, violations=0, named=()
        )
    with _judged(folders, delays, is_complete=is_complete) as ask:
        (total,) = ask(_TOTAL.format(where=_where(site)))
        named = ask(_NAMED.format(where=_where(site), at_most=at_most))
        crowded = ask.crowded(folders, _where(site), at_most)
    total["violations"] += crowded[0]["violations"] if crowded else 0
    named = (named + crowded)[:at_most]
    return ConductSummary(
        delay_s=delays[-1][1],
        **total,
        named=tuple(
            Violation(
                site=row["site"],
                url=row["url"],
                began_at=row["began_at"],
                sentence=_SENTENCES[row["what"]].format(**row),
            )
            for row in named
        ),
    )


def conduct_of_sites(folders: Folders, *, at_most: int, site: str | None = None) -> list[SiteConduct]:
    """Return how each site was treated; sites with the most requests come first."""
    if not row_files(folders, REQUESTS):
        return []
    with _judged(folders, read_all_delays(listed(folders)) or [(0.0, 0.0)]) as ask:
        rows = ask(_SITES.format(where=_where(site), at_most=at_most))
    return [SiteConduct(**row) for row in rows]


class _JudgedRequests:
    """Queries over all requests, each with its violation (`what`) and whether it continues a turn (`continues`)."""

    def __init__(self, tables: QueryDatabase, judged: str) -> None:
        self._tables = tables
        self._judged = judged

    def __call__(self, query: str) -> list[dict[str, Any]]:
        return self._read(f"{self._judged} {query}")

    def crowded(self, folders: Folders, where: str, at_most: int) -> list[dict[str, Any]]:
        """Return the first requests that broke the promise to their address, each with the number of all of them."""
        paths = listed(folders)
        crowded = crowded_sql(paths, _settings(paths[0]), self._read)
        return self._read(f"with {crowded} {_CROWDED.format(where=where, at_most=at_most)}") if crowded else []

    def _read(self, query: str) -> list[dict[str, Any]]:
        with self._tables.read(query) as reader:
            rows: list[dict[str, Any]] = reader.read_all().to_pylist()
        return rows


@contextmanager
def _judged(
    folders: Folders, delays: list[tuple[float, float]], *, is_complete: bool = True
) -> Iterator[_JudgedRequests]:
    settings = _settings(listed(folders)[0])
    is_shared = bool(settings.get("frontier"))
    judged = _JUDGED.format(
        before=_delay_at("over_before_us", delays),
        then=_delay_at("began_us", delays),
        slack_s=SLACK_S,
        slack_us=int(SLACK_S * 1e6),
        told_us=int(TOLD_S * 1e6),
        step_s=settings.get("step_gap", PaceSettings().step_gap_s),
        robots_us=int((MAX_CACHE_S + ROBOTS_SLACK_S) * 1e6),
        day_us=int((KEEP_S - ROBOTS_SLACK_S) * 1e6),
        answer_bytes=SUPPOSED_ANSWER_BYTES,
        max_answers=MAX_ANSWERS,
        max_bytes=MAX_ANSWER_BYTES,
        columns=COLUMNS,
        reported_us=int(REPORTED_S * 1e6),
        # In a shared database, another machine may have requested robots.txt, or have taken over the site.
        alone="false" if is_shared or not is_complete else "true",
        nothing_under_https=", ".join(sorted(map(quoted, NOTHING_UNDER_HTTPS))),
        asleep_us=int(settings.get("lease", FrontierSettings().lease_s) / 2 * 1e6) if is_shared else NEVER_US,
    )
    with open_tables(listed(folders), "requests pages") as tables:
        yield _JudgedRequests(tables, judged)


def _where(site: str | None) -> str:
    return f"site = {quoted(site)}" if site else "true"


def _delay_at(column: str, delays: list[tuple[float, float]]) -> str:
    """Return SQL for the delay at a time; before the first recorded delay, that one."""
    cases = " ".join(
        f"when {column} < {round(until_at * 1e6)} then {delay_s!r}" for (_, delay_s), (until_at, _) in pairwise(delays)
    )
    last_s = delays[-1][1]
    return f"(case {cases} else {last_s!r} end)" if cases else repr(last_s)


def _settings(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads((folder / "crawl.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


_TOTAL: Final = """
select count(*) as requests, count(distinct site) as sites, count(*) filter (not continues) as turns,
    min(gap_s) filter (not continues) as min_gap_s, count(*) filter (what <> '') as violations
from judged where {where}
"""
_NAMED: Final = """
select site, url, began_us / 1e6 as began_at, what, gap_s, needed_s, parallel
from judged where {where} and what <> '' order by began_us limit {at_most}
"""
_CROWDED: Final = """
select *, began_us / 1e6 as began_at, count(*) over () as violations
from crowded where {where} order by began_us limit {at_most}
"""
_SITES: Final = """
select site, count(*) as requests, count(*) filter (kind in ('page', 'sitemap')) as pages,
    count(*) filter (kind in ('robots', 'robots_elsewhere')) as robots, count(*) filter (not continues) as turns,
    min(gap_s) filter (not continues) as min_gap_s,
    min(gap_s) filter (not continues and over_before_us > last_robots_us) as settled_gap_s,
    min(began_us) / 1e6 as first_at, max(began_us) / 1e6 as last_at,
    count(*) filter (reason <> '' or status >= (case kind when 'page' then 400 else 500 end)) as failed
from judged where {where} group by site order by requests desc, site limit {at_most}
"""
_SENTENCES: Final = {
    "repeated": "is in the log twice",
    "disallowed": "was requested although robots.txt did not allow it",
    "unasked": "was requested although the robots.txt of its host had not been requested within a day",
    "early": "began a turn {gap_s:.3f} s after the previous turn had ended, instead of {needed_s:g} s",
    "step": "came {gap_s:.3f} s after the previous request of the same turn",
    "elsewhere": "was requested because another site's robots.txt redirects there, {gap_s:.3f} s after such a request "
    "to its site, instead of {needed_s:g} s",
    "crowded": "was request number {asked} to {address} within ten seconds; its workers ({workers}) together may send "
    "{allowed:g}",
    "hurried": "came {gap_s:.3f} s after the last request of its worker to {address}, instead of {needed_s:g} s",
    "lanes": "was one request too many at once for its site, which is yours: it may get {parallel}",
    "unwaited": "came during a wait that its site, which is yours, had asked for",
    "elsewhere_again": "was requested twice within a day because another site's robots.txt redirects there",
}

# A turn ends with a page: a robots.txt that was answered, and redirects, come before the page in the same turn. So
# does a failure under https before http is tried, for a seed whose scheme was a guess. A page with a status of 2xx
# that is not stored may have been a redirect inside the page. A worker that was stopped for longer than its lease
# receives an answer only when it continues: then only the time of its request is known.
# A site of the operator's own may get several requests at once (`parallel`), and none during a wait that it asks for.
# The targets of other sites' robots.txt redirects are requested outside of turns: by each worker once per delay of a
# site, and once a day for each URL, unless that failed, or the worker had so many answers since that it forgot this
# one.
_JUDGED: Final = """
with named as (
    select * replace (coalesce(parallel, 0) as parallel), regexp_extract(url, '^[a-z]+://[^/]+') as host,
        epoch_us(started_at) as began_us, epoch_us(ended_at) as over_us,
        max(epoch_us(ended_at)) over (partition by worker) as lived_us
    from requests
),
noticed as (
    select * replace (
        case when lead(worker) over turn <> worker and over_us - began_us > {asleep_us} then began_us else over_us end
        as over_us
    )
    from named where kind <> 'robots_elsewhere' window turn as (partition by site order by began_us, over_us)
),
asked as (
    select *, lag(kind) over turn as kind_before, lag(status) over turn as status_before,
        lag(reason) over turn as reason_before, lag(url_hash) over turn as hash_before,
        lag(host) over turn as host_before,
        lag(began_us) over turn as began_before_us, lag(worker) over turn as worker_before,
        lag(wait_s) over turn as wait_before_s, lag(lived_us) over turn as lived_before_us,
        max(over_us) over (turn rows between unbounded preceding and 1 preceding) as over_before_us,
        max(case when wait_s > 0 then over_us end) over own_turns as told_us,
        max(case when wait_s > 0 then over_us + wait_s * 1e6 end) over own_turns as wait_until_us,
        max(case kind when 'robots' then began_us end) over (
            partition by host order by began_us, over_us rows between unbounded preceding and 1 preceding
        ) as robots_us,
        max(case kind when 'robots' then over_us end) over (partition by site) as last_robots_us
    from noticed window turn as (partition by site order by began_us, over_us),
        own_turns as (
            partition by site, worker order by began_us, over_us rows between unbounded preceding and 1 preceding
        )
),
under_way as (
    select site, url_hash, began_us, sum(step) over (partition by site order by at_us, step) as under_way
    from (
        select site, url_hash, began_us, began_us + {slack_us} as at_us, 1 as step from named where parallel > 1
        union all select site, null, null, over_us, -1 from named where parallel > 1
    )
),
timed as (
    select *, case when parallel <= 1 then (began_us - over_before_us) / 1e6 end as gap_s,
        least({before}, {then})::double as delay_s,
        greatest(
            delay_s,
            case when worker_before = worker or lived_before_us > over_before_us + {reported_us} then wait_before_s end
        ) as needed_s,
        coalesce(
            case
                when parallel > 1 then false
                when reason_before in ({nothing_under_https}) and host_before like 'https://%' and host like 'http://%'
                    then regexp_replace(host_before, '^https(.*?)(:80)?$', 'http\\1') = host
                when kind_before = 'robots' then reason_before = '' and status_before <> 429 and status_before < 500
                when status_before between 300 and 399 then true
                when kind_before in ('sitemap', 'tdmrep') then false
                else status_before between 200 and 299 and hash_before not in (select url_hash from pages)
            end, false
        ) as continues
    from asked left join under_way using (site, url_hash, began_us)
),
in_turns as (
    select *,
        case
            when hash_before = url_hash and began_before_us = began_us and worker_before = worker then 'repeated'
            when kind <> 'robots' and robots <> 'allowed' then 'disallowed'
            when kind <> 'robots' and {alone} and (robots_us is null or began_us - robots_us > {robots_us})
                then 'unasked'
            when under_way > parallel then 'lanes'
            when parallel > 1 and began_us > told_us + {told_us} and began_us + {slack_us} < wait_until_us
                then 'unwaited'
            when over_before_us is null or parallel > 1 then ''
            when continues and gap_s + {slack_s} < least({step_s}, delay_s) then 'step'
            when not continues and gap_s + {slack_s} < needed_s then 'early'
            else ''
        end as what
    from timed
),
elsewhere as (
    select *, true as continues, null::bigint as last_robots_us, lag(wait_s) over visits as wait_before_s,
        max(over_us) over (visits rows between unbounded preceding and 1 preceding) as over_before_us,
        lag(began_us) over answers as began_before_us,
        max(case when reason = '' and status <> 429 and status < 500 then began_us end) over (
            answers rows between unbounded preceding and 1 preceding
        ) as answered_us,
        count(*) over day as day_answers, sum(bytes + {answer_bytes}) over day as day_bytes
    from named where kind = 'robots_elsewhere'
    window visits as (partition by worker, site order by began_us, over_us),
        answers as (partition by worker, url_hash order by began_us, over_us),
        day as (partition by worker order by began_us range between {day_us} preceding and current row)
),
outside as (
    select *, (began_us - over_before_us) / 1e6 as gap_s,
        greatest(least({before}, {then})::double, wait_before_s) as needed_s,
        case
            when began_before_us = began_us then 'repeated'
            when began_us - answered_us < {day_us} and day_answers < {max_answers} and day_bytes < {max_bytes}
                then 'elsewhere_again'
            when gap_s + {slack_s} < needed_s then 'elsewhere'
            else ''
        end as what
    from elsewhere
),
judged as (
    select {columns} from in_turns union all select {columns} from outside
)
"""
