"""`gossamer check`: how Gossamer sees a URL, a robots.txt, a page, a sitemap or an address, in JSON lines.

Plumbing: programs, and tests against other implementations, ask the very functions that a crawl asks.
"""

from __future__ import annotations

import base64
import binascii
import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gossamer.cli.wording import count
from gossamer.errors import GossamerError
from gossamer.fetch.addresses import Network, judge_address, parse_network
from gossamer.rules.robots import decide, parse_robots
from gossamer.urls import Refusal, identify, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class _WithParsers(click.Group):
    """Loads `html` and `sitemap`, and with them the parser, only when asked for: nobody else waits for that."""

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
    """Say how Gossamer sees a URL, a robots.txt, a page, a sitemap or an address.

    Reads JSON lines from standard input and answers each with one JSON line, at once, so that a program can keep
    it running and ask. A line that cannot be understood is answered with its `error`, and the exit status is 2.
    Only a sitemap is read as it is, from a file.

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
    _answer_each(_answer_url, [{"url": url} for url in urls])


@command.command("robots")
def check_robots() -> None:
    """Judge URLs by a robots.txt.

    Reads lines {"robots": ..., "agent": ..., "url": ...}; a file that is not text goes into `robots_b64`.

    \b
    Example:
      echo '{"robots": "", "agent": "Gossamer", "url": "http://a.org/"}' |
        gossamer check robots
    """
    _answer_each(_answer_robots)


@command.command("address")
@click.argument("addresses", metavar="[ADDRESS]...", nargs=-1)
@click.option("--allow-network", "networks", multiple=True, metavar="NETWORK", help="Permit this network as well.")
def check_address(addresses: tuple[str, ...], networks: tuple[str, ...]) -> None:
    """Tell whether IP addresses may be contacted.

    Without arguments, reads lines {"address": ...}.

    \b
    Example:
      gossamer check address ::ffff:10.1.2.3 --allow-network 10.0.0.0/8
    """
    allowed = tuple(map(parse_network, networks))
    _answer_each(partial(_answer_address, allowed), [{"address": address} for address in addresses])


class _MalformedError(Exception):
    """A question that cannot be understood, and why."""


def _answer_url(question: dict[str, Any]) -> dict[str, Any]:
    base = _text_of(question, "base") if question.get("base") is not None else None
    url = normalise(_text_of(question, "url"), base)
    if isinstance(url, Refusal):
        return {"url": None, "site": None, "host": None, "reason": url.name.lower()}
    named = identify(url)
    return {"url": named.url, "site": named.site, "host": named.host}


def _answer_robots(question: dict[str, Any]) -> dict[str, Any]:
    url = normalise(_text_of(question, "url"))
    if isinstance(url, Refusal):
        raise _MalformedError(f"url: {url.value}")
    rules = parse_robots(_robots_of(question), _text_of(question, "agent"))
    allowed, rule = decide(rules, url)
    return {"allowed": allowed, "delay": rules.delay_s, "rule": None if rule is None else str(rule)}


def _answer_address(allowed_networks: tuple[Network, ...], question: dict[str, Any]) -> dict[str, Any]:
    reason = judge_address(_text_of(question, "address"), allowed_networks).reason
    return {"allowed": True} if reason is None else {"allowed": False, "reason": reason.name.lower()}


def _robots_of(question: dict[str, Any]) -> bytes:
    if "robots_b64" not in question:
        return _text_of(question, "robots").encode("utf-8", "replace")
    try:
        return base64.b64decode(_text_of(question, "robots_b64"), validate=True)
    except (binascii.Error, ValueError):
        raise _MalformedError("robots_b64 is not Base64") from None


def _text_of(question: dict[str, Any], name: str) -> str:
    value = question.get(name)
    if not isinstance(value, str):
        raise _MalformedError(f"{name} is missing" if value is None else f"{name} is not a string")
    return value


def _answer_each(
    answer: Callable[[dict[str, Any]], dict[str, Any]], questions: list[dict[str, str]] | None = None
) -> None:
    """Answer the questions of the command line, or else those on standard input, each with one line."""
    lines: Iterable[bytes] = [json.dumps(question).encode() for question in questions or ()]
    if not lines and sys.stdin is not None:  # closed by whoever started us: nothing is asked
        lines = sys.stdin.buffer
    asked = malformed = 0
    for line in lines:
        asked += 1
        try:
            answered = answer(_read_question(line))
        except _MalformedError as why:
            malformed += 1
            answered = {"error": str(why)}
        click.echo(json.dumps(answered))  # flushed line by line: whoever asks may be waiting
    if malformed:
        raise GossamerError(f"{malformed} of {count(asked, 'line')} could not be understood.")


def _read_question(line: bytes) -> dict[str, Any]:
    try:
        question = json.loads(line.decode())
    except UnicodeDecodeError:
        raise _MalformedError("not UTF-8") from None
    except (ValueError, RecursionError):
        raise _MalformedError("not JSON") from None
    if not isinstance(question, dict):
        raise _MalformedError("not a JSON object")
    return question
