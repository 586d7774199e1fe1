"""`python -m bench [name …]`: run the named benchmarks, or all of them in their short form."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    *(
        "frontier",
        "postgres",
        "claimers",
        "seeding",
        "move",
        "workbench",
        "addresses",
        "store",
        "parse",
        "text",
        "fetch",
        "simweb",
        "crawl",
        "beside",
        "own",
        "pace",
        "memory",
    ),
    "query",
    "dashboard",
    "scrape",
    "bucket",
)
NAMED_ONLY = ("profile",)  # measures nothing


def main() -> None:
    """Run the named benchmarks, or all of them in short."""
    if len(sys.argv) > 1:
        name, *arguments = sys.argv[1:]
        if name not in (*NAMES, *NAMED_ONLY):
            sys.exit(f"there is no benchmark {name}: choose one of {', '.join((*NAMES, *NAMED_ONLY))}")
        importlib.import_module(f"bench.{name}").main(arguments)
    else:
        for name in NAMES:
            print(f"== {name}", flush=True)
            importlib.import_module(f"bench.{name}").main([])


main()
