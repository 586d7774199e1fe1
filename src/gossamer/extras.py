"""Optional parts: which modules each needs, and the command that installs them into this copy of Gossamer."""

from __future__ import annotations

import shlex
import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gossamer.errors import GossamerError

# By extra: the modules that it imports, and their requirements, the same as in pyproject.toml.
# trafilatura requires lxml-html-clean itself, but in a syntax that older versions of pip (23.2) do not understand.
EXTRAS: Final[dict[str, dict[str, str]]] = {
    "balanced": {"resiliparse": "resiliparse>=1.0,<2"},
    "best": {"trafilatura": "trafilatura>=2.0,<3", "lxml_html_clean": "lxml-html-clean>=0.4,<1"},
    "s3": {"obstore": "obstore>=0.10", "fsspec": "fsspec>=2025.1"},
    "serve": {"starlette": "starlette>=1.0,<2", "uvicorn": "uvicorn>=0.40,<1"},
}
_CLONE: Final = Path(__file__).resolve().parents[2]


def require(extra: str, wanted_by: str) -> None:
    """Refuse a wish, such as `--text best`, whose extra is not installed."""
    missing = [module for module in EXTRAS.get(extra, {}) if find_spec(module) is None]
    if missing:
        raise GossamerError(f"{wanted_by} needs {missing[0]}: install it with {install_command(extra)}")


def install_command(extra: str, *, prefix: Path | None = None, clone: Path = _CLONE) -> str:
    """Return the command that adds an extra to this copy, by how this copy was installed.

    A clone with its launcher adds it from its lock file. pipx and uv leave a file in the environments that they
    make. All other environments have pip, or belong to a program that has.
    """
    prefix = prefix or Path(sys.prefix)
    requirements = list(EXTRAS[extra].values())
    if prefix == clone / ".venv":
        return shlex.join([str(clone / "gossamer"), "--with", extra])
    if (prefix / "pipx_metadata.json").exists():
        return shlex.join(["pipx", "inject", "gossamer", *requirements])
    if (prefix / "uv-receipt.toml").exists():
        return shlex.join(["uv", "tool", "install", f"gossamer[{extra}]"])
    return shlex.join([sys.executable, "-m", "pip", "install", *requirements])


class _NoPandas(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def do_without_pandas() -> None:
    """Keep pyarrow from importing pandas in this process where it is installed: 50 MB that only tables need."""
    sys.meta_path.insert(0, _NoPandas())
