"""`gossamer check html`: what Gossamer reads in a page, by the very function that a crawl uses."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import click

from gossamer.cli.json_lines import MalformedError, answer_each, text_of
from gossamer.page_process.settings import PageSettings
from gossamer.parse.page import read_page
from gossamer.records import Fetched, ParseFailed
from gossamer.urls import Refusal, normalise

_AGENT = "Gossamer"


@click.command("html")
def html() -> None:
    """Read pages: charset, title, links and main text.

    Reads lines {"html_b64": ..., "content_type": ..., "url": ...}; the content type is optional and taken for HTML.

    \b
    Example:
      echo '{"html_b64": "PGEgaHJlZj14PkhpPC9hPg==", "url": "http://a.org/"}' |
        gossamer check html
    """
    answer_each(_answer_html)


def _answer_html(question: dict[str, Any]) -> dict[str, Any]:
    url = normalise(text_of(question, "url"))
    if isinstance(url, Refusal):
        raise MalformedError(f"url: {url.value}")
    try:
        body = base64.b64decode(text_of(question, "html_b64"), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError("html_b64 is not Base64") from None
    head = ["HTTP/1.1 200 OK", "", ""]
    if question.get("content_type") is not None:
        head.insert(1, "Content-Type: " + " ".join(text_of(question, "content_type").split()))
    answer = Fetched(
        url=url,
        status=200,
        head="\r\n".join(head).encode("latin-1", "replace"),
        body=body,
        address="",
        request_head=b"",
        started_at=0.0,
        duration_s=0.0,
    )
    page = read_page(answer, agent=_AGENT, max_bytes=PageSettings().max_inflated_bytes)
    if isinstance(page, ParseFailed):
        return {"error": page.detail}
    return {
        "charset": page.row.charset,
        "title": page.row.title,
        "links": [link.url for link in page.links],
        "text": page.row.text,
    }
