"""Build the image of deploy/Dockerfile without a container engine or a registry. Needs root, buildah and debootstrap.

    sudo python3 tools/build_image.py FOLDER

The base is a new Debian with Python in place of the image that the Dockerfile names, and the packages come from where
pip of this machine gets them. Everything stays in FOLDER. The last line is the command that runs a command in the
image.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUITE = "bookworm"
PROGRAMS = ("buildah", "debootstrap")
PIP_CONF = "[global]\nno-index = true\nfind-links = /wheels\n"


def main(arguments: list[str]) -> None:
    """Build the image and print how to run it."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        sys.exit(f"Install {' and '.join(missing)} first.")
    folder = Path(arguments[0]).resolve()
    print(shlex.join(build(folder)))


def build(folder: Path) -> list[str]:
    """Return the command that runs a command in the image, which follows it."""
    folder.mkdir(parents=True, exist_ok=True)
    store = ["--root", str(folder / "store"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]
    buildah = ["buildah", *store]
    wheels, debian = folder / "wheels", folder / "debian"
    lock = ROOT / "requirements.lock"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps", "--dest", str(wheels)]
    _run([*pip, "--requirement", str(lock)])
    if not (debian / "etc" / "pip.conf").exists():
        packages = "--include=python3,python3-venv,ca-certificates"
        _run(["debootstrap", "--variant=minbase", packages, SUITE, str(debian)])
        (debian / "etc" / "pip.conf").write_text(PIP_CONF)
    base = _run([*buildah, "from", "scratch"])
    _run([*buildah, "copy", "--quiet", base, str(debian), "/"])
    _run([*buildah, "commit", "--quiet", "--rm", base, "localhost/debian-python"])
    isolation = ["--isolation", "chroot"]
    options = ["--format", "docker", "--volume", f"{wheels}:/wheels:ro", "--build-arg", "BASE=localhost/debian-python"]
    dockerfile = ["--file", str(ROOT / "deploy" / "Dockerfile"), "--tag", "gossamer", str(ROOT)]
    _run([*buildah, "build", *isolation, *options, *dockerfile])
    container = _run([*buildah, "from", "localhost/gossamer"])
    return [*buildah, "run", *isolation, container, "--"]


def _run(command: list[str]) -> str:
    """Return the last line that a command prints."""
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return ran.stdout.strip().rpartition("\n")[2]


if __name__ == "__main__":
    main(sys.argv[1:])
