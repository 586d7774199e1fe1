"""`gossamer serve`: shows a crawl in a browser, and takes the operator's orders there."""

from __future__ import annotations

import logging
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.crawl.engines import frontier_of
from gossamer.crawl.log import lend_log
from gossamer.errors import GossamerError
from gossamer.extras import require
from gossamer.supervisor.settings import parse_endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Address, IPv6Address

    from gossamer.serve.tokens import Token

DEFAULT_PORT = 8642


@click.command("serve")
@data_dirs_option
@click.option(
    "--listen", metavar="[ADDRESS:]PORT", default=str(DEFAULT_PORT), show_default=True,
    help="Where to serve it; a port alone can be reached from this machine only.",
)  # fmt: skip
@click.option(
    "--public-url", metavar="URL",
    help="Its address in browsers, if a proxy with TLS leads here: https://crawl.example.org.",
)  # fmt: skip
@click.option(
    "--tokens", "token_file", type=click.Path(path_type=Path), metavar="FILE",
    help="The file with the tokens [default: ~/.config/gossamer/serve-tokens]; made if it is not there.",
)  # fmt: skip
def command(folders: Sequence[Path], listen: str, public_url: str | None, token_file: Path | None) -> None:
    """Show a crawl in a browser: a dashboard, running or not.

    A browser needs a token. An operator's token may pause, resume and stop the crawl, and exclude sites; a viewer's
    token only reads. Both are made at the first start, in a file that only you can read. The right to read the crawl's
    folder is enough to show it. Ctrl-C ends the dashboard; the crawl continues.

    \b
    Examples:
      gossamer serve
      gossamer serve --public-url https://crawl.example.org
    """
    require("serve", "the dashboard")
    from gossamer.serve import server, tokens
    from gossamer.serve.application import Dashboard, ServeTerms

    frontier_of(*folders)  # refuses a folder without a crawl
    host, port = _endpoint(listen)
    file = token_file or tokens.default_file()
    known = tokens.read_or_make(file)
    listener = server.listen(host, port)
    port = listener.getsockname()[1]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-serve-")))
        _log_orders(stack, folders[0])
        terms = ServeTerms(
            folders=folders,
            scratch=scratch,
            tokens=known,
            cookie_name=f"gossamer_{port}",
            origins=_origins(host, port, public_url),
        )
        _say_where(public_url or f"http://{_in_url(host)}:{port}", known, file)
        server.run(Dashboard(terms).application(), listener)


def _endpoint(text: str) -> tuple[IPv4Address | IPv6Address, int]:
    try:
        return parse_endpoint(text)
    except ValueError:
        raise GossamerError(
            f"{text!r} is not a place to serve at: write it like {DEFAULT_PORT}, 10.0.0.5:{DEFAULT_PORT} or "
            f"[::1]:{DEFAULT_PORT}."
        ) from None


def _origins(host: IPv4Address | IPv6Address, port: int, public_url: str | None) -> dict[str, str]:
    """Return the origins under which the dashboard may be opened, besides the loopback's, by their Host."""
    if public_url is not None:
        url = urlsplit(public_url)
        if url.scheme not in ("http", "https") or not url.hostname or url.path.strip("/") or url.query or url.username:
            raise GossamerError(
                f"{public_url!r} is not the address of a server: write it like https://crawl.example.org."
            )
        return {url.netloc.lower(): f"{url.scheme}://{url.netloc.lower()}"}
    if host.is_unspecified:
        raise GossamerError(
            "At all addresses of this machine the dashboard has no name of its own: say with --public-url how browsers "
            "open it."
        )
    name = f"{_in_url(host)}:{port}"
    return {name: f"http://{name}"}


def _in_url(host: IPv4Address | IPv6Address) -> str:
    return f"[{host}]" if host.version == 6 else str(host)


def _log_orders(stack: ExitStack, folder: Path) -> None:
    """Log orders and faults to the errors of this process, and to the crawl's log if we may write there."""
    logger = logging.getLogger("gossamer.serve")
    printed = logging.StreamHandler()
    printed.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(printed)
    stack.callback(logger.removeHandler, printed)
    try:
        stack.enter_context(lend_log(folder, "warning", logger))
    except OSError as error:  # such as a user who may only read
        click.echo(f"Orders are logged here only: the log in {folder} cannot be opened ({error.strerror}).", err=True)


def _say_where(url: str, known: Sequence[Token], file: Path) -> None:
    """Print how to open the dashboard; links with tokens only to a terminal, never to a log."""
    click.echo(f"The dashboard is at {url} ; its tokens are in {file}. Ctrl-C ends it; the crawl continues.")
    if sys.stdout.isatty():
        for token in known:
            click.echo(f"  {token.name} ({token.role}): {url}/login#{token.secret}")
