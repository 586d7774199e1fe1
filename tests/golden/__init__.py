"""Golden files: what a set of crawls requested and stored, recorded. `make golden` rewrites them.

A change that alters none of a crawl's behaviour leaves them as they are; one that does so on purpose changes them in
the same commit, where a reader sees what became different.
"""

from __future__ import annotations

from pathlib import Path


def file_of(scenario: str) -> Path:
    """Return where a scenario's golden file is."""
    return Path(__file__).parent / "files" / f"{scenario}.txt"
