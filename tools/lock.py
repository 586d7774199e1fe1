"""Write the lock files: every dependency pinned and hashed, for Linux and macOS, Python 3.11 and newer.

Run by `make lock`. The resolver lives in a throw-away environment of its own, so that contributors need not
have it. Nothing of this machine (index addresses, paths) gets into the files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESOLVER = "uv==0.13.7"  # resolves for all platforms and Python versions at once, which pip cannot
OLDEST_PYTHON = "3.11"
SEPARATE = {  # groups of pyproject.toml with an environment each
    "replay": "What replays archives in tests",
    "scrapy": "What `make compare` compares with",
    "s3-server": "The bucket of tests",
    "crawlee": "What `make compare` compares with",
    "hadolint": "What checks the Dockerfile in tests",
    "site": "What builds the site of the documentation",
}
HEADER = """\
# {what}, pinned and hashed. Written by `make lock` from pyproject.toml: do not edit.
"""


def main() -> None:
    """Resolve afresh; a version stays as it is while it still fits, unless `--upgrade` is given."""
    upgrade = ["--upgrade"] if "--upgrade" in sys.argv[1:] else []
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", RESOLVER)
        resolve = [str(python), "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
        resolve += [
            "--python-version",
            OLDEST_PYTHON,
            "--no-header",
            "--no-config",
            *upgrade,
            "--output-file",
        ]
        _run(*resolve, "requirements.lock", "pyproject.toml")
        _run(*resolve, "requirements-dev.lock", "--group", "dev", "--constraint", "requirements.lock")
        for group, what in SEPARATE.items():
            _run(*resolve, f"requirements-{group}.lock", "--group", group)
            _put_header(f"requirements-{group}.lock", f"{what}, in an environment of its own")
        for extra, requirements in _extras().items():
            wanted = Path(folder) / extra
            wanted.write_text("\n".join(requirements))
            name = f"requirements-{extra}.lock"
            same = ["--constraint", "requirements.lock", "--constraint", "requirements-dev.lock"]
            _run(*resolve, name, str(wanted), "--no-annotate", *same)
            _put_header(name, f"What the extra {extra} needs besides requirements.lock")
    _put_header("requirements.lock", "What Gossamer needs to run")
    _put_header("requirements-dev.lock", "What working on Gossamer needs besides requirements.lock")


def _extras() -> dict[str, list[str]]:
    """Return the requirements of each extra; `all` is made of the others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {extra: needed for extra, needed in project["optional-dependencies"].items() if extra != "all"}


def _run(*command: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


def _put_header(name: str, what: str) -> None:
    path = ROOT / name
    path.write_text(HEADER.format(what=what) + path.read_text())


if __name__ == "__main__":
    main()
