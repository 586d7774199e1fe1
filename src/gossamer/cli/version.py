"""`gossamer version`: prints the versions for a bug report, and those that the workers of a crawl must share."""

from __future__ import annotations

import json
import platform
import sqlite3

import click

from gossamer import __version__
from gossamer.urls import NORMALISER_VERSION, SUFFIX_LIST_VERSION


@click.command("version")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """Print the versions of Gossamer and of the parts that matter to a crawl.

    Workers that share a frontier must have the same normaliser and the same public suffix list.

    \b
    Example:
      gossamer version --json
    """
    versions = {
        "gossamer": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "normaliser": NORMALISER_VERSION,
        "suffix_list": SUFFIX_LIST_VERSION,
    }
    if as_json:
        click.echo(json.dumps(versions))
    else:
        for name, version in versions.items():
            click.echo(f"{name.replace('_', ' '):<12} {version}")
