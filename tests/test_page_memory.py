"""How much memory the page processes may take, and what becomes of a page that takes more."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
from pathlib import Path

import pytest

from gossamer import metrics
from gossamer.page_process.process import PageProcess
from gossamer.page_process.settings import QUICK_MEMORY_BYTES, PageSettings
from gossamer.records import ParsedPage, ParsedSitemap, ParseFailed, Reason
from tests.parse.pages import answer
from tests.test_page_process import LINUX, assert_is, long_page, on_a_loop, page, until

pytestmark = LINUX

ROOMY = PageSettings(parse_memory_bytes=400_000_000, parse_deadline_s=30)
USUAL = PageSettings(parse_deadline_s=30)
LARGE = "<p>" * 700_000  # 66 MB: too much for the quick lane
TOO_LARGE = "<p>" * 2_000_000  # 190 MB: too much for both lanes


def memory_losses() -> float:
    """How many processes were replaced because a page took much memory."""
    return metrics.PAGE_PROCESS_REPLACEMENTS_TOTAL.labels("memory").value


@on_a_loop
async def test_a_page_that_takes_too_much_memory_for_the_quick_lane_is_read_in_the_slow_one() -> None:
    before = memory_losses()
    async with PageProcess(ROOMY, agent="gossamer", slice_s=99) as pages:
        large = asyncio.create_task(pages.read(answer(LARGE), site="bad", archive=True))
        good = [asyncio.create_task(pages.read(page(one), site=f"good {one}", archive=True)) for one in range(20)]
        for number, found in enumerate(await asyncio.gather(*good)):
            assert_is(found, number)
        found = await large
        assert isinstance(found, ParsedPage)
        assert (found.row.body_bytes, found.row.truncated) == (len(LARGE), False)
        await until(lambda: memory_losses() == before + 2)  # one of each lane: the memory is returned
        assert pages.replaced == 2


@on_a_loop
async def test_a_site_of_large_pages_stays_in_the_slow_lane_until_a_page_of_it_is_small() -> None:
    async with PageProcess(ROOMY, agent="gossamer", slice_s=99) as pages:
        for losses in (2, 3, 4):  # only its first page costs the quick lane a process
            assert isinstance(await pages.read(answer(LARGE), site="bad", archive=True), ParsedPage)
            await until(lambda: pages.replaced == losses)  # noqa: B023 - called at once
        for number in range(2):
            assert_is(await pages.read(page(number), site="bad", archive=True), number)
        assert not pages._costly
        assert pages.replaced == 4


@pytest.mark.parametrize("zipped", [False, True])
@on_a_loop
async def test_of_a_page_that_takes_too_much_memory_the_first_part_is_read(zipped: bool) -> None:
    body = b"<title>T</title><a href=/first>x</a>" + TOO_LARGE.encode() + b"<a href=/last>y</a>"
    fetched = answer(gzip.compress(body), headers=("Content-Encoding: gzip",)) if zipped else answer(body)
    async with PageProcess(USUAL, agent="gossamer", slice_s=99) as pages:
        found = await pages.read(fetched, site="bad", archive=True)
        assert isinstance(found, ParsedPage)
        assert found.row.truncated
        assert len(body) // 8 <= found.row.body_bytes < len(body)
        assert [link.url for link in found.links] == ["https://example.org/first"]
        assert fetched.body in gzip.decompress(found.archive[found.response_offset :])  # the archive has all of it


@on_a_loop
async def test_a_library_that_does_not_say_that_it_found_no_memory_costs_a_part_of_the_page() -> None:
    """turbohtml fails without an exception if the memory ends within `remove`, as it does at some of these lengths."""
    async with PageProcess(USUAL, agent="gossamer", slice_s=99) as pages:
        for templates in range(80_000, 110_000, 500):
            fetched = answer("<p>x" + "<template><select><option>" * templates)
            assert isinstance(await pages.read(fetched, site="bad", archive=True), ParsedPage)


@on_a_loop
async def test_a_page_of_which_no_part_fits_is_given_up_and_the_rest_are_read() -> None:
    formats = "".join(f"<p><b class={number}>" for number in range(8_000))  # each paragraph opens all of them again
    terms = PageSettings(parse_memory_bytes=16_000_000, parse_deadline_s=30)
    async with PageProcess(terms, agent="gossamer", slice_s=99) as pages:
        reads = [
            pages.read(answer(formats) if one == 3 else page(one), site=str(one), archive=True) for one in range(10)
        ]
        results = await asyncio.gather(*reads)
    failed = results.pop(3)
    assert isinstance(failed, ParseFailed)
    assert (failed.reason, failed.detail) == (Reason.PARSE_MEMORY, "took more than 24 MB of memory")
    for number, found in zip((0, 1, 2, *range(4, 10)), results, strict=True):
        assert_is(found, number)


@on_a_loop
async def test_of_a_sitemap_that_takes_too_much_memory_the_first_part_is_read() -> None:
    entry = "<url><loc>https://example.org/{}</loc><x>{}</x></url>"
    text = "<urlset>" + "".join(entry.format(number, "x" * 2_000) for number in range(24_000)) + "</urlset>"
    fetched = answer(gzip.compress(text.encode(), 1), "application/xml", headers=("Content-Encoding: gzip",))
    async with PageProcess(USUAL, agent="gossamer") as pages:
        found = await pages.read_sitemap(fetched, site="bad", archive=True)
        assert isinstance(found, ParsedSitemap)
        assert 1_000 < len(found.urls) < 24_000
        assert found.cut == "it is too long for a sitemap, or arrived incomplete"


@on_a_loop
async def test_pages_as_long_as_the_operator_allows_are_stored_whatever_they_take() -> None:
    body = b"word " * 4_000_000
    async with PageProcess(USUAL, agent="gossamer", max_body_bytes=len(body)) as pages:
        found = await pages.read(answer(body), archive=True)
        assert isinstance(found, ParsedPage)
        assert body in gzip.decompress(found.archive[found.response_offset :])


@on_a_loop
async def test_a_page_behind_a_large_one_is_not_blamed_for_the_end_of_the_process() -> None:
    async with PageProcess(ROOMY, agent="gossamer", slice_s=99) as pages:
        large = asyncio.create_task(pages.read(answer(LARGE), site="bad", archive=True))
        slow = asyncio.create_task(pages.read(long_page(150_000), site="good", archive=True))
        await until(lambda: pages.replaced and pages._quick.in_pipe)
        assert pages.pid is not None
        os.kill(pages.pid, signal.SIGKILL)
        assert isinstance(await large, ParsedPage)
        assert isinstance(await slow, ParsedPage)


@on_a_loop
async def test_large_pages_never_take_more_than_the_limits_of_both_lanes() -> None:
    async with PageProcess(USUAL, agent="gossamer", slice_s=99) as pages:
        assert pages.pid is not None
        assert isinstance(await pages.read(page(0), archive=True), ParsedPage)
        quick_bytes = peak_bytes(pages.pid)
        bomb = answer(gzip.compress(b"<p>" * 3_000_000, 1), headers=("Content-Encoding: gzip",))
        reads = [asyncio.create_task(pages.read(bomb, site=str(one), archive=True)) for one in range(10)]
        most_bytes = 0
        while not all(read.done() for read in reads):
            most_bytes = max(most_bytes, *(peak_bytes(lane.pid) for lane in (pages._quick, pages._slow)))
            await asyncio.sleep(0.005)  # the interval of samples
        assert all(isinstance(read.result(), ParsedPage) for read in reads)
    assert quick_bytes + QUICK_MEMORY_BYTES / 2 < most_bytes
    assert most_bytes < quick_bytes + USUAL.parse_memory_bytes + 16_000_000


def peak_bytes(pid: int | None) -> int:
    """The most memory that a process ever had; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
