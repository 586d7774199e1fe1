"""Reads URLs and sites as operators write them."""

from __future__ import annotations

from gossamer.errors import GossamerError
from gossamer.urls import Refusal, Url, identify, normalise


def read_url(text: str) -> Url:
    """Return a URL as a crawl knows it; without a scheme it means https."""
    url = normalise(text if "://" in text else f"https://{text}")
    if isinstance(url, Refusal):
        raise GossamerError(
            f"{text!r} cannot be part of a crawl ({url.value}): write it like https://example.org/page."
        )
    return identify(url)


def read_site(text: str) -> str:
    """Return the site that a domain, a host or a URL belongs to."""
    return read_url(text).site
