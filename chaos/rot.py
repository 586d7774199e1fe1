"""Rot: bits that change on the disk by themselves, in every file of a crawl's folder.

    python -m chaos rot                               5 crawls of 4 sites x 8 pages, 100 states each

Two crawls of a web are made: one that was killed in the middle, and one that has ended. A state is a copy of one of
them in which one file has rotted: flipped bits, a sector of zeros, a file cut off, bytes appended, or a folder in the
place of a file. Every reading command reads the state in a process that may crash. None ends with a traceback or a
signal, and if any of them reads something else than without the rot, `verify` names a problem. One state in 10 is
crawled to its end: it settles every page of a perfect crawl.

In `crawl.toml` and `frontier.sqlite`, a sentence is enough.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import gossamer_simweb as simweb
from chaos.campaign import Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, wait_for, web
from chaos.rot_reading import COMMANDS, read_all
from gossamer.crawl.engines import open_existing
from gossamer.urls import identify
from tests.end_to_end.crawls import Crawl, wait_until

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

DELAY_S: Final = 0.2
RESUMED: Final = 10  # one of this many states is crawled to its end
SECTOR_BYTES: Final = 512
FLAGS: Final = ("--links", "--set", "part_rows=40", "--set", "segment_size=1000000")
SENTENCE_ENOUGH: Final = ("crawl.toml", "frontier.sqlite", "frontier.sqlite-wal", "frontier.sqlite-shm")
UNREAD: Final = ("gossamer.log",)  # no command reads it
TRACES: Final = ("Traceback (most recent call last)", "Segmentation fault", "Fatal Python error")
CONTEXT: Final = multiprocessing.get_context("forkserver")


def rot(content: bytes, dice: random.Random) -> tuple[bytes, str]:
    """Return a file's content with some rot, and what was done to it."""
    kind = dice.choice(("flip", "flip", "flip", "flip", "zeros", "cut", "append")) if content else "append"
    changed = bytearray(content)
    if kind == "flip":
        bits = dice.choice((1, 1, 1, 2, 5, 30))
        places = [dice.randrange(len(content)) for _ in range(bits)]
        for place in places:
            changed[place] ^= 1 << dice.randrange(8)
        return bytes(changed), f"{bits} bits flipped at {places[:5]}"
    if kind == "zeros":
        start = dice.randrange(len(content)) // SECTOR_BYTES * SECTOR_BYTES
        changed[start : start + SECTOR_BYTES] = bytes(len(changed[start : start + SECTOR_BYTES]))
        return bytes(changed), f"zeros at {start}"
    if kind == "cut":
        length = dice.randrange(len(content))
        return content[:length], f"cut at {length} of {len(content)}"
    return content + dice.randbytes(dice.randrange(1, 2_000)), "bytes appended"


def spoil(run: Run) -> None:
    """Make two crawls, and read states of them with rot."""
    CONTEXT.set_forkserver_preload(["chaos.rot_reading"])
    with simweb.serve(web(run, slow=0, crawl_delay=0, busy=0)) as server:
        bases = {name: run.folder / name for name in ("killed", "ended")}
        frontiers = {name: run.new_frontier() for name in bases}
        pages = len(simweb.expected(server.web, server.seeds(), token="Gossamer").depths)
        killed = Crawl(server, bases["killed"], delay_s=DELAY_S, frontier=frontiers["killed"])
        with killed.start(*FLAGS) as start:
            wait_for(killed, start, pages * 3 // 4)
            start.kill_group()
        Crawl(server, bases["ended"], delay_s=DELAY_S, frontier=frontiers["ended"]).finish(*FLAGS)
        url = server.seeds()[0]
        sound = {name: read(base, url, run.folder) for name, base in bases.items()}
        named = resumed = 0
        for number in range(run.size.faults):
            name = run.dice.choice(("killed", "killed", "ended"))
            state = run.folder / f"state-{number}"
            shutil.copytree(bases[name], state)
            file, what = _rot_one(run, state)
            before = len(run.problems)
            named += _judge(
                run, f"state {number} ({name}), {file}: {what}", file, read(state, url, run.folder), sound[name]
            )
            if number % RESUMED == RESUMED - 1:
                resumed += 1
                crawl = Crawl(server, state, delay_s=0.05, frontier=frontiers[name])
                with _put_back(frontiers[name]):
                    _resume(run, crawl, f"state {number} ({name}), {file}: {what}, resumed", file)
            if len(run.problems) == before:
                shutil.rmtree(state)
    run.facts.append(f"{run.size.faults} states, {named} with a difference, each named; {resumed} resumed")


def _rot_one(run: Run, state: Path) -> tuple[str, str]:
    """Let one file rot, or become a folder; return its name and what happened. Every kind of file has its share."""
    files = sorted(path for path in state.rglob("*") if path.is_file() and path.name not in UNREAD)
    kinds = sorted({_kind(path, state) for path in files})
    kind = run.dice.choice(kinds)
    path = run.dice.choice([path for path in files if _kind(path, state) == kind])
    if run.dice.random() < 0.05:
        path.unlink()
        path.mkdir()
        what = "a folder in its place"
    else:
        content, what = rot(path.read_bytes(), run.dice)
        path.write_bytes(content)
    return str(path.relative_to(state)), what


def _kind(path: Path, state: Path) -> str:
    """Return what a file is: tables have many files, and the small files one each."""
    folder = path.relative_to(state).parent
    return f"{folder}/*{path.suffix}" if str(folder) != "." else path.name


def read(state: Path, url: str, scratch: Path) -> dict[str, tuple[int, str]]:
    """Return the exit status and the output of every reading command, read in a process that may crash."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        output = Path(folder) / "read.json"
        process = CONTEXT.Process(target=read_all, args=(str(state), url, str(output)))
        process.start()
        process.join()
        said = json.loads(output.read_text()) if output.exists() else {}
        if process.exitcode:
            said["crash"] = (process.exitcode, f"the process ended with {process.exitcode}")
        return {name: (status, text) for name, (status, text) in said.items()}


def _judge(
    run: Run, name: str, file: str, found: dict[str, tuple[int, str]], sound: dict[str, tuple[int, str]]
) -> bool:
    """Check that nothing crashed, and that `verify` names what reads otherwise; return whether anything did."""
    run.check("crash" not in found, f"{name}: {found.get('crash')}, after {list(found)[-2:]}")
    for command, (status, text) in found.items():
        run.check(not any(trace in text for trace in TRACES), f"{name}: {command}: {text[-1500:]}")
        run.check(status in (0, 1, 2), f"{name}: {command} ended with {status}: {text[-500:]}")
    differs = [command for command in COMMANDS if command != "verify" and found.get(command) != sound[command]]
    if file in SENTENCE_ENOUGH:
        return bool(differs)
    status, text = found.get("verify", (0, ""))
    run.check(not differs or status != 0, f"{name}: verify names nothing, but {differs} read something else: {text}")
    return bool(differs)


@contextmanager
def _put_back(frontier: str) -> Iterator[None]:
    """Let a resumed crawl change a database that all states share; afterwards it is as before."""
    if not frontier:
        yield
        return
    name = conninfo_to_dict(frontier)["dbname"]
    with psycopg.connect(make_conninfo(frontier, dbname="postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}_saved TEMPLATE {name}".encode())
        yield
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
        server.execute(f"ALTER DATABASE {name}_saved RENAME TO {name}".encode())


def _resume(run: Run, crawl: Crawl, name: str, file: str) -> None:
    """Crawl a state to its end: every page of a perfect crawl is settled, and no other."""
    state = crawl.folder
    with crawl.start(*FLAGS) as start:
        wait_until(lambda: start.status is not None, "the end of a crawl", timeout_s=TIMEOUT_S)
        status, said = start.status, start.said
    run.check(not any(trace in said for trace in TRACES), f"{name}: {said[-1500:]}")
    if status and (file in SENTENCE_ENOUGH or (state / file).is_dir()):
        run.check(status == 2, f"{name}: it ended with {status}: {said[-500:]}")
        return
    run.check(status == 0, f"{name}: it ended with {status}: {said[-500:]}")
    expected = simweb.expected(crawl.server.web, crawl.seeds, token="Gossamer")
    with open_existing(state) as frontier:
        settled = {url_hash for _, url_hash, _ in frontier.settled()}
    missed = [url for url in expected.depths if identify(url).url_hash not in settled]
    run.check(not missed, f"{name}: {len(missed)} pages missed, {missed[:3]}")


CAMPAIGN = Campaign(
    name="rot", about=__doc__, full=Size(runs=5, faults=100, sites=4, pages=8),
    short=Size(runs=1, faults=10, sites=2, pages=4), run=spoil, faults="states",
)  # fmt: skip
main = CAMPAIGN.main
