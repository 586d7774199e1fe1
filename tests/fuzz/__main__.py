"""`make fuzz`: search every target, or those that are named, for minutes; print the shortest input that breaks one.

make fuzz                                     # ten minutes per target
make fuzz ARGS="--seconds 60 robots url"
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from hypothesis import HealthCheck, given, settings

from tests.fuzz.mutating import changed
from tests.fuzz.targets import TARGETS, Target

ROUND = 200  # inputs between two looks at the clock


def main() -> None:
    """Fuzz until the time is over; exit with status 1 if a target broke."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=600.0, help="for each target")
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    broken = [name for name in arguments.targets or TARGETS if not fuzz(name, TARGETS[name], arguments.seconds)]
    sys.exit(1 if broken else 0)


def fuzz(name: str, target: Target, seconds: float) -> bool:
    """Search one target; return whether it held."""
    inputs, until_s = 0, time.monotonic() + seconds

    @settings(max_examples=ROUND, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(changed(target.seeds))
    def hold(data: bytes) -> None:
        nonlocal inputs
        if time.monotonic() < until_s:
            inputs += 1
            target.run(data)

    while time.monotonic() < until_s:
        try:
            hold()
        except Exception:
            traceback.print_exc()
            print(f"{name}: BROKEN after {inputs:,} inputs; the input is in the last lines above", flush=True)
            return False
    print(f"{name}: held against {inputs:,} inputs in {seconds:g} s", flush=True)
    return True


if __name__ == "__main__":
    main()
