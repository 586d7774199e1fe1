"""When a page says that it was published and changed, and where it says so."""

from __future__ import annotations

import pytest

from tests.parse.pages import read

LD = "<script type='application/ld+json'>%s</script>"


@pytest.mark.parametrize(
    ("markup", "published", "modified"),
    [
        (LD % '{"@type": "Article", "datePublished": "2024-05-01"}', ("2024-05-01", "json-ld"), ("", "")),
        (
            LD % '[{"@graph": [{"@type": "WebPage", "dateModified": "2024-05-02T10:00:00+02:00"}]}]',
            ("", ""),
            ("2024-05-02T08:00:00Z", "json-ld"),
        ),
        (LD % "{not json}", ("", ""), ("", "")),
        (LD % ("[" * 50_000), ("", ""), ("", "")),
        ("<meta property=article:published_time content=2024-05-01T10:00:00Z>",
         ("2024-05-01T10:00:00Z", "opengraph"), ("", "")),
        ("<meta property=og:updated_time content=2024-05-03>", ("", ""), ("2024-05-03", "opengraph")),
        ("<meta name=DC.date content=2024-05-01><meta name=last-modified content='Fri, 03 May 2024 10:00:00 GMT'>",
         ("2024-05-01", "meta"), ("2024-05-03T10:00:00Z", "meta")),
        ("<meta name=date content=2024-05-01>"
         + LD % '{"datePublished": "2024-04-30"}', ("2024-04-30", "json-ld"), ("", "")),
        ("<time itemprop=datePublished datetime=2024-05-01>May</time>", ("2024-05-01", "time"), ("", "")),
        ("<article><time datetime=2024-05-01>May</time></article>", ("2024-05-01", "time"), ("", "")),
        ("<article><time datetime=2024-05-01></time><time datetime=2023-01-01></time></article>", ("", ""), ("", "")),
        ("<meta name=date content='some day'><meta name=date content=2024-02-30>", ("", ""), ("", "")),
        ("<p>2024-05-01</p>", ("", ""), ("", "")),
    ],
)  # fmt: skip
def test_dates_come_with_where_they_were_found(
    markup: str, published: tuple[str, str], modified: tuple[str, str]
) -> None:
    row = read(markup, url="https://example.org/2020/01/02/page.html").row
    assert (row.published, row.published_from) == published
    assert (row.modified, row.modified_from) == modified


def test_validators_come_from_the_headers() -> None:
    row = read("<p>", headers=("Last-Modified: Fri, 03 May 2024 10:00:00 GMT", 'ETag: W/"abc"')).row
    assert (row.last_modified, row.etag) == ("2024-05-03T10:00:00Z", 'W/"abc"')
    assert read("<p>", headers=("Last-Modified: yesterday",)).row.last_modified == ""
