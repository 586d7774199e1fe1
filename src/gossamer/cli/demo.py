"""`gossamer demo`: crawls a simulated web on this machine, and checks the crawl against the server's log."""

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
    "retry_wait": 0.5,  # failures of the simulated web last seconds, not minutes
    "robots_retry_waits": (2.0,),
    "allow_network": ("127.0.0.0/8",),
    "progress_every": 5,
}


@click.command("demo")
@click.option(
    "--folder", type=click.Path(path_type=Path), default="gossamer-demo", show_default=True,
    help="Folder for the crawl and the server's logs. An interrupted demo in it is resumed.",
)  # fmt: skip
def command(folder: Path) -> None:
    """Crawl a simulated web on this machine, and check the crawl against the server's log.

    It needs no internet and takes about a minute. Press Ctrl-C or kill it, then start it again: it resumes. In the end
    no page is missing, and no site got a request before its delay was over.

    \b
    Example:
      gossamer demo
    """
    data = folder / "crawl-data"
    if (folder / _VERDICT).exists():
        raise GossamerError(
            f"The demo in {folder} is finished. Remove that folder to run it again, or choose another --folder."
        )
    with _serve(folder) as server:
        click.echo(
            f"A simulated web: {count(WEB.sites, 'site')} with {count(WEB.pages, 'page')} each. Some are slow, "
            "moved or broken."
        )
        click.echo("You can interrupt the demo (Ctrl-C or kill -9) and start it again: it resumes.")
        settings = gather_settings(None, environment={}, flags={**FLAGS, "nameserver": server.dns})
        with open_console(data, every_s=settings.supervisor.progress_every_s) as console:
            ended = crawl(data, settings, server.seeds(), console)
        click.echo(summary(data, ended))
        if ended.end is not End.DRAINED:
            click.echo(f"To resume the demo: {to_type('demo', '--folder', folder)}")
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
    """Serve the web; after a restart, on the same ports as before, because its URLs contain the port."""
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
            f"Cannot serve the simulated web from {folder}: {error.strerror}. Stop the program that uses its ports, or "
            "choose another --folder."
        ) from None


def _logs(folder: Path, server: WebServer) -> tuple[int, list[LoggedRequest]]:
    """Return how often the demo was started, and the server's requests of all starts."""
    earlier = [path for path in sorted(folder.glob("server-*/access.log")) if path.parent != server.folder]
    requests = [request for path in earlier for request in simweb.read_log(path)]
    return len(earlier) + 1, requests + server.log()


def _judge(server: WebServer, log: list[LoggedRequest], starts: int) -> Verdict:
    expected = simweb.expected(server.web, server.seeds(), token=DEFAULT_AGENT)
    # After a kill, the crawler repeats unfinished requests. A crash may cost nothing else.
    repeats = len(log) if starts > 1 else 0
    return simweb.judge(log, delay_s=DELAY_S, expected=expected, allowed_repeats=repeats)


def _report(verdict: Verdict, starts: int, data: Path) -> str:
    times = "once" if starts == 1 else f"{count(starts, 'time')}, {count(verdict.repeats, 'request')} repeated"
    return f"""
The server's log, after the crawl was started {times}:
  {count(verdict.requests, "request")} for {count(verdict.visited, "URL")}
  {len(verdict.missed)} missed, {len(verdict.disallowed)} disallowed, {len(verdict.early)} too early for the delay
  {verdict.summary()}

Look at the results:
  {to_type("status", folders=data)}
  {to_type("log", "--errors", folders=data)}
  {to_type("query", _QUESTION, folders=data)}
  {to_type("report", folders=data)}
  {to_type("verify", folders=data)}"""
