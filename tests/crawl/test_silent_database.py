"""Commands that meet a database server which hangs: one sentence within a bounded time, whenever it falls silent."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gossamer.cli import run
from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.postgres import PostgresFrontier, administering, connection, engine, migrating
from gossamer.frontier.postgres.address import Address
from gossamer.frontier.postgres.administering import examine, look, prepare
from gossamer.frontier.postgres.connection import BoundedConnection
from tests.frontier.postgres.relay import Relay
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Opening = Callable[[str], object]

TIMEOUT_S = 0.5
CONNECT_S = 2  # libpq accepts no less


@pytest.fixture(scope="module")
def prepared() -> str:
    address = new_database()
    with PostgresFrontier(address, "crawl"):
        return address


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes half a minute when a server hangs takes half a second."""
    monkeypatch.setattr(administering, "TIMEOUT_S", TIMEOUT_S)
    monkeypatch.setattr(engine, "LEAST_TIMEOUT_S", TIMEOUT_S)
    monkeypatch.setattr(connection, "EXTRA_TIMEOUT_S", 0.0)
    monkeypatch.setattr(connection, "PING_S", 1)


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"postgresql://me:sesame@127.0.0.1:{listener.getsockname()[1]}/crawls?connect_timeout={CONNECT_S}"


def open_and_read(address: str) -> None:
    """Do what every command does that opens the frontier of a crawl."""
    with PostgresFrontier(address, "crawl", lease_s=0.1) as frontier:
        frontier.stats()


def failure(opening: Opening, address: str) -> str:
    with pytest.raises((GossamerError, FrontierError)) as caught:
        opening(address)
    return str(caught.value)


def test_a_server_that_accepts_and_says_nothing_is_given_up_in_the_time_that_the_address_names(mute: str) -> None:
    begun_s = time.monotonic()
    with ThreadPoolExecutor(4) as operators:
        said = list(operators.map(failure, (examine, look, prepare, open_and_read), [mute] * 4))
    assert time.monotonic() - begun_s < CONNECT_S + 7, "and not the ten that we would give it"
    (sentence,) = set(said)
    assert "sesame" not in sentence
    assert sentence == (
        "The frontier cannot be opened: PostgreSQL database crawls on 127.0.0.1: it does not answer: see that its "
        "server runs, is not paused, and is reached from here."
    )


def test_the_operators_time_for_connecting_goes_before_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    assert Address("postgresql://here/x").connect_timeout == "10"
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "5")
    assert Address("postgresql://here/x").connect_timeout == "5"
    assert Address("postgresql://here/x?connect_timeout=3").connect_timeout == "3"


def test_a_server_that_falls_silent_at_any_question_is_given_up(prepared: str, impatient: None) -> None:
    asked = {examine: 7, look: 5, prepare: 6, open_and_read: 5}  # by the last, until the frontier is open
    silences = [(opening, questions) for opening, most in asked.items() for questions in range(most)]
    with ThreadPoolExecutor(len(silences)) as operators, ExitStack() as relays:
        failures = [
            operators.submit(failure, opening, relays.enter_context(Relay(prepared, questions=questions)).address)
            for opening, questions in silences
        ]
        for opening_and_questions, failed in zip(silences, failures, strict=True):
            sentence = failed.result()
            assert "cannot be opened: PostgreSQL database" in sentence, opening_and_questions
            assert f"it has not answered for {TIMEOUT_S:.0f} s: see whether it is paused" in sentence


def test_a_server_that_falls_silent_while_the_schema_is_made_is_given_up_and_nothing_is_half_made(
    impatient: None,
) -> None:
    address = new_database()
    with Relay(address, questions=9) as relay:
        assert "it has not answered" in failure(prepare, relay.address)
    with psycopg.connect(address) as other:
        assert migrating.schema_version(other) == 0


def test_a_change_of_the_schema_takes_as_long_as_it_needs_while_the_server_answers_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = new_database()
    has_asked = threading.Event()
    answers_others = BoundedConnection._answers_others

    def note(waiting: BoundedConnection) -> bool:
        has_asked.set()
        return answers_others(waiting)

    monkeypatch.setattr(BoundedConnection, "_answers_others", note)
    monkeypatch.setattr(administering, "TIMEOUT_S", 0.2)  # and a second
    with ThreadPoolExecutor(1) as operator, psycopg.connect(address) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", (migrating._LOCK,))
        preparing = operator.submit(prepare, address)
        assert has_asked.wait(30), "its timeout never passed"
        other.rollback()
        assert preparing.result(30).before == 0


def test_a_command_says_in_one_line_that_the_database_hangs_and_exits_with_2(
    prepared: str, impatient: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGPASSWORD", "")  # which is set meanwhile, and put back
    (tmp_path / "crawl.toml").write_text('frontier = "postgresql://nowhere"\nlease = 1\n')
    folder = ["--data-dir", str(tmp_path)]
    # The second has seen by then that it can read the schema.
    for command in (["db", "stats"], ["status", *folder]):
        with Relay(prepared, questions=1 if command[0] == "db" else 2) as relay:
            address = make_conninfo("", **({"password": "sesame"} | conninfo_to_dict(relay.address)))
            monkeypatch.setenv("GOSSAMER_FRONTIER", address)
            assert run(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("gossamer: The frontier cannot be ")
        assert "it has not answered" in line
        assert "sesame" not in line


def test_what_is_logged_of_a_slow_database_is_not_shown_without_a_crawl() -> None:
    program = """
import atexit, logging, sys
atexit.register(logging.getLogger("gossamer.frontier").warning, "Statement x held its connection", stack_info=True)
sys.argv[1:] = ["--version"]
from gossamer.cli import main
main()
"""
    path = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("gossamer ")
    assert done.stderr == ""
