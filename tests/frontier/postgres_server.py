"""A real PostgreSQL for tests, with no root and no Docker, started when first asked for and ended with the tests.

The one that GOSSAMER_TEST_POSTGRES names; else one of our own, with the programs that `postgres_programs` finds: the
oldest and the newest version that there is, or those that GOSSAMER_TEST_POSTGRES_VERSIONS=15,18 names.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psycopg
from psycopg.conninfo import make_conninfo

from tests.frontier import postgres_programs
from tests.frontier.postgres_programs import available
from tests.frontier.postgres_programs import binaries_of as binaries_of
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

# Nothing here has to survive a power cut.
SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0", "max_connections": "600",
    "shared_buffers": "64MB", "listen_addresses": "127.0.0.1", "log_min_messages": "fatal", "deadlock_timeout": "100ms",
    "autovacuum_naptime": "5s",
}  # fmt: skip


def versions() -> list[str]:
    """Return the versions that tests are to run on; an empty one stands for whichever there is."""
    if wanted := os.environ.get("GOSSAMER_TEST_POSTGRES_VERSIONS"):
        return wanted.split(",")
    if os.environ.get("GOSSAMER_TEST_POSTGRES"):
        return [""]
    found = sorted(available(), key=int)
    return [*dict.fromkeys((found[0], found[-1]))] if found else [""]


def summary() -> str:
    """Say which versions these are."""
    if "" in versions() and os.environ.get("GOSSAMER_TEST_POSTGRES"):
        return "the PostgreSQL that GOSSAMER_TEST_POSTGRES names"
    return postgres_programs.summary(versions())


@cache
def server(version: str = "") -> str:
    """Return the address of a server's database for maintenance, starting the server if there is none yet."""
    if not version and (named := os.environ.get("GOSSAMER_TEST_POSTGRES")):
        return named
    return start(binaries_of(version))


def new_database(version: str = "") -> str:
    """Make an empty database and return its address."""
    address = server(version)
    name = f"gossamer_{os.getpid()}_{os.urandom(4).hex()}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    atexit.register(_drop, address, name)
    return make_conninfo(address, dbname=name)


@cache
def shared_database(version: str = "") -> str:
    """Return a database for all tests of this process, each with crawls of its own name."""
    return new_database(version)


def _drop(address: str, name: str) -> None:
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
    except psycopg.OperationalError:
        pass  # the server went first, and with it everything


def start(binaries: Path, settings: Mapping[str, str] = SETTINGS) -> str:
    """Start a server that ends with this process, and return its address."""
    server = Server(binaries, settings)
    atexit.register(server.remove)
    server.start()
    return server.address


class Server:
    """A server in a folder of its own, run by somebody else if we are root. It may be stopped and started again."""

    def __init__(self, binaries: Path, settings: Mapping[str, str] = SETTINGS, *, folder: Path | None = None) -> None:
        """Prepare a server; `folder` must be empty, and its path short enough for a socket's."""
        self.folder = folder or Path(tempfile.mkdtemp(prefix="gossamer-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        self._binaries = binaries
        self._user = _unprivileged()
        if self._user:
            shutil.chown(self.folder, self._user)
        self.port = str(free_port())
        self.address = make_conninfo("", host=str(self.folder), port=self.port, user="gossamer", dbname="postgres")
        trust = ("--auth-local=trust", "--auth-host=scram-sha-256")
        self._run("initdb", "-U", "gossamer", *trust, "-E", "UTF8", "--no-sync")
        self.configure({**settings, "unix_socket_directories": str(self.folder), "port": self.port})

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def configure(self, settings: Mapping[str, str]) -> None:
        """Change settings, as of the next start."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop it and wait until it has ended: `immediate` is a crash, `fast` ends sessions in good order."""
        self._run("pg_ctl", "-w", "-m", how, "stop")

    def has_tls(self) -> bool:
        """Tell whether its programs were built with TLS."""
        return self._run("postgres", "-C", "ssl_library", stdout=subprocess.PIPE).stdout.strip() != b""

    def promote(self) -> None:
        """Let a standby take writes."""
        self._run("pg_ctl", "-w", "promote")

    def pause(self) -> None:
        """Let it neither answer nor end, as a machine that hangs."""
        for pid in self._processes():
            os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """End a pause."""
        for pid in self._processes():
            os.kill(pid, signal.SIGCONT)

    def is_running(self) -> bool:
        """Tell whether its first process is there."""
        return self._run("pg_ctl", "status", check=False).returncode == 0

    def remove(self) -> None:
        """Stop it if it runs, and leave nothing behind."""
        if self.is_running():
            self.go_on()
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _processes(self) -> Iterator[int]:
        """Yield the server's first process, and then its children: a stopped parent makes no more."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        yield first
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(status.read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has gone meanwhile
                continue
            if parent == first:
                yield int(status.parent.name)

    def _run(
        self, program: str, *arguments: str, check: bool = True, stdout: int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self._binaries / program, "-D", self.data, *arguments],
            user=self._user, group=pwd.getpwnam(self._user).pw_gid if self._user else None, cwd=self.folder,
            check=check, env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL, stdout=stdout,
        )  # fmt: skip


def _unprivileged() -> str | None:
    """PostgreSQL refuses to run as root: name somebody else who exists everywhere."""
    return "nobody" if os.geteuid() == 0 else None
