"""How the address of a database is read: no mistake in it gives the password away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from psycopg.conninfo import conninfo_to_dict

from gossamer.errors import GossamerError
from gossamer.frontier.postgres.address import Address, split_password
from gossamer.frontier.postgres.administering import examine
from tests.frontier.postgres_server import new_database

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:open/sesame@here/crawls",
        "postgresql://me:1234/sesame@here/crawls",
        "postgresql://me:open@sesame@here/crawls",
        "postgresql://me:open@/sesame@here/crawls",
        "postgresql://me:sesame/@here/crawls",
        "postgres://me:sesame/sesame@/crawls?host=here",
        "postgresql://here?password=sesame@sesame",
    ],
)
def test_a_password_that_is_not_encoded_is_neither_taken_for_a_name_nor_repeated(address: str) -> None:
    with pytest.raises(GossamerError, match="percent-encoded") as caught:
        Address(address)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "place", "password"),
    [
        ("postgresql://", "its default database on this machine", ""),
        ("postgresql:///crawls?host=/run/pg", "crawls on /run/pg", ""),
        ("postgresql://%2Frun%2Fpg/crawls", "crawls on /run/pg", ""),
        ("postgresql://me@[2001:db8::1]:5433/crawls", "crawls on 2001:db8::1", ""),
        ("postgresql://me:open%2Fsesame%40@here,there:5433/crawls", "crawls on here,there", "open/sesame@"),
        ("postgresql://me:open?sesame:#@here/crawls", "crawls on here", "open?sesame:#"),
        ("postgresql://here/crawls?user=me&password=s@sam/e", "crawls on here", "s@sam/e"),
        ("postgresql://here?dbname=crawls&sslmode=verify-full", "crawls on here", ""),
        ("host=here dbname=crawls password='open @/sesame'", "crawls on here", "open @/sesame"),
    ],
)
def test_addresses_that_are_right_are_read(
    address: str, place: str, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGDATABASE", "PGUSER"):
        monkeypatch.delenv(name, raising=False)
    assert Address(address).place == place
    assert split_password(address)[1] == password


def test_secrets_that_have_no_other_place_than_the_address_belong_into_a_file_of_services() -> None:
    with pytest.raises(GossamerError, match=r"must not hold sslpassword.*PGSERVICEFILE") as caught:
        split_password("postgresql://here/crawls?sslkey=key.pem&sslpassword=sesame")
    assert "sesame" not in str(caught.value)


def test_a_file_of_services_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = conninfo_to_dict(new_database())
    services = tmp_path / "services"
    services.write_text("[crawls]\n" + "".join(f"{name}={value}\n" for name, value in parts.items()))
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    assert examine("service=crawls").version > 0
