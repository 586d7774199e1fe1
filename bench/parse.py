"""What reading a page costs, step by step, and what the page process adds: CPU per page.

    python -m bench parse --pages 400 --rounds 5

Pages are those of the simulated web (small: median 10 KB, large: mean 242 KB), gzipped as servers send them. Steps are
timed while pages are read, so that each finds its data in the caches as it would in a crawl. Of several rounds the
cheapest counts. On a machine that does other work too, the figure of the page process is higher than the sum.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import os
import time
from contextlib import ExitStack
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import brotli
import uvloop
import zstandard

from gossamer.inflate import inflate
from gossamer.page_process.frames import parsed_reply
from gossamer.page_process.process import PageProcess
from gossamer.page_process.settings import PageSettings
from gossamer.parse import page
from gossamer.parse.page import read_page
from gossamer.parse.text import fast_text
from gossamer.records import Fetched, ParsedPage
from gossamer.store.warc import encode_around_body
from gossamer_simweb.plan import WebPlan
from gossamer_simweb.render import render
from gossamer_simweb.spec import plain_web

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

CAP_BYTES = PageSettings().max_inflated_bytes
# The functions that `read_page` calls for a page, by the name of their step.
STEPS = {
    "inflate": "inflate", "decode": "decode", "parse": "parse", "find_elements": "find elements",
    "find_wishes": "wishes", "find_hrefs": "find links", "resolve_links": "normalise links", "find_dates": "dates",
    "declared_language": "declared language", "language_of": "detect language", "simhash": "fingerprint",
    "block_in_page": "block pages", "block_in_head": "block pages", "read_head": "headers",
}  # fmt: skip


def make_pages(profile: Literal["small", "large"], count: int) -> list[Fetched]:
    """Return answers as a server would send them."""
    web = WebPlan(plain_web(profile=profile, sites=count // 20 + 1, pages=20))
    planned = [one for site in range(web.spec.sites) for one in web.site(site).numbered]
    answers = []
    for one in planned[:count]:
        body = render(web, one)
        data = gzip.compress(body.data, 6)
        head = (
            "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nConnection: close\r\n"
            f"Content-Type: {body.content_type}\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        answers.append(
            Fetched(
                url=one.url,
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


class Steps:
    """Times steps that may contain others, each without those."""

    def __init__(self) -> None:
        self.spent_s: dict[str, float] = {}
        self._inner_s = [0.0]  # of the steps that run

    def timed(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same, and is timed."""

        def run(*arguments: Any, **named: Any) -> Any:
            self._inner_s.append(0.0)
            began_s = time.thread_time()
            result = step(*arguments, **named)
            whole_s = time.thread_time() - began_s
            self.spent_s[name] = self.spent_s.get(name, 0.0) + whole_s - self._inner_s.pop()
            self._inner_s[-1] += whole_s
            return result

        return run


def time_steps(answers: list[Fetched], rounds: int) -> dict[str, float]:
    """Return the CPU seconds of each step for all pages, in its cheapest round. They add up to reading the pages."""
    with ExitStack() as patches:
        steps = Steps()
        for function, name in STEPS.items():
            timed = steps.timed(name, getattr(page, function))
            patches.enter_context(patch.object(page, function, timed))
        find_text = steps.timed("text", fast_text)
        read, encode = steps.timed("the rest", read_page), steps.timed("archive record", encode_around_body)
        reply = steps.timed("reply", lambda parsed, exchange: parsed_reply(parsed, exchange))
        cheapest: dict[str, float] = {}
        for _ in range(rounds):
            steps.spent_s.clear()
            for answer in answers:
                parsed = read(answer, agent="gossamer", max_bytes=CAP_BYTES, find_text=find_text)
                reply(parsed, encode(answer))
            cheapest = {name: min(spent_s, cheapest.get(name, inf)) for name, spent_s in steps.spent_s.items()}
        return cheapest


def time_whole(answers: list[Fetched]) -> list[list[float]]:
    """Return for each page the CPU seconds of reading it and encoding its record, in this process."""
    spent_s = []
    for answer in answers:
        began_s = time.thread_time()
        read_page(answer, agent="gossamer", max_bytes=CAP_BYTES)
        encode_around_body(answer)
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
    for name, spent_s in time_steps(answers, rounds).items():
        show(name, spent_s / count)
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
