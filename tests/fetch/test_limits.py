"""How many requests may be under way, and the settings of fetching."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import GossamerError
from gossamer.fetch import FetchSettings, in_flight_limit


@pytest.mark.parametrize(
    ("wanted", "descriptors", "limit"),
    [(1_000, 1_000_000, 1_000), (1_000, 1_024, 704), (1_000, 256, 128), (10, 1_024, 10), (1_000, 64, 1), (1_000, 0, 1)],
)
def test_the_limit_is_what_is_wanted_or_what_there_are_descriptors_for(
    wanted: int, descriptors: int, limit: int
) -> None:
    assert in_flight_limit(wanted, descriptors) == limit


@given(wanted=st.integers(1, 10**6), descriptors=st.integers(0, 10**6))
def test_the_limit_always_leaves_descriptors_for_others_and_never_is_none(wanted: int, descriptors: int) -> None:
    limit = in_flight_limit(wanted, descriptors)
    assert 1 <= limit <= wanted
    assert limit == 1 or limit <= descriptors - 64


@pytest.mark.parametrize(("soft", "hard"), [(100, 500), (500, 500)])
def test_the_soft_limit_is_raised_to_the_hard_one(soft: int, hard: int) -> None:
    program = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "from gossamer.fetch.limits import raise_descriptor_limit\n"
        "print(raise_descriptor_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["500", "500", "500"]


def test_without_a_hard_limit_there_is_still_one_that_the_system_bears() -> None:
    program = (
        "import resource\n"
        "asked = []; resource.getrlimit = lambda _: (asked or [(100, resource.RLIM_INFINITY)])[-1]\n"
        "def refuse_many(_, limits):\n"
        "    if limits[0] > 20_000: raise ValueError\n"
        "    asked.append(limits)\n"
        "resource.setrlimit = refuse_many\n"
        "from gossamer.fetch.limits import raise_descriptor_limit\n"
        "print(raise_descriptor_limit())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["10240"]


@pytest.mark.parametrize("nameserver", ["9.9.9.9", "127.0.0.1:5353", "::1", "[::1]:53"])
def test_a_name_server_is_an_address_with_or_without_port(nameserver: str) -> None:
    assert FetchSettings(nameserver=nameserver).nameserver == nameserver


@pytest.mark.parametrize(
    "nameserver", ["dns.example", "", "127.0.0.1:", "127.0.0.1:0", "1.1.1.1:99999", "[::1]:x", "[::1", "[1.1.1.1]:53"]
)
def test_anything_else_is_no_name_server(nameserver: str) -> None:
    with pytest.raises(ValueError, match="not a name server"):
        FetchSettings(nameserver=nameserver)


def test_a_network_that_is_none_is_the_operators_mistake() -> None:
    with pytest.raises(GossamerError, match="not a network"):
        FetchSettings(allow_network=("somewhere",))


def test_every_setting_says_what_it_is_for() -> None:
    for field in dataclasses.fields(FetchSettings):
        assert field.metadata["help"], field.name
