"""`python -m bench crawl --breakdown`: what counts for which process, thread and stage, and that the rows add up."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gossamer_simweb as simweb
from bench import breakdown, profile, recording
from bench.crawl import ROOT as CHECKOUT
from bench.crawl import Way, crawl, main
from bench.measuring import UNSEEN
from bench.process_tree import MAIN, Part, role_of, thread_name
from tests.frontier import postgres_server

if TYPE_CHECKING:
    from pathlib import Path

FEW = simweb.plain_web(sites=3, pages=6)
PYTHON = "/clone/.venv/bin/python"
SUPERVISOR = f"{PYTHON} -m gossamer crawl seeds.txt"
WORKER = f"{PYTHON} -m gossamer.crawl.worker_process"
PAGES = f"{PYTHON} -P -m gossamer.page_process 7"
SOURCE = "/clone/src/gossamer"


@pytest.mark.parametrize(
    ("command", "parent", "role"),
    [
        (SUPERVISOR, "make bench", "supervisor"),
        (WORKER, SUPERVISOR, "worker"),
        (PAGES, WORKER, "page process"),
        (f"{PAGES} forker", WORKER, "fork server"),
        (f"{PAGES} forker", f"{PAGES} forker", "page process"),
        (f"{PYTHON} -m gossamer.store.finishing data/1.journal", WORKER, "converter"),
        ("postgres: walwriter", "/usr/bin/postgres -D data", "PostgreSQL: walwriter"),
        ("postgres: gossamer bench [local] idle", "/usr/bin/postgres -D data", "PostgreSQL: connections"),
        ("/usr/bin/postgres -D data", "init", "PostgreSQL: first process"),
        ("sh -c true", WORKER, "others"),
    ],
)
def test_a_process_is_known_by_its_command_line_and_its_parent(command: str, parent: str, role: str) -> None:
    assert role_of(command.split(), parent.split()) == role


@pytest.mark.parametrize(
    ("name", "without_number"),
    [("MainThread", MAIN), ("frontier_0", "frontier"), ("asyncio_12", "asyncio"), ("Thread-1 (run)", "Thread")],
)
def test_threads_of_a_pool_are_one_part(name: str, without_number: str) -> None:
    assert thread_name(name) == without_number


@pytest.mark.parametrize(
    ("frames", "stage"),
    [
        ([f"main ({SOURCE}/page_process/__main__.py:9)", "parse (turbohtml/x.py:1)"], "page_process"),
        ([f"main ({SOURCE}/page_process/__main__.py:9)", f"read ({SOURCE}/parse/links.py:1)"], "parse/links"),
        ([f"main ({SOURCE}/crawl/worker_process.py:9)", "run (/lib/uvloop/__init__.py:96)"], recording.EVENT_LOOP),
        (["_worker (/lib/concurrent/futures/thread.py:81)"], recording.LIBRARIES),
        (["_find_and_load (<frozen importlib._bootstrap>:1176)", f"<module> ({SOURCE}/urls.py:1)"], None),
    ],
)
def test_a_sample_counts_for_the_innermost_module_of_ours_and_an_import_for_none(
    frames: list[str], stage: str | None
) -> None:
    assert recording.stage_of(frames) == stage


def test_a_recording_tells_processes_and_threads_apart() -> None:
    chain = f'process 1:"{SUPERVISOR}";process 2:"{WORKER}"'
    lines = [
        f'{chain};process 3:"{PAGES}";thread (3): MainThread;main ({SOURCE}/inflate/codings.py:5) 30',
        f'{chain};process 3:"{PAGES}";thread (3): MainThread;main ({SOURCE}/parse/page.py:5) 10',
        f"{chain};thread (2);main ({SOURCE}/fetch/multi.py:5) 5",
        f"{chain};thread (9): frontier_0;main ({SOURCE}/frontier/sqlite/database.py:5) 4",
        "not a stack",
    ]
    stacks = list(recording.read("\n".join(lines)))
    assert recording.shares_of_stages(stacks) == {
        Part("page process", MAIN): {"inflate/codings": 0.75, "parse/page": 0.25},
        Part("worker", MAIN): {"fetch/multi": 1.0},
        Part("worker", "frontier"): {"frontier/sqlite/database": 1.0},
    }


def test_rows_add_up_to_the_total_with_small_stages_and_threads_summed_up() -> None:
    parts_us = {
        Part("worker", MAIN): 700.0,
        Part("worker", "frontier"): 200.0,
        Part("worker", "Thread"): 2.0,
        Part("page process", MAIN): 101.0,
        UNSEEN: -3.0,
    }
    shares = {Part("worker", MAIN): {"fetch/multi": 0.99, "turn/page": 0.01}}
    rows = breakdown.split(parts_us, shares)
    assert sum(us for stages in rows.values() for us in stages.values()) == pytest.approx(1000)
    assert rows[Part("worker", MAIN)] == pytest.approx({"fetch/multi": 693.0, breakdown.OTHER_MODULES: 7.0})
    assert rows[Part("worker", breakdown.OTHER_THREADS)] == {breakdown.NO_SAMPLES: 2.0}
    shown = breakdown.table(rows).splitlines()
    assert shown[0].split() == ["worker", "902", "µs"]
    assert shown[-1].split() == ["sum", "1000", "µs"]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_what_processes_and_threads_took_adds_up_to_what_the_crawl_took(engine: str) -> None:
    server = postgres_server.start(postgres_server.binaries_of("")) if engine == "postgresql" else ""
    cost = crawl(FEW, Way(server=server))
    parts_s = cost.measured.parts_s
    assert cost.verdict.ok, cost.verdict.summary()
    assert cost.pages == 18
    assert sum(parts_s.values()) == pytest.approx(cost.measured.cpu_s)
    named = {Part("supervisor", MAIN), Part("worker", MAIN), Part("worker", "frontier"), Part("page process", MAIN)}
    assert named <= parts_s.keys()
    assert parts_s[UNSEEN] < 0.5 * cost.measured.cpu_s
    assert ("PostgreSQL: connections" in {part.process for part in parts_s}) == bool(server)


def test_a_flame_graph_is_written_for_each_process(tmp_path: Path) -> None:
    tried = recording.py_spy(tmp_path / "tried", [sys.executable, "-c", "sum(range(10**7))"])
    run = subprocess.run(tried, capture_output=True, text=True)
    if run.returncode:
        pytest.skip(f"py-spy cannot record here: {run.stderr.strip().splitlines()[0]}")
    crawl(FEW, Way(recording=tmp_path / "stacks"))
    stacks = list(recording.read((tmp_path / "stacks").read_text()))
    files = {file.name: file for file, _ in profile.write(stacks, tmp_path / "graphs")}
    assert {"supervisor.speedscope.json", "worker.speedscope.json"} <= files.keys()
    graph = json.loads(files["worker.speedscope.json"].read_text())
    main_thread = next(each for each in graph["profiles"] if each["name"] == MAIN)
    assert main_thread["endValue"] == sum(main_thread["weights"]) > 0
    assert all(0 <= place < len(graph["shared"]["frames"]) for stack in main_thread["samples"] for place in stack)


def test_two_versions_are_compared_in_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--web", "small", "--sites", "2", "--pages", "20", "--tls", "no", "--old", str(CHECKOUT), "--pairs", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small plain sqlite old ")
    assert [line.split("median")[0].split()[3:] for line in lines[1:]] == [["all"], ["worker"], ["page", "process"]]
