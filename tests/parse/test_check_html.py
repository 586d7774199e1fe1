"""`gossamer check html`: one JSON line out for every page in."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from click.testing import CliRunner

from gossamer.cli.check_html import html
from gossamer.errors import GossamerError


def question(body: bytes, **others: Any) -> dict[str, Any]:
    return {"html_b64": base64.b64encode(body).decode(), "url": "https://example.org/dir/", **others}


def check(*questions: object) -> list[dict[str, Any]]:
    result = CliRunner().invoke(html, input="".join(json.dumps(asked) + "\n" for asked in questions))
    assert result.exception is None
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_page_is_read() -> None:
    assert check(
        question(b"<title>T</title><a href=../x#y>Hello</a>"),
        question("<p>Größe".encode("latin-1"), content_type="text/html; charset=ISO-8859-1"),
        question(b"<a href=/x>", content_type="text/plain"),
        question("é".encode(), content_type=None, url="HTTP://Example.org"),
    ) == [
        {"charset": "utf-8", "title": "T", "links": ["https://example.org/x"], "text": "Hello"},
        {"charset": "windows-1252", "title": "", "links": [], "text": "Größe"},
        {"charset": "utf-8", "title": "", "links": [], "text": "<a href=/x>"},
        {"charset": "utf-8", "title": "", "links": [], "text": "é"},
    ]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"url": "https://example.org/"}, "html_b64 is missing"),
        ({"html_b64": "PGE+", "url": 1}, "url is not a string"),
        ({"html_b64": "PGE+", "url": "mailto:x"}, "url: neither http nor https"),
        ({"html_b64": "%", "url": "https://example.org/"}, "html_b64 is not Base64"),
        ({"html_b64": "PGE+", "url": "https://example.org/", "content_type": 1}, "content_type is not a string"),
        ([], "not a JSON object"),
    ],
)
def test_a_question_that_cannot_be_understood_is_answered_with_its_error(asked: object, error: str) -> None:
    result = CliRunner().invoke(html, input=json.dumps(asked) + "\n" + json.dumps(question(b"fine")) + "\n")
    assert [json.loads(line).get("error") for line in result.stdout.splitlines()] == [error, None]
    assert isinstance(result.exception, GossamerError)


def test_a_content_type_cannot_smuggle_in_another_header() -> None:
    smuggled = question(b"<a href=/x>x</a>", content_type="text/html\r\nX-Robots-Tag: nofollow")
    assert check(smuggled)[0]["links"] == ["https://example.org/x"]
