"""The `gossamer` command: imports a command's module when it is called, and prints mistakes as one sentence.

Each command is a module of this package whose `command` parses, calls and prints; nothing else belongs here.
Its name and summary stand in `GROUPS`, so that `gossamer --help` loads no command's libraries.
"""

from __future__ import annotations

import copy
import errno
import importlib
import logging
import os
import re
import signal
import sys
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

import click

from gossamer import __version__
from gossamer.cli.terminal import guard_terminal
from gossamer.commands import note_program, program, to_type
from gossamer.errors import GossamerError
from gossamer.extras import do_without_pandas
from gossamer.safe_files import protect_from_others

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

GROUPS = {  # in the order in which `gossamer --help` lists them; a new command is one more line here
    "Start": {
        "demo": "Crawl a simulated web on this machine, and check the crawl against the server's log.",
        "crawl": "Crawl from seeds: domains, URLs, or files with one of them per line.",
        "stop": "Shut down a running crawl gracefully.",
        "pause": "Pause a crawl: its workers begin nothing more.",
        "resume": "Let a paused crawl continue, on all its machines.",
        "notify": "Send a test message to the webhook that a crawl notifies.",
        "doctor": "Check whether this machine is fit for a crawl, and say how to fix problems.",
        "bot-page": "Write a web page about your crawler: who crawls, why, and how to opt out.",
        "simweb": "Serve a simulated web on this machine, for testing any crawler.",
    },
    "Watch": {
        "status": "Show the state of a crawl, running or not.",
        "top": "Watch a running crawl: speed, sites, queue, outcomes, workers, time left.",
        "log": "Show the last requests, oldest first.",
        "serve": "Show a crawl in a browser: a dashboard, running or not.",
    },
    "Inspect": {
        "show": "Show what a crawl knows and stores about a URL.",
        "explain": "Say why a URL was fetched or not, or when a site is visited next.",
        "query": "Query a crawl's tables with SQL: pages, requests, sites, links.",
        "verify": "Check that no URL is lost and no file is damaged.",
        "check": "Show how Gossamer reads a URL, a robots.txt, a page, a sitemap or an address.",
    },
    "Export": {
        "export": "Export stored pages as JSON lines, CSV, Parquet, SQLite, text or web archives.",
        "report": "Write a report about a crawl: one HTML file with plots, which needs no internet.",
    },
    "Maintain": {
        "exclude": "Exclude sites, or parts of them, from a crawl.",
        "move": "Move a crawl to another database: from SQLite to PostgreSQL, or back.",
        "db": "Prepare a PostgreSQL database for crawls, upgrade it, or list its crawls.",
        "completion": "Print a script that lets your shell complete commands and options.",
        "version": "Print the versions of Gossamer and of the parts that matter to a crawl.",
    },
}
SUMMARIES = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}

MISTAKE = 2  # exit status: the operator must correct the command
INTERRUPTED = 130  # the exit status that shells use for a program ended by Ctrl-C
COMPLETE_VARIABLE = "_GOSSAMER_COMPLETE"  # set by the scripts that `completion` prints
PIPE_CLOSED = 141  # the same for a program whose reader has ended: `gossamer ... | head`


class _CommandsOnDemand(click.Group):
    """A group that imports its commands when they are called, not when they are listed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(SUMMARIES)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in SUMMARIES:
            return None
        module = importlib.import_module(f"gossamer.cli.{name.replace('-', '_')}")
        return _as_called(cast("click.Command", module.command))

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, SUMMARIES))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(widest), summary) for name, summary in commands.items()])


def _as_called(command: click.Command) -> click.Command:
    """Return a command whose help names the program as it was called, so that its examples can be pasted."""
    shown = copy.copy(command)
    shown.help = _PROGRAM.sub(lambda _: program(), command.help or "")
    if isinstance(shown, click.Group):
        shown.commands = {name: _as_called(below) for name, below in shown.commands.items()}
    return shown


_PROGRAM = re.compile(r"\bgossamer(?= )")


@click.group(cls=_CommandsOnDemand, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="gossamer %(version)s")
def gossamer() -> None:
    """Gossamer: a polite, fault-tolerant, very fast web crawler.

    `gossamer COMMAND --help` explains a command.

    \b
    Examples:
      gossamer demo
      gossamer crawl example.org --email you@example.org
    """


def main() -> None:
    """Run the command named on the command line and exit with its status."""
    logging.getLogger().addHandler(logging.NullHandler())  # only a crawl has a log; other commands print their errors
    note_program()
    guard_terminal()
    protect_from_others()
    do_without_pandas()
    status = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while Python shuts down must print no traceback
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status. Only bugs raise exceptions."""
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        if error.errno in _GONE:
            _discard_output()
            return PIPE_CLOSED
        if error.errno not in _OF_THE_MACHINE:
            raise
        status = _refuse(_describe(error))
        if not error.filename:
            _discard_output()
    return status


_GONE = (errno.EPIPE, errno.EIO)  # the reader of our output, or the terminal
_OF_THE_MACHINE = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room on the disk",
    errno.EROFS: "use a folder on a disk that can be written to",
    errno.EACCES: "use another file or folder, or become the user who may use this one",
    errno.EPERM: "use another file or folder, or become the user who may use this one",
    errno.ELOOP: "remove that link, or use another name",
    errno.EISDIR: "remove that folder, or use another name",
    errno.ENOTDIR: "use a folder in place of that file",
    errno.EMFILE: "allow more open files with `ulimit -n 65536`",
}


def _describe(error: OSError) -> str:
    """Return one sentence that says what the machine refused and what to do."""
    assert error.errno is not None
    what = f"{os.fsdecode(error.filename)} cannot be used" if error.filename else "The output cannot be written"
    return f"{what} ({error.strerror}): {_OF_THE_MACHINE[error.errno]}."


def _discard_output() -> None:
    """Redirect standard output to the null device, so that Python can flush it at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _invoke(arguments: list[str]) -> int:
    command = _as_called(gossamer)
    try:
        if instruction := os.environ.get(COMPLETE_VARIABLE):
            from gossamer.cli.completion import complete

            return complete(command, instruction)
        if os.environ.get("GOSSAMER_FRONTIER"):
            from gossamer.crawl.engines import hide_password

            with suppress(GossamerError):  # commands that need the address refuse it themselves
                hide_password(os.environ)
        with _interruptible(), command.make_context(program(), arguments) as context:
            command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as bare:
        click.echo(bare.format_message())
    except click.ClickException as mistake:
        return _refuse(_sentence(mistake, arguments))
    except GossamerError as mistake:
        return _refuse(str(mistake))
    except PermissionError as error:
        said = f"{error.filename} cannot be opened ({error.strerror})" if error.filename else error.strerror
        return _refuse(f"{said}: run this as a user who has access to it.")
    return 0


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end a command as KeyboardInterrupt, even if a library turns it into an error of its own."""
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored in the background of a script
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _refuse(sentence: str) -> int:
    from gossamer.cli.printing import say

    say(f"gossamer: {sentence}", err=True)
    try:
        sys.stdout.flush()
    except OSError:  # the command has failed already: a second sentence would only repeat that
        _discard_output()
    return MISTAKE


def _sentence(mistake: click.ClickException, arguments: list[str]) -> str:
    """Return one sentence that says what is wrong with the command line and how to correct it."""
    context = mistake.ctx if isinstance(mistake, click.UsageError) else None
    named = arguments[:1] if arguments and arguments[0] in SUMMARIES else []
    path = context.command_path if context else to_type(*named)
    match mistake:
        case click.NoSuchOption():
            said, nearest = f"no such option {mistake.option_name}", mistake.possibilities
        case click.NoSuchCommand() if context is not None and isinstance(context.command, click.Group):
            said = f"no such command {mistake.command_name}"
            nearest = get_close_matches(mistake.command_name, context.command.list_commands(context))
        case _:
            message = " ".join(mistake.format_message().split()).rstrip(".")
            message = message.replace("not a valid integer range", "not a whole number")
            said, nearest = message[:1].lower() + message[1:], None
    return f"{said}; did you mean {path} {nearest[0]}?" if nearest else f"{said}; see {path} --help"
