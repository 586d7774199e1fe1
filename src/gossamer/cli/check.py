"""`gossamer check`: shows how Gossamer reads a URL, a robots.txt, a page, a sitemap or an address, in JSON lines.

For programs, and for tests against other implementations. It calls the functions that a crawl calls.
"""

from __future__ import annotations

import base64
import binascii
from functools import partial
from typing import Any

import click

from gossamer.cli.json_lines import MalformedError, answer_each, text_of
from gossamer.fetch.addresses import Network, judge_address, parse_network
from gossamer.rules.robots import decide, parse_robots
from gossamer.urls import Refusal, identify, normalise


class _WithParsers(click.Group):
    """Imports `html` and `sitemap` only when they are called: the parser takes time to load."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "html", "sitemap"])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name == "html":
            from gossamer.cli.check_html import html

            return html
        if name == "sitemap":
            from gossamer.cli.check_sitemap import sitemap

            return sitemap
        return super().get_command(ctx, name)


@click.group("check", cls=_WithParsers)
def command() -> None:
    """Show how Gossamer reads a URL, a robots.txt, a page, a sitemap or an address.

    Reads JSON lines from standard input and answers each with one JSON line, at once, so that a program can keep
    it running and ask. A line that cannot be understood is answered with its `error`, and the exit status is 2.
    A sitemap is read as it is, from a file, and so is a page if one is named.

    \b
    Example:
      gossamer check url HTTP://Example.org:80/a/../b#top
    """


@command.command("url")
@click.argument("urls", metavar="[URL]...", nargs=-1)
def check_url(urls: tuple[str, ...]) -> None:
    """Normalise URLs, and name their hosts and sites.

    Without arguments, reads lines {"url": ..., "base": ...}; the base is optional.

    \b
    Example:
      echo '{"url": "../b#top", "base": "HTTP://Example.org:80/a/"}' |
        gossamer check url
    """
    answer_each(_answer_url, [{"url": url} for url in urls])


@command.command("robots")
def check_robots() -> None:
    """Judge URLs by a robots.txt.

    Reads lines {"robots": ..., "agent": ..., "url": ...}; a file that is not text goes into `robots_b64`.

    \b
    Example:
      echo '{"robots": "", "agent": "Gossamer", "url": "http://a.org/"}' |
        gossamer check robots
    """
    answer_each(_answer_robots)


@command.command("address")
@click.argument("addresses", metavar="[ADDRESS]...", nargs=-1)
@click.option("--allow-network", "networks", multiple=True, metavar="NETWORK", help="Permit this network as well.")
def check_address(addresses: tuple[str, ...], networks: tuple[str, ...]) -> None:
    """Print whether IP addresses may be contacted.

    Without arguments, reads lines {"address": ...}.

    \b
    Example:
      gossamer check address ::ffff:10.1.2.3 --allow-network 10.0.0.0/8
    """
    allowed = tuple(map(parse_network, networks))
    answer_each(partial(_answer_address, allowed), [{"address": address} for address in addresses])


def _answer_url(question: dict[str, Any]) -> dict[str, Any]:
    base = text_of(question, "base") if question.get("base") is not None else None
    url = normalise(text_of(question, "url"), base)
    if isinstance(url, Refusal):
        return {"url": None, "site": None, "host": None, "reason": url.name.lower()}
    named = identify(url)
    return {"url": named.url, "site": named.site, "host": named.host}


def _answer_robots(question: dict[str, Any]) -> dict[str, Any]:
    url = normalise(text_of(question, "url"))
    if isinstance(url, Refusal):
        raise MalformedError(f"url: {url.value}")
    rules = parse_robots(_robots_of(question), text_of(question, "agent"))
    allowed, rule = decide(rules, url)
    return {"allowed": allowed, "delay": rules.delay_s, "rule": None if rule is None else str(rule)}


def _answer_address(allowed_networks: tuple[Network, ...], question: dict[str, Any]) -> dict[str, Any]:
    reason = judge_address(text_of(question, "address"), allowed_networks).reason
    return {"allowed": True} if reason is None else {"allowed": False, "reason": reason.name.lower()}


def _robots_of(question: dict[str, Any]) -> bytes:
    if "robots_b64" not in question:
        return text_of(question, "robots").encode("utf-8", "replace")
    try:
        return base64.b64decode(text_of(question, "robots_b64"), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError("robots_b64 is not Base64") from None
