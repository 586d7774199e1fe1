"""`gossamer verify` finds no problem in an intact crawl, whatever crashed, and names every kind of damage."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gossamer.cli import run
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.inspect import verify as verifying
from gossamer.inspect.verify import verify
from gossamer.records import Done, Link
from gossamer.store.repair import repair
from gossamer.urls import identify
from tests.inspect.crawls import Crawl, html_answer, page_row

if TYPE_CHECKING:
    from pathlib import Path

NOT_JUDGED = "requests were not checked: this crawl did not record its delays"


def problems(folder: Path) -> list[str]:
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        return [problem for checked in verify(frontier, folder) for problem in checked.problems]


def notes(folder: Path) -> list[str]:
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        return [note for checked in verify(frontier, folder) if checked.name != "conduct" for note in checked.notes]


def change(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "frontier.sqlite") as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


def only(folder: Path, name: str) -> Path:
    (path,) = folder.glob(name)
    return path


def said(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    status = run(["verify", "--json", "--data-dir", str(folder)])
    return status, json.loads(capsys.readouterr().out)


def test_a_sound_crawl_has_no_problems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, answer = said(folder, capsys)
    assert (status, answer["ok"], answer["problems"]) == (0, True, [])
    assert answer["checks"]["frontier"]["counts"] == {
        "sites": 3, "known": 15, "queued": 0, "done": 12, "given_up": 3,
    }  # fmt: skip
    assert answer["checks"]["pages"]["counts"] == {"done_pages": 9, "urls": 9, "rows": 9}
    assert answer["checks"]["files"]["counts"] == {"pages": 9, "requests": 15, "records": 9}
    assert [checked["notes"] for checked in answer["checks"].values()] == [[], [], [], [NOT_JUDGED]]
    assert run(["verify", "--data-dir", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "frontier  ok: 15 URLs of 3 sites: 0 queued, 12 done, 3 given up",
        "pages     ok: 9 pages done; 9 URLs stored, in 9 rows",
        "files     ok: 9 rows of pages, 15 of requests, 9 archived answers",
        "conduct   ok: nothing could be counted",
        f"          note: {NOT_JUDGED}",
        "No problems.",
    ]


def test_problems_are_printed_one_per_line_and_told_by_the_exit_status(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only(folder, "warc/*.warc.gz").unlink()
    assert run(["verify", "--data-dir", str(folder)]) == 1
    *_, problem, count = capsys.readouterr().out.splitlines()
    assert problem.endswith(".warc.gz: missing segment: named by 9 rows")
    assert count == "1 problem."
    status, answer = said(folder, capsys)
    assert (status, answer["ok"], answer["checks"]["files"]["ok"]) == (1, False, False)


def test_a_crawl_that_goes_on_has_no_problems(tmp_path: Path) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/1", "https://a.test/2", "https://b.test/1")
        first, _ = crawl.claim()
        crawl.complete(first, [crawl.visit(url.url) for url in first.urls])
        assert problems(tmp_path) == []
        assert notes(tmp_path) == ["3 files still open, or left open by a crash: the next start repairs that"]


def test_a_page_that_was_stored_but_not_completed_when_a_crash_came_is_no_problem(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.add("https://a.test/1")
    crawl.claim()
    crawl.keep("https://a.test/1")
    crawl.store.sync()
    crawl.crash()
    assert problems(tmp_path) == []
    assert "1 page stored but not completed: to be requested again" in notes(tmp_path)
    repair(tmp_path)
    with Crawl(tmp_path, worker="w2") as crawl:
        crawl.run()
    assert problems(tmp_path) == notes(tmp_path) == []


def test_a_redirect_target_that_was_stored_but_is_not_known_yet_is_no_problem(tmp_path: Path) -> None:
    """The target is fetched in the turn of the page that redirects, and is known when that turn is completed."""
    crawl = Crawl(tmp_path)
    crawl.add("https://a.test/moved")
    crawl.claim()
    crawl.keep("https://a.test/target")
    crawl.store.sync()
    crawl.crash()
    only(tmp_path, "journal/requests-*").unlink()  # pages are written before requests: the crash came in between
    assert problems(tmp_path) == []


def test_a_stored_page_whose_redirect_led_elsewhere_after_the_crash_is_no_problem(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.add("https://a.test/moved")
    crawl.claim()
    crawl.keep("https://a.test/session-1")
    crawl.store.sync()
    crawl.crash()
    repair(tmp_path)
    with Crawl(tmp_path, worker="w2") as crawl:
        (claim,) = crawl.claim()
        crawl.keep("https://a.test/session-2")
        crawl.complete(claim, [Done(page=False)], [Link(*identify("https://a.test/session-2"), 0)])
        crawl.run()
        assert crawl.frontier.drained()
    assert problems(tmp_path) == []


def test_a_page_stored_twice_is_one_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/1")
        crawl.keep("https://a.test/1")
        crawl.run()
    status, answer = said(tmp_path, capsys)
    assert (status, answer["checks"]["pages"]["counts"]) == (0, {"done_pages": 1, "urls": 1, "rows": 2})


def test_done_pages_without_a_row_are_counted_and_named(folder: Path) -> None:
    only(folder, "pages/*.parquet").unlink()
    first, *named = problems(folder)
    assert first == "no row in pages: 9 done pages"
    assert len(named) == 9
    assert "perhaps https://b.test/2: it was answered and is done, and has no row" in named


def test_one_lost_part_of_several_is_noticed(tmp_path: Path) -> None:
    with Crawl(tmp_path, part_rows=1) as crawl:
        for number in range(3):
            crawl.add(f"https://a.test/{number}")
            crawl.run()
    lost = sorted((tmp_path / "pages").iterdir())[1]
    lost.unlink()
    assert problems(tmp_path) == [
        "no row in pages: 1 done page",
        "perhaps https://a.test/1: it was answered and is done, and has no row",
    ]


def test_a_forged_row_is_named(folder: Path) -> None:
    with Crawl(folder, worker="w2") as crawl:
        crawl.store.keep_page(page_row(html_answer("https://a.test/forged", 1), "sha1:X"))
    found = problems(folder)
    assert "https://a.test/forged is stored, but was neither accepted nor asked for" in found
    assert "1 row without an archive record, and crawl.toml does not say warc = false" in found


def test_many_problems_of_one_kind_are_named_in_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "MAX_NAMED", 2)
    change(folder, "DELETE FROM seen")
    found = problems(folder)
    assert "7 more of: is stored, but was neither accepted nor asked for" not in found, "their requests are there"
    only(folder, "requests/*.parquet").unlink()
    found = problems(folder)
    assert "7 more of: is stored, but was neither accepted nor asked for" in found
    assert sum("was neither accepted nor asked for" in problem for problem in found) == 3


def test_a_truncated_archive_is_named_with_the_page_it_costs(folder: Path) -> None:
    segment = only(folder, "warc/*.warc.gz")
    segment.write_bytes(segment.read_bytes()[:-5])
    found = problems(folder)
    assert any(problem.startswith(f"warc/{segment.name}: torn segment") for problem in found)
    assert any("missing record: https://c.test/3 is not at" in problem for problem in found)


@pytest.mark.parametrize("table", ["pages", "requests"])
def test_a_part_that_cannot_be_read_is_named(folder: Path, table: str) -> None:
    part = only(folder, f"{table}/*.parquet")
    part.write_bytes(part.read_bytes()[:200])
    assert any(problem.startswith(f"{table}/{part.name}: unreadable table") for problem in problems(folder))


def test_a_url_that_lost_its_place_in_the_queue_is_named(folder: Path) -> None:
    with Crawl(folder, worker="w2") as crawl:
        crawl.add("https://d.test/new")
    change(folder, "DELETE FROM queue")
    (problem,) = problems(folder)
    assert problem.endswith("of d.test is neither settled nor queued")


def test_a_frontier_that_cannot_be_read_is_a_problem_and_files_are_checked_all_the_same(folder: Path) -> None:
    with SqliteFrontier(folder / "frontier.sqlite") as frontier:
        with sqlite3.connect(folder / "frontier.sqlite") as connection:
            connection.execute("DROP TABLE queue")
        connection.close()
        checks = list(verify(frontier, folder))
    assert [len(checked.problems) for checked in checks] == [1, 1, 0, 0]
    assert checks[0].problems[0].startswith("the frontier cannot be read: ")
    assert checks[2].counts["pages"] == 9


@pytest.mark.parametrize(("settings", "found"), [("warc = false\n", 0), ("warc = true\n", 1), ("", 1)])
def test_rows_without_an_archive_record_are_fine_if_the_crawl_keeps_none(
    tmp_path: Path, settings: str, found: int
) -> None:
    with Crawl(tmp_path, warc=False) as crawl:
        crawl.add("https://a.test/1")
        crawl.run()
    (tmp_path / "crawl.toml").write_text(settings)
    assert len(problems(tmp_path)) == found
    assert len(notes(tmp_path)) == 1 - found


def test_a_row_that_is_there_twice_is_named(tmp_path: Path) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/1", "https://a.test/2")
        crawl.run()
    part = only(tmp_path, "pages/*.parquet")
    rows = pq.read_table(part)
    pq.write_table(pa.concat_tables([rows, rows.slice(0, 1)]), part)
    assert "https://a.test/1 has the same row in pages more than once" in problems(tmp_path)
