"""One machine's commands show the history of all machines on one PostgreSQL, each figure once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer.crawl.engines import frontier_of, open_existing
from gossamer.frontier.postgres import PostgresFrontier
from gossamer.inspect.history import read_timeline, span_of, spread
from gossamer.inspect.marks import MarkKind, read_marks
from gossamer.inspect.report import gather
from gossamer.inspect.shared_history import homes_of, open_sharing
from gossamer.records import SharedFigures
from gossamer.serve.plotting import plots_of
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.inspect.history import Values

REQUESTS = "gossamer_requests_total"
ROWS = f"select worker, labels, max(value) as value from figures where name = '{REQUESTS}' group by all order by all"


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of two machines that have crawled together."""
    tmp_path = tmp_path_factory.mktemp("machines")
    address = new_database()
    with simweb.serve(plain_web(sites=8, pages=20, links_across=0.0)) as web:
        crawls = [Crawl(web, tmp_path / name, delay_s=0.5, workers=1, frontier=address) for name in ("one", "other")]
        with crawls[0].start() as here, crawls[1].start() as there:
            for crawl in crawls:
                wait_until(lambda: any(crawl.folder.glob("warc/*")), "both to have pages")  # noqa: B023
            for start in (here, there):
                start.end()
    return [crawl.folder for crawl in crawls]


def asked(capsys: pytest.CaptureFixture[str], *folders: Path) -> list[dict[str, object]]:
    options = [option for folder in folders for option in ("--data-dir", str(folder))]
    assert run(["query", ROWS, "--format", "json", *options]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_a_query_with_one_folder_finds_the_last_figures_of_all_machines_and_none_twice(
    machines: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    both = asked(capsys, *machines)
    assert len({row["worker"] for row in both}) == 2
    assert asked(capsys, machines[0]) == asked(capsys, machines[1]) == both
    rows = "select count(*) - count(distinct (time, worker, name, labels)) as twice from figures where worker like 'w%'"
    assert run(["query", rows, "--format", "json", "--data-dir", str(machines[0])]) == 0
    assert json.loads(capsys.readouterr().out) == [{"twice": 0}]


def test_the_counts_of_all_machines_are_in_the_timeline_of_one(machines: list[Path]) -> None:
    def counted(folders: list[Path], *, shared: bool) -> float:
        with open_existing(*folders) as frontier:
            reader = frontier if shared else None
            span = span_of(folders, reader)
            assert span
            line = read_timeline(
                folders, [REQUESTS], began_at=span[0], ended_at=span[1], step_s=600, frontier=reader
            )  # fmt: skip
        return sum(value or 0 for value in line.total(REQUESTS))

    alone = [counted([folder], shared=False) for folder in machines]
    assert all(alone)
    for folders in (machines, machines[:1], machines[1:]):
        assert counted(folders, shared=True) == sum(alone)


def test_the_starts_of_all_machines_are_marks(machines: list[Path]) -> None:
    with open_existing(machines[0]) as frontier:
        span = span_of(machines, frontier)
        assert span
        marks = read_marks(machines[:1], began_at=span[0], ended_at=span[1], step_s=60, frontier=frontier)
    assert [mark.kind for mark in marks].count(MarkKind.START) == 2


def test_the_dashboard_of_one_machine_shows_all(machines: list[Path]) -> None:
    def requests(*folders: Path) -> float:
        with open_sharing(folders, open_existing) as frontier:
            found = plots_of(list(folders), span="all", frontier=frontier)
        line = found["plots"][0]["lines"][1]
        assert line["name"] == "all requests"
        return float(sum(value or 0 for value in line["values"]) * found["step_s"])

    assert requests(machines[0]) == pytest.approx(requests(*machines))


def test_the_report_of_one_machine_shows_what_happened_on_another(machines: list[Path], tmp_path: Path) -> None:
    requests = gather(machines[:1], delay_s=0.5)
    where = frontier_of(machines[0])
    replaced = SharedFigures(
        at=(requests.began_at + requests.ended_at) / 2,
        worker="supervisor@third",
        figures={("gossamer_worker_replacements_total", "cause=signal"): 1.0},
    )
    with PostgresFrontier(where.frontier, where.crawl_name, home="third:1:third") as third:
        third.share_figures([replaced], days=7)
    file = tmp_path / "report.html"
    said("report", "--data-dir", str(machines[0]), "-o", str(file))
    assert "worker replaced: 1" in file.read_text()


def test_without_its_database_a_crawl_still_shows_the_history_of_its_folder(
    machines: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: Path) -> object:
        return open_existing(machines[0].parent / "nowhere")

    assert len(homes_of(machines)) == 2
    with open_sharing(machines, away) as frontier:  # type: ignore[arg-type]
        assert frontier is None
    assert "The figures of other machines are left out: " in caplog.text


@pytest.mark.parametrize(
    ("values", "is_count", "expected"),
    [
        ([None, None, 6.0, None, None, 3.0], True, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0]),
        ([None, None, 6.0, 9.0, None, None], True, [2.0, 2.0, 2.0, 9.0, None, None]),
        ([None, None, None, None, 6.0, None], True, [None, None, 2.0, 2.0, 2.0, None]),
        ([None, None, 6.0, None, None, 3.0], False, [6.0, 6.0, 6.0, 3.0, 3.0, 3.0]),
    ],
)
def test_what_is_told_once_in_some_steps_is_spread_over_them(values: Values, is_count: bool, expected: Values) -> None:
    assert spread(values, 3, is_count=is_count) == expected
    assert spread(values, 1, is_count=is_count) == values
