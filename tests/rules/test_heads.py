"""Header lines out of raw heads."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.rules.heads import header, headers_all

HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"Content-Type: text/html\r\n"
    b"X-Empty:\r\n"
    b"LOCATION:/first  \r\n"
    b"Location: /second\r\n"
    b"X-Folded: one,\r\n\t two,\r\n   three\r\n"
    b"Not-Location: /third\r\n"
    b"X-Spaced \t: \t inside is  kept \t\r\n"
    b"X-Latin: caf\xe9\r\n"
    b"\r\n"
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Content-Type", "text/html"),
        ("content-type", "text/html"),
        ("Location", "/first"),  # the first of several
        ("X-Empty", ""),
        ("X-Folded", "one, two, three"),
        ("X-Spaced", "inside is  kept"),
        ("X-Latin", "café"),
        ("X-Missing", None),
        ("X", None),  # not the beginning of a name
        ("HTTP/1.1 200 OK", None),
        ("X.Latin", None),  # a name is no pattern
    ],
)
def test_a_header_is_found_by_its_name(name: str, value: str | None) -> None:
    assert header(HEAD, name) == value


def test_all_headers_of_a_name_come_in_order() -> None:
    assert headers_all(HEAD, "location") == ["/first", "/second"]
    assert headers_all(HEAD, "X-Missing") == []


@pytest.mark.parametrize("indent", [b" ", b"\t", b" \t "])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_line_that_is_indented_continues_the_one_before(indent: bytes, newline: bytes) -> None:
    head = newline.join([b"HTTP/1.1 200 OK", b"Location:", indent + b"/x", b"Server: y", b"", b""])
    assert header(head, "Location") == "/x"


def test_lines_may_end_without_a_carriage_return() -> None:
    head = HEAD.replace(b"\r", b"")
    assert header(head, "Content-Type") == "text/html"
    assert header(head, "X-Folded") == "one, two, three"
    assert headers_all(head, "location") == ["/first", "/second"]


@given(st.binary())
def test_any_bytes_are_read_somehow(head: bytes) -> None:
    first = header(head, "Location")
    every = headers_all(head, "Location")
    assert first == (every[0] if every else None)


@pytest.mark.parametrize("piece", [b"Location", b"Location ", b"Location:\r\n ", b"\r\n ", b"\n\t", b" ", b"\r"])
def test_a_hostile_head_costs_linear_time(piece: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + piece * (300_000 // len(piece))
    begun = time.process_time()
    header(head, "Location")
    headers_all(head, "Location")
    assert time.process_time() - begun < 1.0
