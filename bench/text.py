"""What finding the main text costs by each library, and what a fingerprint and the link graph add: CPU per page.

    python -m bench text --pages 40 --rounds 3

Pages are those of the simulated web (small: median 10 KB, large: mean 242 KB). What parses for itself is timed
with that; turbohtml's parse is needed for links anyway and not counted. Of several rounds the cheapest counts, page by
page. How good each is, the simulated web cannot tell: `docs/text.md` has that from an article-extraction benchmark.
"""

from __future__ import annotations

import argparse
import gzip
import time
from typing import TYPE_CHECKING, Literal, get_args

from turbohtml import parse

from bench.parse import make_pages
from gossamer.parse.links import find_anchors
from gossamer.parse.simhash import simhash
from gossamer.parse.text import Choice, text_finder

if TYPE_CHECKING:
    from collections.abc import Callable

    from turbohtml import Document

Read = tuple["Document", str]  # a document and its source


def cheapest(step: Callable[[Document, str], object], pages: list[Read], rounds: int) -> list[float]:
    """Return for each page the CPU seconds of a step."""
    spent_s = []
    for document, source in pages:
        times_s = []
        for _ in range(rounds):
            began_s = time.thread_time()
            step(document, source)
            times_s.append(time.thread_time() - began_s)
        spent_s.append(min(times_s))
    return spent_s


def show(name: str, spent_s: list[float]) -> None:
    """Print one line of figures."""
    print(f"  {name:24}{sum(spent_s) / len(spent_s) * 1e6:10,.0f} µs on average{max(spent_s) * 1e6:12,.0f} µs at most")


def run(profile: Literal["small", "large"], count: int, rounds: int) -> None:
    """Measure one kind of page."""
    sources = [gzip.decompress(answer.body).decode("utf-8", "replace") for answer in make_pages(profile, count)]
    pages = [(parse(source, positions=False, allow_declarative_shadow_roots=False), source) for source in sources]
    print(f"{profile} pages: {sum(map(len, sources)) / count:,.0f} characters")
    for choice in get_args(Choice):
        show(choice, cheapest(text_finder(choice, markdown=False), pages, rounds))
        if choice != "balanced":
            show(f"{choice}, as Markdown", cheapest(text_finder(choice, markdown=True), pages, rounds))
    fast = text_finder("fast", markdown=False)
    texts = [(document, fast(document, source)) for document, source in pages]
    show("fingerprint", cheapest(lambda _, text: simhash(text), texts, rounds))
    url = "https://www.example.org/"
    anchors = cheapest(lambda document, _: find_anchors(document, url, "utf-8", has_base=False), pages, rounds)
    show("link graph", anchors)


def main(arguments: list[str]) -> None:
    """Measure both kinds of page."""
    parser = argparse.ArgumentParser(prog="python -m bench text", description=__doc__)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    run("small", given.pages * 5, given.rounds)
    run("large", given.pages, given.rounds)
