"""`gossamer check sitemap`: JSON lines about a file, or one sentence."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from gossamer.cli.check import command
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from pathlib import Path

SITEMAP = b"""<?xml version='1.0'?><urlset>
<url><loc>/late</loc><priority>0.2</priority></url>
<url><loc>https://example.org/early</loc><lastmod>2001-02-03T04:05:06+01:00</lastmod><priority>1.0</priority></url>
<url><loc>https://shop.example.org/</loc></url>
<url><loc>mailto:me@example.org</loc></url>
</urlset>"""


def check(*arguments: str, body: bytes = b"") -> list[dict[str, Any]]:
    result = CliRunner().invoke(command, ["sitemap", *arguments], input=body)
    assert result.exception is None, result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_sitemap_is_shown_in_the_order_in_which_it_would_be_followed(tmp_path: Path) -> None:
    file = tmp_path / "sitemap.xml.gz"
    file.write_bytes(gzip.compress(SITEMAP))
    shown = check(str(file))
    assert shown == check("-", body=SITEMAP) == check(body=SITEMAP)
    assert shown == [
        {"format": "urlset", "entries": 3, "sitemaps": 0, "refused": 1, "cut": None},
        {"url": "https://shop.example.org/", "rank": 0, "priority": None, "lastmod": None, "foreign_host": True},
        {"url": "https://example.org/early", "rank": 1, "priority": 1.0, "lastmod": "2001-02-03T03:05:06Z"},
        {"url": "https://example.org/late", "rank": 6, "priority": 0.2, "lastmod": None},
        {"refused": "mailto:me@example.org", "reason": "neither http nor https"},
    ]


def test_where_it_lies_decides_what_is_foreign() -> None:
    _, *shown = check("--url", "https://shop.example.org/maps/1.xml", body=SITEMAP)
    assert [entry["url"] for entry in shown if "foreign_host" not in entry and "url" in entry] == [
        "https://shop.example.org/",
        "https://shop.example.org/late",
    ]


def test_an_index_names_its_sitemaps_and_what_is_cut_is_told() -> None:
    about, *shown = check(body=b"<sitemapindex><sitemap><loc>/1.xml</loc></sitemap><sitemap>")
    assert (about["format"], about["sitemaps"]) == ("index", 1)
    assert "not well-formed" in about["cut"]
    assert shown == [{"sitemap": "https://example.org/1.xml"}]


@pytest.mark.parametrize(
    ("arguments", "body", "sentence"),
    [
        ([], b"<html></html>", "Standard input is no sitemap: an HTML page."),
        ([], b"", "Standard input is no sitemap: empty."),
        (["--url", "ftp://example.org/"], SITEMAP, "--url ftp://example.org/ cannot be crawled"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: list[str], body: bytes, sentence: str) -> None:
    result = CliRunner().invoke(command, ["sitemap", *arguments], input=body)
    assert isinstance(result.exception, GossamerError)
    assert str(result.exception).startswith(sentence)
    assert result.stdout == ""
