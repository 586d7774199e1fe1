"""Likely mistakes over all commands: each is answered in one sentence that says what to do, with status 2."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli import run
from gossamer.crawl.folder import gather_settings, write_settings
from tests.end_to_end.crawls import environment
from tests.inspect.crawls import Crawl

CRAWL = ["crawl", "--email", "you@example.org", "--data-dir", "new"]
PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 100
UNDECODABLE = b"\xff".decode("utf-8", "surrogateescape")  # as Python hands over a byte that is not UTF-8


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped crawl of one site, and beside it what else may lie in a folder."""
    place = tmp_path_factory.mktemp("place")
    with Crawl(place / "crawl-data") as crawl:
        crawl.add("https://a.test/1", "https://a.test/gone")
        crawl.run()
    write_settings(crawl.folder, gather_settings(None, environment={}, flags={"email": "you@example.org"}))
    (place / "notes.md").write_text("not a crawl\n")
    (place / "other").mkdir()
    (place / "other" / "file").touch()
    (place / "picture.txt").write_bytes(PICTURE)
    (place / "empty.txt").touch()
    (place / "comments.txt").write_text("# none yet\n\n")
    (place / "broken.toml").write_text("delay = \n")
    (place / "latin.txt").write_bytes(b"caf\xe9.example\n")
    return place


@pytest.fixture(autouse=True)
def place(crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to work in; without settings in the environment."""
    copy = shutil.copytree(crawled, tmp_path / "place")
    monkeypatch.chdir(copy)
    for name in os.environ:
        if name.startswith("GOSSAMER_"):
            monkeypatch.delenv(name)
    return Path(copy)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said about a mistake, which is one sentence."""
    assert run(list(arguments)) == 2
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("gossamer: ")
    assert said.count("\n") == 1, said
    return said.removeprefix("gossamer: ").rstrip("\n")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        # Seeds
        (["crawl", "--data-dir", "new"], "Nothing to crawl: name domains, URLs or a file of them"),
        ([*CRAWL, ""], "Nothing to crawl: name domains, URLs or a file of them"),
        (
            [*CRAWL, "picture.txt"],
            "Seed file picture.txt is not text: name a file that holds one domain or URL per line.",
        ),
        ([*CRAWL, "seeds"], "No such seed file: seeds (a URL begins with https://)."),
        ([*CRAWL, "lists/seeds"], "No such seed file: lists/seeds (a URL begins with https://)."),
        ([*CRAWL, "other"], "other is a folder: name the file in it that holds the seeds."),
        ([*CRAWL, "--seed-file", "a.test"], "No such seed file: a.test."),
        ([*CRAWL, "mailto:me@example.org"], "is no seed (neither http nor https): name a domain, a URL or a file."),
        ([*CRAWL, "file:///etc/passwd"], "is no seed (neither http nor https): name a domain, a URL or a file."),
        ([*CRAWL, "http://a.test:99999/"], "is no seed (not a valid URL): name a domain, a URL or a file."),
        ([*CRAWL, "a.test,b.test"], "is no seed (its host name cannot exist in DNS)"),
        ([*CRAWL, f"{UNDECODABLE}.org"], "is no seed (not UTF-8 text)"),
        # Settings
        (
            [*CRAWL, "a.test", "--set", "retry_wiat=1"],
            "--set retry_wiat is not a setting; did you mean --set retry_wait?",
        ),
        ([*CRAWL, "a.test", "--set", "=1"], "--set =1 is incomplete: write --set SETTING=VALUE."),
        ([*CRAWL, "a.test", "--set", "retry_wait=x"], "--set retry_wait must be a duration such as 70, 1.5 or 2m"),
        ([*CRAWL, "a.test", "--delay", "nan"], "--delay must be a duration such as 70, 1.5 or 2m, not 'nan'"),
        ([*CRAWL, "a.test", "--delay", "inf"], "--delay must be a duration such as 70, 1.5 or 2m, not 'inf'"),
        ([*CRAWL, "a.test", "--delay", "9" * 30 + "d"], "--delay must be at most 10000000000, not '999"),
        ([*CRAWL, "a.test", "--max-pages", "9" * 30], "--max-pages must be at most 9223372036854775807, not '999"),
        ([*CRAWL, "a.test", "--max-pages-per-site", "9" * 30], "--max-pages-per-site must be at most"),
        ([*CRAWL, "a.test", "--workers", "1000000"], "--workers must be at most 10000, not '1000000'"),
        ([*CRAWL, "a.test", "--max-pages", "1.5"], "--max-pages must be a whole number, not '1.5'"),
        ([*CRAWL, "a.test", "--config", "broken.toml"], "broken.toml is not valid TOML (Invalid value"),
        ([*CRAWL, "a.test", "--config", "other"], "other cannot be read (Is a directory)"),
        (
            [*CRAWL, "a.test", "--exclude-file", "picture.txt"],
            "(it is not UTF-8 text): name another with --exclude-file.",
        ),
        ([*CRAWL, "a.test", "--exclude-file", "other"], "(Is a directory): name another with --exclude-file."),
        ([*CRAWL, "a.test", "--site-delays-file", "nope"], "(No such file or directory): write one SITE=DURATION per"),
        (["crawl", "--delay"], "option '--delay' requires an argument; see gossamer crawl --help"),
        # Folders
        (["crawl", "a.test", "--email", "a@b.org", "--data-dir", "notes.md"], "notes.md is a file: name a folder with"),
        (
            ["crawl", "a.test", "--email", "a@b.org", "--data-dir", "notes.md/x"],
            "notes.md is a file: name a folder with",
        ),
        (["status", "--data-dir", "notes.md"], "notes.md is a file: name the crawl's folder with --data-dir."),
        (
            ["query", "select 1", "--data-dir", "notes.md"],
            "notes.md is a file: name the crawl's folder with --data-dir.",
        ),
        (
            ["status", "--data-dir", "other"],
            "No crawl in other: name its folder with --data-dir, or start one with `goss",
        ),
        (
            ["export", "--data-dir", "other"],
            "No crawl in other: name its folder with --data-dir, or start one with `goss",
        ),
        (
            ["verify", "--data-dir", "/nope"],
            "No crawl in /nope: name its folder with --data-dir, or start one with `goss",
        ),
        # Output
        (["export", "-o", "nope/a/x.jsonl"], "nope/a cannot be written (No such file or directory): name another file"),
        (["export", "-o", "other"], "other cannot be written (Is a directory): name another file with --output."),
        (["export", "-o", "notes.md/x"], "notes.md cannot be written (Not a directory): name another file"),
        (["export", "--format", "txt", "-o", "notes.md"], "notes.md cannot be written (Not a directory): name another"),
        (["export", "--format", "txt", "-o", "nope/texts"], "nope cannot be written (No such file or directory): name"),
        (
            ["export", "--format", "parquet", "-o", "other"],
            "other cannot be written (Is a directory): name another file",
        ),
        (["export", "-o", "/dev/null"], "/dev/null cannot be written (not a regular file): name another file with"),
        (
            ["query", "select 1", "-o", "/dev/stdout"],
            "/dev/stdout cannot be written (not a regular file): name another",
        ),
        (["query", "select 1", "--format", "table", "-o", "other"], "other cannot be written (Is a directory): name"),
        (["query", "select 1", "-o", "nope/x.csv"], "nope/x.csv cannot be written (No such file or directory): name"),
        (["verify", "--report", "/dev/null"], "/dev/null cannot be written (not a regular file): name another file."),
        # What is asked for
        (["verify", "--site", "nosuch.org", "--report"], "The crawl in crawl-data knows no site nosuch.org: name one"),
        (
            ["verify", "--site", "nosuch.org", "--report", "x.md"],
            "The crawl in crawl-data knows no site nosuch.org: name",
        ),
        (["verify", "--site", "a.test"], "--site belongs to --report: `gossamer verify --site a.test --report`."),
        (["export", "--since", "2026-13-45"], "--since 2026-13-45 is not a time: write 2026-01-31, "),
        (["export", "--site", UNDECODABLE], "cannot be part of a crawl (not a valid URL): write it like"),
        (["log", "--site", UNDECODABLE], "cannot be part of a crawl (not a valid URL): write it like"),
        (["log", "--reason", "time"], "there is no reason time; did you mean timeout?"),
        (["log", "-n", "few"], "invalid value for '-n': 'few' is not a whole number; see gossamer log --help"),
        (["query", f"select '{UNDECODABLE}'"], "the query is not UTF-8 text: type it again, or save its file as UTF-8"),
        (["export", "--where", UNDECODABLE], "the query is not UTF-8 text: type it again, or save its file as UTF-8"),
        (["query", "select titel from pages"], "there is no column titel; did you mean title?"),
        (["show", ""], "'' cannot be part of a crawl (not a valid URL): write it like https://example.org/page."),
        (["explain", "ftp://a.test/"], "'ftp://a.test/' cannot be part of a crawl (neither http nor https): write it"),
        (["db", "stats", "--frontier", "mysql://u@h/d"], "The frontier's address cannot be read: write postgresql://"),
        (
            ["db", "stats", "--frontier", "postgresql://u@127.0.0.1:1/d"],
            "nothing answers there: see that its server runs",
        ),
    ],
    ids=lambda value: " ".join(value).encode("ascii", "replace").decode() if isinstance(value, list) else "",
)
def test_a_mistake_is_answered_in_one_sentence(
    line: list[str], sentence: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in place.iterdir())
    assert sentence in refusal(capsys, *line)
    assert sorted(path.name for path in place.iterdir()) == before, "nothing was made"


@pytest.mark.parametrize("name", ["empty.txt", "comments.txt"])
def test_a_file_without_seeds_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, *CRAWL, name) == f"Seed file {name} holds no seeds: write one domain or URL per line."
    # The second start knows the folder, and has nothing to go on with either.
    assert refusal(capsys, *CRAWL, name) == f"Seed file {name} holds no seeds: write one domain or URL per line."
    assert refusal(capsys, *CRAWL) == "The crawl in new holds no URL yet: name domains, URLs or a file of them."


def test_a_seed_of_another_encoding_is_shown_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*CRAWL, "latin.txt"]) == 2
    assert r"latin.txt, line 1: 'caf\\xe9.example' is no seed (not UTF-8 text)" in capsys.readouterr().err


def spoil_settings() -> None:
    Path("crawl-data/crawl.toml").unlink()


def spoil_frontier() -> None:
    Path("crawl-data/frontier.sqlite").write_bytes(PICTURE)


def spoil_lock() -> None:
    Path("crawl-data/lock").unlink(missing_ok=True)
    Path("crawl-data/lock").mkdir()


@pytest.mark.parametrize(
    ("spoil", "line", "sentence"),
    [
        (
            spoil_settings,
            ["report"],
            "There is no crawl.toml in crawl-data: `gossamer crawl` writes it when it starts.",
        ),
        (spoil_frontier, ["status"], "(file is not a database): bring back a whole copy of that file, or begin a new"),
        (spoil_lock, ["crawl"], "crawl-data/lock is a folder: remove it, or choose another folder with --data-dir."),
    ],
)
def test_a_crawl_that_lacks_something_is_a_mistake(
    spoil: object, line: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(spoil)
    spoil()
    assert sentence in refusal(capsys, *line)


def test_an_address_that_cannot_be_read_keeps_no_one_from_other_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOSSAMER_FRONTIER", "foo")
    assert run(["--help"]) == run(["version"]) == run(["query", "select 1"]) == 0
    capsys.readouterr()
    assert "The frontier's address cannot be read" in refusal(capsys, *CRAWL, "a.test")


def test_a_table_is_written_to_the_file_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["query", "select count(*) as pages from pages", "--format", "table", "-o", "x.txt"]) == 0
    assert Path("x.txt").read_text() == "pages\n-----\n    1\n"
    assert capsys.readouterr().out == ""


def test_a_log_without_any_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "--site", "nosuch.org"]) == 0
    assert capsys.readouterr() == ("", "No request matches.\n")
    assert run(["log", "--site", "https://WWW.a.test/x"]) == 0
    assert "https://a.test/1" in capsys.readouterr().out


def gossamer(*arguments: str, stdout: int = subprocess.PIPE, stdin: bytes = b"") -> tuple[int, str]:
    """Run a command in a process of its own; return its status and what it says on standard error."""
    command = [sys.executable, "-m", "gossamer", *arguments]
    env = environment() | {"PYTHONUNBUFFERED": ""}  # output that cannot be written stays in Python's buffer
    ended = subprocess.run(command, env=env, input=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=120)
    return ended.returncode, ended.stderr.decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
@pytest.mark.parametrize("line", [["query", "select title from pages"], ["status"], ["export"]], ids=" ".join)
def test_a_full_disk_behind_the_output_is_one_sentence(line: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        status, said = gossamer(*line, stdout=full.fileno())
    assert (status, said.count("\n")) == (2, 1), said
    assert os.strerror(errno.ENOSPC) in said


@pytest.mark.parametrize(
    ("stdin", "sentence"),
    [
        (PICTURE, "Standard input is not text"),
        (b"", "Standard input holds no seeds: write one domain or URL per line."),
    ],
)
def test_seeds_on_standard_input_are_checked_too(stdin: bytes, sentence: str) -> None:
    status, said = gossamer(*CRAWL, "-", stdin=stdin)
    assert (status, said.count("\n")) == (2, 1), said
    assert sentence in said


@pytest.mark.parametrize("option", ["--port", "--dns-port"])
def test_a_port_in_use_is_named(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind = socket.SOCK_STREAM if option == "--port" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", 0))
        if option == "--port":
            other.listen()
        port = other.getsockname()[1]
        said = refusal(capsys, "simweb", "--sites", "1", option, str(port))
    assert f"port {port} cannot be used (Address already in use). Try another --port, --dns-port or --folder." in said


def test_a_demo_whose_port_is_in_use_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("demo").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        Path("demo/ports.json").write_text(f"[{port}, 0]")
        said = refusal(capsys, "demo", "--folder", "demo")
    assert f"port {port} cannot be used (Address already in use). Stop the program that uses its ports" in said
