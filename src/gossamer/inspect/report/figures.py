"""All figures of a report, queried from the crawl's tables: every result is small, however large the tables are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from gossamer.inspect.database import open_tables
from gossamer.inspect.report.history_card import HistoryFigures, gather_history
from gossamer.store.reading import row_files
from gossamer.store.schemas import LINKS, PAGES, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.frontier import FrontierReader
    from gossamer.inspect.database import QueryDatabase

MAX_STRETCHES: Final = 120  # of time
MAX_DEPTH: Final = 15  # deeper pages are counted together
TOP_LANGUAGES: Final = 11
TOP_SITES: Final = 20
TOP_ERRORS: Final = 25
EXAMPLES: Final = 3  # of an error
CLOCK_SLACK_S: Final = 0.005  # gaps are measured by the wall clock, but were kept by another clock

_STRETCHES_S: Final = (
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip
# A site's shortest gap, in delays; without a delay in seconds.
_GAPS_IN_DELAYS: Final = (0.0, 0.25, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
_GAPS_S: Final = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What arrived in a period of time."""

    began_at: float  # Unix seconds
    pages: int  # requests answered with a page
    bytes: int  # of all bodies, as sent


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFigures:
    """One site."""

    site: str
    pages: int
    requests: int
    errors: int
    bytes: int
    mean_request_s: float
    min_gap_s: float | None  # None: it had only one turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFigures:
    """Requests that failed in the same way."""

    what: str  # a reason, or a status
    requests: int
    sites: int
    examples: tuple[str, ...]  # URLs, the latest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """The number of sites by their shortest gap between two turns."""

    edges_s: tuple[float, ...]  # of the ranges; the last has no end
    sites: tuple[int, ...]  # in each
    sooner: int  # sites with a gap shorter than the crawl's delay
    soonest: tuple[tuple[str, float], ...]  # some of them, with their gaps in seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigures:
    """All figures of a report about stored data."""

    requests: int = 0
    bytes: int = 0
    began_at: float = 0.0  # Unix seconds: the first request
    ended_at: float = 0.0  # the end of the last request
    sites: int = 0  # with at least one request
    pages: int = 0
    page_bytes: int = 0  # inflated
    seed_pages: int = 0
    stretch_s: int = 1
    stretches: tuple[Stretch, ...] = ()
    statuses: tuple[tuple[int, int], ...] = ()  # of page requests, and how many
    sizes: tuple[tuple[int, int], ...] = ()  # exponent of two, and how many pages
    size_quantiles: tuple[float, float, float] = (
        0.0,
        0.0,
        0.0,
    )  # half, 95 % and all of the pages are at most this large
    depths: tuple[tuple[int, int], ...] = ()
    languages: tuple[tuple[str, int], ...] = ()  # those that count; "" if not known; the most frequent ones
    top_sites: tuple[SiteFigures, ...] = ()
    gaps: Gaps | None = None  # None: no site had two turns
    errors: tuple[ErrorFigures, ...] = ()
    history: HistoryFigures = field(default_factory=HistoryFigures)

    @property
    def period(self) -> tuple[float, float]:
        """When the plots over time begin and end."""
        return self.stretches[0].began_at, self.stretches[-1].began_at + self.stretch_s


def gather(folders: Sequence[Path], *, delay_s: float, frontier: FrontierReader | None = None) -> ReportFigures:
    """Query all figures as they are now; all are zero if the crawl has stored nothing.

    `frontier` adds the history of machines whose folders are not given.
    """
    if not any(row_files(list(folders), table) for table in (PAGES, REQUESTS, LINKS)):
        return ReportFigures()
    figures = _query(folders, delay_s)
    if not figures.stretches:
        return figures
    began_at, ended_at = figures.period
    history = gather_history(
        folders, began_at=began_at, ended_at=ended_at, stretch_s=figures.stretch_s, frontier=frontier
    )  # fmt: skip
    return replace(figures, history=history)


def _query(folders: Sequence[Path], delay_s: float) -> ReportFigures:
    with open_tables(folders, "pages requests sites") as tables:
        totals = _one(tables, _TOTALS)
        if totals["requests"]:
            totals |= _time(tables, totals["began_us"], totals["ended_us"])
        began_us, ended_us = totals.pop("began_us"), totals.pop("ended_us")
        top_sites, gaps = _sites(tables, delay_s)
        return ReportFigures(
            **totals,
            began_at=(began_us or 0) / 1e6,
            ended_at=(ended_us or 0) / 1e6,
            **_one(tables, _PAGES),
            statuses=_pairs(tables, _STATUSES),
            sizes=_pairs(tables, _SIZES),
            size_quantiles=_quantiles(tables),
            depths=_pairs(tables, _DEPTHS),
            languages=_pairs(tables, _LANGUAGES),
            top_sites=top_sites,
            gaps=gaps,
            errors=tuple(
                ErrorFigures(**row | {"examples": tuple(row["examples"])}) for row in _rows(tables, _ERRORS)
            ),
        )  # fmt: skip


_TOTALS: Final = """
select count(*) as requests, coalesce(sum(bytes), 0)::bigint as bytes, count(distinct site) as sites,
    min(epoch_us(started_at)) as began_us, max(epoch_us(ended_at)) as ended_us
from requests
"""
_PAGES: Final = """
select count(*) as pages, coalesce(sum(body_bytes), 0)::bigint as page_bytes,
    count(*) filter (depth = 0) as seed_pages
from pages
"""
_TIME: Final = """
select (epoch_us(ended_at) - {began_us}) // {stretch_us} as number,
    count(*) filter (kind = 'page' and status between 200 and 299) as pages, sum(bytes)::bigint as bytes
from requests group by number order by number
"""
_STATUSES: Final = """
select status, count(*) as requests from requests where kind = 'page' and status > 0
group by status order by requests desc, status
"""
_SIZES: Final = """
select floor(log2(greatest(body_bytes, 1)))::int as exponent, count(*) as pages from pages
group by exponent order by exponent
"""
_QUANTILES: Final = """
select approx_quantile(body_bytes, 0.5)::double as half, approx_quantile(body_bytes, 0.95)::double as most,
    max(body_bytes)::double as largest
from pages
"""
_DEPTHS: Final = f"""
select least(depth, {MAX_DEPTH}) as deep, count(*) as pages from pages group by deep order by deep
"""  # noqa: S608
_LANGUAGES: Final = f"""
select lower(split_part(replace(trim(lang), '_', '-'), '-', 1)) as language, count(*) as pages from pages
group by language order by pages desc, language limit {TOP_LANGUAGES}
"""  # noqa: S608
# A clock that was set back makes negative gaps.
_SITES: Final = """
with found as materialized (select * from sites),
gaps as (select *, greatest(0, min_gap_s + {slack_s}) as gap_s from found where min_gap_s is not null),
top as (select * from found order by pages desc, bytes desc, site limit {top})
select [{sites}] as sites, count(*) filter (gap_s < {delay_s}) as sooner,
    arg_min(struct_pack(site := site, gap_s := min_gap_s), min_gap_s, {examples})
        filter (gap_s < {delay_s}) as soonest,
    (
        select list(
            struct_pack(
                site := site, pages := pages, requests := requests, errors := errors, bytes := bytes,
                mean_request_s := coalesce(mean_request_s, 0), min_gap_s := min_gap_s
            )
            order by pages desc, bytes desc, site
        ) from top
    ) as top_sites
from gaps
"""
# A missing robots.txt is no error. URLs are counted, not sites: one site may fail in many ways.
_ERRORS: Final = f"""
select case when reason <> '' then reason else 'HTTP ' || status end as what, count(*) as requests,
    count(distinct site) as sites, arg_max(url, started_at, {EXAMPLES}) as examples
from requests
where reason <> '' or status >= 500 or status = 429 or (status >= 400 and kind not like 'robots%')
group by what order by requests desc, what limit {TOP_ERRORS}
"""  # noqa: S608


def _time(tables: QueryDatabase, began_us: int, ended_us: int) -> dict[str, Any]:
    """Return what arrived in each period of time, including empty periods."""
    stretch_s = stretch_for((ended_us - began_us) / 1e6)
    began_s = began_us // 1_000_000 // stretch_s * stretch_s  # so that periods begin at full minutes, hours, days
    asked = _TIME.format(began_us=began_s * 1_000_000, stretch_us=stretch_s * 1_000_000)
    came = {row["number"]: row for row in _rows(tables, asked)}
    return {
        "stretch_s": stretch_s,
        "stretches": tuple(
            Stretch(
                began_at=float(began_s + number * stretch_s),
                pages=came[number]["pages"] if number in came else 0,
                bytes=came[number]["bytes"] if number in came else 0,
            )
            for number in range(max(came) + 1)
        ),
    }


def stretch_for(duration_s: float) -> int:
    """Return the length of periods with which a duration has no more of them than can be drawn."""
    for stretch_s in _STRETCHES_S:
        if duration_s / stretch_s <= MAX_STRETCHES:
            return stretch_s
    days = -(-duration_s // (_STRETCHES_S[-1] * MAX_STRETCHES))
    return int(days) * _STRETCHES_S[-1]


def _quantiles(tables: QueryDatabase) -> tuple[float, float, float]:
    row = _one(tables, _QUANTILES)
    return (row["half"] or 0.0, row["most"] or 0.0, row["largest"] or 0.0)


def _sites(tables: QueryDatabase, delay_s: float) -> tuple[tuple[SiteFigures, ...], Gaps | None]:
    """Return the sites with the most pages, and the shortest gaps of all.

    One query, because it is expensive: it sorts all requests.
    """
    edges_s = tuple(edge * delay_s for edge in _GAPS_IN_DELAYS) if delay_s else _GAPS_S
    sites = ", ".join(
        f"count(*) filter (gap_s >= {low_s}{f' and gap_s < {high_s}' if high_s is not None else ''})"
        for low_s, high_s in zip(edges_s, (*edges_s[1:], None), strict=True)
    )
    row = _one(
        tables, _SITES.format(sites=sites, delay_s=delay_s, slack_s=CLOCK_SLACK_S, top=TOP_SITES, examples=EXAMPLES)
    )
    gaps = Gaps(
        edges_s=edges_s,
        sites=tuple(row["sites"]),
        sooner=row["sooner"],
        soonest=tuple((found["site"], found["gap_s"]) for found in row["soonest"] or ()),
    )
    top = tuple(SiteFigures(**found) for found in row["top_sites"] or ())
    return top, gaps if any(gaps.sites) else None


def _rows(tables: QueryDatabase, sql: str) -> list[dict[str, Any]]:
    with tables.read(sql) as reader:
        rows: list[dict[str, Any]] = reader.read_all().to_pylist()
    return rows


def _one(tables: QueryDatabase, sql: str) -> dict[str, Any]:
    (row,) = _rows(tables, sql)
    return row


def _pairs(tables: QueryDatabase, sql: str) -> tuple[tuple[Any, int], ...]:
    return tuple((first, second) for first, second in (row.values() for row in _rows(tables, sql)))
