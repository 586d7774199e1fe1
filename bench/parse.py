"""What reading a page costs, step by step, and what the page process adds: CPU per page.

    python -m bench parse --pages 400 --rounds 5

Pages are those of the simulated web (small: median 10 KB, large: mean 242 KB), gzipped as servers send them. Steps are
timed in the order in which a page goes through them, so that each finds its data in the caches as it would in a crawl.
Of several rounds the cheapest counts, page by page; for the process, of which only the sum is known, as a whole. On a
machine that does other work too, that sum is higher.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import os
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import brotli
import uvloop
import zstandard
from turbohtml import parse
from xxhash import xxh3_128_digest

from gossamer.inflate import Inflated, inflate
from gossamer.page_process.process import PageProcess
from gossamer.page_process.settings import PageSettings
from gossamer.parse.charset import decode
from gossamer.parse.head import read_head
from gossamer.parse.links import base_of, canonical_of, find_hrefs, refresh_of, resolve_links
from gossamer.parse.page import read_page
from gossamer.parse.wishes import find_wishes
from gossamer.records import Fetched, ParsedPage
from gossamer.store.warc import encode_exchange
from gossamer_simweb.plan import WebPlan
from gossamer_simweb.render import render
from gossamer_simweb.spec import plain_web

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

CAP_BYTES = PageSettings().max_inflated_bytes
STEPS = ("inflate", "decode", "parse", "find links", "normalise links", "text", "the rest", "archive record")


def make_pages(profile: Literal["small", "large"], count: int) -> list[Fetched]:
    """Return answers as a server would send them."""
    web = WebPlan(plain_web(profile=profile, sites=count // 20 + 1, pages=20))
    planned = [page for site in range(web.spec.sites) for page in web.site(site).numbered]
    answers = []
    for page in planned[:count]:
        body = render(web, page)
        data = gzip.compress(body.data, 6)
        head = (
            "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nConnection: close\r\n"
            f"Content-Type: {body.content_type}\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        answers.append(
            Fetched(
                url=page.url,
                status=200,
                head=head.encode(),
                body=data,
                address="127.0.0.1",
                request_head=b"GET / HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n",
                started_at=1_767_225_600.0,
                duration_s=0.1,
            )
        )
    return answers


def time_steps(answers: list[Fetched]) -> list[list[float]]:
    """Return for each page the CPU seconds of each step."""
    spent_s = []
    for answer in answers:
        head = read_head(answer.head)
        marks = [time.thread_time()]
        inflated = inflate(answer.body, head.encodings, max_bytes=CAP_BYTES)
        assert isinstance(inflated, Inflated)
        marks.append(time.thread_time())
        source, charset = decode(inflated.body, head.charset)
        marks.append(time.thread_time())
        document = parse(source, positions=False, allow_declarative_shadow_roots=False)
        marks.append(time.thread_time())
        hrefs = find_hrefs(document, has_base=False)
        marks.append(time.thread_time())
        resolve_links(hrefs, answer.url, charset)
        marks.append(time.thread_time())
        document.main_text()
        marks.append(time.thread_time())
        metas = document.select("meta")
        find_wishes(head, metas, "gossamer")
        base_of(document, answer.url)
        canonical_of(document, answer.url)
        refresh_of(metas, "", answer.url, answer.url)
        xxh3_128_digest(inflated.body)
        del document, metas
        marks.append(time.thread_time())
        encode_exchange(answer)
        marks.append(time.thread_time())
        spent_s.append([after_s - before_s for before_s, after_s in pairwise(marks)])
    return spent_s


def time_whole(answers: list[Fetched]) -> list[list[float]]:
    """Return for each page the CPU seconds of reading it and encoding its record, in this process."""
    spent_s = []
    for answer in answers:
        began_s = time.thread_time()
        read_page(answer, agent="gossamer", max_bytes=CAP_BYTES)
        encode_exchange(answer)
        spent_s.append([time.thread_time() - began_s])
    return spent_s


def time_inflate(encoded: list[bytes], name: str) -> list[list[float]]:
    """Return for each body the CPU seconds of inflating it."""
    spent_s = []
    for body in encoded:
        began_s = time.thread_time()
        inflate(body, name, max_bytes=CAP_BYTES)
        spent_s.append([time.thread_time() - began_s])
    return spent_s


def process_cpu_s(pid: int) -> float:
    """Return the CPU seconds that another process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def time_process(answers: list[Fetched], rounds: int) -> tuple[float, float, float]:
    """Return the CPU seconds of the page process and of the worker, and the wall seconds, for all pages."""
    measured = []
    async with PageProcess(PageSettings(), agent="gossamer") as pages:
        await pages.read(answers[0], archive=True)
        assert pages.pid is not None
        for _ in range(rounds):
            child_s, worker_s, wall_s = process_cpu_s(pages.pid), time.process_time(), time.perf_counter()
            for found in await asyncio.gather(*(pages.read(answer, archive=True) for answer in answers)):
                assert isinstance(found, ParsedPage)
            child_s = process_cpu_s(pages.pid) - child_s
            measured.append((child_s, time.process_time() - worker_s, time.perf_counter() - wall_s))
    return min(measured)


def cheapest(measure: Callable[[], list[list[float]]], rounds: int) -> list[float]:
    """Return the mean over the pages of what each step took in the round that was cheapest for that page and step."""
    by_page = zip(*(measure() for _ in range(rounds)), strict=True)
    least = [[min(times) for times in zip(*page, strict=True)] for page in by_page]
    return [sum(step) / len(least) for step in zip(*least, strict=True)]


def show(name: str, spent_s: float) -> None:
    """Print one line of figures."""
    print(f"  {name:32}{spent_s * 1e6:8.0f} µs")


def run(profile: Literal["small", "large"], count: int, rounds: int) -> None:
    """Measure one kind of page."""
    answers = make_pages(profile, count)
    bodies = [gzip.decompress(answer.body) for answer in answers]
    plain_kb, sent_kb = (sum(map(len, all_of)) / count / 1e3 for all_of in (bodies, [a.body for a in answers]))
    print(f"{profile} pages: {plain_kb:.1f} KB, {sent_kb:.1f} KB gzipped")
    gc.collect()
    gc.freeze()
    gc.disable()
    steps = cheapest(lambda: time_steps(answers), rounds)
    for name, spent_s in zip(STEPS, steps, strict=True):
        show(name, spent_s)
    show("all of it", *cheapest(lambda: time_whole(answers), rounds))
    child_s, worker_s, wall_s = uvloop.run(time_process(answers, rounds))
    show("page process, with its pipe", child_s / count)
    show("worker's side of the pipe", worker_s / count)
    print(f"  {count / wall_s:,.0f} pages a second through one page process")
    coders: dict[str, Callable[[bytes], bytes]] = {
        "br": lambda body: brotli.compress(body, quality=5),
        "zstd": zstandard.ZstdCompressor(level=3).compress,
    }
    for name, encode in coders.items():
        encoded = [encode(body) for body in bodies]
        show(f"inflate {name} instead of gzip", *cheapest(partial(time_inflate, encoded, name), rounds))
    gc.enable()


def main(arguments: list[str]) -> None:
    """Measure both kinds of page."""
    parser = argparse.ArgumentParser(prog="python -m bench parse", description=__doc__)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    run("small", given.pages * 5, given.rounds)
    run("large", given.pages, given.rounds)
