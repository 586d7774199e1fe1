"""Reads a crawl's folder with every command that reads one, in a process of its own, for the campaign `rot`."""

from __future__ import annotations

import io
import json
import logging
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb  # noqa: F401 - imported once, before the process forks
import pyarrow.parquet  # noqa: F401

import gossamer
from gossamer.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = (
    "pages", "requests", "links", "jsonl", "warc", "show", "raw", "log", "report", "status", "explain", "top", "open",
    "verify",
)  # fmt: skip


def read_all(state: str, url: str, output: str) -> None:
    """Run every command; write exit status and output of each, after each, so that a crash shows where it was."""
    found: dict[str, tuple[int, str]] = {}
    for name, read in _commands(Path(state), url, Path(output).parent).items():
        status, text = read()
        found[name] = status, text.replace(state, "STATE").replace(str(Path(output).parent), "SCRATCH")
        Path(output).write_text(json.dumps(found))


def _commands(state: Path, url: str, scratch: Path) -> dict[str, Callable[[], tuple[int, str]]]:
    at = ("--data-dir", str(state))
    warc, report = scratch / "export.warc.gz", scratch / "report.html"

    def exported() -> tuple[int, str]:
        status, text = _said("export", *at, "--format", "warc", "--output", str(warc))
        return status, text + (_records(warc) if warc.exists() else "")

    def stateless(*arguments: str) -> tuple[int, str]:
        """Times and sizes differ between two calls, so only a failure counts."""
        status, text = _said(*arguments)
        return status, text if "Traceback" in text else ""

    def opened() -> tuple[int, str]:
        try:
            return 0, "\n".join(f"{page.url} {page.title} {len(page.text)}" for page in gossamer.open(state).pages())
        except gossamer.GossamerError as error:
            return 2, str(error)
        except Exception:  # any: the campaign looks for tracebacks
            return 1, traceback.format_exc()

    return {
        "pages": lambda: _said("query", *at, "select * from pages order by url, fetched_at", "--format", "csv"),
        "requests": lambda: _said("query", *at, "select * from requests order by started_at, url", "--format", "csv"),
        "links": lambda: _said("query", *at, "select * from links order by all", "--format", "csv"),
        "jsonl": lambda: _said("export", *at, "--format", "jsonl"),
        "warc": exported,
        "show": lambda: _said("show", url, *at, "--text"),
        "raw": lambda: _said("show", url, *at, "--raw"),
        "log": lambda: _said("log", *at, "-n", "100000"),
        "report": lambda: stateless("report", *at, "--output", str(report)),
        "status": lambda: stateless("status", *at),
        "explain": lambda: stateless("explain", url, *at),
        "top": lambda: stateless("top", "--once", *at),
        "open": opened,
        "verify": lambda: _said("verify", *at),
    }


def _records(warc: Path) -> str:
    """Return the exported records by their digests."""
    from gossamer.store.scanning import Damage, scan

    records = [found for found in scan(warc) if isinstance(found, Damage) or found.headers["warc-type"] != "warcinfo"]
    return "\n".join("damage" if isinstance(each, Damage) else each.headers["warc-block-digest"] for each in records)


def _said(*arguments: str) -> tuple[int, str]:
    """Run a command here; return its exit status and all that it says."""
    output = io.BytesIO()
    stream = io.TextIOWrapper(output, encoding="utf-8", errors="replace", newline="", write_through=True)
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            status = run(list(arguments))
    except BaseException:  # any: the campaign looks for tracebacks
        status = 1
        stream.write(traceback.format_exc())
    finally:
        logging.getLogger().removeHandler(handler)
    return status, output.getvalue().decode(errors="replace")
