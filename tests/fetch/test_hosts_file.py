"""Names that this machine knows without DNS: `localhost`, and those in the system's hosts file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from gossamer.fetch.hosts_file import HostsFile, parse_hosts
from gossamer.fetch.names import Resolved, Resolver, Unresolved
from gossamer.records import Failed, Fetched, Reason
from tests.fetch.nameserver import NO_SUCH_NAME, naming
from tests.fetch.servers import PAGE, fetcher, serving

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = """\
# the usual beginning
127.0.0.1   localhost
::1         localhost ip6-localhost   # and a comment
192.0.2.1   printer Intranet.Example.ORG
192.0.2.2\tprinter
2001:db8::1 printer
2001:db8::2 six
nonsense    name
192.0.2.9
"""


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("localhost", ("127.0.0.1",)),
        ("ip6-localhost", ("::1",)),
        ("intranet.example.org", ("192.0.2.1",)),
        ("printer", ("192.0.2.1", "192.0.2.2")),
        ("six", ("2001:db8::2",)),
        ("name", None),
        ("nonsense", None),
        ("the", None),
    ],
)
def test_a_hosts_file_is_read_as_the_system_reads_it(name: str, addresses: tuple[str, ...] | None) -> None:
    assert parse_hosts(HOSTS).get(name) == addresses


@pytest.mark.parametrize("name", ["localhost", "app.localhost", "a.b.localhost"])
def test_localhost_is_this_machine_without_any_file(name: str, tmp_path: Path) -> None:
    assert HostsFile(tmp_path / "none").find(name) == ("127.0.0.1",)


@pytest.mark.parametrize("name", ["notlocalhost", "localhost.example.org", "example.org"])
def test_other_names_are_left_to_dns(name: str, tmp_path: Path) -> None:
    assert HostsFile(tmp_path / "none").find(name) == ()


def test_what_the_file_says_of_localhost_counts(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("127.0.0.7 localhost\n")
    assert HostsFile(file).find("localhost") == ("127.0.0.7",)


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("192.0.2.1 a.test\n")
    hosts = HostsFile(file)
    assert hosts.find("a.test") == ("192.0.2.1",)
    status = file.stat()
    file.write_text("192.0.2.2 a.test\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # as if nothing had happened
    assert hosts.find("a.test") == ("192.0.2.1",)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert hosts.find("a.test") == ("192.0.2.2",)
    file.unlink()
    assert hosts.find("a.test") == ()
    file.write_text("192.0.2.3 a.test\n")
    assert hosts.find("a.test") == ("192.0.2.3",)


def test_a_file_with_strange_bytes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_bytes(b"192.0.2.1 a.test # \xff\xfe\n")
    assert HostsFile(file).find("a.test") == ("192.0.2.1",)


async def test_the_hosts_file_comes_before_dns(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("192.0.2.1 a.test\n")
    async with Resolver(nameserver=None, timeout_s=5.0, hosts_file=file) as names:
        assert await names.resolve("a.test") == Resolved(addresses=("192.0.2.1",))
        assert await names.resolve("localhost") == Resolved(addresses=("127.0.0.1",))


async def test_a_named_name_server_is_the_only_one_asked(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("192.0.2.1 a.test\n")
    async with (
        naming({("a.test", "*"): [NO_SUCH_NAME], ("localhost", "*"): [NO_SUCH_NAME]}) as server,
        Resolver(nameserver=server.address, timeout_s=30.0, hosts_file=file) as names,
    ):
        for name in ("a.test", "localhost"):
            answer = await names.resolve(name)
            assert isinstance(answer, Unresolved)
            assert answer.reason is Reason.NO_SUCH_NAME


async def test_localhost_is_fetched_if_the_operator_allows_its_network() -> None:
    async with serving(PAGE) as server, fetcher() as web:
        outcome = await web.fetch(server.url(host="localhost"))
        assert isinstance(outcome, Fetched)
        assert outcome.body == b"hello"


async def test_the_address_guard_still_decides_about_localhost() -> None:
    async with serving(PAGE) as server, fetcher(allow_network=()) as web:
        outcome = await web.fetch(server.url(host="localhost"))
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.ADDRESS_REFUSED
        assert server.connections == 0
