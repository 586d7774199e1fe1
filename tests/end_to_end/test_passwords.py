"""The database's password: it opens the database, and is never shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer_simweb import plain_web
from tests.end_to_end.crawls import EMAIL, Crawl, environment, wait_until
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "open sesame, 100% & more"
ENCODED = "open%20sesame%2C%20100%25%20%26%20more"


@pytest.fixture
def place() -> Iterator[str]:
    """User, host and database of a server that asks for the password, as in an address."""
    address = new_database()
    parts = conninfo_to_dict(address)
    user = f"crawler_{os.urandom(4).hex()}"
    name, database = sql.Identifier(user), sql.Identifier(str(parts["dbname"]))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(SECRET)))
        connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, name))
        yield f"{user}@127.0.0.1:{parts['port']}/{parts['dbname']}"
        connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
        connection.execute(sql.SQL("DROP ROLE {}").format(name))


@pytest.mark.parametrize("way", ["GOSSAMER_FRONTIER", "PGPASSFILE"])
def test_a_password_gets_us_in_and_is_seen_nowhere(way: str, place: str, tmp_path: Path) -> None:
    if way == "GOSSAMER_FRONTIER":
        frontier, variables = "", {way: f"postgresql://{place.replace('@', f':{ENCODED}@')}"}
    else:
        file = tmp_path / "passwords"
        file.write_text(f"*:*:*:*:{SECRET}\n")
        file.chmod(0o600)
        frontier, variables = f"postgresql://{place}", {way: str(file)}
    with simweb.serve(plain_web(sites=1, pages=3)) as server:
        crawl = Crawl(server, tmp_path / "data", delay_s=0.2, workers=1, frontier=frontier, variables=variables)
        with crawl.start("--log-level", "debug") as start:
            wait_until(lambda: len(start.page_processes()) == 1, "the page process")
            processes = [start.pid, *start.workers(), *start.page_processes()]
            assert len(processes) == 3
            seen = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes]
            seen.append(start.end().encode())
        assert crawl.judge().ok
    command = [sys.executable, "-m", "gossamer", "status", "--data-dir", str(crawl.folder)]
    status = subprocess.run(command, capture_output=True, env=environment() | variables, check=True, timeout=60)
    assert b"finished" in status.stdout
    assert not (crawl.folder / "frontier.sqlite").exists()
    seen += [path.read_bytes() for path in crawl.folder.rglob("*") if path.is_file()]
    seen += [status.stdout, status.stderr]
    assert any(place.partition("@")[0].encode() in text for text in seen), "what we look for could be found"
    assert not [text for text in seen if SECRET.encode() in text or ENCODED.encode() in text]


@pytest.mark.parametrize("argument", ["--frontier={}", "--set=frontier={}"])
@pytest.mark.parametrize(
    "address", ["postgresql://me:sesame@nowhere.invalid/x", "host=nowhere.invalid password=sesame"]
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    argument: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl = ["crawl", "example.org", "--email", "you@example.org", "--data-dir", str(tmp_path / "data")]
    assert run([*crawl, argument.format(address)]) == 2
    said = capsys.readouterr().err
    assert "give it in GOSSAMER_FRONTIER, PGPASSWORD or PGPASSFILE" in said
    assert "sesame" not in said


@pytest.mark.parametrize("line", [["db", "stats"], ["crawl", "a.test", "--email", EMAIL, "--data-dir", "new"]])
def test_an_address_that_cannot_be_read_is_not_repeated(
    line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_FRONTIER", "mysql://me:sesame@host/x")
    monkeypatch.chdir(tmp_path)
    assert run(line) == 2
    said = capsys.readouterr().err
    assert "write postgresql://user@host/database" in said
    assert "sesame" not in said
