"""A crawl of sites that attack the browser of whoever looks at it: in titles, texts, URLs, headers, robots, errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gossamer.crawl.folder import gather_settings, write_settings
from gossamer.records import Batch, Done, HostState, Release, RequestRow, Visit
from gossamer.rules.robots import RobotsRules
from gossamer.store.warc import encode_exchange
from gossamer.urls import hash_url
from tests.inspect.crawls import BEGAN_AT, Crawl, html_answer, page_row

if TYPE_CHECKING:
    from pathlib import Path

_RUN: Final = "window.pwned=1;top.pwned=1;fetch('http://127.0.0.1:PORT/x')"
_AWAY: Final = "http://127.0.0.1:PORT/x"
PAYLOADS: Final = (
    f"<script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"</textarea></style></pre></td></dd><script>{_RUN}</script>",
    f'"><script>{_RUN}</script>',
    f"'><script>{_RUN}</script>",
    f"<img src=x onerror=\"{_RUN}\">",
    f"<img src='{_AWAY}'>",
    f"<svg onload=\"{_RUN}\">",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><image href='{_AWAY}'></svg>",
    f"<svg><use href='{_AWAY}#a'></svg>",
    f"<svg><animate onbegin=\"{_RUN}\" attributeName=x dur=1s>",
    f"<body onload=\"{_RUN}\">",
    f"<input autofocus onfocus=\"{_RUN}\">",
    f"<details open ontoggle=\"{_RUN}\">",
    f"<marquee onstart=\"{_RUN}\">",
    f"<video><source onerror=\"{_RUN}\"></video>",
    f"<video src='{_AWAY}' autoplay></video>",
    f"<audio src='{_AWAY}' autoplay></audio>",
    f"<iframe src='{_AWAY}'></iframe>",
    f"<iframe srcdoc=\"<script>{_RUN}</script>\"></iframe>",
    f"<iframe src=\"javascript:{_RUN}\"></iframe>",
    f"<object data='{_AWAY}'></object>",
    f"<embed src='{_AWAY}'>",
    f"<link rel=stylesheet href='{_AWAY}'>",
    f"<link rel=preconnect href='{_AWAY}'>",
    f"<link rel=dns-prefetch href='{_AWAY}'><link rel=prefetch href='{_AWAY}'>",
    f"<link rel=preload as=script href='{_AWAY}'><link rel=modulepreload href='{_AWAY}'>",
    f"<meta http-equiv=refresh content=\"0;url={_AWAY}\">",
    f"<meta http-equiv=refresh content=\"0;url=javascript:{_RUN}\">",
    f"<base href='{_AWAY}/'><a href=y>y</a>",
    f"<form action='{_AWAY}' id=f><button autofocus></form>",
    f"<style>@import '{_AWAY}';body{{background:url({_AWAY})}}</style>",
    f"<style>@font-face{{font-family:a;src:url({_AWAY})}}*{{font-family:a}}</style>",
    f"<p style=\"background:url({_AWAY})\">x</p>",
    f"<a href=\"javascript:{_RUN}\" ping='{_AWAY}'>x</a>",
    f"<math><mtext><table><mglyph><style><img src=x onerror=\"{_RUN}\">",
    f"<noscript><p title=\"</noscript><img src=x onerror={_RUN}>\">",
    f"<template><script>{_RUN}</script></template><script src='{_AWAY}'></script>",
    f"<!--><script>{_RUN}</script>-->",
    f"<![CDATA[<script>{_RUN}</script>]]>",
    f"<script type=speculationrules>{{\"prefetch\":[{{\"urls\":[\"{_AWAY}\"]}}]}}</script>",
    f"{{{{constructor.constructor('{_RUN}')()}}}}${{{_RUN}}}",
    f"\u202e<scr\x00ipt>{_RUN}</scr\x00ipt>\u2028<script\x0c>{_RUN}</script>",
    f"+ADw-script+AD4-{_RUN}+ADw-/script+AD4-",
)  # fmt: skip


def hostile_crawl(folder: Path, port: int) -> Path:
    """Make a crawl in which every foreign text is an attack; what runs would set `pwned`, or connect to the port."""
    with Crawl(folder) as crawl:
        for number, payload in enumerate(PAYLOADS):
            _attack(crawl, number, payload.replace("PORT", str(port)))
        for claim in crawl.claim():
            text = PAYLOADS[int(claim.site[1:].partition(".")[0])].replace("PORT", str(port))
            rules = replace(RobotsRules.from_text(""), group=text, moved_to=(text, text), outcome=text).to_text()
            host = HostState(host=f"http://{claim.site}", rules=rules, expires_at=2e9)
            outcomes = [(url.url_hash, Done()) for url in claim.urls]
            visit = Visit(
                site=claim.site, epoch=claim.epoch, outcomes=outcomes, hosts=[host], release=Release(wait_s=0)
            )
            crawl.frontier.complete(Batch(visits=[visit]))
        crawl.frontier.heartbeat({"pages": 1.0})
    (folder / "logs").mkdir()
    write_settings(folder, gather_settings(file=None, environment={}, flags={"email": "a@b.test"}))
    return folder


def _attack(crawl: Crawl, number: int, text: str) -> None:
    """Store a page of a site, and its requests, with an attack in every field that a stranger fills."""
    url, began = f"http://h{number}.test/", BEGAN_AT + number
    crawl.add(url)
    asked = RequestRow(
        hash_url(url), url, f"h{number}.test", "page", began, began + 0.2, 200, "", 99, text, "allowed", 1, "w1"
    )  # fmt: skip
    failed = asked._replace(url_hash=hash_url(text), url=f"http://{text}/", site=text, status=0, reason=text)
    for request in (asked, failed, asked._replace(started_at=began + 80, ended_at=began + 81, blocked=text)):
        crawl.store.keep_request(request)
    html = f"<html><title>{text}</title><body>{text}<p>{text}</p></body></html>".encode("utf-8", "replace")
    header = text.encode("latin-1", "replace").replace(b"\x00", b"")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Attack: " + header + b"\r\n\r\n"
    answer = replace(html_answer(url, number), head=head, body=html)
    encoded = encode_exchange(answer)
    row = page_row(answer, encoded.payload_digest)._replace(
        title=text, text=f"{text}\n{text}", lang=text, charset="utf-8", site=f"h{number}.test", body_bytes=len(html)
    )
    crawl.store.keep_page(row, encoded.archive, encoded.response_offset)
    crawl.store.sync()
