"""What a body is by its first bytes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.media_types import media_type_of


@pytest.mark.parametrize(
    ("body", "declared", "found"),
    [
        (b"", "text/html", ""),
        (b"<!DOCTYPE html><p>", "", "text/html"),
        (b"\xef\xbb\xbf \r\n<!doctype HTML>", "text/plain", "text/html"),
        (b"<!-- generated --><html>", "application/octet-stream", "text/html"),
        (b"<p>short", "text/html", "text/html"),
        (b"<pre>is no element that tells", "text/plain", "text/plain"),
        (b"<html xmlns='http://www.w3.org/1999/xhtml'>", "application/xhtml+xml", "application/xhtml+xml"),
        (b"<?xml version='1.0'?><!DOCTYPE html><html>", "text/html", "application/xhtml+xml"),
        (b"<?xml version='1.0'?>\n<rss version='2.0'>", "text/xml", "application/rss+xml"),
        (b"<?xml version='1.0'?>\n<!-- x --><feed xmlns='a'>", "application/xml", "application/atom+xml"),
        (b"<rdf:RDF xmlns:rdf='a'>", "text/plain", "application/rdf+xml"),
        (b"<svg xmlns='a'>", "image/svg+xml", "image/svg+xml"),
        (b"<?xml version='1.0'?><urlset>", "text/xml", "text/xml"),
        (b"<?xml version='1.0'?><urlset>", "text/html", "application/xml"),
        (b"<note>", "application/xml", "application/xml"),
        (b"%PDF-1.7\n\0", "text/html", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0", "text/html; broken", "image/png"),
        (b"RIFF\1\2\3\4WEBPVP8", "", "image/webp"),
        (b"\0\0\0\x20ftypisom", "video/quicktime", "video/mp4"),
        (b"PK\3\4\0", "application/octet-stream", "application/zip"),
        (b"PK\3\4\0", "application/epub+zip", "application/epub+zip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/vnd.ms-excel", "application/vnd.ms-excel"),
        (b'{"a": 1}', "application/json", "application/json"),
        (b"a { color: red }", "text/css", "text/css"),
        (b"a,b\n1,2", "application/octet-stream", "text/plain"),
        (b"just words", "text/html", "text/html"),
        ("Wörter".encode("utf-16"), "text/plain", "text/plain"),
        (b"\x00\x01\x02\x03binary", "text/html", "application/octet-stream"),
        (b"\x02\x03binary", "application/x-own", "application/x-own"),
        (b"words", "no type\r\nX: y", "text/plain"),
    ],
)
def test_a_body_is_what_its_first_bytes_say(body: bytes, declared: str, found: str) -> None:
    assert media_type_of(body, declared) == found


@given(body=st.binary(max_size=100), declared=st.text(max_size=20))
def test_whatever_comes_is_some_type_and_cannot_break_a_header(body: bytes, declared: str) -> None:
    found = media_type_of(body, declared)
    assert found == "" if not body else re.fullmatch("[ -~]+/[ -~]+", found)
