"""How the hostile campaign measures and judges; the campaign itself is a command."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chaos.campaign import Run, Size
from chaos.hostile import main
from chaos.hostile_crawl import Result, Terms, Usage, crawl, gaps_s
from chaos.hostile_limits import Judged, find_problems, judge, table
from chaos.judging import verify
from gossamer_simweb import LoggedRequest, plain_web
from gossamer_simweb.hostility.kinds import HOSTILE_KINDS

if TYPE_CHECKING:
    from pathlib import Path

ALONE = Result(
    took_s=30.0, usage=Usage(peak_mb=200.0, cpu_share=0.4, others_share=0.1), pages=1_000, gaps_s=[2.0] * 100,
    hostile_requests=0, lag_s=0.1, log_bytes=100, has_traceback=False, politeness="",
)  # fmt: skip


def page(host: str, arrived: float) -> LoggedRequest:
    url = f"http://{host}/{arrived}"
    return LoggedRequest(arrived, arrived, "page", "GET", "http", host, "/", 200, 1, "", 0.0, False, "", url)


def test_a_crawl_that_costs_good_sites_nothing_has_no_problem() -> None:
    assert find_problems(ALONE, replace(ALONE, pages=950, gaps_s=[2.3] * 100, hostile_requests=500)) == []


@pytest.mark.parametrize(
    ("worse", "problem"),
    [
        ({"pages": 949}, "good sites got 94.9% of their pages"),
        ({"gaps_s": [2.0] * 90 + [2.4] * 10}, "p95 of the gaps is 1.20 times"),
        ({"lag_s": 0.5}, "an event loop was held up for 0.50 s"),
        ({"usage": Usage(peak_mb=351.0)}, "151 MB more"),
        ({"log_bytes": 1_000_000}, "1,000,000 bytes of log"),
        ({"has_traceback": True}, "a traceback"),
        ({"politeness": "1 request came early"}, "1 request came early"),
    ],
)
def test_each_limit_is_judged(worse: dict[str, object], problem: str) -> None:
    (found,) = find_problems(ALONE, replace(ALONE, **worse))  # type: ignore[arg-type]
    assert problem in found


def test_limits_of_times_are_wide_on_a_busy_machine_but_there_are_some() -> None:
    busy = Usage(peak_mb=200.0, others_share=0.9)
    assert find_problems(ALONE, replace(ALONE, usage=busy, pages=800, gaps_s=[3.0] * 100, lag_s=1.0)) == []
    assert len(find_problems(ALONE, replace(ALONE, usage=busy, pages=700, gaps_s=[5.0] * 100, lag_s=3.0))) == 3


def test_the_table_shows_every_limit_of_every_crawl_and_marks_what_does_not_hold() -> None:
    good, bad = judge(ALONE, ALONE), judge(ALONE, replace(ALONE, pages=100, lag_s=0.7))
    crawls = [Judged("mix", "sqlite", good), Judged("tarpit", "postgres", bad), Judged("stuck", "sqlite", [])]
    head, *rows = table(crawls)
    for limit in (
        "good pages",
        "p95 gap",
        "lag s",
        "memory <= +150 MB",
        "log < 1 MB",
        "traceback",
        "polite",
    ):
        assert limit in head
    assert [row.split()[-1] for row in rows] == ["pass", "FAIL", "FAIL"]
    assert "10.0% (>= 95%) !" in rows[1]
    assert "0.70 (< 0.5) !" in rows[1]
    assert rows[1].count("!") == 2


def test_a_site_with_pages_left_adds_the_gap_until_the_end() -> None:
    got = [page("a.test", 1.0), page("a.test", 3.0), page("b.test", 2.0), page("b.test", 3.0)]
    assert gaps_s(got, 2, until_s=10.0) == [2.0, 1.0]
    assert gaps_s(got, 3, until_s=10.0) == [2.0, 7.0, 1.0, 7.0]


def test_every_kind_is_listed_with_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--kinds"])
    said = capsys.readouterr().out
    assert all(f"{name} " in said and kind.sentence in said for name, kind in HOSTILE_KINDS.items())


def test_a_crawl_beside_one_site_of_every_kind_stays_polite_and_whole(tmp_path: Path) -> None:
    """Times are the campaign's to judge: this machine may be busy."""
    terms = Terms(sites=10, pages=5, delay_s=0.5, workers=1, seed=1, longest_s=60.0)
    kinds = tuple(HOSTILE_KINDS)
    web = plain_web(sites=terms.sites, pages=terms.pages, seed=1, hostile=kinds, hostile_sites=len(kinds))
    result = crawl(web, terms, tmp_path / "data", stop_s=6.0)
    size = Size(runs=1, faults=len(kinds), sites=terms.sites, pages=terms.pages)
    run = Run(seed=1, engine="sqlite", size=size, folder=tmp_path, dice=random.Random(1))
    verify(run, tmp_path / "data")
    assert run.problems == []
    assert not result.has_traceback
    assert not result.politeness, result.politeness
    assert result.log_bytes < 100_000
    assert result.hostile_requests > 0
