"""`gossamer check html`: what Gossamer reads in a page, by the very function that a crawl uses."""

from __future__ import annotations

import base64
import binascii
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gossamer.cli.data_dir import data_dirs_option
from gossamer.cli.json_lines import MalformedError, answer_each, text_of
from gossamer.errors import GossamerError
from gossamer.page_process.settings import PageSettings
from gossamer.parse.page import read_page
from gossamer.parse.text import text_finder
from gossamer.records import Fetched, ParseFailed
from gossamer.urls import Refusal, normalise

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gossamer.parse.text import Choice, FindText

_AGENT = "Gossamer"


@click.command("html")
@click.argument("page", metavar="[FILE|URL]", default="")
@click.option(
    "--text",
    "choice",
    type=click.Choice(["fast", "balanced", "best"]),
    default="fast",
    show_default=True,
    help="How the main text is found.",
)
@click.option("--markdown", is_flag=True, help="Write the main text as Markdown.")
@data_dirs_option
def html(page: str, choice: Choice, markdown: bool, folders: Sequence[Path]) -> None:
    """Read pages: charset, title, links and main text.

    With a file (- is standard input), or the URL of a page that a crawl has stored, shows what would be kept of it and
    why: the element that holds the text, and the elements that are left out. No request is made.

    Without, reads lines {"html_b64": ..., "content_type": ..., "url": ...}; the content type is optional and taken for
    HTML.

    \b
    Examples:
      gossamer check html page.html
      gossamer check html https://example.org/ --text best --markdown
      echo '{"html_b64": "PGEgaHJlZj14PkhpPC9hPg==", "url": "http://a.org/"}' |
        gossamer check html
    """
    try:
        settings = PageSettings(text=choice, markdown=markdown)
    except ValueError as error:
        raise GossamerError(str(error)) from None
    if page:
        from gossamer.cli.check_page import check_page  # it reads crawls, which programs that ask in lines do not need

        check_page(page, settings, folders)
    else:
        answer_each(partial(_answer_html, text_finder(choice, markdown=markdown)))


def _answer_html(find_text: FindText, question: dict[str, Any]) -> dict[str, Any]:
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
    page = read_page(answer, agent=_AGENT, max_bytes=PageSettings().max_inflated_bytes, find_text=find_text)
    if isinstance(page, ParseFailed):
        return {"error": page.detail}
    return {
        "charset": page.row.charset,
        "title": page.row.title,
        "links": [link.url for link in page.links],
        "text": page.row.text,
    }
