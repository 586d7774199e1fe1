"""Hostile connections and heads of responses: silent, endless, slow, cut off, or no HTTP at all. Pure."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from gossamer_simweb.hostility.kind import (
    HTML,
    TEXT,
    Ending,
    HostileAnswer,
    HostileKind,
    drip,
    own_links,
    page,
    scripted,
)

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import Answering, HostileUrl

_OK = b"HTTP/1.1 200 OK\r\n" + HTML
SLOW_S = 25.0  # just less than the usual time-out of crawlers
YEARS_S = 86_400_000_000


def _body(url: HostileUrl) -> bytes:
    return page(b"<p>%s</p>" % url.fresh().encode(), own_links(url)).body


def _with_headers(lines: bytes) -> Answering:
    return lambda url: HostileAnswer(head=HTML + lines, body=_body(url))


def _raw(*before: bytes) -> Answering:
    return lambda url: scripted(b"".join(before) + _body(url))


def _silent(_: HostileUrl) -> HostileAnswer:
    return scripted(ending=Ending.HOLD, status=0)


def _after_a_while(url: HostileUrl) -> HostileAnswer:
    return HostileAnswer(body=_body(url), delay_s=SLOW_S)


def _busy(status: int) -> Answering:
    head = TEXT + b"Retry-After: %d\r\n" % YEARS_S
    return lambda _: HostileAnswer(status, head, b"Later.\n", wait_s=float(YEARS_S))


def _always(status: int) -> Answering:
    return lambda _: HostileAnswer(status, TEXT, b"No.\n")


def _odd_status(url: HostileUrl) -> HostileAnswer:
    lines = (
        b"HTTP/1.1 999 No",
        b"HTTP/1.1 000",
        b"HTTP/1.1 -200 OK",
        b"HTTP/9.9 200 OK",
        b"HTTP/1.1 20000 OK",
        b"ICY 200 OK",
    )
    line = lines[int(url.fresh()[:2], 16) % len(lines)]
    return scripted(line + b"\r\n" + HTML + b"\r\n" + _body(url))


HEAD_KINDS = {
    "tarpit": HostileKind(
        sentence="It accepts requests for pages and never answers them.",
        page=_silent,
        front=_silent,
    ),
    "slow-answer": HostileKind(
        sentence="It answers after 25 seconds, which is just before most clients give up.",
        page=_after_a_while,
        front=_after_a_while,
    ),
    "drip-head": HostileKind(
        sentence="It sends the head of its responses one byte a second.",
        page=lambda _: HostileAnswer(script=lambda: drip(_OK + b"X-Slow: yes\r\n" * 50, 1.0)),
    ),
    "endless-head": HostileKind(
        sentence="It sends header lines without end.",
        page=lambda _: HostileAnswer(script=lambda: chain((_OK,), repeat(b"X-More: and more\r\n" * 1_000))),
    ),
    "giant-header": HostileKind(
        sentence="It sends a header of 1 MB.",
        page=_with_headers(b"X-Giant: " + b"g" * 1_000_000 + b"\r\n"),
    ),
    "cookie-flood": HostileKind(
        sentence="It sets 1,500 cookies with every page.",
        page=_with_headers(b"".join(b"Set-Cookie: c%d=%s\r\n" % (n, b"v" * 40) for n in range(1_500))),
    ),
    "informational-flood": HostileKind(
        sentence="It sends 103 responses without end before any final one.",
        page=lambda _: HostileAnswer(
            script=lambda: repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" * 500)
        ),
    ),
    "switching": HostileKind(
        sentence="It answers that it switches to another protocol, and then is silent.",
        page=lambda _: scripted(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", ending=Ending.HOLD, status=101
        ),
    ),
    "reset-on-accept": HostileKind(
        sentence="It resets every connection as soon as it is open.",
        page=_silent,
        on_connect=lambda: iter(()),
        connect_ending=Ending.RESET,
    ),
    "silent-accept": HostileKind(
        sentence="It accepts connections, reads nothing and sends nothing.",
        page=_silent,
        on_connect=lambda: iter(()),
        connect_ending=Ending.HOLD,
    ),
    "ssh-banner": HostileKind(
        sentence="It greets every connection like an SSH server.",
        page=_silent,
        on_connect=lambda: iter((b"SSH-2.0-OpenSSH_9.7\r\n",)),
        connect_ending=Ending.HOLD,
    ),
    "reset-on-request": HostileKind(
        sentence="It resets the connection when it has read a request for a page.",
        page=lambda _: scripted(ending=Ending.RESET, status=0),
    ),
    "reset-in-head": HostileKind(
        sentence="It resets the connection in the middle of the head.",
        page=lambda _: scripted(_OK[:40], 0.05, ending=Ending.RESET),
    ),
    "reset-in-body": HostileKind(
        sentence="It resets the connection in the middle of the body.",
        page=lambda url: scripted(_OK + b"Content-Length: 5000\r\n\r\n" + _body(url), 0.05, ending=Ending.RESET),
    ),
    "half-closed": HostileKind(
        sentence="It sends half of a head, closes its side of the connection and keeps the other side open.",
        page=lambda _: scripted(_OK[:30], ending=Ending.HALF_CLOSE),
    ),
    "stalled-body": HostileKind(
        sentence="It sends half of a body and then nothing more.",
        page=lambda url: scripted(_OK + b"Content-Length: 5000\r\n\r\n" + _body(url), ending=Ending.HOLD),
    ),
    "http-09": HostileKind(
        sentence="It sends pages without a status line and without headers.",
        page=_raw(),
    ),
    "http-2": HostileKind(
        sentence="It answers with frames of HTTP/2 that the client did not ask for.",
        page=_raw(b"\0\0\x12\x04\0\0\0\0\0" + bytes(18) + b"\0\0\x08\x07\0\0\0\0\0" + bytes(8)),
    ),
    "bare-lf": HostileKind(
        sentence="It ends the lines of its heads with LF only, and some with CR only.",
        page=_raw(b"HTTP/1.1 200 OK\nContent-Type: text/html\nX-Odd: a\rX-Odder: b\n\n"),
    ),
    "folded-headers": HostileKind(
        sentence="It folds its headers over thousands of lines.",
        page=_raw(b"HTTP/1.1 200 OK\r\nContent-Type:\r\n text/html;\r\n" + b"\t charset=utf-8;\r\n" * 2_000 + b"\r\n"),
    ),
    "duplicate-headers": HostileKind(
        sentence="It sends Content-Length and Content-Type twice, with different values.",
        page=_raw(
            _OK,
            b"Content-Length: 10\r\nContent-Length: 99999\r\nTransfer-Encoding: chunked, identity\r\n"
            b"Content-Type: image/png\r\n\r\n",
        ),
    ),
    "odd-status": HostileKind(
        sentence="It sends status lines with numbers that do not exist.",
        page=_odd_status,
    ),
    "nul-headers": HostileKind(
        sentence="It sends headers with NUL bytes, escape sequences and no colon.",
        page=_raw(_OK, b"X-Nul: a\0b\r\nno colon here\r\nX-Esc: \x1b[2J\r\n: empty\r\n\xff\xfe: y\r\n\r\n"),
    ),
    "busy-for-years": HostileKind(
        sentence="It answers 429 with a Retry-After of 2,700 years.",
        page=_busy(429),
        front=_busy(429),
    ),
    "unavailable": HostileKind(
        sentence="It answers 503 for every page, for ever.",
        page=_always(503),
    ),
    "failing": HostileKind(
        sentence="It answers 500 for every page, for ever.",
        page=_always(500),
        front=_always(500),
    ),
}
