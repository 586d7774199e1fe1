"""`gossamer check sitemap`: what Gossamer reads in a sitemap, by the very function that a crawl uses."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import BinaryIO

import click

from gossamer.crawl.settings import DEFAULT_AGENT
from gossamer.errors import GossamerError
from gossamer.parse.sitemaps import MAX_SITEMAP_BYTES, Entry, read_sitemap
from gossamer.records import Fetched, ParseFailed, Truncation
from gossamer.rules.sitemaps import is_same_host
from gossamer.urls import Refusal, host_of, normalise


@click.command("sitemap")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--url", default="https://example.org/sitemap.xml", show_default=True, help="Where the sitemap lies on the web."
)
def sitemap(file: BinaryIO, url: str) -> None:
    """Read a sitemap: XML, an index, RSS, Atom or text, plain or gzipped.

    Prints one JSON line about the file, then one for each page in the order in which they would be fetched (a smaller
    rank first), each sitemap that an index names, and each entry that is refused, with the reason. A page of another
    host than the sitemap's is marked: it is followed only if the robots.txt of that host names the sitemap.

    \b
    Example:
      curl -s https://example.org/sitemap.xml |
        gossamer check sitemap --url https://example.org/sitemap.xml
    """
    where = normalise(url)
    if isinstance(where, Refusal):
        raise GossamerError(
            f"--url {url} cannot be crawled ({where.value}): write it like https://example.org/map.xml."
        )
    try:
        body = file.read(MAX_SITEMAP_BYTES + 1)
    except OSError as error:
        raise GossamerError(f"{_name_of(file)} cannot be read ({error.strerror}): name a file that can.") from None
    found = read_sitemap(_as_answer(where, body), agent=DEFAULT_AGENT)
    if isinstance(found, ParseFailed):
        raise GossamerError(f"{_name_of(file)} is no sitemap: {found.detail}.")
    counts = {"entries": len(found.entries), "sitemaps": len(found.sitemaps), "refused": len(found.refused)}
    _print({"format": found.format, **counts, "cut": found.cut or None})
    for entry in found.entries:
        _print(_about(entry, where))
    for other in found.sitemaps:
        _print({"sitemap": other})
    for text, reason in found.refused:
        _print({"refused": text, "reason": reason})


def _about(entry: Entry, where: str) -> dict[str, object]:
    changed_at = entry.changed_at
    lastmod = None if changed_at is None else datetime.fromtimestamp(changed_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about: dict[str, object] = {"url": entry.url, "rank": entry.rank, "priority": entry.priority, "lastmod": lastmod}
    return about if is_same_host(host_of(entry.url), host_of(where)) else {**about, "foreign_host": True}


def _as_answer(url: str, body: bytes) -> Fetched:
    return Fetched(
        url=url,
        status=200,
        head=b"HTTP/1.1 200 OK\r\n\r\n",
        body=body[:MAX_SITEMAP_BYTES],
        truncated=Truncation.LENGTH if len(body) > MAX_SITEMAP_BYTES else None,
        address="",
        request_head=b"",
        started_at=time.time(),
        duration_s=0.0,
    )


def _name_of(file: BinaryIO) -> str:
    name = getattr(file, "name", "-")
    return "Standard input" if name in ("-", "<stdin>") else str(name)


def _print(answer: dict[str, object]) -> None:
    click.echo(json.dumps(answer, ensure_ascii=False))
