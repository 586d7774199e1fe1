"""A user who may only read a crawl's folder, such as one for monitoring, can use every command that reads."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import gossamer_simweb as simweb
from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.frontier.sqlite import SqliteFrontier
from gossamer.supervisor.lock import is_held
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import Crawl, said, wait_until
from tests.end_to_end.reading_user import ELSEWHERE, FOLDER, NOBODY, as_reader, listing
from tests.inspect.crawls import Crawl as Stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb import WebServer
    from tests.end_to_end.crawls import Start

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
URL, SITE = "{url}", "{site}"
COMMANDS = [
    ["status"],
    ["status", "--json"],
    ["top", "--once"],
    ["verify"],
    ["verify", "--report", f"{ELSEWHERE}/conduct.md"],
    ["report", "--output", f"{ELSEWHERE}/report.html"],
    ["query", "select count(*) from pages"],
    ["query", "select * from sites"],
    ["show", URL],
    ["show", URL, "--raw"],
    ["log", "-n", "3"],
    ["explain", SITE],
    ["explain", URL],
    ["exclude", "--list"],
    ["export", "-o", f"{ELSEWHERE}/pages.jsonl"],
    ["export", "--format", "parquet", "-o", f"{ELSEWHERE}/pages.parquet"],
]

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a crawl and read it as another user")


class Stage:
    """A crawl in the middle, and folders that every user can reach."""

    def __init__(self, server: WebServer, root: Path, frontier: str) -> None:
        self.crawl = Crawl(server, root / "data", delay_s=0.3, workers=1, frontier=frontier)
        self.frontier = frontier
        self._root = root

    def copy(self, name: str) -> Path:
        """Copy the crawl's folder as it is now, lock and all."""
        return Path(shutil.copytree(self.crawl.folder, self._root / name))

    def elsewhere(self) -> Path:
        """Make a folder that a reader may write to."""
        return Path(tempfile.mkdtemp(dir=self._root))

    def commands(self) -> list[list[str]]:
        """Fill in what depends on the web."""
        url = self.crawl.seeds[0]
        filled = [[part.replace(URL, url).replace(SITE, url.split("/")[2]) for part in one] for one in COMMANDS]
        return [[*one, "--data-dir", FOLDER] for one in filled]

    def run_until_pages(self) -> Start:
        """Start the crawl and wait until pages are stored and counted."""
        start = self.crawl.start()
        wait_until(lambda: any(self.crawl.folder.glob("warc/*")), "an archive")
        wait_until(lambda: bool(json.loads(said("status", "--json", *self.named))["pages"] > 5), "pages")
        return start

    def run_and_end(self, *, killed: bool) -> None:
        """Run the crawl for a while, and wait until none of its processes is left."""
        with self.run_until_pages() as start:
            if not killed:
                start.signal(signal.SIGTERM)
                start.end()
        wait_until(lambda: not is_held(self.crawl.folder), "the lock to be free")

    @property
    def named(self) -> list[str]:
        """The option that names the folder."""
        return ["--data-dir", str(self.crawl.folder)]


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that every user can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="gossamer-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def stage(root: Path, frontier: str) -> Iterator[Stage]:
    with simweb.serve(plain_web(sites=3, pages=2_000, links_across=0.0)) as server:
        yield Stage(server, root, frontier)


@pytest.fixture
def variables(stage: Stage) -> Iterator[dict[str, str]]:
    """The environment of a user who may only read: with a database, the address of a role that may only select."""
    if not stage.frontier:
        yield {}
        return
    role = f"reader_{os.urandom(4).hex()}"
    with psycopg.connect(stage.frontier, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'reader'".encode())
        yield {"GOSSAMER_FRONTIER": make_conninfo(stage.frontier, user=role, password="reader"), "ROLE": role}
        owner.execute(f"DROP OWNED BY {role}".encode())
        owner.execute(f"DROP ROLE {role}".encode())


def grant(stage: Stage, variables: dict[str, str]) -> None:
    """Do what docs/operations.md says, once there is a schema."""
    if stage.frontier:
        with psycopg.connect(stage.frontier, autocommit=True) as owner:
            for line in re.findall(r"^      ((?:GRANT|ALTER) .*);$", OPERATIONS.read_text(), re.MULTILINE):
                owner.execute(line.replace("monitor", variables["ROLE"]).encode())


def assert_all_read(answers: list[dict[str, Any]], *, running: bool) -> dict[str, str]:
    """Every command did what it does for the owner, and changed nothing. Return what each said."""
    by_command = {" ".join(command): answer for command, answer in zip(COMMANDS, answers, strict=True)}
    for command, answer in by_command.items():
        expected = 2 if command.startswith("top") and not running else 0
        assert answer["status"] == expected, f"{command}: {answer['said']}"
        assert "Traceback" not in answer["said"]
        if not running:
            assert answer["changed"] == [], command
    return {command: answer["said"] for command, answer in by_command.items()}


@only_root
def test_a_reader_can_use_every_command_that_reads_while_the_crawl_runs(
    stage: Stage, variables: dict[str, str]
) -> None:
    with stage.run_until_pages():
        grant(stage, variables)
        practice = stage.copy("practice")
        commands = [*stage.commands(), ["stop", "--data-dir", FOLDER]]
        *answers, stop = as_reader(stage.crawl.folder, practice, stage.elsewhere(), commands, variables)
        assert "is another user's" in stop["said"]
        spoken = assert_all_read(answers, running=True)
    assert json.loads(spoken["status --json"])["running"]
    assert "No problems." in spoken["verify"]
    assert not [name for name, about in listing(stage.crawl.folder).items() if about[1] == NOBODY]


@pytest.mark.parametrize(
    ("frontier", "end"),
    [("sqlite", "stopped"), ("sqlite", "killed"), ("sqlite", "killed, without -shm"), ("postgres", "stopped")],
    indirect=["frontier"],
)
def test_a_reader_can_use_every_command_that_reads_when_the_crawl_has_ended(
    stage: Stage, variables: dict[str, str], end: str
) -> None:
    stage.run_and_end(killed=end != "stopped")
    log = stage.crawl.folder / "frontier.sqlite-wal"
    if not stage.frontier:
        assert (end != "stopped") == (log.exists() and log.stat().st_size > 0)
        if end == "killed, without -shm":
            log.with_name("frontier.sqlite-shm").unlink()
    else:
        (stage.crawl.folder / "home").unlink()
    grant(stage, variables)
    practice, truth = stage.copy("practice"), stage.copy("truth")
    answers = as_reader(stage.crawl.folder, practice, stage.elsewhere(), stage.commands(), variables)
    spoken = assert_all_read(answers, running=False)
    status = json.loads(spoken["status --json"])
    assert not status["running"]
    assert "No problems." in spoken["verify"]
    assert "No crawl is running" in spoken["top --once"]
    if not stage.frontier:
        with SqliteFrontier(truth / "frontier.sqlite") as frontier:
            stats = frontier.stats()
        assert [status["known"], status["done"]] == [stats.known, stats.done], "also what is only in the log"


@pytest.mark.parametrize("frontier", ["sqlite"], indirect=True)
@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_commands_that_read_change_nothing_for_the_owner_either(stage: Stage, end: str) -> None:
    stage.run_and_end(killed=end == "killed")
    before, elsewhere = listing(stage.crawl.folder), stage.elsewhere()
    for command in stage.commands():
        parts = [part.replace(FOLDER, str(stage.crawl.folder)).replace(ELSEWHERE, str(elsewhere)) for part in command]
        said(*parts, status=2 if command[0] == "top" else 0)
        assert listing(stage.crawl.folder) == before, command


@pytest.fixture
def small(root: Path) -> Path:
    """A small crawl that has ended."""
    with Stored(root / "data") as crawl:
        write_settings(crawl.folder, gather_settings(None, environment={}, flags={"email": "tests@example.org"}))
        crawl.add("https://a.test/1", "https://b.test/1")
        crawl.run()
    (crawl.folder / "lock").touch()
    return crawl.folder


def test_a_reader_is_told_in_one_sentence_what_needs_more_rights(root: Path, small: Path) -> None:
    practice = Path(shutil.copytree(small, root / "practice"))
    commands = [["report"], ["exclude", "example.org"], ["crawl", "--email", "tests@example.org"]]
    answers = as_reader(small, practice, root, [[*command, "--data-dir", FOLDER] for command in commands])
    for answer in answers:
        assert (answer["status"], answer["changed"]) == (2, []), answer
        assert answer["said"].count("\n") == 1
        assert "Permission denied" in answer["said"]
    assert "report.html cannot be written (Permission denied): name another file with -o" in answers[0]["said"]


@pytest.mark.parametrize("hidden", [".", "pages", "requests", "journal", "frontier.sqlite", "crawl.toml", "lock"])
def test_what_may_not_be_read_is_named_and_never_taken_for_nothing(root: Path, small: Path, hidden: str) -> None:
    practice = Path(shutil.copytree(small, root / "practice"))
    commands = [["status"], ["query", "select url from pages"], ["log"], ["verify"], ["explain", "a.test"], ["export"]]
    named = [[*command, "--data-dir", FOLDER] for command in commands]
    open_to_all = as_reader(small, practice, root, named)
    assert all(answer["status"] < 2 for answer in open_to_all), open_to_all
    (small / hidden).chmod(0)
    now = as_reader(small, practice, root, named)
    for answer in (answer for answer, before in zip(now, open_to_all, strict=True) if answer["said"] != before["said"]):
        assert answer["status"] == 2, answer
        assert re.search(r"\ngossamer: .*(Permission denied|is not readable).*\n$", f"\n{answer['said']}")
        assert "Traceback" not in answer["said"]
    assert now != open_to_all
    (small / hidden).chmod(0o755)


@pytest.mark.parametrize("frontier", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize(("mask", "others"), [(0o000, 0o044), (0o027, 0o040)])
def test_what_a_crawl_creates_is_readable_for_those_whom_the_umask_allows(stage: Stage, mask: int, others: int) -> None:
    former = os.umask(mask)
    try:
        with stage.run_until_pages() as start:
            living = modes(stage.crawl.folder)
            start.signal(signal.SIGTERM)
            start.end()
        said("report", *stage.named)
    finally:
        os.umask(former)
    found = living | modes(stage.crawl.folder)
    assert len(found) > 10
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o066 != others} == {}  # never writable


def modes(folder: Path) -> dict[str, int]:
    """Return the mode of everything in a folder."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        with suppress(FileNotFoundError):  # a journal becomes a part
            found[str(path)] = path.stat().st_mode
    return found
