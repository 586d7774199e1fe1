"""The frontier on PostgreSQL, with real servers: how fast, how flat, and whether it keeps its promises under stress.

    python -m bench postgres [adds | seeds | claims | churn | owners | domains] …

Without a name, all of them in their short form. Each starts a server of its own, durable and with the settings named in
`building`, unless `--address` names one; each makes a database, and drops it at the end.
"""

from __future__ import annotations

import importlib
import sys

from bench.postgres.building import server

NAMES = ("adds", "seeds", "claims", "churn", "owners", "domains")


def main(arguments: list[str]) -> None:
    """Run the named benchmark."""
    if arguments and arguments[0] in NAMES:
        importlib.import_module(f"bench.postgres.{arguments[0]}").main(arguments[1:])
    elif arguments:
        sys.exit(f"choose one of {', '.join(NAMES)}")
    else:
        address = server(None)
        for name in NAMES:
            print(f"-- {name}", flush=True)
            importlib.import_module(f"bench.postgres.{name}").main(["--address", address])
