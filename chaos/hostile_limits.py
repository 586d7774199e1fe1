"""What hostile sites may cost good ones: every limit, how a crawl is judged by them, and the table of all crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.hostile_crawl import Result

BUSY: Final = 0.25  # if others use more of the processors than this, the limits of times are wide
MAX_MORE_MB: Final = 150.0
MAX_LOG_BYTES: Final = 1_000_000


class Limits(NamedTuple):
    """What hostile sites may cost good ones in time."""

    pages: float  # at least, of those of the undisturbed crawl
    gap: float  # p95 of the gaps: less than this many times that of the undisturbed crawl
    lag_s: float  # less than this


STRICT: Final = Limits(pages=0.95, gap=1.2, lag_s=0.5)
WIDE: Final = Limits(pages=0.75, gap=2.0, lag_s=2.0)


class Check(NamedTuple):
    """One limit, and what a crawl came to."""

    limit: str  # with its unit: the head of a column
    shown: str
    holds: bool
    problem: str  # what is wrong if it does not hold


class Judged(NamedTuple):
    """A crawl beside hostile sites, judged by every limit."""

    kind: str
    engine: str
    checks: Sequence[Check]  # none: the crawl did not end

    @property
    def holds(self) -> bool:
        """Whether every limit holds."""
        return bool(self.checks) and all(check.holds for check in self.checks)


def is_busy(*results: Result) -> bool:
    """Return whether others used so much of the processors that times say little."""
    return any(result.usage.others_share > BUSY for result in results)


def judge(alone: Result, beside: Result) -> list[Check]:
    """Judge a crawl by every limit. On a busy machine, the limits of times are wide."""
    limits = WIDE if is_busy(alone, beside) else STRICT
    share, gap = beside.pages / max(1, alone.pages), beside.p95_gap_s / alone.p95_gap_s
    more_mb = beside.usage.peak_mb - alone.usage.peak_mb
    return [
        Check(
            "good pages", f"{share:.1%} (>= {limits.pages:.0%})", share >= limits.pages,
            f"good sites got {share:.1%} of their pages",
        ),
        Check(
            "p95 gap", f"{gap:.2f} (< {limits.gap:g})", gap < limits.gap,
            f"p95 of the gaps is {gap:.2f} times that of the undisturbed crawl",
        ),
        Check(
            "lag s", f"{beside.lag_s:.2f} (< {limits.lag_s:g})", beside.lag_s < limits.lag_s,
            f"an event loop was held up for {beside.lag_s:.2f} s",
        ),
        Check(
            f"memory <= +{MAX_MORE_MB:.0f} MB", f"{more_mb:+.0f}", more_mb <= MAX_MORE_MB,
            f"{more_mb:.0f} MB more than the undisturbed crawl",
        ),
        Check(
            "log < 1 MB", f"{beside.log_bytes:,}", beside.log_bytes < MAX_LOG_BYTES,
            f"{beside.log_bytes:,} bytes of log",
        ),
        Check("traceback", "yes" if beside.has_traceback else "no", not beside.has_traceback, "a traceback in the log"),
        Check("polite", "no" if beside.politeness else "yes", not beside.politeness, beside.politeness),
    ]  # fmt: skip


def find_problems(alone: Result, beside: Result) -> list[str]:
    """Return what hostile sites cost good ones beyond the limits."""
    return [check.problem for check in judge(alone, beside) if not check.holds]


def table(crawls: Sequence[Judged]) -> list[str]:
    """Return a table of crawls: what each came to, by limit; a value beyond its limit has a mark."""
    limits = [*dict.fromkeys(check.limit for crawl in crawls for check in crawl.checks)]
    rows = [["kind", "engine", *limits, "result"]]
    for crawl in crawls:
        shown = {check.limit: check.shown + ("" if check.holds else " !") for check in crawl.checks}
        rows.append([crawl.kind, crawl.engine, *(shown.get(limit, "-") for limit in limits), _verdict(crawl)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _verdict(crawl: Judged) -> str:
    return "pass" if crawl.holds else "FAIL"
