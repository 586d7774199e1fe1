"""`gossamer bot-page`: writes a web page about the operator's crawler, for site owners."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.data_dir import data_dir_option
from gossamer.cli.environment import environment_for_settings
from gossamer.cli.report import write_whole
from gossamer.cli.wording import delay
from gossamer.crawl.folder import SETTINGS_FILE, gather_settings
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from gossamer.crawl.settings import Settings

FILE_NAME = "bot.html"


@click.command("bot-page")
@data_dir_option
@click.option("--email", metavar="ADDRESS", help="Where site owners can reach you [default: the crawl's].")
@click.option("--agent-name", metavar="NAME", help="The name you crawl under [default: the crawl's, or Gossamer].")
@click.option("--purpose", metavar="TEXT", default="", help="What you crawl for, in a sentence or two.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=FILE_NAME, show_default=True, metavar="FILE",
    help="Write the page to this file.",
)  # fmt: skip
def command(folder: Path, email: str | None, agent_name: str | None, purpose: str, output: Path) -> None:
    """Write a web page about your crawler: who crawls, why, and how to opt out.

    Publish the page and give its address with --info-url when you crawl. The User-Agent of every request then names
    it, so that site owners find it. It is one HTML file without scripts; edit it as you like.

    \b
    Example:
      gossamer bot-page --email you@example.org --purpose 'We study links.'
    """
    file = folder / SETTINGS_FILE
    settings = gather_settings(
        file if file.exists() else None,
        environment=environment_for_settings(),
        flags={"email": email, "agent_name": agent_name},
    )
    if not settings.crawl.email:
        raise GossamerError("An e-mail address is needed, so that site owners can reach you: --email you@example.org.")
    write_whole(output, render(settings, purpose))
    click.echo(f"The page is {output}: publish it, and give its address to `crawl` with --info-url.")


def render(settings: Settings, purpose: str) -> str:
    """Return the page."""
    crawl = settings.crawl
    return _PAGE.format(
        name=escape(crawl.agent_name),
        agent=escape(crawl.user_agent),
        email=escape(crawl.email),
        purpose=f"<p>{escape(purpose)}</p>" if purpose else "",
        delay=delay(settings.pace.delay_s),
    )


_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}, a web crawler</title>
<style>
body {{ max-width: 42em; margin: 3em auto; padding: 0 1em; font: 1rem/1.6 sans-serif; color-scheme: light dark }}
pre {{ padding: .8em 1em; border: 1px solid; border-radius: .4em; overflow-x: auto }}
</style>
</head>
<body>
<h1>{name}, a web crawler</h1>
{purpose}
<p>If you found this name in the log of your server, {name} has visited your site. It says of itself:</p>
<pre>{agent}</pre>
<h2>How it behaves</h2>
<ul>
<li>It asks a site for one page at a time, and then leaves it alone for at least {delay}: the whole site, under all
names of its domain. A longer <code>Crawl-delay</code> is kept, as is <code>Retry-After</code>.</li>
<li>It reads <code>robots.txt</code> (RFC 9309) before anything else of a host and obeys it. If that file
cannot be fetched because the server fails, it requests no page.</li>
<li>It obeys <code>noindex</code> and <code>nofollow</code>, in pages and in <code>X-Robots-Tag</code>.</li>
<li>It logs in nowhere, fills in no forms and runs no scripts.</li>
</ul>
<h2>How to be left alone</h2>
<p>Put this into the <code>robots.txt</code> of your host; it is noticed within a day:</p>
<pre>User-agent: {name}
Disallow: /</pre>
<p>Or ask for more time between two pages, here a minute and a half:</p>
<pre>User-agent: {name}
Crawl-delay: 90</pre>
<p>Or write to <a href="mailto:{email}">{email}</a> and name your domain. We can exclude it, so that {name} requests
nothing more from it, and send you a list of every request that it got from us. Pages that were stored before are not
deleted by that: tell us if you want them to be.</p>
</body>
</html>
"""
