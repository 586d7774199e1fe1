"""Run some tests as on a machine with nothing but Python, make and git: `make bare`, `make bare ARGS="tests/fetch"`.

The short form of tools/bare_debian.py, which needs no root: a copy of this folder in a home that no other user may
enter, a PATH of little more than a shell's commands, a strict umask, no locale, and no PostgreSQL but the wheel's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Of Debian's minimal system, what scripts commonly use; besides Python.
PROGRAMS = """
    awk bash cat chmod chown cmp cp cut date df diff dirname du env expr find git grep gzip head hostname id kill ln ls
    make mkdir mktemp mount mv nice printf pwd readlink realpath rm rmdir sed sh sleep sort stat stty sync tail tar tee
    test timeout touch tr true umount uname uniq unshare wc xargs
"""
# The launcher, and what needs a PostgreSQL, TLS, another user or a program that is not there.
TESTS = """
    tests/project/test_launcher.py tests/project/test_cli.py tests/frontier/postgres/test_opening.py
    tests/frontier/postgres/test_tls.py tests/end_to_end/test_passwords.py tests/fetch/test_connections.py
    tests/simweb/test_server.py tests/simweb/test_cli.py tests/inspect/test_doctor.py
"""


def main() -> int:
    """Run the tests that are named, or a selection, and return the exit status."""
    with tempfile.TemporaryDirectory(prefix="bare-") as home:
        project, programs = Path(home) / "gossamer", Path(home) / "bin"
        _copy(project)
        _link(programs)
        environment = {"HOME": home, "PATH": str(programs), "GOSSAMER_TEST_POSTGRES_PROGRAMS": "wheel"}
        arguments = " ".join(sys.argv[1:] or TESTS.split())
        command = ["make", "test", f"ARGS={arguments}"]
        return subprocess.run(command, cwd=project, env=environment, umask=0o077, stdin=subprocess.DEVNULL).returncode


def _copy(target: Path) -> None:
    """Copy what git knows or would add, and share `.venv`, which programs then reach by the path of the copy."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / ".venv").symlink_to(ROOT / ".venv")


def _link(folder: Path) -> None:
    folder.mkdir()
    for name in PROGRAMS.split():
        if program := shutil.which(name):
            (folder / name).symlink_to(program)
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))


if __name__ == "__main__":
    sys.exit(main())
