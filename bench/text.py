"""How good each way to find the main text is, and what it costs; what a fingerprint and the link graph add.

    python -m bench text --pages 40 --rounds 3
    python -m bench text articles/ manuals/ --pages 10

Cost is CPU time per page of the simulated web (small: median 10 KB, large: mean 242 KB). What parses for itself is
timed with that; turbohtml's parse is needed for links anyway and not counted. Of several rounds the cheapest counts,
page by page. How good each is, the simulated web cannot tell: name folders of real pages (`bench/text_quality.py` says
which). `--side-by-side 10` also prints what each keeps of ten pages of every folder.
"""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from bench.parse import make_pages
from bench.text_quality import document_of, extractors, measure, pick, read_folder, show_scores, show_side_by_side
from gossamer.parse.elements import find_elements
from gossamer.parse.links import find_anchors
from gossamer.parse.simhash import simhash
from gossamer.parse.text import Choice, text_finder

if TYPE_CHECKING:
    from collections.abc import Callable

    from turbohtml import Document


def cheapest(step: Callable[[Document, str], object], sources: list[str], rounds: int) -> list[float]:
    """Return for each page the CPU seconds of a step. The document is parsed anew for each round: steps change it."""
    spent_s = []
    for source in sources:
        times_s = []
        for _ in range(rounds):
            document = document_of(source)
            began_s = time.thread_time()
            step(document, source)
            times_s.append(time.thread_time() - began_s)
        spent_s.append(min(times_s))
    return spent_s


def show(name: str, spent_s: list[float]) -> None:
    """Print one line of figures."""
    print(f"  {name:24}{sum(spent_s) / len(spent_s) * 1e6:10,.0f} µs on average{max(spent_s) * 1e6:12,.0f} µs at most")


def run(profile: Literal["small", "large"], count: int, rounds: int) -> None:
    """Measure one kind of page of the simulated web."""
    sources = [gzip.decompress(answer.body).decode("utf-8", "replace") for answer in make_pages(profile, count)]
    print(f"{profile} pages: {sum(map(len, sources)) / count:,.0f} characters")
    for choice in get_args(Choice):
        show(choice, cheapest(text_finder(choice, markdown=False), sources, rounds))
        if choice != "balanced":
            show(f"{choice}, as Markdown", cheapest(text_finder(choice, markdown=True), sources, rounds))
    show("main_text() alone", cheapest(lambda document, _: document.main_text(), sources, rounds))
    fast = text_finder("fast", markdown=False)
    texts = {source: fast(document_of(source), source) for source in sources}
    show("fingerprint", cheapest(lambda _, source: simhash(texts[source]), sources, rounds))
    url = "https://www.example.org/"
    anchors = cheapest(
        lambda document, _: find_anchors(find_elements(document).anchors, url, "utf-8", has_base=False), sources, rounds
    )
    show("link graph", anchors)


def main(arguments: list[str]) -> None:
    """Measure the quality on the pages of each folder, and the cost on both kinds of simulated page."""
    parser = argparse.ArgumentParser(prog="python -m bench text", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="real pages: articles with their text, or manuals")
    parser.add_argument("--most", type=int, default=400, help="of the held-out pages of a folder")
    parser.add_argument("--side-by-side", type=int, default=0, metavar="PAGES", help="of each folder, as a table")
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    ways = extractors() if given.folders else {}
    for folder in given.folders:
        samples = read_folder(folder, given.most)
        show_scores(folder, samples, measure(samples, ways))
        if given.side_by_side:
            show_side_by_side(pick(samples, given.side_by_side), ways)
    run("small", given.pages * 5, given.rounds)
    run("large", given.pages, given.rounds)
