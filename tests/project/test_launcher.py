"""`./gossamer` on a bare machine: copies of the launcher with a stand-in package and tiny lock files."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gossamer.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
SAY_ARGUMENTS = "import sys; print('ran with', *sys.argv[1:])\n"


class Copy:
    """A project folder with a space in its name, holding the real launcher and a stand-in for the package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launcher = folder / "gossamer"

    @classmethod
    def fresh(cls, folder: Path) -> Copy:
        (folder / "tools").mkdir(parents=True)
        (folder / "src" / "gossamer").mkdir(parents=True)
        shutil.copy(ROOT / "gossamer", folder)
        shutil.copy(ROOT / "tools" / "setup_venv.py", folder / "tools")
        (folder / "src" / "gossamer" / "__init__.py").touch()
        (folder / "src" / "gossamer" / "__main__.py").write_text(SAY_ARGUMENTS)
        for name in ("requirements.lock", "requirements-dev.lock"):
            (folder / name).write_text("# nothing\n")
        return cls(folder)

    def lock(self, name: str, content: str) -> None:
        (self.folder / name).write_text(content)

    def run(
        self, *arguments: str, launcher: Path | None = None, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [launcher or self.launcher, *arguments],
            cwd=cwd or self.folder.parent,
            text=True,
            capture_output=True,
            env=bare_environment() | environment,
        )


def bare_environment() -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "GOSSAMER_PYTHON": sys.executable, "PIP_NO_INDEX": "1"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy that has been started once."""
    copy = Copy.fresh(tmp_path_factory.mktemp("with a space") / "the project")
    first = copy.run("one")
    assert (first.returncode, first.stdout) == (0, "ran with one\n"), first.stderr
    assert first.stderr.startswith("Setting up .venv")
    assert first.stderr.count("\n") == 1
    return copy


@pytest.fixture
def moved(copy: Copy, tmp_path: Path) -> Copy:
    """A copy that has been started once, then moved; a test may spoil it."""
    shutil.copytree(copy.folder, tmp_path / "moved", symlinks=True)
    return Copy(tmp_path / "moved")


@pytest.fixture
def unmade(tmp_path: Path) -> Copy:
    """A copy that was never started."""
    return Copy.fresh(tmp_path / "never started")


def wheel(folder: Path, name: str) -> str:
    """Write an empty package's wheel and return its line for a lock file."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def script(path: Path, content: str) -> Path:
    path.write_text(f"#!/bin/sh\n{content}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_second_start_says_nothing_of_its_own_and_hands_arguments_on_unchanged(copy: Copy) -> None:
    second = copy.run("a b", "*", "--dev")
    assert (second.returncode, second.stdout, second.stderr) == (0, "ran with a b * --dev\n", "")


def test_it_starts_through_a_chain_of_symlinks_from_another_folder(copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "absolute").symlink_to(copy.launcher)
    (tmp_path / "relative").symlink_to("absolute")
    assert copy.run("x", launcher=tmp_path / "relative", cwd=Path("/")).stdout == "ran with x\n"


def test_an_extra_is_installed_once_and_stays(moved: Copy, tmp_path: Path) -> None:
    moved.lock("requirements-best.lock", wheel(tmp_path, "a_library"))
    first = moved.run("--with", "best", "x", PIP_FIND_LINKS=str(tmp_path))
    assert (first.returncode, first.stdout) == (0, "ran with x\n"), first.stderr
    (moved.folder / "src" / "gossamer" / "__main__.py").write_text("import a_library; print('found it')")
    moved.lock("requirements.lock", wheel(tmp_path, "another"))  # .venv is made current without naming the extra
    assert moved.run(PIP_FIND_LINKS=str(tmp_path)).stdout == "found it\n"
    without_command = moved.run("--with", "best")
    assert (without_command.returncode, without_command.stdout, without_command.stderr) == (0, "", "")


@pytest.mark.parametrize("arguments", [["--with"], ["--with", "worst"], ["--with", "../best"], ["--with", ""]])
def test_an_unknown_extra_is_refused_in_one_sentence(copy: Copy, arguments: list[str]) -> None:
    refused = copy.run(*arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "gossamer: --with takes the name of an extra: balanced, best, s3 or serve\n"


def test_the_launcher_knows_every_extra() -> None:
    for extra in EXTRAS:
        assert re.search(rf"(?m)^ +[a-z3 |]*\b{extra}\b[a-z3 |]*\) ;;$", (ROOT / "gossamer").read_text()), extra


def test_what_lies_in_the_current_folder_is_never_imported(copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "gossamer.py").write_text("raise SystemExit('imported the wrong one')")
    assert copy.run("x", cwd=tmp_path).stdout == "ran with x\n"


def test_a_moved_folder_still_starts(moved: Copy) -> None:
    (moved.folder / "src" / "gossamer" / "__main__.py").write_text("print('the moved one')")
    started = moved.run()
    assert (started.stdout, started.stderr) == ("the moved one\n", "")


def test_a_second_start_costs_less_than_a_fifth_of_a_second(copy: Copy) -> None:
    def best_s(*command: str | Path) -> float:
        """Return the processor's time of the cheapest of five runs: that of a clock would grow on a busy machine."""
        took_s = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=bare_environment(), check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(took_s)

    assert best_s(copy.launcher) - best_s(copy.folder / ".venv/bin/python", "-P", "-m", "gossamer") < 0.2


def test_a_changed_lock_file_is_installed_and_shown_in_one_line_on_a_terminal(moved: Copy, tmp_path: Path) -> None:
    moved.lock("requirements.lock", wheel(tmp_path, "one_of_ours"))
    moved.lock("requirements-dev.lock", wheel(tmp_path, "a_tool"))
    master, slave = pty.openpty()
    environment = bare_environment() | {"PIP_FIND_LINKS": str(tmp_path)}
    subprocess.run([moved.launcher, "--dev"], env=environment, stderr=slave, check=True)
    os.close(slave)
    shown = os.read(master, 10_000).decode().removesuffix("\r\n")
    os.close(master)
    assert "\n" not in shown
    steps = [step.partition(": ")[2].partition(" ...")[0] for step in shown.split("\r")[1:]]
    assert steps == ["2 packages", "1 of 2 packages", "2 of 2 packages", "installing 2 packages"]
    python = moved.folder / ".venv" / "bin" / "python"
    subprocess.run([python, "-c", "import one_of_ours, a_tool"], check=True)
    assert moved.run("x").stderr == ""


def test_when_pip_fails_its_last_word_is_told_and_the_venv_counts_as_half_made(moved: Copy) -> None:
    moved.lock("requirements.lock", f"nowhere==1.0 --hash=sha256:{'0' * 64}\n")
    failed = moved.run()
    assert failed.returncode == 2
    progress, sentence = failed.stderr.splitlines()
    assert "failed after" in progress
    assert "ERROR: No matching distribution found for nowhere==1.0" in sentence
    log = moved.folder / ".venv" / "setup.log"
    assert str(log) in sentence
    assert "nowhere" in log.read_text()
    assert not (moved.folder / ".venv" / "requirements.lock").exists()


def test_a_folder_that_was_copied_only_in_part_is_told_in_one_sentence(unmade: Copy) -> None:
    (unmade.folder / "requirements.lock").unlink()
    failed = unmade.run()
    assert failed.returncode == 2
    missing = unmade.folder / "requirements.lock"
    assert failed.stderr.splitlines()[-1] == f"gossamer: could not set up .venv: No such file or directory: {missing}"
    assert "Traceback" not in failed.stderr


def test_it_needs_no_environment_at_all(unmade: Copy) -> None:
    if not shutil.which("python3", path="/usr/bin:/bin"):
        pytest.skip("this machine has no Python where a shell looks without PATH")
    (unmade.folder / "tools" / "setup_venv.py").write_text("import sys; sys.exit(sys.executable)")
    (unmade.folder / "requirements.lock").write_text("# not installed\n")
    found = subprocess.run([unmade.launcher], env={}, capture_output=True, text=True).stderr.strip()
    assert Path(found).name.startswith("python3"), found


def test_a_half_made_venv_is_made_again_by_one_of_two_starts_at_once(unmade: Copy) -> None:
    killed = subprocess.Popen(
        [unmade.launcher], env=bare_environment(), stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not (unmade.folder / ".venv" / "pyvenv.cfg").exists():
        assert killed.poll() is None
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    starts = [
        subprocess.Popen(
            [unmade.launcher, "both"],
            env=bare_environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    said = [start.communicate() for start in starts]
    assert [out for out, _ in said] == ["ran with both\n"] * 2, said
    lines = sorted(line.split()[0] for _, err in said for line in err.splitlines())
    assert lines == ["Setting", "Waiting"], said


def test_a_python_that_was_taken_away_means_a_new_venv(moved: Copy) -> None:
    python = moved.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    again = moved.run("x")
    assert again.stdout == "ran with x\n"
    assert again.stderr.startswith("Setting up")


def test_without_any_python_it_says_to_install_one(unmade: Copy, tmp_path: Path) -> None:
    for tool in ("dirname", "readlink", "cmp"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    refused = unmade.run(PATH=str(tmp_path), GOSSAMER_PYTHON="")
    assert refused.returncode == 2
    assert refused.stderr.startswith("gossamer: needs Python 3.11 or newer, but found none; install one")
    assert refused.stderr.count("\n") == 1

    script(tmp_path / "python3", "echo 3.9.18; exit 1")
    refused = unmade.run(PATH=str(tmp_path), GOSSAMER_PYTHON="")
    assert refused.stderr.startswith("gossamer: needs Python 3.11 or newer, but found only 3.9.18; install")

    script(tmp_path / "python3.12", f'exec "{sys.executable}" "$@"')
    (unmade.folder / "tools" / "setup_venv.py").write_text("raise SystemExit('a newer one was found')")
    assert unmade.run(PATH=str(tmp_path), GOSSAMER_PYTHON="").stderr == "a newer one was found\n"


def test_a_named_python_is_used_or_refused_but_never_passed_over(unmade: Copy, tmp_path: Path) -> None:
    refused = unmade.run(GOSSAMER_PYTHON="/no/such python")
    assert refused.returncode == 2
    assert refused.stderr.startswith("gossamer: GOSSAMER_PYTHON=/no/such python cannot be started; let it name")
    old = script(tmp_path / "old python", "echo 3.8.2; exit 1")
    refused = unmade.run(GOSSAMER_PYTHON=str(old))
    assert refused.stderr.startswith(f"gossamer: GOSSAMER_PYTHON={old} is Python 3.8.2; let it name")


def test_a_python_without_venv_says_which_package_to_install(unmade: Copy, tmp_path: Path) -> None:
    (tmp_path / "ensurepip.py").write_text("raise ImportError")
    python = script(tmp_path / "python", f'PYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"')
    refused = unmade.run(GOSSAMER_PYTHON=str(python))
    assert refused.returncode == 2
    assert f"apt install python3.{sys.version_info.minor}-venv" in refused.stderr.splitlines()[-1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_says_what_to_do(unmade: Copy) -> None:
    unmade.folder.chmod(0o555)
    refused = unmade.run()
    unmade.folder.chmod(0o755)
    assert refused.returncode == 2
    assert "copy the folder to a place of your own" in refused.stderr
