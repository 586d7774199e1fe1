"""Run both commands of the README in a Debian with nothing but Python, make and git. Needs root and debootstrap.

    sudo python3 tools/bare_debian.py                                   # all tests, in three places: an hour
    sudo python3 tools/bare_debian.py --case root --args="-k postgres"  # some tests, in one of them

Each case clones the last commit, as root below /root (which no other user may enter), as root in /srv, or as a plain
user, and runs `./gossamer --help`, `./gossamer demo` and `make test`. Debian and the packages come from where apt and
pip of this machine get them. The new system shares this machine's network, /dev and kernel, and nothing else.
"""

from __future__ import annotations

import argparse
import ast
import configparser
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "python3,python3-venv,make,git"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BUNDLE = "/srv/gossamer.bundle"
NETWORK = ("/etc/resolv.conf", "/etc/hosts")
PASSED_ON = ("PIP_", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")


class CannotError(Exception):
    """This machine cannot do it; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A user, their home, which no other user may enter, and the folder that they clone into."""

    user: str
    home: str
    folder: str


CASES = {
    "root": Case(user="root", home="/root", folder="/root/gossamer"),
    "srv": Case(user="root", home="/root", folder="/srv/gossamer"),
    "user": Case(user="someone", home="/home/someone", folder="/home/someone/gossamer"),
}


def main() -> int:
    """Run the chosen cases and return the exit status."""
    options = _options()
    try:
        _check_machine()
        with tempfile.TemporaryDirectory(prefix="bare-debian-", dir="/var/tmp") as temporary:
            system = System(options.folder or Path(temporary) / "debian")
            system.install(options.suite)
            results = {name: _try(system, CASES[name], options.args) for name in options.case or CASES}
    except CannotError as error:
        print(f"bare_debian: {error}", file=sys.stderr)
        return 2
    for name, (status, last_line) in results.items():
        print(f"{CASES[name].user} in {CASES[name].folder}: {'failed: ' if status else ''}{last_line}")
    return int(any(status for status, _ in results.values()))


def _options() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=CASES, help="run only this case; may be repeated")
    parser.add_argument("--args", default="", help="what pytest is given: a selection of tests")
    parser.add_argument("--suite", default="stable", help="the release of Debian [default: stable]")
    parser.add_argument("--folder", type=Path, help="install Debian here and keep it; one that is there is used again")
    return parser.parse_args()


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise CannotError("only root can install a Debian and enter it: start this with sudo")
    for program in ("debootstrap", "unshare", "git"):
        if shutil.which(program) is None:
            raise CannotError(f"the program {program} is missing: install it (on Debian: apt install {program})")


def _try(system: System, case: Case, arguments: str) -> tuple[int, str]:
    """Run the commands of the README until one fails; return the last one's status and the last line it printed."""
    commands = [
        f"rm -rf {case.folder} && git -c advice.detachedHead=false clone --quiet {BUNDLE} {case.folder}",
        f"cd {case.folder} && ./gossamer --help",
        f"cd {case.folder} && ./gossamer demo",
        f"cd {case.folder} && make test ARGS={shlex.quote(arguments)}",
    ]
    for command in commands:
        print(f"--- {case.user}: {command}", flush=True)
        status, last_line = system.run(case, command)
        if status:
            break
    return status, last_line


class System:
    """A Debian in a folder. Each run has namespaces of its own, so that its mounts and processes end with it."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; nothing is read or written yet."""
        self._folder = folder
        self._settings = _pip_settings()
        self._environment = {name: value for name, value in os.environ.items() if name.upper().startswith(PASSED_ON)}

    def install(self, suite: str) -> None:
        """Install Debian if the folder is empty, then give it the last commit and this machine's way to the network."""
        homes = [self._folder / case.home[1:] for case in CASES.values()]
        if not all(home.exists() for home in homes):  # the last thing that is made
            mirror, proxy = _apt_mirror()
            _check("debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, self._folder, *mirror, **proxy)
            _check("chroot", self._folder, "useradd", "--create-home", CASES["user"].user)
        for home in homes:
            home.chmod(0o700)
        for file in NETWORK:
            shutil.copy(file, self._folder / file[1:])
        _write_pip_settings(self._settings, self._folder / "etc" / "pip.conf")
        _check("git", "-C", ROOT, "bundle", "create", "--quiet", self._folder / BUNDLE[1:], "HEAD")

    def run(self, case: Case, command: str) -> tuple[int, str]:
        """Run a shell command as a user, show what it prints, and return its status and its last line."""
        folder = shlex.quote(str(self._folder))
        environment = {**self._environment, "HOME": case.home, "USER": case.user, "LOGNAME": case.user, "PATH": PATH}
        variables = shlex.join(f"{name}={value}" for name, value in environment.items())
        script = [
            "set -e",
            f"mount -t proc proc {folder}/proc",
            f"mount -t sysfs -o ro sysfs {folder}/sys",
            f"mount --rbind /dev {folder}/dev",
            *(self._share(path) for path in _local_paths([*self._settings.values(), *self._environment.values()])),
            f"exec chroot --userspec={case.user}: {folder} env -i {variables} sh -c {shlex.quote(command)}",
        ]
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        last_line = ""
        with subprocess.Popen(
            [*namespaces, "sh", "-c", "\n".join(script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as running:  # fmt: skip
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="", flush=True)
                if line.strip() and not line.startswith("make: ***"):
                    last_line = line.strip()
        return running.returncode, last_line

    def _share(self, path: Path) -> str:
        """Return the shell command that lets the system see a file or folder of this machine."""
        inside = self._folder / str(path)[1:]
        if path.is_dir():
            inside.mkdir(parents=True, exist_ok=True)
        else:
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.touch()
        return shlex.join(["mount", "--bind", str(path), str(inside)])


def _check(*command: str | Path, **environment: str) -> None:
    if subprocess.run(command, stdin=subprocess.DEVNULL, env={**os.environ, **environment}).returncode:
        raise CannotError(f"{command[0]} failed; what it said stands above")


# ---------------------------------------------------------------------- where packages come from


def _apt_mirror() -> tuple[list[str], dict[str, str]]:
    """Return the address that apt of this machine gets Debian from, if any, and the variable that names its proxy."""
    if shutil.which("apt-get") is None:
        return [], {}  # debootstrap knows an address itself
    address = ["apt-get", "indextargets", "Created-By: Packages", "Origin: Debian", "--format", "$(REPO_URI)"]
    proxy = ["apt-config", "shell", "http_proxy", "Acquire::http::Proxy"]  # prints http_proxy='...' or nothing
    said = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in (address, proxy)]
    return said[0].split()[:1], dict(setting.split("=", 1) for setting in shlex.split(said[1]))


def _pip_settings() -> dict[str, str]:
    """Return what the files that configure pip on this machine say: `global.index-url` and the like."""
    said = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    lines = (line.partition("=") for line in said.stdout.splitlines() if not line.startswith(":env:"))
    return {name: ast.literal_eval(value) for name, _, value in lines}


def _write_pip_settings(settings: dict[str, str], path: Path) -> None:
    file = configparser.RawConfigParser()
    for name, value in settings.items():
        section, _, option = name.partition(".")
        if not file.has_section(section):
            file.add_section(section)
        file.set(section, option, value)
    with path.open("w") as stream:
        file.write(stream)


def _local_paths(values: list[str]) -> set[Path]:
    """Return the files and folders of this machine that settings name; the packages of an index lie beside it."""
    paths = set()
    for word in " ".join(values).split():
        path = Path(word.removeprefix("file://"))
        if path.is_absolute() and path.exists():
            paths.add(path.parent if word.startswith("file://") else path)
    return paths


if __name__ == "__main__":
    sys.exit(main())
