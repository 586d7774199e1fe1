"""A missing extra is named with the command that adds it to this very copy."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from gossamer.errors import GossamerError
from gossamer.extras import EXTRAS, install_command, require

ROOT = Path(__file__).resolve().parents[1]
NOT_A_CLONE = Path("/nonexistent")


def test_the_extras_name_what_pyproject_lists() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    every = listed.pop("all")
    assert listed == {extra: list(modules.values()) for extra, modules in EXTRAS.items()}
    assert every == [f"gossamer[{','.join(EXTRAS)}]"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_named_in_one_sentence(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require(extra, "a wish")
    for module in EXTRAS[extra]:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)  # as Python itself marks what cannot be imported
            with pytest.raises(GossamerError, match=f"^a wish needs {module}: install it with "):
                require(extra, "a wish")


def test_a_clone_adds_an_extra_with_its_launcher(tmp_path: Path) -> None:
    clone = tmp_path / "my clone"
    command = install_command("best", prefix=clone / ".venv", clone=clone)
    assert shlex.split(command) == [str(clone / "gossamer"), "--with", "best"]


def test_an_environment_of_pipx_is_extended_by_pipx(tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").touch()
    command = shlex.split(install_command("balanced", prefix=tmp_path, clone=NOT_A_CLONE))
    assert command == ["pipx", "inject", "gossamer", *EXTRAS["balanced"].values()]


def test_an_environment_of_uv_is_extended_by_uv(tmp_path: Path) -> None:
    (tmp_path / "uv-receipt.toml").touch()
    command = shlex.split(install_command("best", prefix=tmp_path, clone=NOT_A_CLONE))
    assert command == ["uv", "tool", "install", "gossamer[best]"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_elsewhere_pip_installs_it(extra: str, tmp_path: Path) -> None:
    command = shlex.split(install_command(extra, prefix=tmp_path, clone=NOT_A_CLONE))
    # It is there already, so that pip need not ask an index.
    done = subprocess.run([*command, "--dry-run", "--no-index"], capture_output=True, text=True, timeout=120)
    for requirement in EXTRAS[extra].values():
        assert f"Requirement already satisfied: {Requirement(requirement)}" in done.stdout, done.stderr
