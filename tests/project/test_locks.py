"""The lock files name everything Gossamer needs, exactly, and nothing of the machine they were written on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.lock import SEPARATE

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
ASKED_FOR = {
    "requirements.lock": PROJECT["project"]["dependencies"],
    "requirements-dev.lock": PROJECT["dependency-groups"]["dev"],
    **{f"requirements-{group}.lock": PROJECT["dependency-groups"][group] for group in SEPARATE},
    **{f"requirements-{extra}.lock": needed for extra, needed in EXTRAS.items() if extra != "all"},
}
TOGETHER = tuple(name for name in ASKED_FOR if name[13:-5] not in SEPARATE)  # may be installed into one environment


def locked(name: str) -> list[tuple[Requirement, list[str]]]:
    """Every requirement of a lock file, with its hashes."""
    lines = (ROOT / name).read_text().replace("\\\n", " ").splitlines()
    entries = [line.split("--hash=") for line in lines if not line.lstrip().startswith("#")]
    return [(Requirement(entry[0]), [digest.strip() for digest in entry[1:]]) for entry in entries]


@pytest.mark.parametrize("name", ASKED_FOR)
def test_what_pyproject_asks_for_is_locked_at_a_version_it_accepts(name: str) -> None:
    versions = {
        canonicalize_name(requirement.name): next(iter(requirement.specifier)).version
        for requirement, _ in locked(name)
    }
    for asked in map(Requirement, ASKED_FOR[name]):
        assert asked.specifier.contains(versions[canonicalize_name(asked.name)]), asked


@pytest.mark.parametrize("name", ASKED_FOR)
def test_every_version_is_exact_and_hashed(name: str) -> None:
    for requirement, digests in locked(name):
        assert [pin.operator for pin in requirement.specifier] == ["=="], requirement
        assert digests, requirement
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in digests), requirement


@pytest.mark.parametrize("name", ASKED_FOR)
def test_no_address_and_no_path_stands_in_a_lock_file(name: str) -> None:
    content = (ROOT / name).read_text()
    assert "://" not in content
    assert not re.findall(r"(?m)^--|--(?!hash=)|(?:^|\s)[~/]\S*", content)


def test_lock_files_of_one_environment_agree_where_they_overlap() -> None:
    pins: dict[tuple[str, str], str] = {}  # one name may have several, for several versions of Python
    for name in TOGETHER:
        for requirement, _ in locked(name):
            which = requirement.name, str(requirement.marker)
            assert pins.setdefault(which, str(requirement.specifier)) == str(requirement.specifier)
