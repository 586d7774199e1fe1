"""The `gossamer` command: finds a command's module when it is used, and turns mistakes into one sentence.

Each command is a module of this package whose `command` parses, calls and prints; nothing else belongs here.
Its name and summary stand in `SUMMARIES`, so that `gossamer --help` loads no command's libraries.
"""

from __future__ import annotations

import errno
import importlib
import logging
import os
import sys
from difflib import get_close_matches
from typing import cast

import click

from gossamer import __version__
from gossamer.errors import GossamerError

SUMMARIES = {
    "crawl": "Crawl from seeds: domains, URLs, or files that hold one of them per line.",
    "bot-page": "Write a web page about your crawler: who crawls, why, and how to be left alone.",
    "check": "Say how Gossamer sees a URL, a robots.txt, a page, a sitemap or an address.",
    "db": "Prepare a PostgreSQL database for crawls, upgrade it, or see what it holds.",
    "demo": "Crawl a simulated web on this machine, and let the server's own log judge it.",
    "doctor": "Say whether this machine is fit for a crawl, and how to mend what is not.",
    "exclude": "Leave sites, or parts of them, alone from now on.",
    "explain": "Say why a URL was fetched or not, or when a site has its next turn.",
    "export": "Copy stored pages out of a crawl: as JSON lines, CSV, Parquet, text files or WARC.",
    "log": "Show the last requests, oldest first.",
    "query": "Ask a crawl's tables in SQL: pages, requests, sites, links.",
    "report": "Write a report on a crawl: one HTML file with plots, which opens without the internet.",
    "show": "Show what a crawl knows of a URL and has kept of it.",
    "simweb": "Serve a simulated web on this machine, for any crawler to try.",
    "stop": "Stop a running crawl in good order.",
    "status": "Show how a crawl stands, running or not.",
    "top": "Watch a running crawl: speed, sites, queue, outcomes, workers, time left.",
    "verify": "Check that nothing is lost and nothing is torn.",
    "version": "Print the versions that matter to a crawl.",
}

MISTAKE = 2  # exit status: what the operator asked for cannot be done as asked
INTERRUPTED = 130  # what shells say of a program that ended by Ctrl-C
PIPE_CLOSED = 141  # and of one whose reader has gone: `gossamer ... | head`


class _CommandsOnDemand(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(SUMMARIES)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in SUMMARIES:
            return None
        return cast("click.Command", importlib.import_module(f"gossamer.cli.{name.replace('-', '_')}").command)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(SUMMARIES.items()))


@click.group(cls=_CommandsOnDemand, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="gossamer %(version)s")
def gossamer() -> None:
    """Gossamer: a polite, fault-tolerant, very fast web crawler.

    `gossamer COMMAND --help` explains a command.

    \b
    Example:
      gossamer check url HTTP://Example.org:80/a/../b#top
    """


def main() -> None:
    """Run the command named on the command line and exit with its status."""
    logging.getLogger().addHandler(logging.NullHandler())  # only a crawl has a log; others say all in their sentence
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status. Only bugs come out as exceptions."""
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):  # whoever read along, or the terminal, is gone
            raise
        # Python flushes stdout once more at exit: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return status


def _invoke(arguments: list[str]) -> int:
    try:
        if os.environ.get("GOSSAMER_FRONTIER"):
            from gossamer.crawl.engines import hide_password

            hide_password(os.environ)
        with gossamer.make_context("gossamer", arguments) as context:
            gossamer.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.format_message())
    except click.ClickException as mistake:
        return _refuse(_sentence(mistake))
    except GossamerError as mistake:
        return _refuse(str(mistake))
    return 0


def _refuse(sentence: str) -> int:
    click.echo(f"gossamer: {sentence}", err=True)
    return MISTAKE


def _sentence(mistake: click.ClickException) -> str:
    """Say in one sentence what is wrong with the command line and what would be right."""
    context = mistake.ctx if isinstance(mistake, click.UsageError) else None
    path = context.command_path if context else "gossamer"
    match mistake:
        case click.NoSuchOption():
            said, nearest = f"no such option {mistake.option_name}", mistake.possibilities
        case click.NoSuchCommand() if context is not None and isinstance(context.command, click.Group):
            said = f"no such command {mistake.command_name}"
            nearest = get_close_matches(mistake.command_name, context.command.list_commands(context))
        case _:
            message = " ".join(mistake.format_message().split()).rstrip(".")
            said, nearest = message[:1].lower() + message[1:], None
    return f"{said}; did you mean {path} {nearest[0]}?" if nearest else f"{said}; see {path} --help"
