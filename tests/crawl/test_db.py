"""`gossamer db` on a real PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.cli import run
from gossamer.frontier.postgres import PostgresFrontier
from tests.frontier.postgres_server import new_database
from tests.frontier.samples import links

if TYPE_CHECKING:
    import pytest


def test_a_database_is_prepared_once_and_says_what_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    address = new_database()
    for too_soon in ("stats", "migrate"):
        assert run(["db", too_soon, "--frontier", address]) == 2
        assert "` prepares it" in capsys.readouterr().err
    assert run(["db", "init", "--frontier", address]) == 0
    assert "is ready: schema version" in capsys.readouterr().out
    assert run(["db", "init", "--frontier", address]) == 0
    assert "was ready before" in capsys.readouterr().out
    with PostgresFrontier(address, "my crawl") as frontier:
        frontier.resume(delay_s=1)
        frontier.join("somewhere:1")
        frontier.add(links("a.test", 1_234))
        assert run(["db", "stats", "--frontier", address]) == 0
    crawls, _, tables = capsys.readouterr().out.partition("\n\n")
    assert crawls.splitlines()[2].split() == ["my", "crawl", "running", "1", "1,234", "0", "0", "1"]
    assert {line.split()[0] for line in tables.splitlines()[2:]} >= {"site", "queue", "seen", "worker"}
    assert run(["db", "migrate", "--frontier", address]) == 0
    assert "before, it had" in capsys.readouterr().out


def test_the_address_may_come_from_the_environment_and_a_server_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_FRONTIER", "postgresql://me:sesame@127.0.0.1:1/crawls")
    monkeypatch.setenv("PGPASSWORD", "")  # which is set meanwhile, and put back
    assert run(["db", "stats"]) == 2
    said = capsys.readouterr().err
    assert "The frontier cannot be opened: PostgreSQL database crawls on 127.0.0.1" in said
    assert "sesame" not in said


def test_without_an_address_one_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOSSAMER_FRONTIER", raising=False)
    assert run(["db", "stats"]) == 2
    assert "Name the database: --frontier postgresql://user@host/database" in capsys.readouterr().err
