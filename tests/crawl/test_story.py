"""The log tells the story of a crawl: steps at the level debug, a start, figures and an end at the level info."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from gossamer.crawl.folder import gather_settings
from gossamer.crawl.log import LogSettings, StepLimit, name_worker, open_log, rotate_log
from gossamer.crawl.start_log import changed_settings
from gossamer.records import Stats
from gossamer.story import MAX_NAMES, in_words, tell
from gossamer.supervisor import Progress
from tests.end_to_end.crawls import Crawl, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger("test")


def logged(folder: Path) -> str:
    return (folder / "logs" / "gossamer.log").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path


def test_a_step_is_one_line_with_its_facts_and_its_worker(folder: Path) -> None:
    with open_log(folder, "debug"):
        name_worker("w7")
        tell(log, "claim", sites=2, took_s=0.0123, names=["a.test", "b.test"], why="nothing left")
    assert logged(folder).endswith(
        'DEBUG test: claim sites=2 took_s=0.012 names=a.test,b.test why="nothing left" worker=w7\n'
    )


def test_steps_are_not_told_at_another_level(folder: Path) -> None:
    with open_log(folder, "info"):
        tell(log, "claim", sites=2)
    assert logged(folder) == ""


def test_a_long_list_is_cut_with_a_count_of_the_rest() -> None:
    names = [f"{number}.test" for number in range(MAX_NAMES + 3)]
    assert in_words({"names": names}).endswith(f",{MAX_NAMES - 1}.test,+3")


def test_many_steps_of_one_kind_are_cut_and_counted_and_others_are_not() -> None:
    limit, passed = StepLimit(per_s=10, burst=5), []

    def step(kind: str, at: float) -> None:
        record = logging.makeLogRecord({"step": kind, "created": at})
        if limit.filter(record):
            passed.append((kind, at, record.__dict__["left_out"]))

    for number in range(20):
        step("wait", 100.0 + number / 1000)
    step("claim", 100.02)
    step("wait", 100.2)
    assert [one[0] for one in passed] == ["wait"] * 5 + ["claim", "wait"]
    assert passed[-1] == ("wait", 100.2, 15)
    assert limit.filter(logging.makeLogRecord({})), "only steps are limited"
    step("wait", 50.0)  # the wall clock was set back
    step("wait", 50.1)
    assert passed[-1][1] == 50.1


def test_json_lines_have_everything_and_rotate_by_age(folder: Path) -> None:
    with open_log(folder, "debug", "json"):
        name_worker("w7")
        tell(log, "wait", site="a.test", wait_s=1.5)
        try:
            raise ValueError("no")
        except ValueError:
            log.exception("A bug")
        step, bug = map(json.loads, logged(folder).splitlines())
        assert not rotate_log(folder, LogSettings(log_age_s=3_600), now_at=time.time() + 3_000)
        assert rotate_log(folder, LogSettings(log_age_s=3_600), now_at=time.time() + 4_000)
    assert (step["step"], step["facts"], step["worker"], step["level"]) == (
        "wait", {"site": "a.test", "wait_s": 1.5}, "w7", "debug",
    )  # fmt: skip
    assert step["message"] == "wait site=a.test wait_s=1.500"
    assert bug["message"] == "A bug"
    assert "ValueError: no" in bug["exception"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", bug["time"])


def test_only_settings_that_differ_are_named() -> None:
    given = {"email": "a@b.test", "delay": "2", "include": ["*/a", "*/b"], "max_pages": "7"}
    settings = gather_settings(None, environment={}, flags=given)
    assert sorted(changed_settings(settings)) == [
        "delay = 2s", "email = a@b.test", "include = */a, */b", "max_pages = 7",
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_the_log_of_a_crawl_tells_its_story(tmp_path: Path, engine: str) -> None:
    with simweb.serve(simweb.plain_web(sites=3, pages=8)) as server:
        frontier = new_database() if engine == "postgres" else ""
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1, frontier=frontier)
        with crawl.start("--log-level", "debug", "--max-workers", "321") as start:
            crawl.wait_for_requests(6)
            (worker,) = start.workers()
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: "another one replaces it" in crawl.log, "the worker to be replaced")
            said = start.end()
    assert "--max-workers 321 is taken as --in-flight 321" in said
    steps = {line.split(": ", 1)[1].split(" ", 1)[0]: line for line in crawl.log.splitlines() if " DEBUG " in line}
    assert steps.keys() >= {"claim", "completion", "release", "wait", "lease", "migration"}
    for step, facts in {
        "claim": r"sites=\d+ urls=\d+ took_s=[\d.]+ " + (r"shards=[\d,]* " if engine == "postgres" else "") + "names=",
        "completion": r"sites=\d+ outcomes=\d+ released=\d+ links=\d+ new=\d+ lost=0 took_s=[\d.]+",
        "release": r'site=\S+ epoch=\d+ why="nothing left in hand" used=True wait_s=',
        "wait": r"site=\S+ wait_s=[\d.]+ cause=\S+",
        "lease": r"took_s=[\d.]+ state=\w+ share=\d+",
    }.items():
        assert re.search(rf"{step} {facts}.* worker=\S+$", steps[step]), steps[step]
    for sentence in (
        r"INFO .*: Gossamer \S+ begins with Python 3\.",
        r"INFO .*: Machine: .* processors?, .* descriptors of at most ",
        r"INFO .*: Settings that differ from the defaults: .*in_flight = 321",
        rf"INFO .*: A worker \(pid {worker}\) was started\.",
        rf"INFO .*: The worker \S+ \(pid {worker}\) ended by SIGKILL\.",
        r"INFO .*: The worker \S+ \(pid \d+\) ended with 0\.",
        r"INFO .*: The crawl ends: nothing is left to fetch\.",
        r"INFO .*: 24 pages stored, .* a second; 0 URLs queued; sites: 0 with work, 0 in hand, 0 in trouble\.",
    ):
        assert re.search(sentence, crawl.log), (sentence, crawl.log)


def test_too_few_descriptors_are_named_at_the_start(tmp_path: Path) -> None:
    with simweb.serve(simweb.plain_web(sites=1, pages=2)) as server:
        few = ["sh", "-c", 'ulimit -n 300; exec "$@"', "sh"]
        crawl = Crawl(server, tmp_path / "data", delay_s=0.1, workers=1, wrapper=few)
        said = crawl.finish()
    sentence = "a process may open 300 descriptors, so each worker makes at most 161 and not 1,000 requests at once"
    assert sentence in " ".join(said.split())
    assert sentence in crawl.log
    assert "300 descriptors of at most 300" in crawl.log


def test_the_line_of_figures_has_memory_and_descriptors_while_workers_live() -> None:
    stats = Stats(sites=5, sites_with_work=4, sites_in_hand=3, known=100, queued=60, done=40, pages=30)
    figures = {"in_flight": 12, "memory_bytes": 250e6, "descriptors": 90, "max_descriptors": 1024, "loop_lag_s": 0.01}
    progress = Progress(
        elapsed_s=60, figures=figures, pages_per_s=2.5, bytes_per_s=0, stats=stats, workers=2, alive=2,
        troubles=("no site can be reached",),
    )  # fmt: skip
    assert progress.in_one_line() == (
        "30 pages stored, 2.5 a second; 60 URLs queued; sites: 4 with work, 3 in hand, 0 in trouble; 2 workers; "
        "12 requests under way; 250.0 MB of memory; 90 of 1,024 descriptors; loop lag 0.010 s; no site can be reached."
    )
