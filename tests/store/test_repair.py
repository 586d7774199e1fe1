"""After a crash at any instant, a repair keeps everything that was synced, and nothing else."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from gossamer.store.checking import check
from gossamer.store.reading import pages, requests
from gossamer.store.repair import Repaired, repair
from tests.store.samples import keep, new_store, numbers, refusals, run_python, segments

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.store.store import Store


def crashed(folder: Path, worker: str = "w", **settings: int) -> Store:
    """A store whose worker wrote 50 pages and died: nothing closed, nothing finished."""
    store = new_store(folder, worker, **settings)
    store._finisher.turn = lambda: None  # type: ignore[method-assign]  # what is closed stays unfinished
    for number in range(50):
        keep(store, number)
        if number % 5 == 4:
            store.sync()
    return store


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_that_was_synced_is_there_and_whole(tmp_path: Path) -> None:
    store = crashed(tmp_path, part_rows=20, segment_size_bytes=10_000)
    keep(store, 50)  # kept, never synced: gone with the worker, which never completed it
    done = repair(tmp_path)
    assert done == Repaired(parts=6, segments=len(segments(tmp_path)), cut_bytes=0, removed_files=0)
    assert numbers(pages(tmp_path)) == list(range(50))
    assert numbers(requests(tmp_path)) == list(range(50))
    assert check(tmp_path).problems == []
    assert not list((tmp_path / "journal").iterdir())
    assert refusals(segments(tmp_path)[-1]) == {}


def test_repairing_twice_changes_nothing(tmp_path: Path) -> None:
    crashed(tmp_path)
    repair(tmp_path)
    before = contents(tmp_path)
    assert repair(tmp_path) == Repaired(parts=0, segments=0, cut_bytes=0, removed_files=0)
    assert contents(tmp_path) == before


def test_only_the_files_of_the_dead_are_touched(tmp_path: Path) -> None:
    living = crashed(tmp_path, "w-1")
    crashed(tmp_path, "w")
    (tmp_path / "pages" / "notes.tmp").write_text("the operator's own")
    living_files = {name: data for name, data in contents(tmp_path).items() if "w-1" in name or "notes" in name}
    assert len(living_files) == 5
    repair(tmp_path, {"w"})
    assert contents(tmp_path).items() >= living_files.items()
    assert len(list((tmp_path / "journal").iterdir())) == 2
    for number in range(50, 60):  # and it can go on
        keep(living, number)
    living.close()
    assert sorted(numbers(pages(tmp_path))) == sorted([*range(50), *range(60)])
    assert check(tmp_path).problems == []


def test_a_folder_without_a_store_needs_no_repair(tmp_path: Path) -> None:
    assert repair(tmp_path) == Repaired(parts=0, segments=0, cut_bytes=0, removed_files=0)


def test_torn_ends_and_temporary_files_go(tmp_path: Path) -> None:
    crashed(tmp_path)
    (segment,) = segments(tmp_path)
    whole = segment.read_bytes()
    segment.write_bytes(whole + whole[:300])
    part = next((tmp_path / "journal").glob("pages-*")).name.replace("pages", "part").replace(".journal", ".parquet")
    (tmp_path / "pages" / f"{part}.4711.tmp").write_bytes(b"half")
    assert [str(problem.flaw) for problem in check(tmp_path).problems].count("unfinished") == 5
    assert repair(tmp_path) == Repaired(parts=2, segments=1, cut_bytes=300, removed_files=1)
    assert segment.read_bytes() == whole
    assert check(tmp_path).problems == []


def test_a_repair_killed_at_any_of_its_steps_is_completed_by_the_next(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crashed(crawl, part_rows=30, segment_size_bytes=20_000)
    last = segments(crawl)[-1]
    last.write_bytes(last.read_bytes() + b"\x1f\x8b\x08\x00torn")
    expected = tmp_path / "expected"
    shutil.copytree(crawl, expected)
    repair(expected)
    child = run_python("-m", "tests.store.crashing", crawl, "w", tmp_path / "killed", stdout=subprocess.PIPE)
    said, _ = child.communicate()
    assert child.returncode == 0
    killed = int(said)
    assert killed > 40
    for step in range(1, killed + 1):
        copy = tmp_path / "killed" / str(step)
        # A reader in between misses no row and sees none twice ...
        assert numbers(pages(copy)) == numbers(requests(copy)) == list(range(50)), step
        repair(copy)
        # ... and in the end it is as if nothing had happened.
        assert contents(copy) == contents(expected), step


def test_a_worker_killed_at_random_instants_loses_nothing_it_had_synced(tmp_path: Path) -> None:
    draw = random.Random(11)
    last = 0
    for first in range(0, 80_000, 10_000):
        child = run_python("-m", "tests.store.writing", tmp_path, str(first), stdout=subprocess.PIPE, bufsize=0)
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(draw.randrange(1, 40))]
        until = time.perf_counter() + draw.random() * 0.02
        while time.perf_counter() < until:  # not at the end of a sync but anywhere
            pass
        child.send_signal(signal.SIGKILL)
        child.wait()
        synced = int([*lines, *child.stdout.read().splitlines()][-1])
        child.stdout.close()
        # Its finisher may be at work for a moment yet: a repair does not mind.
        repair(tmp_path, {"w"})
        for rows in (pages(tmp_path), requests(tmp_path)):
            found = [number for number in numbers(rows) if number >= first]
            assert found == list(range(first, first + len(found)))  # each once
            assert first + len(found) >= synced
        last = max(last, synced - first)
    assert last > 100
    assert check(tmp_path).problems == []
