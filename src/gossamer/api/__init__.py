"""Gossamer for programs: run a crawl as a loop over its pages, and read what a crawl has stored.

What belongs here: the objects behind `gossamer.Crawl` and `gossamer.open`. What does not: anything that the command
line needs too.
"""

from gossamer.api.crawl import Crawl
from gossamer.api.page import Page
from gossamer.api.reading import StoredCrawl, open  # noqa: A004
from gossamer.errors import GossamerError
from gossamer.records import Link
from gossamer.supervisor import End

__all__ = ["Crawl", "End", "GossamerError", "Link", "Page", "StoredCrawl", "open"]
