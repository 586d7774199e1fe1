"""Bugs planted one at a time in a copy of the source: tests or simulated crawls must notice each of them.

    python -m chaos planted                    # plant all, one after the other
    python -m chaos planted "lost wake-up"     # or those named

A comment in the source marks the place of each bug (`marks`), and the list of bugs (`bugs`) says how the marked code is
changed (`changes`). A bug that no test notices is a missing test.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Final

SHORT: Final = ("a completed page is not on disk", "the lease is not looked at", "a busy site gets a second turn")


def main(arguments: list[str]) -> None:
    """Plant bugs and print what noticed each of them; exit with 1 if one was not noticed."""
    from chaos.planted.bugs import BUGS
    from chaos.planted.planting import try_out

    parser = argparse.ArgumentParser(prog="python -m chaos planted", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="which bugs")
    parser.add_argument("--short", action="store_true", help="only the quickest to be noticed")
    options = parser.parse_args(arguments)
    names = options.names or (SHORT if options.short else list(BUGS))
    if unknown := [name for name in names if name not in BUGS]:
        sys.exit(f"there is no planted bug {unknown[0]!r}: choose from {', '.join(BUGS)}")
    missed = []
    for name in names:
        began_s = time.monotonic()
        caught_by = try_out(BUGS[name])
        took = f"{time.monotonic() - began_s:.0f} s"
        print(
            f"{'caught    ' if caught_by else 'NOT CAUGHT'} {name}: {caught_by or 'no test noticed'} ({took})",
            flush=True,
        )
        if not caught_by:
            missed.append(name)
    print(f"{len(names) - len(missed)} of {len(names)} planted bugs were caught")
    if missed:
        sys.exit(1)
