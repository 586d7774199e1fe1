"""What libpq offers works for us too: TLS with the server's certificate verified, and passwords from a file."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import psycopg
import pytest
import trustme
from psycopg.conninfo import make_conninfo

from gossamer.cli import run
from gossamer.errors import GossamerError
from gossamer.frontier.postgres import PostgresFrontier
from tests.frontier import postgres_server
from tests.frontier.postgres_server import Server
from tests.frontier.samples import link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "open sesame"
ENCRYPTED = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'gossamer'"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module", params=postgres_server.versions())
def server(request: pytest.FixtureRequest, authority: trustme.CA) -> Iterator[Server]:
    """A server with a certificate for `localhost`, which lets in nobody over the network without TLS and a password."""
    server = Server(postgres_server.binaries_of(request.param))
    if not server.has_tls():
        server.remove()
        pytest.skip(f"the PostgreSQL {request.param} of this machine is built without TLS")
    server.configure({"ssl": "on"})
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(str(server.data / "server.key"))
    certificate.cert_chain_pems[0].write_to_path(str(server.data / "server.crt"))
    for name in ("server.key", "server.crt"):
        shutil.chown(server.data / name, server.data.owner(), server.data.group())
        (server.data / name).chmod(0o600)
    (server.data / "pg_hba.conf").write_text("local all all trust\nhostssl all all all scram-sha-256\n")
    with server:
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE crawler LOGIN PASSWORD '{SECRET}'".encode())
            connection.execute("GRANT CREATE ON DATABASE postgres TO crawler")
        yield server


@pytest.fixture
def address(server: Server, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """How one gets in; the password is in a file."""
    authority.cert_pem.write_to_path(str(tmp_path / "root.crt"))
    passwords = tmp_path / "passwords"
    passwords.write_text(f"localhost:{server.port}:postgres:crawler:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    root = tmp_path / "root.crt"
    return f"postgresql://crawler@localhost:{server.port}/postgres?sslmode=verify-full&sslrootcert={root}"


def test_a_verified_server_and_a_password_from_a_file_let_us_in(server: Server, address: str) -> None:
    with PostgresFrontier(address, "x") as frontier, psycopg.connect(server.address) as outside:
        frontier.resume(delay_s=1)
        assert frontier.add([link("a.test/")]) == 1
        assert outside.execute(ENCRYPTED).fetchall() == [(True,)]
    assert run(["db", "migrate", "--frontier", address]) == 0


def refusal(address: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what whoever is not let in is told, in Python and on the command line."""
    with pytest.raises(GossamerError) as caught:
        PostgresFrontier(address, "x")
    assert run(["db", "stats", "--frontier", address]) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert said.endswith(str(caught.value))
    assert said.endswith(".")
    return said


def test_a_server_that_another_authority_vouches_for_is_refused_in_one_sentence(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "root.crt"))
    assert "certificate verify failed" in refusal(address, capsys)


def test_a_server_with_a_certificate_for_another_name_is_refused_in_one_sentence(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = make_conninfo(address, host="db.example.org", hostaddr="127.0.0.1")
    assert 'certificate for "localhost" does not match host name "db.example.org"' in refusal(named, capsys)


def test_a_wrong_password_is_refused_in_one_sentence_that_does_not_repeat_it(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "open says me")
    said = refusal(address, capsys)
    assert "it wants another password" in said
    assert "open says me" not in said
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "passwords").chmod(0o644)  # libpq does not read what others can
    assert "it wants a password" in refusal(address, capsys)


def test_a_server_that_wants_tls_is_not_asked_without_it(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no pg_hba.conf entry" in refusal(make_conninfo(address, sslmode="disable"), capsys)
