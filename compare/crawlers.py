"""The crawlers that are compared: how each is started on a simulated web. The same command resumes a crawl.

A further crawler needs an adapter, which is a program that takes the options of `adapters/simulated_web.py`, and a line
in `CRAWLERS`. If it is a Python program, `tools/environments.py` can make an environment for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import __version__
from tools.environments import python_with

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer_simweb import WebServer

ROOT = Path(__file__).resolve().parents[1]
ADAPTERS = Path(__file__).parent / "adapters"
AGENT = "CompareBot"  # the name of every crawler in robots.txt


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What a crawler is to do."""

    web: WebServer
    folder: Path  # for the crawl and its results
    delay_s: float
    max_pages: int | None = None

    def seeds_file(self) -> Path:
        """Return a file with the seeds; write it first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "seeds.txt"
        file.write_text("".join(f"{seed}\n" for seed in self.web.seeds()))
        return file


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawler:
    """A crawler with its version, and the command for an errand."""

    name: str
    command: Callable[[Errand], Sequence[str]]


def gossamer() -> Crawler:
    """Return Gossamer as it is in this clone."""

    def command(errand: Errand) -> Sequence[str]:
        limit = ("--max-pages", str(errand.max_pages)) if errand.max_pages else ()
        steps = () if errand.delay_s else ("--set", "step_gap=0")
        return [
            *(sys.executable, "-m", "gossamer", "crawl", str(errand.seeds_file()), *limit, *steps),
            *("--data-dir", str(errand.folder / "data"), "--email", f"{AGENT}@example.org", "--agent-name", AGENT),
            *("--delay", str(errand.delay_s), "--nameserver", errand.web.dns, "--allow-network", errand.web.network),
            *("--set", "retry_wait=0.5", "--set", "robots_retry_waits=2"),  # failures here last seconds, not minutes
        ]

    return Crawler(name=f"Gossamer {__version__}", command=command)


def foreign(package: str) -> Crawler:
    """Return a crawler of others; raise `MissingError` if it cannot be installed."""
    python = str(python_with(package))
    ask = f"from importlib.metadata import version; print(version({package!r}))"
    version = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()

    def command(errand: Errand) -> Sequence[str]:
        limit = ("--max-pages", str(errand.max_pages)) if errand.max_pages else ()
        return [
            *(python, str(ADAPTERS / f"{package}_crawl.py"), "--seeds", str(errand.seeds_file()), *limit),
            *("--folder", str(errand.folder / "data"), "--nameserver", errand.web.dns, "--agent", AGENT),
            *("--delay", str(errand.delay_s)),
        ]

    return Crawler(name=f"{package.capitalize()} {version}", command=command)


CRAWLERS: dict[str, Callable[[], Crawler]] = {
    "gossamer": gossamer,
    "scrapy": lambda: foreign("scrapy"),
    "crawlee": lambda: foreign("crawlee"),
}


def environment() -> dict[str, str]:
    """Return this environment, with our modules and without settings."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return own | {"PYTHONPATH": str(ROOT / "src")}
