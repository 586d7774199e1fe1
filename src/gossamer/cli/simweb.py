"""`gossamer simweb`: serves a simulated web for testing any crawler, and prints how to use it."""

from __future__ import annotations

import shlex
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

import gossamer_simweb as simweb
from gossamer.cli.wording import count
from gossamer.commands import to_type
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from gossamer_simweb import WebServer

_PORT = click.IntRange(1, 65_535)


@click.command("simweb")
@click.option("--sites", type=click.IntRange(1, 1_000_000), default=200, show_default=True, help="Number of sites.")
@click.option("--pages", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="Pages per site.")
@click.option("--seed", type=int, default=1, show_default=True, help="Each seed gives a different web.")
@click.option(
    "--profile",
    type=click.Choice(["small", "large"]),
    default="small",
    show_default=True,
    help="Median page size: 10 KB (small) or 138 KB (large).",
)
@click.option("--tls", is_flag=True, help="Serve the pages over HTTPS, with its own certificate authority.")
@click.option("--agent", default="Gossamer", show_default=True, help="The crawler's name in some robots.txt files.")
@click.option(
    "--judge",
    "delay_s",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="At the end, judge the crawl by the access log, for a crawler with this delay between two pages of a site.",
)
@click.option("--port", type=_PORT, help="Port of the HTTP server [default: any free port].")
@click.option("--dns-port", type=_PORT, help="Port of the name server [default: any free port].")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for seeds and logs [default: a temporary folder, removed at the end].",
)
def command(
    sites: int,
    pages: int,
    seed: int,
    profile: Literal["small", "large"],
    tls: bool,
    agent: str,
    delay_s: float | None,
    port: int | None,
    dns_port: int | None,
    folder: Path | None,
) -> None:
    """Serve a simulated web on this machine, for testing any crawler.

    It has its own name server, robots rules, redirects, failures, slow pages and content codings. Only this machine can
    reach it. The same seed always gives the same web. Press Ctrl-C to stop it; with --judge, it then says what the
    crawler missed, repeated, or requested too early or without permission, and the exit status is 1 if it did.

    \b
    Example:
      gossamer simweb --sites 200 --pages 50
    """
    spec = simweb.WebSpec(sites=sites, pages=pages, seed=seed, profile=profile, tls=tls, token=agent)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        with simweb.serve(spec, port=port or 0, dns_port=dns_port or 0, folder=folder) as server:
            _serve_until_stopped(server)
            if delay_s is not None:
                _judge(server, delay_s)
    except OSError as error:
        reason = f"{error.filename} cannot be used ({error.strerror})" if error.filename else error.strerror or error
        raise GossamerError(
            f"Cannot serve the simulated web: {reason}. Try another --port, --dns-port or --folder."
        ) from error


def _serve_until_stopped(server: WebServer) -> None:
    seeds_file = server.folder / "seeds.txt"
    seeds_file.write_text("".join(f"{seed}\n" for seed in server.seeds()))
    click.echo(_how_to_use(server, seeds_file))
    with suppress(KeyboardInterrupt):
        while server.alive():
            time.sleep(1)
    if not server.alive():
        raise GossamerError("The process that serves the simulated web has ended. Start it again.")
    click.echo(f"\n{count(server.answered(), 'request')} answered.")


def _judge(server: WebServer, delay_s: float) -> None:
    """Print what the crawler did wrong; exit with status 1 if there is anything."""
    crawl = simweb.expected(server.web, server.seeds(), token=server.web.spec.token)
    verdict = simweb.judge(server.log(), delay_s=delay_s, expected=crawl)
    click.echo(verdict.summary())
    if not verdict.ok:
        raise click.exceptions.Exit(1)


def _how_to_use(server: WebServer, seeds_file: Path) -> str:
    web = server.web
    front = web.page_url(0, 0)
    name = web.hosts(0).main
    port = server.tls_port or server.port
    both_ports = f"{server.port},{server.tls_port}"  # the seeds may all have the same one
    authority = ("--ca-file", server.ca_file, "--allow-ports", both_ports) if server.ca_file else ()
    crawl = to_type(
        *("crawl", seeds_file, "--email", "you@example.org", "--delay", "0.5", "--scope", "site"),
        *("--nameserver", server.dns, "--allow-network", "127.0.0.0/8", *authority, "--set", "retry_wait=1"),
    )
    trust = f" --cacert {shlex.quote(str(server.ca_file))}" if server.ca_file else ""
    return f"""\
{count(web.spec.sites, "site")} with {count(web.spec.pages, "page")} each, reachable from this machine only:
  a front page  {front}
  name server   {server.dns}
  seeds         {seeds_file}
  access log    {server.folder / "access.log"}

Crawl it:
  {crawl}

Fetch a page:
  curl --resolve {name}:{port}:{web.address(name)}{trust} --compressed {front}

Press Ctrl-C to stop it."""
