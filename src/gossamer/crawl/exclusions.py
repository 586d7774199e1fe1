"""Brings the operator's exclusion file into the frontier, so that excluded sites are not even claimed.

Only whole sites go there: their queues stay as they are, and go on when the file no longer names them. Hosts and
prefixes are each worker's own business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.urls import site_of_name

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.frontier import Frontier
    from gossamer.politeness.scope import Exclusions

APPLIED_FILE: Final = "excluded-sites.txt"


def apply_exclusions(frontier: Frontier, folder: Path, exclusions: Exclusions) -> None:
    """Exclude the sites that the file names, and readmit those that it named at the last start."""
    applied = folder / APPLIED_FILE
    before = set(applied.read_text(encoding="utf-8").split()) if applied.exists() else set()
    now = {name for name in exclusions.names if site_of_name(name) == name}
    if before - now:
        frontier.readmit(before - now)
    if before != now:
        new = applied.with_suffix(".tmp")
        new.write_text("".join(f"{site}\n" for site in sorted(now)), encoding="utf-8")
        new.replace(applied)
    if now:
        frontier.exclude(now)
