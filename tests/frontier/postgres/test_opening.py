"""Which databases and crawls are opened, upgraded or refused, and in which words."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from gossamer.errors import GossamerError
from gossamer.frontier import FrontierError
from gossamer.frontier.postgres import Opening, PostgresFrontier, migrating
from gossamer.frontier.postgres.administering import prepare
from gossamer.frontier.postgres.connection import BoundedConnection
from gossamer.frontier.postgres.migrating import migrate
from gossamer.urls import NORMALISER_VERSION, SUFFIX_LIST_VERSION
from tests.frontier import postgres_server
from tests.frontier.samples import beating, link

if TYPE_CHECKING:
    from tests.frontier.labs import PostgresLab


@pytest.mark.parametrize(
    ("column", "what", "other"),
    [
        ("normaliser", "URL normaliser", "other"),
        ("suffix_list", "public suffix list", "other"),
        ("shards", "shard count", "64"),
    ],
)
def test_a_crawl_that_names_or_places_sites_differently_is_refused(
    lab: PostgresLab, outsider: psycopg.Connection[Any], column: str, what: str, other: str
) -> None:
    outsider.execute(f"UPDATE crawl SET {column} = '{other}' WHERE name = %s".encode(), (lab.crawl,))
    with pytest.raises(GossamerError, match=f"made with {what} {other} and this Gossamer has "):
        lab.open()


def test_an_older_database_is_upgraded_when_none_of_its_workers_shows_life(version: str) -> None:
    address = postgres_server.new_database(version)
    with BoundedConnection.connect(address, autocommit=True) as old:
        migrate(old, "there", migrating.all_scripts()[:2])
        old.execute("SET search_path = gossamer")
        crawl = (1, "x", NORMALISER_VERSION, SUFFIX_LIST_VERSION, json.dumps({"lease": "60"}))
        old.execute(
            "INSERT INTO crawl (crawl, name, normaliser, suffix_list, terms) VALUES (%s, %s, %s, %s, %s)", crawl
        )
        old.execute("INSERT INTO worker (shard, crawl, worker, home, label) VALUES (1, 1, 1, 'there', 'an older one')")
        for host in (
            "http://a.test",
            "https://1.2.3.4",
            "http://a.test:81",
            "https://[::1]:8443",
            "http://b.a.test:81",
        ):
            old.execute("INSERT INTO host (shard, crawl, site_id, name, seeded) VALUES (1, 1, 1, %s, true)", (host,))
        with beating(lambda: old.execute("UPDATE worker SET beats = beats + 1")):
            for opening in (lambda: PostgresFrontier(address, "x"), lambda: prepare(address)):
                with pytest.raises(GossamerError, match="workers of an older Gossamer are at work in it: stop that"):
                    opening()
        assert migrating.schema_version(old) == 2, "nothing was changed"
        old.execute("UPDATE crawl SET terms = %s", (json.dumps({"lease": "0.5"}),))
    with PostgresFrontier(address, "x", lease_s=0.5) as frontier:
        assert [state.label for state in frontier.workers()] == ["an older one"]
        assert frontier.seed_ports() == {81, 8443}
        frontier.resume(delay_s=0)
        assert frontier.audit() == []


def test_a_database_of_a_newer_gossamer_is_left_alone(version: str) -> None:
    address = postgres_server.new_database(version)
    PostgresFrontier(address, "x").__exit__()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE gossamer.schema_version SET version = 999")
    with pytest.raises(GossamerError, match="written by a newer Gossamer: upgrade"):
        PostgresFrontier(address, "x")


def test_a_reader_upgrades_nothing_begins_nothing_and_needs_no_right_to(lab: PostgresLab, version: str) -> None:
    role = f"reader_{os.urandom(4).hex()}"
    address = make_conninfo(lab.address, user=role, password="reader")
    with lab.open() as frontier:
        frontier.add([link("a.test/")])
    with psycopg.connect(lab.address, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'reader'".encode())
        try:
            with pytest.raises(GossamerError, match="grant it USAGE on the schema gossamer, and SELECT on all tables"):
                PostgresFrontier(address, lab.crawl, opening=Opening.READ)
            owner.execute(f"GRANT USAGE ON SCHEMA gossamer TO {role}".encode())
            owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA gossamer TO {role}".encode())
            with PostgresFrontier(address, lab.crawl, opening=Opening.READ) as reader:
                assert reader.stats().known == 1
                assert reader.audit() == []
                with pytest.raises(FrontierError, match="grant it"):
                    reader.add([link("b.test/")])
            with pytest.raises(
                GossamerError, match=r"There is no crawl called another in .*: name its database in GOSS"
            ):
                PostgresFrontier(lab.address, "another", opening=Opening.READ)
        finally:
            owner.execute(f"DROP OWNED BY {role}".encode())
            owner.execute(f"DROP ROLE {role}".encode())
    empty = postgres_server.new_database(version)
    with pytest.raises(GossamerError, match="There is no crawl called x in "):
        PostgresFrontier(empty, "x", opening=Opening.READ)
    prepare(empty)
    with psycopg.connect(empty, autocommit=True) as owner:
        for number, sentence in ((1, "an older Gossamer: resume its crawl once"), (999, "a newer Gossamer: upgrade")):
            owner.execute("UPDATE gossamer.schema_version SET version = %s", (number,))
            with pytest.raises(GossamerError, match=f"was written by {sentence}"):
                PostgresFrontier(empty, "x", opening=Opening.READ)
            assert owner.execute("SELECT version FROM gossamer.schema_version").fetchone() == (number,)


def test_a_server_that_takes_no_writes_is_told_in_one_sentence(lab: PostgresLab, version: str) -> None:
    read_only = make_conninfo(lab.address, options="-c default_transaction_read_only=on")
    with PostgresFrontier(read_only, lab.crawl) as frontier:
        assert frontier.stats().known == 0, "reading works"
        with pytest.raises(FrontierError, match=r"it takes no writes: give the address of the primary"):
            frontier.add([link("a.test/")])
    empty = make_conninfo(postgres_server.new_database(version), options="-c default_transaction_read_only=on")
    with pytest.raises(GossamerError, match=r"cannot be opened: .*it takes no writes.*\.$"):
        PostgresFrontier(empty, "x")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://gossamer:very%20secret@{host}:{port}/{db}",
        "host={host} port={port} dbname={db} user=gossamer password='very secret'",
        "postgresql://gossamer:very%20secret@nowhere.invalid/{db}",
        "postgresql://gossamer:very%2secret@{host}/{db}",
        "postgresql://gossamer:very secret@{host}/{db}?nonsense=1",
    ],
)
def test_no_error_tells_the_password(lab: PostgresLab, address: str) -> None:
    parts = conninfo_to_dict(lab.address)
    with pytest.raises(GossamerError) as caught:
        PostgresFrontier(address.format(host="127.0.0.1", port=parts["port"], db=parts["dbname"]), "x")
    text = str(caught.value)
    assert "secret" not in text
    assert text.endswith(".")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
