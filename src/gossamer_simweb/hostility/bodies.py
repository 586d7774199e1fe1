"""Bodies that lie about their length, coding, type or charset, or that never end. Pure."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING

from gossamer_simweb.hostility.bombs import (
    brotli_bomb,
    deflate_bomb,
    gzip_bomb,
    gzip_layers,
    gzip_members,
    gzip_page,
    zstd_bomb,
)
from gossamer_simweb.hostility.kind import HTML, HostileAnswer, HostileKind, drip, own_links, page

if TYPE_CHECKING:
    from gossamer_simweb.hostility.kind import Answering, HostileUrl

_OK = b"HTTP/1.1 200 OK\r\n" + HTML
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_LINE = b"<p>Boom.</p>\n"
LAYERS = 20


def _coded(coding: bytes, data: bytes) -> HostileAnswer:
    return HostileAnswer(head=HTML + b"Content-Encoding: %s\r\n" % coding, body=data)


def _raw(*pieces: bytes) -> HostileAnswer:
    return HostileAnswer(script=lambda: iter((b"".join(pieces),)))


def _body(url: HostileUrl) -> bytes:
    return page(b"<p>%s</p>" % url.fresh().encode(), own_links(url)).body


def _broken_gzip(url: HostileUrl) -> HostileAnswer:
    data = gzip_page(_body(url) + bytes(100_000))
    return _coded(b"gzip", data[:60] + b"\xff" * 40 + data[100:])


def _wrong_length(share: float) -> Answering:
    def answer(url: HostileUrl) -> HostileAnswer:
        body = _body(url)
        return _raw(_OK, b"Content-Length: %d\r\n\r\n" % int(len(body) * share), body)

    return answer


def _negative_length(url: HostileUrl) -> HostileAnswer:
    return _raw(_OK, b"Content-Length: -1\r\n\r\n", _body(url))


def _huge_length(url: HostileUrl) -> HostileAnswer:
    return _raw(_OK, b"Content-Length: 99999999999999999999\r\n\r\n", _body(url))


def _tiny_chunks(url: HostileUrl) -> HostileAnswer:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in _body(url) + b"<p>" * 20_000)
    return _raw(_CHUNKED, chunks, b"0\r\n\r\n")


def _bad_chunks(url: HostileUrl) -> HostileAnswer:
    return _raw(_CHUNKED, b"ffffffffffffffff0\r\n", _body(url), b"\r\nxyz\r\n")


def _chunk_extensions(_: HostileUrl) -> HostileAnswer:
    return HostileAnswer(script=lambda: chain((_CHUNKED + b"5",), repeat(b";name=value" * 1_000)))


def _endless_trailers(_: HostileUrl) -> HostileAnswer:
    start = _CHUNKED + b"5\r\n<p>ok\r\n0\r\n"
    return HostileAnswer(script=lambda: chain((start,), repeat(b"X-Trailer: and more\r\n" * 1_000)))


def _endless(url: HostileUrl) -> HostileAnswer:
    start = _OK + b"\r\n" + _body(url)
    return HostileAnswer(script=lambda: chain((start,), repeat(_LINE * 5_000)))


def _dripping(url: HostileUrl) -> HostileAnswer:
    body = _body(url)
    return HostileAnswer(script=lambda: chain((_OK + b"Content-Length: %d\r\n\r\n" % len(body),), drip(body, 1.0)))


@lru_cache(maxsize=1)
def _noise() -> bytes:
    return random.Random(1).randbytes(500_000)  # noqa: S311


def _typed(content_type: bytes, body: bytes) -> HostileAnswer:
    return HostileAnswer(head=b"Content-Type: %s\r\n" % content_type, body=body)


def _utf7(url: HostileUrl) -> HostileAnswer:
    text = "+ADw-script+AD4-alert(1)+ADw-/script+AD4- +ADw-a href+AD0-/p/utf7+AD4-"
    return _typed(b"text/html; charset=utf-7", text.encode() + _body(url))


def _utf16(url: HostileUrl) -> HostileAnswer:
    return _typed(b"text/html; charset=iso-8859-1", b"\xff\xfe" + _body(url).decode().encode("utf-16-le") + b"\xd8")


def _charsets(url: HostileUrl) -> HostileAnswer:
    declared = (
        b"x-user-defined",
        b"iso-2022-kr",
        b"hz-gb-2312",
        b"replacement",
        b"'; drop table",
        b"\xff\xfe",
        b"a" * 5_000,
    )
    number = int(url.fresh()[:2], 16) % len(declared)
    return _typed(b"text/html; charset=" + declared[number], b'<meta charset="%s">' % declared[-number] + _body(url))


BODY_KINDS = {
    "gzip-bomb": HostileKind(
        sentence="Its pages are 60 KB of gzip that inflate to 64 MB.",
        page=lambda _: _coded(b"gzip", gzip_bomb(_LINE)),
    ),
    "deflate-bomb": HostileKind(
        sentence="Its pages are zlib data that inflate to 64 MB.",
        page=lambda _: _coded(b"deflate", deflate_bomb(_LINE)),
    ),
    "brotli-bomb": HostileKind(
        sentence="Its pages are a few hundred bytes of brotli that inflate to 64 MB.",
        page=lambda _: _coded(b"br", brotli_bomb(_LINE)),
    ),
    "zstd-bomb": HostileKind(
        sentence="Its pages are a few KB of zstd that inflate to 64 MB.",
        page=lambda _: _coded(b"zstd", zstd_bomb(_LINE)),
    ),
    "gzip-members": HostileKind(
        sentence="Its pages are 40,000 gzip files in a row.",
        page=lambda _: _coded(b"gzip", gzip_members(40_000)),
    ),
    "coding-layers": HostileKind(
        sentence="Its pages are compressed twenty times, one coding in another.",
        page=lambda _: _coded(b", ".join([b"gzip"] * LAYERS), gzip_layers(_LINE * 100_000, LAYERS)),
    ),
    "coding-lie": HostileKind(
        sentence="Its pages say that they are gzip, br and unheard-of codings, and are plain.",
        page=lambda url: _coded((b"gzip", b"br", b"x-unheard")[int(url.fresh()[:2], 16) % 3], _body(url)),
    ),
    "broken-gzip": HostileKind(
        sentence="Its pages are gzip that is damaged behind the first bytes.",
        page=_broken_gzip,
    ),
    "short-body": HostileKind(
        sentence="Its pages promise twice as many bytes as they have, and then the connection closes.",
        page=_wrong_length(2.0),
    ),
    "long-body": HostileKind(
        sentence="Its pages have twice as many bytes as they promise.",
        page=_wrong_length(0.5),
    ),
    "negative-length": HostileKind(
        sentence="Its pages promise -1 bytes.",
        page=_negative_length,
    ),
    "huge-length": HostileKind(
        sentence="Its pages promise 99,999,999,999,999,999,999 bytes.",
        page=_huge_length,
    ),
    "endless-body": HostileKind(
        sentence="Its pages never end.",
        page=_endless,
    ),
    "drip-body": HostileKind(
        sentence="It sends its pages one byte a second.",
        page=_dripping,
    ),
    "tiny-chunks": HostileKind(
        sentence="It sends its pages in chunks of one byte.",
        page=_tiny_chunks,
    ),
    "bad-chunks": HostileKind(
        sentence="It sends chunks whose sizes overflow and are not numbers.",
        page=_bad_chunks,
    ),
    "chunk-extensions": HostileKind(
        sentence="It sends a chunk whose extensions never end.",
        page=_chunk_extensions,
    ),
    "endless-trailers": HostileKind(
        sentence="It sends trailers without end behind its last chunk.",
        page=_endless_trailers,
    ),
    "binary-page": HostileKind(
        sentence="Its pages are random bytes that say they are HTML.",
        page=lambda _: _typed(b"text/html", _noise()),
    ),
    "type-lie": HostileKind(
        sentence="Its pages are HTML that says it is an image, a PDF or a font.",
        page=lambda url: _typed(
            (b"image/png", b"application/pdf", b"font/woff2")[int(url.fresh()[:2], 16) % 3], _body(url)
        ),
    ),
    "utf-7": HostileKind(
        sentence="Its pages say that they are UTF-7, and hide a script in it.",
        page=_utf7,
    ),
    "utf-16": HostileKind(
        sentence="Its pages say that they are Latin-1, begin with the mark of UTF-16, and end in half a character.",
        page=_utf16,
    ),
    "bad-charsets": HostileKind(
        sentence="Its pages name charsets that do not exist, are dangerous or are 5,000 characters long.",
        page=_charsets,
    ),
    "nul-bytes": HostileKind(
        sentence="Its pages have NUL bytes everywhere: in the title, in tags and in links.",
        page=lambda url: page(_body(url).replace(b"o", b"o\0"), b'<a href="/n\0ul">\0</a>' * 500, title=b"\0Welcome\0"),
    ),
    "escape-sequences": HostileKind(
        sentence="Its titles and links have escape sequences that a terminal would run.",
        page=lambda url: page(
            own_links(url),
            b'<a href="/\x1b]52;c;Y3VybA==\x07">x</a>',
            title=b"\x1b[2J\x1b]0;owned\x07\x9b31m %s" % url.fresh().encode(),
        ),
    ),
    "script-titles": HostileKind(
        sentence="Its titles and links are scripts and formulas, for whatever shows them.",
        page=lambda url: page(
            own_links(url),
            b'<a href="/\'%22%3E%3Cscript%3Ealert(1)%3C/script%3E">x</a>',
            title=b"&lt;script&gt;alert(1)&lt;/script&gt;\"'=cmd|' /C calc'!A0 %s" % url.fresh().encode(),
        ),
    ),
}
