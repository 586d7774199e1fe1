"""`gossamer demo`: crawls a simulated web on this machine, and lets the server's own log judge how it went."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

import gossamer_simweb as simweb
from gossamer.cli.console import open_console, summary
from gossamer.cli.wording import count
from gossamer.commands import to_type
from gossamer.crawl.folder import gather_settings
from gossamer.crawl.settings import DEFAULT_AGENT
from gossamer.crawl.start import crawl
from gossamer.errors import GossamerError
from gossamer.supervisor import End

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb import LoggedRequest, Verdict, WebServer

DELAY_S = 0.5
WEB = simweb.WebSpec(sites=200, pages=20, crawl_delay_s=1.0, slow_s=0.2)
FLAGS = {
    "email": "demo@example.org",
    "delay": DELAY_S,
    "retry_wait": 0.5,  # the simulated web is in trouble for seconds, not for minutes
    "robots_retry_waits": (2.0,),
    "allow_network": ("127.0.0.0/8",),
    "progress_every": 5,
}


@click.command("demo")
@click.option(
    "--folder", type=click.Path(path_type=Path), default="gossamer-demo", show_default=True,
    help="Where the crawl and the server's logs go; if a demo was cut short there, it goes on.",
)  # fmt: skip
def command(folder: Path) -> None:
    """Crawl a simulated web on this machine, and let the server's own log judge it.

    Needs no internet, and about a minute. Press Ctrl-C, or kill it any way you like, and start it again: it goes on,
    and in the end nothing is missing, and no site was asked sooner than its delay allows.

    \b
    Example:
      gossamer demo
    """
    data = folder / "crawl-data"
    if (folder / _VERDICT).exists():
        raise GossamerError(f"The demo in {folder} is over: remove that folder to see it again, or name another.")
    with _serve(folder) as server:
        click.echo(
            f"A simulated web: {count(WEB.sites, 'site')} with {count(WEB.pages, 'page')} each, some of them slow, "
            "moved or broken."
        )
        click.echo("Kill this in the middle (Ctrl-C, or kill -9) and start it again, if you like.")
        settings = gather_settings(None, environment={}, flags={**FLAGS, "nameserver": server.dns})
        with open_console(data, every_s=settings.supervisor.progress_every_s) as console:
            ended = crawl(data, settings, server.seeds(), console)
        click.echo(summary(data, ended))
        if ended.end is not End.DRAINED:
            click.echo(f"To go on with the demo: {to_type('demo', '--folder', folder)}")
            return
        starts, log = _logs(folder, server)
        verdict = _judge(server, log, starts)
    (folder / _VERDICT).write_text(verdict.summary() + "\n", encoding="utf-8")
    click.echo(_report(verdict, starts, data))
    if not verdict.ok:
        raise click.exceptions.Exit(1)


_VERDICT = "verdict.txt"
_PORTS = "ports.json"
_QUESTION = "select site, count(*) from pages group by 1 order by 2 desc limit 5"


@contextmanager
def _serve(folder: Path) -> Iterator[WebServer]:
    """Serve the web, where it was served before if this is not the first start: its URLs hold the port."""
    ports_file = folder / _PORTS
    port, dns_port = json.loads(ports_file.read_text()) if ports_file.exists() else (0, 0)
    logs = folder / f"server-{len(list(folder.glob('server-*'))) + 1}"
    try:
        logs.mkdir(parents=True)
        with simweb.serve(WEB, folder=logs, port=port, dns_port=dns_port) as server:
            ports_file.write_text(json.dumps((server.port, int(server.dns.rpartition(":")[2]))))
            yield server
    except OSError as error:
        raise GossamerError(
            f"The simulated web cannot be served from {folder}: {error.strerror}; end what stands in the way, or begin "
            "anew with another --folder."
        ) from None


def _logs(folder: Path, server: WebServer) -> tuple[int, list[LoggedRequest]]:
    """Return how often the demo was started, and what the server saw in all of that."""
    earlier = [path for path in sorted(folder.glob("server-*/access.log")) if path.parent != server.folder]
    requests = [request for path in earlier for request in simweb.read_log(path)]
    return len(earlier) + 1, requests + server.log()


def _judge(server: WebServer, log: list[LoggedRequest], starts: int) -> Verdict:
    expected = simweb.expected(server.web, server.seeds(), token=DEFAULT_AGENT)
    # What was under way when it was killed is asked for again; that is all that a crash may cost.
    repeats = len(log) if starts > 1 else 0
    return simweb.judge(log, delay_s=DELAY_S, expected=expected, allowed_repeats=repeats)


def _report(verdict: Verdict, starts: int, data: Path) -> str:
    times = "once" if starts == 1 else f"{count(starts, 'time')}, {count(verdict.repeats, 'request')} made again"
    return f"""
The server's own log, after the crawl was started {times}:
  {count(verdict.requests, "request")} for {count(verdict.visited, "URL")}
  {len(verdict.missed)} missed, {len(verdict.disallowed)} disallowed, {len(verdict.early)} sooner than the delay allows
  {verdict.summary()}

Look at what it left:
  {to_type("status", folders=data)}
  {to_type("log", "--errors", folders=data)}
  {to_type("query", _QUESTION, folders=data)}
  {to_type("report", folders=data)}
  {to_type("verify", folders=data)}"""
