"""How much of real pages each way to find the main text keeps: pages in folders that the operator names.

A folder with `ground-truth.json` and `html/ID.html.gz` holds articles with their text, as the article-extraction
benchmark of Zyte has them. Every other folder is searched for HTML files, plain or gzipped: manuals, for example. Only
a third of each, chosen by a hash of the names, is measured: it was held out while the rules were tuned.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from turbohtml import parse

from gossamer.errors import GossamerError
from gossamer.parse.charset import decode
from gossamer.parse.text import text_finder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from turbohtml import Document

Extract = Callable[["Document", str], str]
Words = Counter[tuple[str, ...]]

SHINGLE: Final = 4  # words
LEAST_BYTES, MOST_BYTES = 1_500, 400_000  # of a file: smaller ones are redirects, larger ones indexes
LOST: Final = 0.25  # of the words that both libraries keep: a page below this is lost
LEAST_AGREED: Final = 200  # such words, for a page to count
TOO_MUCH: Final = 0.1  # of a text may come from navigation
FURNITURE: Final = "nav, header, footer, aside"
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A held-out page, and its true text if that is known."""

    name: str
    source: str
    truth: str | None = None
    label: str  # for a reader: the site of an article, the package of a manual and its file


@dataclass(slots=True)
class Score:
    """What one way to find the text reached on a set of pages."""

    parts: list[tuple[float, float, float]] = field(default_factory=list)  # of articles: right, too much, missing
    counted: int = 0  # manuals with enough words that both libraries keep
    lost: list[str] = field(default_factory=list)
    noisy: list[str] = field(default_factory=list)
    cpu_s: float = 0.0

    def f1(self) -> tuple[float, float, float]:
        """Return F1, precision and recall over all articles, each of which counts the same."""
        right, too_much, missing = (sum(part[at] for part in self.parts) for at in range(3))
        precision, recall = right / (right + too_much or 1), right / (right + missing or 1)
        return 2 * precision * recall / (precision + recall or 1), precision, recall


def is_held_out(name: str) -> bool:
    """Return whether a page is in the third that no rule was tuned with."""
    return int(sha256(name.encode()).hexdigest(), 16) % 3 == 0


def document_of(source: str) -> Document:
    """Parse a page as a crawl does."""
    document = parse(source, positions=False, allow_declarative_shadow_roots=False)
    document.remove("template:not([shadowrootmode])")
    return document


def extractors() -> dict[str, Extract]:
    """Return every way to find the text: the choices of a crawl, then the libraries alone."""
    found: dict[str, Extract] = {"fast": text_finder("fast", markdown=False)}
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    try:
        found["balanced"] = text_finder("balanced", markdown=False)
        found["best"] = text_finder("best", markdown=False)
        from resiliparse.extract.html2text import extract_plain_text
        from trafilatura import extract
    except (GossamerError, ImportError) as error:
        raise SystemExit(f"{error}\nThe libraries say which words of a manual must be there.") from None
    found["resiliparse alone"] = lambda _, source: str(extract_plain_text(source, main_content=True, links=False))
    found["trafilatura alone"] = lambda _, source: extract(source, include_comments=False) or ""
    found["main_text() alone"] = lambda document, _: document.main_text() or document.to_text()
    return found


def read_folder(folder: Path, most: int) -> list[Sample]:
    """Return the held-out pages of a folder, at most so many, chosen by a hash of their names."""
    if (truths := folder / "ground-truth.json").is_file():
        known = json.loads(truths.read_bytes())
        return [
            Sample(
                name=name,
                source=_source_of(folder / "html" / f"{name}.html.gz"),
                truth=str(known[name]["articleBody"]),
                label=str(known[name].get("url", name)).partition("://")[2].partition("/")[0],
            )
            for name in sorted(filter(is_held_out, known))[:most]
        ]
    names = {_name_of(path, folder): path for path in folder.rglob("*") if _is_page(path)}
    if not names:
        raise SystemExit(f"{folder} has no HTML files: name a folder of pages, or of articles with ground-truth.json.")
    chosen = sorted(filter(is_held_out, names), key=lambda name: sha256(name.encode()).digest())[:most]
    return [Sample(name=name, source=_source_of(names[name]), label=_label_of(name)) for name in chosen]


def _name_of(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)).replace("/", "__")


def _label_of(name: str) -> str:
    package, *_, file = name.split("__")
    return f"{package}: {file}" if package != file else file


def _is_page(path: Path) -> bool:
    is_html = path.name.endswith((".html", ".htm", ".xhtml", ".html.gz"))
    return is_html and path.is_file() and not path.is_symlink() and LEAST_BYTES < path.stat().st_size < MOST_BYTES


def _source_of(path: Path) -> str:
    body = path.read_bytes()
    return decode(gzip.decompress(body) if path.name.endswith(".gz") else body, "").text


def words_of(text: str, size: int = 1) -> Words:
    """Return the sequences of so many words of a text, with how often each occurs."""
    words = _WORD.findall(text)
    return Counter(tuple(words[at : at + size]) for at in range(max(1, len(words) - size + 1))) if words else Counter()


def share(wanted: Words, text: Words) -> float:
    """Return how much of some words is in a text."""
    return (wanted & text).total() / (wanted.total() or 1)


def in_navigation(source: str) -> Words:
    """Return the shingles that a page has in its navigation, and nowhere else."""
    document = document_of(source)
    document.remove("script, style, template, noscript")
    found: Words = Counter()
    for element in (elements := document.select(FURNITURE)):
        if element.parent is None or element.parent.closest(FURNITURE) is None:
            found += words_of(element.to_text(), SHINGLE)
    if not found:
        return found
    for element in elements:
        element.decompose()
    rest = words_of((document.find("body") or document).to_text(), SHINGLE)
    return Counter({shingle: times for shingle, times in found.items() if shingle not in rest})


def measure(samples: Sequence[Sample], ways: dict[str, Extract]) -> dict[str, Score]:
    """Return what every way to find the text reaches on these pages."""
    scores = {name: Score() for name in ways}
    for sample in samples:
        texts = dict(_texts(sample, ways, scores))
        if sample.truth is not None:
            for name, text in texts.items():
                scores[name].parts.append(_compare(sample.truth, text))
        else:
            _judge_manual(sample, texts, scores)
    return scores


def _texts(sample: Sample, ways: dict[str, Extract], scores: dict[str, Score]) -> Iterator[tuple[str, str]]:
    for name, find in ways.items():
        document = document_of(sample.source)  # finding the text changes it
        began_s = time.thread_time()
        text = find(document, sample.source)
        scores[name].cpu_s += time.thread_time() - began_s
        yield name, text


def _compare(truth: str, text: str) -> tuple[float, float, float]:
    wanted, found = words_of(truth, SHINGLE), words_of(text, SHINGLE)
    right = (wanted & found).total()
    total = wanted.total() + found.total() - right
    return (right / total, (found.total() - right) / total, (wanted.total() - right) / total) if total else (0, 0, 0)


def _judge_manual(sample: Sample, texts: dict[str, str], scores: dict[str, Score]) -> None:
    agreed = words_of(texts["resiliparse alone"]) & words_of(texts["trafilatura alone"])
    navigation = in_navigation(sample.source)
    for name, text in texts.items():
        if agreed.total() >= LEAST_AGREED:
            scores[name].counted += 1
            if share(agreed, words_of(text)) < LOST:
                scores[name].lost.append(sample.name)
        if share(words_of(text, SHINGLE), navigation) > TOO_MUCH:
            scores[name].noisy.append(sample.name)


def show_scores(folder: Path, samples: Sequence[Sample], scores: dict[str, Score]) -> None:
    """Print one line for each way to find the text."""
    count = len(samples)
    is_manual = samples[0].truth is None
    print(f"{folder.name}: {count} pages held out, {sum(len(each.source) for each in samples) / count:,.0f} characters")
    for name, score in scores.items():
        if is_manual:
            said = f"lost {len(score.lost):4} of {score.counted}, too much navigation {len(score.noisy):4} of {count}"
        else:
            said = "F1 {:.3f}, precision {:.3f}, recall {:.3f}".format(*score.f1())
        print(f"  {name:20}{said}, {score.cpu_s / count * 1e3:8.2f} ms", flush=True)


def pick(samples: Sequence[Sample], most: int) -> list[Sample]:
    """Return some pages of enough words, each from another site or manual, from all over the samples."""
    found: dict[str, Sample] = {}
    for sample in samples:
        if words_of(document_of(sample.source).to_text()).total() >= LEAST_AGREED:
            found.setdefault(sample.label.partition(":")[0], sample)
    every = max(1, len(found) // most)
    return [*found.values()][::every][:most]


def show_side_by_side(samples: Sequence[Sample], ways: dict[str, Extract]) -> None:
    """Print a Markdown table: what every way keeps of each page."""
    names = ["fast", "resiliparse alone", "trafilatura alone"]
    print(f"| page | {' | '.join(names)} |\n|---|" + "---|" * len(names))
    for sample in samples:
        describe = _about_manual(sample) if sample.truth is None else _about_article(sample.truth)
        cells = [describe(ways[name](document_of(sample.source), sample.source)) for name in names]
        print(f"| {sample.label} | {' | '.join(cells)} |", flush=True)


def _about_article(truth: str) -> Callable[[str], str]:
    """Return a function that says how much of an article is in a text, and how much of the text is not the article."""
    wanted = words_of(truth, SHINGLE)

    def describe(text: str) -> str:
        found = words_of(text, SHINGLE)
        return f"{share(wanted, found):.0%} of it, {1 - share(found, wanted):.0%} else"

    return describe


def _about_manual(sample: Sample) -> Callable[[str], str]:
    """Return a function that says how much of the words of a page, its code and its tables is in a text."""
    document, navigation = document_of(sample.source), in_navigation(sample.source)
    document.remove(f"script, style, noscript, {FURNITURE}")
    parts = {
        "text": words_of((document.find("body") or document).to_text()),
        "code": words_of(" ".join(element.text for element in document.select("pre"))),
        "tables": words_of(" ".join(element.text for element in document.select("td, th"))),
    }

    def describe(text: str) -> str:
        found = words_of(text)
        said = [f"{part} {share(words, found):.0%}" for part, words in parts.items() if words.total() >= 20]
        noise = share(words_of(text, SHINGLE), navigation)
        return ", ".join([*said, *([f"{noise:.0%} navigation"] if noise >= 0.005 else [])])

    return describe
