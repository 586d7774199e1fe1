"""Two machines on one crawl, each in a network of its own, like the database and the web: one dies, or is cut off."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import gossamer_simweb as simweb
from gossamer.store.checking import check
from gossamer.store.repair import repair
from gossamer.urls import site_of
from gossamer_simweb import WebSpec, plain_web
from tests.end_to_end.crawls import Crawl, environment, wait_until
from tests.end_to_end.namespaces import WITHOUT_ROOT, Cable, ImpossibleError, Machine
from tests.frontier.postgres_server import SETTINGS, binaries_of, start
from tests.serve.dashboards import dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

    from gossamer_simweb import LoggedRequest, WebServer
    from tests.end_to_end.crawls import Start

LEASE_S: Final = 4.0
SLACK_S: Final = 1.5  # for the lease to be looked at, and for what was already at the server
DELAY_S: Final = 0.7
TIMEOUT_S: Final = 120.0  # two machines, a database and a web are many processes
WEB, DATABASE = 10, "192.168.0.1"
PASSWORD = os.urandom(8).hex()

OWNED = """
    SELECT name FROM gossamer.site JOIN gossamer.worker ON owner = worker
    WHERE NOT gone AND label LIKE '%%:' || %s
"""
LIVES = "SELECT 1 FROM gossamer.worker WHERE NOT gone AND label LIKE '%%:' || %s"


class Network:
    """Four machines: two that crawl, the database, and the web."""

    def __init__(self) -> None:
        self.database, self.web = Machine(f"{DATABASE}/32"), Machine(f"{WEB}.0.0.0/8")
        self.crawling = [Machine(), Machine()]
        self.cables = [
            {"database": Cable(machine, self.database, 2 * number), "web": Cable(machine, self.web, 2 * number + 1)}
            for number, machine in enumerate(self.crawling, start=1)
        ]
        with self.database:
            self._postgres = start(binaries_of(""), {**SETTINGS, "listen_addresses": DATABASE})
        with psycopg.connect(self._postgres, autocommit=True) as connection:
            connection.execute(f"ALTER ROLE gossamer PASSWORD '{PASSWORD}'".encode())
            with (Path(str(conninfo_to_dict(self._postgres)["host"])) / "data" / "pg_hba.conf").open("a") as rules:
                rules.write("host all all all scram-sha-256\n")
            connection.execute("SELECT pg_reload_conf()")

    @contextmanager
    def serve(self, spec: WebSpec) -> Iterator[WebServer]:
        """Serve a web to all."""
        with ExitStack() as serving:
            with self.web:
                server = serving.enter_context(simweb.serve(spec, network=WEB))
            yield server

    @contextmanager
    def new_database(self) -> Iterator[tuple[str, Connection]]:
        """Make a database: its address for machines, and a connection for us, whom no cable holds up."""
        name = f"crawl_{os.urandom(4).hex()}"
        with psycopg.connect(self._postgres, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        with psycopg.connect(make_conninfo(self._postgres, dbname=name), autocommit=True) as connection:
            yield make_conninfo(self._postgres, host=DATABASE, dbname=name), connection

    def start(self, number: int, crawl: Crawl, *, lease_s: float = LEASE_S) -> Start:
        """Start a crawl on a machine; its user agent says on which."""
        with self.crawling[number]:
            return crawl.start("--lease", str(lease_s), "--info-url", info_url(number))


def info_url(number: int) -> str:
    return f"https://machine-{number}.example/"


@pytest.fixture(scope="module")
def network() -> Network:
    try:
        return Network()
    except ImpossibleError as error:
        pytest.skip(f"there can be no machines here: {error}")


@pytest.mark.skipif(os.geteuid() == 0, reason="with root, nothing else is needed")
def test_without_root_all_this_holds_too() -> None:
    command = (*WITHOUT_ROOT, sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "-k", "not without_root")
    try:
        ran = subprocess.run([*command, __file__], capture_output=True, text=True, env=environment(), check=False)
    except FileNotFoundError:
        pytest.skip("there can be no machines here: the command unshare is missing")
    if ran.stderr.startswith("unshare:"):
        pytest.skip(f"there can be no machines here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stdout


def crawls(server: WebServer, folder: Path, address: str) -> tuple[Crawl, Crawl]:
    secret = {"PGPASSWORD": PASSWORD}
    one, other = (
        Crawl(server, folder / name, delay_s=DELAY_S, workers=1, frontier=address, variables=secret)
        for name in ("one", "other")
    )
    return one, other


def sites_of(start: Start, database: Connection) -> set[str]:
    """Return the sites that a machine has in hand."""
    return {row[0] for pid in start.workers() for row in database.execute(OWNED, (str(pid),))}


def wait_for_sites(start: Start, database: Connection) -> set[str]:
    """Wait until a machine has several sites in hand, and return them."""
    held: set[str] = set()

    def has_some() -> bool:
        nonlocal held
        assert start.status is None, start.said
        held = sites_of(start, database)
        return len(held) > 1

    wait_until(has_some, "a machine to have sites")
    return held


def asked_by(number: int, server: WebServer) -> list[LoggedRequest]:
    return [request for request in server.log() if info_url(number) in request.agent]


def asked_since(since_s: float, number: int, server: WebServer) -> set[str]:
    """Return the sites that a machine has asked for something since then."""
    return {site_of(request.url) for request in asked_by(number, server) if request.arrived > since_s}


def test_when_a_machine_dies_the_other_takes_its_sites(network: Network, tmp_path: Path) -> None:
    spec = WebSpec(sites=8, pages=8, slow_s=0.1, crawl_delay_s=0.9, broken=0)
    with network.serve(spec) as server, network.new_database() as (address, database):
        one, other = crawls(server, tmp_path, address)
        with network.start(0, one) as survivor, network.start(1, other) as victim:
            wait_for_sites(survivor, database)
            wait_until(lambda: bool(asked_by(1, server)), "it to do its share")
            orphaned = wait_for_sites(victim, database)
            killed = time.monotonic()
            victim.kill_group()
            assert "Nothing is left to fetch" in survivor.end(timeout_s=TIMEOUT_S)
        verdict = one.judge(allowed_repeats=3 * len(orphaned), kills=[killed])
        assert verdict.ok, verdict.summary()
        assert orphaned <= asked_since(killed, 0, server)
    assert check(one.folder).problems == []
    repair(other.folder)
    assert check(other.folder).problems == []


def test_a_machine_that_is_cut_off_stops_in_time_loses_its_sites_and_goes_on_when_it_is_back(
    network: Network, tmp_path: Path
) -> None:
    """All of its cables are pulled; the web is back before half the lease is over, the database after all of it."""
    cables = network.cables[1]
    with network.serve(plain_web(sites=8, pages=18)) as server, network.new_database() as (address, database):
        one, other = crawls(server, tmp_path, address)
        with network.start(0, one) as here, network.start(1, other) as away:
            wait_for_sites(here, database)
            held = wait_for_sites(away, database)
            (pid,) = away.workers()
            for cable in cables.values():
                cable.pull()
            cut_s = time.monotonic()
            wait_until(lambda: time.monotonic() > cut_s + LEASE_S / 4, "what is under way to fail")
            cables["web"].plug_in()
            wait_until(lambda: not database.execute(LIVES, (str(pid),)).fetchall(), "it to be declared dead")
            assert time.monotonic() - cut_s > LEASE_S / 2, "no machine ends it while it may still send requests"
            wait_until(lambda: bool(held & asked_since(cut_s, 0, server)), "its sites to be taken over")
            cables["database"].plug_in()
            back_s = time.monotonic()
            for start in (here, away):
                assert "Nothing is left to fetch" in start.end(timeout_s=TIMEOUT_S)
            assert "declared dead; it drops what it held and joins again" in other.log
            assert away.workers() == []
        theirs = [request.arrived for request in asked_by(1, server)]
        assert not [at - cut_s for at in theirs if cut_s + LEASE_S / 2 + SLACK_S < at < back_s]
        assert max(theirs) > back_s, "it went on"
        # What it had asked for and could not report any more is asked for again: half a lease of a turn per site.
        verdict = one.judge(allowed_repeats=len(held) * 5, kills=[cut_s])
        assert verdict.ok, verdict.summary()
        print(f"\ncut off for {back_s - cut_s:.1f} s; {verdict.repeats} of {verdict.requests} requests repeated")
    for folder in (one.folder, other.folder):
        assert check(folder).problems == []


def test_the_dashboard_of_a_machine_shows_both_and_names_one_that_was_killed_within_its_lease(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease_s = 30.0
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with (
        network.new_database() as (address, database),
        network.serve(plain_web(sites=8, pages=300, links_across=0.0)) as server,
    ):
        one, other = crawls(server, tmp_path, address)
        with network.start(0, one, lease_s=lease_s) as here, network.start(1, other, lease_s=lease_s) as there:
            for started in (here, there):
                wait_for_sites(started, database)
            labels = [f":{worker}</td>" for started in (here, there) for worker in started.workers()]
            assert len(labels) == 2
            with network.crawling[0], dashboard(one.folder, tmp_path / "keys" / "tokens") as served:

                def page() -> str:
                    return served.ask("/", as_="viewer").body

                wait_until(lambda: all(label in page() for label in labels), "both machines to be shown")
                assert "worker silent" not in page()
                there.kill_group()
                killed_s = time.monotonic()
                wait_until(
                    lambda: "1 worker silent: stopped, cut off from the frontier, or dead" in page(), "its silence"
                )
                assert time.monotonic() - killed_s < lease_s
