"""`python -m chaos [name …]`: run a campaign in full, or all of them in their short form."""

from __future__ import annotations

import importlib
import signal
import sys
from importlib.util import find_spec

CAMPAIGNS = {  # what is inflicted, and the module whose `main` takes the arguments, `--short` among them
    "kills": "chaos.kills",
    "stops": "chaos.stops",
    "pauses": "chaos.pauses",
    "moves": "chaos.moves",
    "database": "chaos.database",
    "disk": "chaos.disk",
    "bucket": "chaos.bucket",
    "limits": "chaos.limits",
    "network": "chaos.network",
    "clock": "chaos.clock",
    "points": "chaos.points",
    "power": "chaos.power",
    "rot": "chaos.rot",
    "simulate": "chaos.simulation",
    "planted": "chaos.planted",
    "manners": "chaos.manners",
    "hostile": "chaos.hostile",
    "victim": "chaos.victim",
    "soak": "chaos.soak",
}
LONG = ("soak",)  # has no short form


def main() -> None:
    """Run the named campaign, or all of them in short."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # end all child processes, as after Ctrl-C
    there = {name: module for name, module in CAMPAIGNS.items() if find_spec(module)}
    if len(sys.argv) > 1:
        name, *arguments = sys.argv[1:]
        if name not in there:
            sys.exit(f"there is no campaign {name}: choose one of {', '.join(there)}")
        importlib.import_module(there[name]).main(arguments)
        return
    failed = []
    for name in there:
        if name in LONG:
            continue
        print(f"== {name}", flush=True)
        try:
            importlib.import_module(there[name]).main(["--short"])
        except SystemExit as end:
            if end.code:
                failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


main()
