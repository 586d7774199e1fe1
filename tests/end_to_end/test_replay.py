"""What a crawl archives, another program replays: every kind of answer, through a real pywb, byte for byte."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

import brotli
import pytest
import zstandard

from gossamer.store.reading import last_pages
from gossamer.store.scanning import Record, scan
from tests.end_to_end.crawls import EMAIL, Start
from tests.end_to_end.pywb import Pywb, replaying
from tests.serve.browsers import CHROMIUM, chromium
from tools.environments import MissingError, python_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PIECE_BYTES = 100  # of a chunked body


def raw_deflate(data: bytes) -> bytes:
    """Deflate without zlib's header, as some servers send it."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return deflate.compress(data) + deflate.flush()


def as_sent(data: bytes) -> bytes:
    return data


ENCODERS: dict[str, Callable[[bytes], bytes]] = {  # by preference of the server that negotiates
    "zstd": zstandard.compress,
    "br": brotli.compress,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "": as_sent,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """An answer as a server sends it."""

    body: bytes
    status: int = 200
    type: str = "text/html; charset=utf-8"
    coding: str = ""
    chunked: bool = False
    location: str = ""


def shown(name: str) -> str:
    """Return what a browser shows of a page."""
    return f"Grüße von {name}. " + "Ein Satz, der sich wiederholt. " * 30


def page(name: str) -> bytes:
    return f"<!doctype html><title>{name}</title><p>{shown(name)}</p>".encode()


def encoded(name: str, coding: str, *, chunked: bool = False) -> Sent:
    return Sent(body=ENCODERS[coding](page(name)), coding=coding, chunked=chunked)


ANSWERS = {
    "/identity": encoded("identity", ""),
    "/gzip": encoded("gzip", "gzip"),
    "/deflate": encoded("deflate", "deflate"),
    "/raw-deflate": Sent(body=raw_deflate(page("raw-deflate")), coding="deflate"),
    "/br": encoded("br", "br"),
    "/chunked": encoded("chunked", "", chunked=True),
    "/chunked-gzip": encoded("chunked-gzip", "gzip", chunked=True),
    "/chunked-br": encoded("chunked-br", "br", chunked=True),
    "/moved": Sent(status=302, body=b"elsewhere", location="/identity"),
    "/empty": Sent(body=b""),
    "/gone": Sent(status=404, body=page("gone")),
    "/gone-gzip": Sent(status=410, body=gzip.compress(page("gone-gzip")), coding="gzip"),
    "/latin-1": Sent(body=page("latin-1").decode().encode("latin-1"), type="text/html; charset=iso-8859-1"),
    "/binary": Sent(body=b"%PDF-1.7\n" + bytes(range(256)) * 40, type="application/pdf"),
    "/text": Sent(body="Grüße\r\nund <keine> Marken\n".encode(), type="text/plain; charset=utf-8"),
    "/twin-1": encoded("twin", ""),
    "/twin-2": encoded("twin", ""),
    "/gzip-twin-1": encoded("gzip-twin", "gzip"),
    "/gzip-twin-2": encoded("gzip-twin", "gzip"),
    "/a%2Fb": Sent(body=b"slash", type="text/plain"),
    "/100%?B=%28&a-b=1&a=%5E": Sent(body=b"per cent", type="text/plain"),
    "/q?x=1&our-sid=" + "0a" * 16: Sent(body=b"session", type="text/plain"),
}
RENDERED = "(document.querySelector('iframe') ?? {}).contentDocument?.body?.innerText ?? document.body.innerText"
NEGOTIATED = "/negotiated"  # in the first encoding of `ENCODERS` that the crawler accepts
FRONT = Sent(body="".join(f'<a href="{path}">a page</a> ' for path in (*ANSWERS, NEGOTIATED)).encode())
# Without those that pywb has no cause to rewrite
PAGES = {path: path.strip("/") for path, sent in ANSWERS.items() if b"<!doctype" in sent.body or sent.coding}
PAGES |= {NEGOTIATED: "negotiated"} | {path: name.rpartition("-")[0] for path, name in PAGES.items() if "twin" in name}


def answer(path: str, accepts: str) -> Sent:
    """Return the answer to a request."""
    if path == NEGOTIATED:
        accepted = {each.strip() for each in accepts.split(",")} | {""}
        return encoded("negotiated", next(coding for coding in ENCODERS if coding in accepted))
    return FRONT if path == "/" else ANSWERS.get(path, Sent(status=404, body=b"none", type="text/plain"))


class Server(ThreadingHTTPServer):
    """Sends the answers above, and remembers what it sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sent: dict[str, Sent] = {}  # by path

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        sent = self.server.sent[self.path] = answer(self.path, self.headers["Accept-Encoding"])
        self.send_response(sent.status)
        self.send_header("Content-Type", sent.type)
        if sent.coding:
            self.send_header("Content-Encoding", sent.coding)
        if sent.location:
            self.send_header("Location", sent.location)
        if not sent.chunked:
            self.send_header("Content-Length", str(len(sent.body)))
            self.end_headers()
            self.wfile.write(sent.body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(sent.body), PIECE_BYTES):
            piece = sent.body[start : start + PIECE_BYTES]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server on this machine."""
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Replay(NamedTuple):
    """A server that was crawled, and a pywb that replays the archives."""

    server: Server
    archives: Path
    pywb: Pywb


def crawl(server: Server, folder: Path, *flags: str) -> None:
    """Crawl everything the server has with one worker, so that it knows duplicates for what they are."""
    arguments = [
        *("crawl", server.url("/"), "--data-dir", str(folder), "--email", EMAIL, "--delay", "0", "--workers", "1"),
        *("--accept-types", "*/*", "--allow-network", "127.0.0.0/8", *flags),
    ]
    with Start(arguments) as start:
        start.end()


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """A server that was crawled to its end, and a pywb over the archives."""
    folder = tmp_path_factory.mktemp("replay")
    with serving() as server:
        crawl(server, folder / "crawl-data")
        try:
            with replaying(folder) as pywb:
                yield Replay(server, folder / "crawl-data" / "warc", pywb)
        except MissingError as error:
            pytest.skip(f"there is no pywb: {error}")


@pytest.mark.parametrize("path", ["/", *ANSWERS, NEGOTIATED])
def test_every_answer_is_replayed_byte_for_byte(replay: Replay, path: str) -> None:
    sent = replay.server.sent[path]
    replayed = replay.pywb.get(replay.server.url(path), rewritten=False)
    assert replayed.status == sent.status
    assert replayed.headers["Content-Type"] == sent.type
    assert replayed.headers.get("Content-Encoding", "") == sent.coding
    assert replayed.headers.get("Location", "") == sent.location
    assert replayed.body == sent.body


@pytest.mark.parametrize(("path", "name"), PAGES.items())
def test_every_page_is_shown_to_a_browser(replay: Replay, path: str, name: str) -> None:
    replayed = replay.pywb.get(replay.server.url(path), rewritten=True)
    assert "Content-Encoding" not in replayed.headers
    charset = replayed.headers.get_content_charset() or ""
    assert f"<p>{shown(name)}</p>" in replayed.body.decode(charset)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_renders_every_page_as_it_was_and_rewritten(replay: Replay) -> None:
    with chromium() as browser:
        for path, name in PAGES.items():
            for rewritten in (False, True):
                browser.open(replay.pywb.address(replay.server.url(path), rewritten=rewritten))
                browser.wait_for(f"({RENDERED}).trim() === {json.dumps(shown(name).strip())}")


def test_duplicates_are_replayed_from_revisit_records(replay: Replay) -> None:
    records = [each for file in replay.archives.glob("*.warc.gz") for each in scan(file) if isinstance(each, Record)]
    revisits = {each.headers["warc-target-uri"] for each in records if each.headers["warc-type"] == "revisit"}
    assert len(revisits & {replay.server.url("/twin-1"), replay.server.url("/twin-2")}) == 1
    assert len(revisits & {replay.server.url("/gzip-twin-1"), replay.server.url("/gzip-twin-2")}) == 1


def test_the_indexes_are_those_that_cdxj_indexer_makes(replay: Replay) -> None:
    for segment in replay.archives.glob("*.warc.gz"):
        command = [str(python_with("replay")), "-W", "ignore", "-m", "cdxj_indexer.main", "--sort", str(segment)]
        made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        ours = (segment.parent / segment.name.replace(".warc.gz", ".cdxj")).read_text()
        assert entries(made) == entries(ours)


def entries(index: str) -> list[tuple[str, str, dict[str, str]]]:
    """The lines of an index, in their order."""
    split = [line.split(" ", 2) for line in index.splitlines()]
    return [(key, moment, json.loads(details)) for key, moment, details in split]


def test_without_archives_pages_may_come_as_zstd(tmp_path: Path) -> None:
    with serving() as server:
        crawl(server, tmp_path / "data", "--no-warc")
        assert server.sent[NEGOTIATED].coding == "zstd"
        texts = {row.url: row.text for row in last_pages(tmp_path / "data")}
        assert texts[server.url(NEGOTIATED)] == shown("negotiated").strip()
