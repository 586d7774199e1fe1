"""Reduces a crawl to what must not change: no times, ids, offsets, addresses, ports, nor what a race decides.

A crawl becomes lines of text in sections: what the server was asked for, where every URL ended up, and what the tables
and archives hold. Sites come in the order of their names; the lines of one site keep their order where one worker
decides it, and are sorted where it does not.
"""

from __future__ import annotations

import json
import re
from hashlib import sha1
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gossamer.crawl.engines import open_existing
from gossamer.rules.hosts import rules_of
from gossamer.store.reading import links, pages, requests
from gossamer.store.scanning import Record, scan
from gossamer.urls import hash_url, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gossamer.frontier import FrontierReader

# Left out of the rows: ids, times, addresses, scores, and where in which file something lies.
NOT_OF_PAGES: Final = frozenset(
    {"url_hash", "site", "fetched_at", "content_hash", "warc_file", "warc_offset", "warc_length", "lang_score", "via"}
)
NOT_OF_REQUESTS: Final = frozenset({"url_hash", "site", "started_at", "ended_at", "bytes", "address", "worker", "via"})
NOT_OF_RECORDS: Final = frozenset({
    "warc-record-id", "warc-warcinfo-id", "warc-concurrent-to", "warc-date", "warc-refers-to-date", "warc-ip-address",
    "warc-block-digest", "warc-payload-digest", "warc-filename", "content-length", "warc-target-uri", "warc-type",
})  # fmt: skip
_FRESH: Final = re.compile(r"Tdmrep: [0-9.]+")
_VERSION: Final = re.compile(r"(Gossamer)/[^\s]+")


class Asked(NamedTuple):
    """A request as the server logged it."""

    url: str
    kind: str
    status: int  # 0: none was sent


class Reducer:
    """Turns a finished crawl into lines."""

    def __init__(
        self,
        folder: Path,
        *,
        asked: Sequence[Asked],  # by the server's own log
        ports: Mapping[int, str],  # and what to call them
        named: Iterable[str] = (),  # URLs that the crawl may have met
        failed_once: bool = False,  # how often a request failed is a matter of time: list each once, without attempts
    ) -> None:
        self._folder = folder
        self._asked = asked
        self._ports = {f":{port}": f":{name}" for port, name in ports.items()}
        self._named = {*named}
        self._failed_once = failed_once

    def text(self) -> str:
        """Return all of it."""
        sections: dict[str, Callable[[], Iterator[str]]] = {
            "what the server was asked for, by site: kind, status, URL": self._server,
            "where every URL ended up: depth, outcome, URL": self._outcomes,
            "what is known of every host": self._hosts,
            "how the seeds ended": self._seeds,
            "table requests": self._requests,
            "table pages": self._pages,
            "table links": self._links,
            "archive records": self._records,
            "heads of the archived requests": self._request_heads,
        }
        lines = [line for title, made in sections.items() for line in (f"== {title}", *made(), "")]
        return "\n".join(lines)

    # ------------------------------------------------------------------ sections

    def _server(self) -> Iterator[str]:
        yield from self._by_site((url, f"{kind} {status} {self._plain(url)}") for url, kind, status in self._asked)

    def _outcomes(self) -> Iterator[str]:
        found: list[tuple[str, str]] = []
        with open_existing(self._folder) as frontier:
            urls = self._known_urls(frontier)
            for site, url_hash, reason in frontier.settled():
                state = frontier.find_url(site, url_hash)
                assert state is not None
                url = urls.get(url_hash, f"http://{site}/ (a URL that is named nowhere)")
                found.append((url, f"{state.depth} {reason or 'done'} {self._plain(url)}"))
            found += ((link.url, f"{link.depth} queued {self._plain(link.url)}") for link in frontier.all_queued())
            found += (
                (link.url, f"{link.depth} barred {reason} {self._plain(link.url)}")
                for link, reason in frontier.barred()
            )
            problems = frontier.audit()
        assert problems == [], problems
        yield from self._by_site(sorted(found))

    def _hosts(self) -> Iterator[str]:
        lines = []
        with open_existing(self._folder) as frontier:
            for site in sorted({site for site, _, _ in frontier.settled()}):
                for host in frontier.find_hosts(site):
                    rules = rules_of(host)
                    lines.append(self._row({
                        "host": host.host, "rules": _FRESH.sub("Tdmrep: TIME", host.rules),
                        "delay_s": rules.delay_s, "outcome": rules.outcome,
                        "failures": host.failures, "silent": host.silent, "given_up": host.given_up or "",
                        "is_blocked": host.blocked_s > 0,
                    }))  # fmt: skip
        yield from sorted(lines)

    def _seeds(self) -> Iterator[str]:
        with open_existing(self._folder) as frontier:
            yield from sorted(f"{found.reason or 'page'} {found.seeds}" for found in frontier.seed_outcomes())

    def _requests(self) -> Iterator[str]:
        rows = sorted(requests(self._folder), key=lambda row: row.started_at)
        left_out = NOT_OF_REQUESTS | {"attempt"} if self._failed_once else NOT_OF_REQUESTS
        found = [(row.url, self._row(_without(row._asdict(), left_out)), row.status) for row in rows]
        if self._failed_once:
            failed = sorted({each for each in found if not each[2]})
            found = [*failed, *(each for each in found if each[2])]
        yield from self._by_site((url, line) for url, line, _ in found)

    def _pages(self) -> Iterator[str]:
        rows = sorted(pages(self._folder), key=lambda row: row.fetched_at)
        first: dict[bytes, str] = {}  # with the same content
        found = []
        for row in rows:
            is_declared = row.mime_detected == row.content_type
            kept = _without(row._asdict(), NOT_OF_PAGES | ({"mime_detected"} if is_declared else set()))
            kept["text"] = _digest(self._plain(row.text))
            kept["payload_digest"] = row.payload_digest[:5]  # its value is checked against the archive
            same = first.setdefault(row.content_hash, row.url)
            kept["same_content_as"] = "" if same == row.url else same
            found.append((row.url, self._row(kept)))
        yield from self._by_site(found)

    def _links(self) -> Iterator[str]:
        urls = {row.url_hash: row.url for row in pages(self._folder)}
        rows = [(urls[row.from_hash], row) for row in links(self._folder)]
        yield from self._by_site(
            (url, self._row({"from": url, "to": row.to_url, "text": row.text, "rel": row.rel})) for url, row in rows
        )

    def _records(self) -> Iterator[str]:
        yield from self._by_site(
            (record.headers.get("warc-target-uri", ""), self._record(record)) for record in self._archive()
        )

    def _request_heads(self) -> Iterator[str]:
        heads = set()
        for record in self._archive():
            if record.headers["warc-type"] == "request":
                _, _, rest = record.block.decode("latin-1").partition("\r\n")
                heads.add(_VERSION.sub(r"\1/VERSION", re.sub(r"(?im)^host:.*\r\n", "Host: ...\r\n", rest)))
        for head in sorted(heads):
            yield from head.strip().split("\r\n")

    # ------------------------------------------------------------------ parts

    def _archive(self) -> Iterator[Record]:
        digests = {}
        for file in sorted((self._folder / "warc").glob("gossamer-2*.warc.gz")):  # without those of robots.txt
            for record in scan(file):
                assert isinstance(record, Record), f"{file.name} is damaged: {record}"
                assert record.wrong_digests() == [], record.headers
                if record.is_answer:
                    digests[file.name, record.offset] = record.headers["warc-payload-digest"]
                yield record
        for row in pages(self._folder):
            assert digests[row.warc_file, row.warc_offset] == row.payload_digest, row.url

    def _record(self, record: Record) -> str:
        kept: dict[str, Any] = {"type": record.headers["warc-type"], "url": record.headers.get("warc-target-uri", "")}
        kept |= {name: value for name, value in sorted(record.headers.items()) if name not in NOT_OF_RECORDS}
        if kept["content-type"] == f"application/http;msgtype={kept['type'].replace('revisit', 'response')}":
            del kept["content-type"]
        usual = {"warc-protocol": "http/1.1", "warc-identified-payload-type": "text/html"}
        kept = {name: value for name, value in kept.items() if usual.get(name) != value}
        if record.is_answer:
            head = record.block[: len(record.block) - len(record.payload)].decode("latin-1")
            kept["head"] = [line for line in head.split("\r\n") if line and not self._varies(record, line)]
            kept["payload"] = _digest(self._plain(_inflated(record).decode("latin-1")))
        elif kept["type"] == "request":
            kept["line"] = record.block.partition(b"\r\n")[0].decode("latin-1")
        return self._row(kept)

    def _varies(self, record: Record, line: str) -> bool:
        """Return whether a header line depends on the port: the length of a compressed body that has a port in it."""
        return line.lower().startswith("content-length:") and b"content-encoding" in record.block.lower()

    def _known_urls(self, frontier: FrontierReader) -> dict[bytes, str]:
        """Return every URL that is named anywhere, by its hash: the frontier keeps no text of what is settled."""
        named = {row.url for row in requests(self._folder)} | {row.to_url for row in links(self._folder)}
        named |= {url for url, _, _ in self._asked} | self._named
        hosts = [host for site in {*map(site_of, named)} for host in frontier.find_hosts(site)]
        named |= {url for host in hosts for url in (f"{host.host}/", *rules_of(host).sitemaps)}
        named |= {f"{url}#{host.host}" for host in hosts for url in [*named]}  # sitemaps, read on behalf of a host
        return {hash_url(url): url for url in named}

    def _by_site(self, found: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield lines by the site of their URL; the order within a site stays."""
        sites: dict[str, list[str]] = {}
        for url, line in found:
            sites.setdefault(site_of(url) if url else "", []).append(line)
        for site in sorted(sites):
            yield f"-- {site}"
            yield from sites[site]

    def _row(self, values: Mapping[str, Any]) -> str:
        """Return a row as JSON, without what is empty or zero."""
        return self._plain(json.dumps({name: value for name, value in values.items() if value}, ensure_ascii=False))

    def _plain(self, text: str) -> str:
        """Return a text with names in place of ports."""
        for port, name in self._ports.items():
            text = text.replace(port, name)
        return text


def _without(values: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _digest(text: str) -> str:
    return f"{sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]} of {len(text)}" if text else ""


def _inflated(record: Record) -> bytes:
    """Return the payload of an answer without its content coding: what was compressed with a port in it varies."""
    from gossamer.inflate import NotInflated, inflate

    found = re.search(rb"(?im)^content-encoding:[ \t]*([^\r\n]*)", record.block)
    if not found or not record.payload:
        return record.payload
    inflated = inflate(record.payload, found[1].decode("latin-1"), max_bytes=10_000_000)
    return record.payload if isinstance(inflated, NotInflated) else inflated.body
