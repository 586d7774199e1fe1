"""Wheel and source distribution install into clean environments, without an index, and work outside the clone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from gossamer import __version__

ROOT = Path(__file__).resolve().parents[2]
SMALL_DEMO = (
    "from dataclasses import replace; from gossamer.cli import demo, main; "
    "demo.WEB = replace(demo.WEB, sites=20, pages=5); main()"
)
INSTALLERS = ("pipx==1.18.4", "uv==0.13.7")
pytestmark = pytest.mark.timeout(900)  # a busy machine unpacks packages slowly


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as on a machine where pip asks no index and nothing is known of the clone."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "GOSSAMER_PROGRAM")
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        command, cwd=cwd, env=inherited | {"PIP_USER": "0"} | environment, capture_output=True, text=True, timeout=600
    )


def succeed(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = run(*command, cwd=cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("built")
    succeed(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def wheelhouse(built: Path) -> Path:
    """A folder with our wheel and everything that it and its build need, at the locked versions."""
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--retries=1", "--dest", str(built)]
    locked = [*download, "--require-hashes", "--no-deps", "--only-binary=:all:", "--requirement"]
    for command in ([*locked, str(ROOT / "requirements.lock")], [*download, "hatchling", "pip", *INSTALLERS]):
        done = run(*command, cwd=built)
        if done.returncode:
            pytest.skip(f"needs packages that cannot be fetched here: {done.stderr.strip().splitlines()[-1]}")
    return built


@pytest.fixture(scope="module")
def installers(wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with pipx and uv."""
    return environment(tmp_path_factory.mktemp("installers"), wheelhouse, *INSTALLERS)


def wheel_in(folder: Path) -> Path:
    return next(folder.glob("gossamer-*.whl"))


def environment(folder: Path, wheelhouse: Path, *packages: str | Path) -> Path:
    """Make an environment with packages from a wheelhouse alone, and return the folder of its programs."""
    succeed(os.path.realpath(sys.executable), "-m", "venv", folder / "env", cwd=folder)
    programs = folder / "env" / "bin"
    options: list[str | Path] = ["--quiet", "--no-index", "--find-links", wheelhouse, "--disable-pip-version-check"]
    succeed(programs / "python", "-m", "pip", "install", *options, *packages, cwd=folder)
    return programs


def test_the_version_has_a_dated_section_of_the_changelog() -> None:
    sections = re.findall(r"(?m)^## \[(.+?)\](?: - (.+))?$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert sections[0] == ("Unreleased", "")
    version, date = sections[1]
    assert version == __version__
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", date)


def test_the_wheel_holds_both_packages_their_statements_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(wheel_in(built)) as wheel:
        names = wheel.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"gossamer", "gossamer_simweb", f"gossamer-{__version__}.dist-info"}
    assert "gossamer/frontier/postgres/queries.sql" in names
    assert "gossamer/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_source_distribution_holds_what_its_build_needs(built: Path) -> None:
    with tarfile.open(next(built.glob("gossamer-*.tar.gz"))) as source:
        tops = {name.split("/")[1] for name in source.getnames()}
    assert tops >= {"src", "README.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "pyproject.toml"}
    assert not tops & {"tests", "docs", ".venv", "requirements-dev.lock"}


def test_pip_installs_the_wheel_and_the_demo_runs_outside_the_clone(wheelhouse: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path, wheelhouse, wheel_in(wheelhouse))
    assert f"gossamer     {__version__}" in succeed(programs / "gossamer", "version", cwd=tmp_path)
    assert "crawl" in succeed(programs / "python", "-m", "gossamer", "--help", cwd=tmp_path)
    verdict = succeed(programs / "python", "-c", SMALL_DEMO, "demo", "--folder", "demo", cwd=tmp_path)
    assert "No faults found" in verdict
    missing = run(programs / "gossamer", "crawl", "example.org", "--email=a@b.test", "--text=best", cwd=tmp_path)
    assert missing.returncode == 2
    assert f"install it with {programs / 'python'} -m pip install 'trafilatura" in missing.stderr


def test_pip_builds_and_installs_the_source_distribution(wheelhouse: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path, wheelhouse, "--no-deps", next(wheelhouse.glob("gossamer-*.tar.gz")))
    assert "gossamer" in succeed(programs / "python", "-m", "pip", "freeze", cwd=tmp_path)


def test_pipx_installs_it_and_a_missing_extra_names_pipx(wheelhouse: Path, installers: Path, tmp_path: Path) -> None:
    places = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    options = f"--no-index --find-links {wheelhouse}"
    pipx: list[str | Path] = [
        installers / "pipx",
        "install",
        "--backend",
        "pip",
        "--pip-args",
        options,
        "--python",
        sys.executable,
    ]
    succeed(*pipx, wheel_in(wheelhouse), cwd=tmp_path, **places)
    program = tmp_path / "bin" / "gossamer"
    assert f"gossamer     {__version__}" in succeed(program, "version", cwd=tmp_path)
    missing = run(program, "crawl", "example.org", "--email=a@b.test", "--text=best", cwd=tmp_path)
    assert missing.returncode == 2
    assert "install it with pipx inject gossamer 'trafilatura" in missing.stderr


def test_uvx_runs_it_without_installing_it(wheelhouse: Path, installers: Path, tmp_path: Path) -> None:
    places = {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_NO_CONFIG": "1"}
    options: list[str | Path] = ["--no-index", "--find-links", wheelhouse, "--python", sys.executable]
    uvx: list[str | Path] = [installers / "uvx", *options, "--from", wheel_in(wheelhouse), "gossamer", "version"]
    assert f"gossamer     {__version__}" in succeed(*uvx, cwd=tmp_path, **places)
