"""Pages are read in a separate process; whatever kills it costs at most one page."""

from __future__ import annotations

import asyncio
import gzip
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brotli
import psutil
import pytest
import uvloop
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.page_process import lane, starting
from gossamer.page_process.frames import LENGTH_BYTES, Reply, pack_page, unpack_page, unpack_reply
from gossamer.page_process.process import MAX_COSTLY_PAGES, PAGES_IN_PIPE, PageProcess
from gossamer.page_process.settings import PageSettings
from gossamer.parse.page import read_page
from gossamer.parse.simhash import simhash
from gossamer.parse.text import MAX_SLOW_CHARS
from gossamer.records import (
    Anchor,
    Fetched,
    ParsedPage,
    ParsedRobots,
    ParsedSitemap,
    ParseFailed,
    Reason,
    RequestKind,
    Truncation,
)
from gossamer.rules.hosts import is_long_robots, parse_answer
from gossamer.waste import LEAST_WASTE, NetworkLedger
from tests.parse.pages import answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SETTINGS = PageSettings()
LONG = 100_000_000  # longer than any body here, and memory for all of them
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
PARAGRAPHS = "<p>A paragraph, long enough, with commas, to be taken for the main text of its page.</p>" * 50


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test on the loop that a crawl uses."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        uvloop.run(asyncio.wait_for(test(*arguments, **named), 300))

    return run


def page(number: int, size_bytes: int = 1_000) -> Fetched:
    """A page that differs from every other."""
    filler = random.Random(number).randbytes(size_bytes // 2).hex()
    return answer(f"<title>Page {number}</title><a href=/{number}>x</a><p>{filler}", headers=(f"X-Number: {number}",))


def long_page(elements: int) -> Fetched:
    """A page that takes about a third of a microsecond for each of its elements."""
    return answer(f"<article>{PARAGRAPHS}{'<i>x</i>' * elements}</article>")


def assert_is(found: ParsedPage | ParseFailed, number: int) -> None:
    assert isinstance(found, ParsedPage), found
    assert found.row.title == f"Page {number}"
    assert [link.url for link in found.links] == [f"https://example.org/{number}"]
    assert f"X-Number: {number}\r\n".encode() in gzip.decompress(found.archive[found.response_offset :])


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - there is no event for what other processes do
        await asyncio.sleep(0.002)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def cpu_s(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid: int) -> dict[int, str]:
    """The open files of a process."""
    return {int(link.name): str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}


@pytest.mark.parametrize("run", [uvloop.run, asyncio.run])
def test_a_page_is_read_as_it_would_be_in_the_worker(run: Callable[[Any], None]) -> None:
    async def read() -> None:
        fetched = answer(
            gzip.compress(f"<html lang=de><title>Größe</title><a href=x rel=nofollow>{PARAGRAPHS}<a href=/y>".encode()),
            "text/html; charset=utf-8",
            headers=("Content-Encoding: gzip", "X-Robots-Tag: noai"),
        )
        async with PageProcess(SETTINGS, agent="Gossamer") as pages:
            found = await pages.read(fetched, archive=True)
        expected = read_page(fetched, agent="Gossamer", max_bytes=SETTINGS.max_inflated_bytes)
        assert isinstance(found, ParsedPage)
        assert isinstance(expected, ParsedPage)
        assert found._replace(archive=b"", response_offset=0, payload_digest="") == expected
        request, response = (
            gzip.decompress(found.archive[: found.response_offset]),
            gzip.decompress(found.archive[found.response_offset :]),
        )
        assert fetched.request_head in request
        assert fetched.head + fetched.body in response
        assert f"WARC-Payload-Digest: {found.payload_digest}\r\n".encode() in response

    run(read())


SHORT_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))  # no URL or address has a NUL


@given(
    st.builds(
        Fetched,
        url=SHORT_TEXTS,
        status=st.integers(0, 999),
        head=st.binary(),
        body=st.binary(),
        truncated=st.sampled_from([None, *Truncation]),
        type_refused=st.booleans(),
        links_only=st.booleans(),
        address=SHORT_TEXTS,
        request_head=st.binary(),
        started_at=st.floats(allow_nan=False),
        duration_s=st.floats(allow_nan=False),
    ),
    st.booleans(),
)
def test_any_answer_reaches_the_process_as_it_is(fetched: Fetched, archive: bool) -> None:
    assert unpack_page(b"".join(pack_page(fetched, kind=RequestKind.PAGE, archive=archive))[LENGTH_BYTES:]) == (
        fetched,
        RequestKind.PAGE,
        archive,
    )


@on_a_loop
async def test_pages_of_all_sizes_come_through() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        sizes = [1, 5_000_000, 10, 300_000, 260_000, 1, 3_000_000, 200_000, 5, 100_000]
        results = await asyncio.gather(
            *(pages.read(page(number, size), archive=True) for number, size in enumerate(sizes * 3))
        )
    for number, result in enumerate(results):
        assert_is(result, number)


@on_a_loop
async def test_no_archive_is_made_unless_asked_for() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        found = await pages.read(page(1), archive=False)
    assert isinstance(found, ParsedPage)
    assert (found.archive, found.response_offset, found.payload_digest) == (b"", 0, "")


@on_a_loop
async def test_a_truncated_answer_is_marked_in_its_record() -> None:
    fetched = page(1)
    object.__setattr__(fetched, "truncated", Truncation.LENGTH)
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        found = await pages.read(fetched, archive=True)
    assert isinstance(found, ParsedPage)
    assert b"WARC-Truncated: length\r\n" in gzip.decompress(found.archive[found.response_offset :])


@on_a_loop
async def test_of_a_noindex_page_only_its_links_come_back() -> None:
    body = "<title>Secret</title><meta name=Robots content=NOINDEX><a href=/x>more</a><p>Secrets"
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        found = await pages.read(answer(body), archive=True)
        named = await pages.read(answer(body.replace("Robots", "Gossamer")), archive=True)
    assert isinstance(found, ParsedPage)
    assert found.noindex
    assert (found.row.title, found.row.text, found.archive) == ("", "", b"")
    assert [link.url for link in found.links] == ["https://example.org/x"]
    assert isinstance(named, ParsedPage)
    assert named.noindex


@on_a_loop
async def test_the_process_looks_for_what_the_settings_ask_for() -> None:
    fetched = answer(f"<article><h1>Title</h1>{PARAGRAPHS}<a rel=nofollow href=/x>more</a></article>")
    async with PageProcess(PageSettings(text="best", markdown=True, links=True), agent="gossamer") as pages:
        found = await pages.read(fetched, archive=True)
        secret = await pages.read(answer("<meta name=robots content=noindex><a href=/x>more</a>"), archive=True)
    assert isinstance(found, ParsedPage)
    assert found.row.text.startswith("# Title\n\nA paragraph")
    assert found.row.simhash == simhash(found.row.text)
    assert found.anchors == [Anchor("https://example.org/x", "more", "nofollow")]
    assert isinstance(secret, ParsedPage)
    assert (secret.row.simhash, secret.anchors) == (0, [])
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        found = await pages.read(fetched, archive=True)
    assert isinstance(found, ParsedPage)
    assert found.row.text.startswith("Title\n\nA paragraph")
    assert found.anchors == []


@on_a_loop
async def test_the_slow_ones_read_the_largest_page_they_are_given_within_the_deadline() -> None:
    source = f"<article><h1>Title</h1>{PARAGRAPHS}</article>" * 2_000
    fetched = answer(source[:MAX_SLOW_CHARS])
    for text in ("balanced", "best"):
        async with PageProcess(PageSettings(text=text), agent="gossamer") as pages:
            found = await pages.read(fetched, archive=False)
        assert isinstance(found, ParsedPage), found
        assert "A paragraph" in found.row.text


@on_a_loop
async def test_two_thousand_pages_come_back_each_to_whom_it_belongs() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        pid, most_in_pipe = pages.pid, 0

        async def read(number: int) -> None:
            nonlocal most_in_pipe
            found = await pages.read(page(number, 40_000), archive=True)
            assert_is(found, number)
            most_in_pipe = max(most_in_pipe, len(pages._quick.in_pipe))

        async with asyncio.TaskGroup() as readers:
            for number in range(2_000):
                readers.create_task(read(number))
        assert pages.pending == 0
        assert pages.pid == pid
        assert most_in_pipe == PAGES_IN_PIPE


ZEROS = b"\0" * (1 << 26)
HOSTILE: dict[str, Callable[[], Fetched]] = {
    "nested divs": lambda: answer("<div>" * 100_000),
    "nested tables": lambda: answer("<table><tr><td>" * 30_000),
    "unclosed formatting": lambda: answer("<b><i><u><s><p>" * 50_000),
    "misnested formatting": lambda: answer("<b><p>" * 50_000 + "</b>" * 50_000),
    "an attribute flood": lambda: answer(f"<p {' '.join(f'a{n}=1' for n in range(200_000))}>"),
    "one huge attribute": lambda: answer(f'<a href="{"x" * 4_000_000}">'),
    "a huge table": lambda: answer("<table>" + "<tr><td>x<td>y" * 100_000),
    "huge spans": lambda: answer("<table>" + "<tr><td colspan=1000 rowspan=65534>x" * 5_000),
    "entities": lambda: answer("&CounterClockwiseContourIntegral;&#x10FFFF;&#0;&bogus;" * 50_000),
    "links": lambda: answer("".join(f"<a href=/{n}>" for n in range(200_000))),
    "templates": lambda: answer("<template>" * 50_000),
    "selects": lambda: answer("<select><option>" * 50_000),
    "comments": lambda: answer("<!--" * 500_000),
    "50 MB of text": lambda: answer(b"word " * 10_000_000),
    "50 MB of plain text": lambda: answer(b"word " * 10_000_000, "text/plain"),
    "angle brackets": lambda: answer("<" * 1_000_000),
    "zeros": lambda: answer(b"\0" * 1_000_000),
    "noise": lambda: answer(random.Random(1).randbytes(1_000_000)),
    "noise said to be UTF-8": lambda: answer(random.Random(2).randbytes(1_000_000), "text/html; charset=utf-8"),
    "UTF-16 without a mark": lambda: answer(f"<title>x</title>{PARAGRAPHS}".encode("utf-16le")),
    "half of UTF-16": lambda: answer(b"\xff\xfe" + b"\x00\xd8" * 100_000),
    "a gzip bomb": lambda: answer(gzip.compress(ZEROS), headers=("Content-Encoding: gzip",)),
    "a deflate bomb": lambda: answer(zlib.compress(ZEROS), headers=("Content-Encoding: deflate",)),
    "a brotli bomb": lambda: answer(brotli.compress(ZEROS, quality=4), headers=("Content-Encoding: br",)),
    "a zstd bomb": lambda: answer(zstandard.compress(ZEROS), headers=("Content-Encoding: zstd",)),
    "broken gzip": lambda: answer(b"\x1f\x8b" + random.Random(3).randbytes(9_999), headers=("Content-Encoding: gzip",)),
    "headers of noise": lambda: answer("x", "\0\xff;charset=\x80", headers=("Content-Encoding: \xff", "Refresh: ,:,:")),
}  # fmt: skip


@on_a_loop
async def test_hostile_pages_cost_no_more_than_themselves() -> None:
    # Each takes a third of a second at most; the deadline leaves room for slow machines.
    async with PageProcess(
        PageSettings(parse_deadline_s=5), agent="gossamer", max_body_bytes=LONG, slice_s=99
    ) as pages:
        names = [*HOSTILE]
        reads = []
        for number, name in enumerate(names):
            reads += [pages.read(HOSTILE[name](), archive=True), pages.read(page(number), archive=True)]
        results = await asyncio.gather(*reads)
        for number, good in enumerate(results[1::2]):
            assert_is(good, number)
        failed = {
            name: bad.reason for name, bad in zip(names, results[::2], strict=True) if isinstance(bad, ParseFailed)
        }
        assert failed == {"broken gzip": Reason.BAD_ENCODING, "headers of noise": Reason.BAD_ENCODING}
        assert pages.replaced <= 1, "the heap that they leave together may be too large for the next one"


@on_a_loop
async def test_a_page_that_takes_too_long_is_given_up_and_the_rest_are_read() -> None:
    slow = long_page(1_000_000)
    async with PageProcess(
        PageSettings(parse_deadline_s=0.1), agent="gossamer", max_body_bytes=LONG, slice_s=99
    ) as pages:
        first = await pages.read(page(0), archive=True)
        results = await asyncio.gather(
            *(pages.read(slow if number == 3 else page(number), archive=True) for number in range(10))
        )
        assert pages.replaced == 1
    assert_is(first, 0)
    failed = results[3]
    assert isinstance(failed, ParseFailed)
    assert failed.reason is Reason.PARSE_DEADLINE
    assert failed.detail == "took more than 0.1 s of processor time"
    for number, result in enumerate(results):
        if number != 3:
            assert_is(result, number)


def costly(address: str = "") -> Fetched:
    """A page that takes several slices of the tests below."""
    return replace(long_page(300_000), address=address)


@LINUX
@on_a_loop
async def test_pages_behind_a_costly_one_wait_for_a_slice_and_the_costly_one_is_read_all_the_same() -> None:
    async with PageProcess(
        PageSettings(parse_deadline_s=30), agent="gossamer", max_body_bytes=LONG, slice_s=0.05
    ) as pages:
        assert_is(await pages.read(page(0), site="good", archive=True), 0)
        long = long_page(1_000_000)  # three of them take longer than a hundred small ones, also on a busy machine
        slow = [asyncio.create_task(pages.read(long, site=f"bad {one}", archive=True)) for one in range(3)]
        good = [asyncio.create_task(pages.read(page(one), site=f"good {one}", archive=True)) for one in range(100)]
        for number, found in enumerate(await asyncio.gather(*good)):
            assert_is(found, number)
        assert not all(task.done() for task in slow)
        for found in await asyncio.gather(*slow):
            assert isinstance(found, ParsedPage)


@LINUX
@on_a_loop
async def test_a_costly_site_stays_in_the_slow_lane_until_a_page_of_it_is_cheap() -> None:
    async with PageProcess(
        PageSettings(parse_deadline_s=30), agent="gossamer", max_body_bytes=LONG, slice_s=0.05
    ) as pages:
        assert isinstance(await pages.read(costly(), site="bad", archive=True), ParsedPage)
        replaced = pages.replaced  # nothing else waited: the page was read where it was
        second = asyncio.create_task(pages.read(costly(), site="bad", archive=True))
        await asyncio.sleep(0)
        assert pages.costly_pages == 1
        for number in range(20):
            assert_is(await pages.read(page(number), site="good", archive=True), number)
        assert not second.done()
        await second
        assert pages.replaced == replaced
        third = asyncio.create_task(pages.read(page(3), site="bad", archive=True))
        await asyncio.sleep(0)
        assert pages.costly_pages == 1
        assert_is(await third, 3)
        assert_is(await pages.read(page(4), site="bad", archive=True), 4)
        assert "bad" not in pages._costly


@LINUX
@on_a_loop
async def test_when_too_many_costly_pages_wait_the_next_one_is_refused_and_cheap_ones_are_read() -> None:
    async with PageProcess(
        PageSettings(parse_deadline_s=30), agent="gossamer", max_body_bytes=LONG, slice_s=0.05
    ) as pages:
        for number in range(MAX_COSTLY_PAGES + 1):
            pages._costly[f"bad {number}"] = 1.0
        waiting = [
            asyncio.create_task(pages.read(costly(), site=f"bad {number}", archive=True))
            for number in range(MAX_COSTLY_PAGES)
        ]
        await asyncio.sleep(0)
        refused = await pages.read(costly(), site=f"bad {MAX_COSTLY_PAGES}", archive=True)
        assert isinstance(refused, ParseFailed)
        assert refused.reason is Reason.PARSER_BUSY
        assert_is(await pages.read(page(1), site="good", archive=True), 1)
    for result in await asyncio.gather(*waiting, return_exceptions=True):
        assert isinstance(result, asyncio.CancelledError)


@LINUX
@on_a_loop
async def test_a_new_site_of_a_network_of_costly_pages_begins_in_the_slow_lane() -> None:
    networks = NetworkLedger()
    for _ in range(LEAST_WASTE):
        networks.note_waste("192.0.2.1")
    async with PageProcess(SETTINGS, agent="gossamer", networks=networks) as pages:
        for address, lane in (("192.0.2.9", 1), ("192.0.3.9", 0)):
            reading = asyncio.create_task(pages.read(replace(page(1), address=address), site=address, archive=False))
            await asyncio.sleep(0)
            assert pages.costly_pages == lane
            await reading
        reading = asyncio.create_task(
            pages.read(replace(page(1), address="192.0.2.9"), site="192.0.2.9", archive=False)
        )
        await asyncio.sleep(0)
        assert pages.costly_pages == 0  # it has shown that its pages are cheap
        await reading


@on_a_loop
async def test_a_site_with_many_pages_does_not_keep_another_waiting() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        ended: list[str] = []

        async def read(site: str, number: int) -> None:
            await pages.read(page(number, 20_000), site=site, archive=True)
            ended.append(site)

        async with asyncio.TaskGroup() as readers:
            for number in range(200):
                readers.create_task(read("large", number))
            readers.create_task(read("small", 0))
        assert ended.index("small") <= 2 * PAGES_IN_PIPE


@LINUX
@on_a_loop
async def test_waiting_for_a_processor_does_not_count_against_the_deadline() -> None:
    async with PageProcess(PageSettings(parse_deadline_s=2), agent="gossamer", max_body_bytes=LONG) as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        pid = pages.pid
        assert pid is not None
        before_s = cpu_s(pid)
        reading = asyncio.create_task(pages.read(long_page(500_000), archive=True))
        await until(lambda: cpu_s(pid) > before_s)
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(2.5)  # the passing of time is what is tested
        os.kill(pid, signal.SIGCONT)
        assert isinstance(await reading, ParsedPage)
        assert pages.replaced == 0


@on_a_loop
async def test_killing_the_process_loses_no_page() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        for round_number in range(3):
            assert pages.pid is not None
            pid = pages.pid
            os.kill(pid, signal.SIGSTOP)  # so that pages are in its hands when it dies
            ended: list[int] = []

            async def read(number: int, ended: list[int] = ended) -> None:
                assert_is(await pages.read(page(number, 200_000), archive=True), number)
                ended.append(number)

            reads = asyncio.gather(*map(read, range(10)))
            await until(lambda: len(pages._quick.in_pipe) == PAGES_IN_PIPE)
            os.kill(pid, signal.SIGKILL)
            await reads
            assert ended == [*range(10)]  # none had to wait for those that came later
            assert pages.replaced == round_number + 1


@on_a_loop
async def test_killing_an_idle_process_goes_unnoticed() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        assert pages.pid is not None
        os.kill(pages.pid, signal.SIGKILL)
        await until(lambda: pages.replaced)
        assert_is(await pages.read(page(1), archive=True), 1)


@LINUX
@on_a_loop
async def test_a_page_sent_to_a_process_that_has_just_died_is_read_by_the_next() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        assert pages.pid is not None
        os.kill(pages.pid, signal.SIGKILL)
        while is_alive(pages.pid):  # without letting the loop hear of it
            pass
        assert_is(await pages.read(page(1), archive=True), 1)
        assert pages.replaced == 1


@on_a_loop
async def test_a_page_on_which_two_processes_died_is_not_tried_again() -> None:
    async with PageProcess(
        PageSettings(parse_deadline_s=30), agent="gossamer", max_body_bytes=LONG, slice_s=99
    ) as pages:
        slow = asyncio.create_task(pages.read(long_page(1_000_000), archive=True))
        behind = asyncio.create_task(pages.read(page(1), archive=True))
        for death in range(2):
            await until(lambda: pages.replaced == death and pages._quick.in_pipe)  # noqa: B023 - called at once
            assert pages.pid is not None
            os.kill(pages.pid, signal.SIGKILL)
        failed = await slow
        assert isinstance(failed, ParseFailed)
        assert failed.reason is Reason.PARSE_CRASHED
        assert "-9" in failed.detail
        assert_is(await behind, 1)


@on_a_loop
async def test_a_page_on_which_the_process_crashed_is_not_tried_again() -> None:
    async with PageProcess(
        PageSettings(parse_deadline_s=30), agent="gossamer", max_body_bytes=LONG, slice_s=99
    ) as pages:
        slow = asyncio.create_task(pages.read(long_page(1_000_000), archive=True))
        behind = asyncio.create_task(pages.read(page(1), archive=True))
        await until(lambda: pages._quick.in_pipe)
        assert pages.pid is not None
        os.kill(pages.pid, signal.SIGSEGV)
        failed = await slow
        assert isinstance(failed, ParseFailed)
        assert failed.reason is Reason.PARSE_CRASHED
        assert_is(await behind, 1)
        assert pages.replaced == 1


@on_a_loop
async def test_a_process_that_does_not_run_is_replaced() -> None:
    async with PageProcess(SETTINGS, agent="gossamer", stuck_s=5) as pages:  # the next one needs time to start
        assert_is(await pages.read(page(0), archive=True), 0)
        assert pages.pid is not None
        os.kill(pages.pid, signal.SIGSTOP)
        assert_is(await pages.read(page(1), archive=True), 1)
        assert pages.replaced >= 1


@on_a_loop
async def test_a_reader_that_gives_up_does_not_disturb_the_others() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        reads = [asyncio.create_task(pages.read(page(number), archive=True)) for number in range(20)]
        await asyncio.sleep(0)
        for number in (0, 1, 7, 19):
            reads[number].cancel()
        results = await asyncio.gather(*reads, return_exceptions=True)
        for number, result in enumerate(results):
            if number in (0, 1, 7, 19):
                assert isinstance(result, asyncio.CancelledError)
            else:
                assert not isinstance(result, BaseException)
                assert_is(result, number)


@on_a_loop
async def test_a_page_whose_caller_no_longer_waits_can_still_cost_the_process() -> None:
    async with PageProcess(
        PageSettings(parse_deadline_s=0.1), agent="gossamer", max_body_bytes=LONG, slice_s=99
    ) as pages:
        slow = asyncio.create_task(pages.read(long_page(1_000_000), archive=True))
        await until(lambda: pages._quick.in_pipe)
        slow.cancel()
        assert_is(await pages.read(page(1), archive=True), 1)
        assert pages.replaced == 1


@on_a_loop
async def test_a_bug_is_raised_where_the_page_was_wanted() -> None:
    broken = page(0)
    object.__setattr__(broken, "started_at", float("inf"))
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        with pytest.raises(RuntimeError, match=r"(?s)the page process failed.*Traceback.*OverflowError"):
            await pages.read(broken, archive=True)
        assert_is(await pages.read(page(1), archive=True), 1)
        assert pages.replaced == 0


@on_a_loop
async def test_a_page_that_cannot_be_sent_fails_alone_and_the_others_get_their_own_answers() -> None:
    async with PageProcess(SETTINGS, agent="Gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        reading = [asyncio.ensure_future(pages.read(page(number), archive=True)) for number in range(1, 4)]
        unfit = asyncio.ensure_future(pages.read(replace(page(4), body=object()), archive=True))  # type: ignore[arg-type]
        reading += [asyncio.ensure_future(pages.read(page(number), archive=True)) for number in range(4, 12)]
        for number, found in enumerate(await asyncio.gather(*reading), start=1):
            assert_is(found, number)
        with pytest.raises(TypeError, match="object instead of bytes"):
            await unfit


@on_a_loop
async def test_without_memory_for_a_new_process_pages_fail_instead_of_waiting_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    async with PageProcess(SETTINGS, agent="Gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        with monkeypatch.context() as short:
            short.setattr(starting, "_spawn", no_memory)
            reading = asyncio.ensure_future(pages.read(page(1), archive=True))
            assert pages.pid is not None
            os.kill(pages.pid, signal.SIGKILL)
            with pytest.raises(RuntimeError, match="cannot be started: no memory"):
                await reading
        assert_is(await pages.read(page(3), archive=True), 3)


@on_a_loop
async def test_an_answer_for_which_there_is_no_memory_mixes_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[object] = []

    def unpack_with_little_memory(frame: memoryview, asked: RequestKind, body: bytes) -> Reply:
        received.append(frame)
        if len(received) in (4, 9):
            raise MemoryError
        return unpack_reply(frame, asked, body)

    monkeypatch.setattr(lane, "unpack_reply", unpack_with_little_memory)
    async with PageProcess(SETTINGS, agent="Gossamer") as pages:
        reading = [pages.read(page(number), archive=True) for number in range(20)]
        for number, found in enumerate(await asyncio.gather(*reading)):
            assert_is(found, number)
        assert pages.replaced == 2


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/python"])
@on_a_loop
async def test_a_process_that_cannot_start_fails_the_pages_but_not_for_ever(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = sys.executable
    monkeypatch.setattr(sys, "executable", program)
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        with pytest.raises(RuntimeError, match="the page process"):
            await pages.read(page(0), archive=True)
        monkeypatch.setattr(sys, "executable", python)
        assert_is(await pages.read(page(1), archive=True), 1)


@LINUX
@on_a_loop
async def test_closing_is_prompt_and_leaves_no_process() -> None:
    async with PageProcess(
        PageSettings(parse_deadline_s=30), agent="gossamer", max_body_bytes=LONG, slice_s=99
    ) as pages:
        reads = [asyncio.create_task(pages.read(long_page(1_000_000), archive=True)) for _ in range(6)]
        await until(lambda: pages._quick.in_pipe)
        pid = pages.pid
        began_s = time.monotonic()
    assert time.monotonic() - began_s < 10  # each page would take longer than that
    assert pid is not None
    assert not is_alive(pid)
    for result in await asyncio.gather(*reads, return_exceptions=True):
        assert isinstance(result, asyncio.CancelledError)
    with pytest.raises(RuntimeError, match="closed"):
        await pages.read(page(0), archive=True)


@LINUX
@on_a_loop
async def test_the_process_has_no_descriptor_of_the_worker_but_its_socket(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(descriptor, True)
    try:
        async with PageProcess(SETTINGS, agent="gossamer") as pages:
            await pages.read(page(0), archive=True)
            assert pages.pid is not None
            held = descriptors(pages.pid)
    finally:
        os.close(descriptor)
    assert set(held) == {0, 1, 2}
    assert held[0].startswith("socket:")
    assert held[1] == "/dev/null"


@on_a_loop
async def test_signals_meant_for_the_worker_do_not_end_the_process() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        assert_is(await pages.read(page(0), archive=True), 0)
        assert pages.pid is not None
        for ending in (signal.SIGINT, signal.SIGTERM):
            os.kill(pages.pid, ending)
        assert_is(await pages.read(page(1), archive=True), 1)
        assert pages.replaced == 0


WORKER = """
import asyncio, sys
from gossamer.page_process.process import PageProcess
from gossamer.page_process.settings import PageSettings
from tests.test_page_process import LONG, long_page, page

async def main():
    terms = PageSettings(parse_deadline_s=30)
    async with PageProcess(terms, agent="gossamer", max_body_bytes=LONG, slice_s=99) as pages:
        await pages.read(page(0), archive=True)
        print(pages.pid, flush=True)
        await pages.read(long_page(1_000_000), archive=True) if sys.argv[1] == "busy" else await asyncio.sleep(60)

asyncio.run(main())
"""


@LINUX
@pytest.mark.parametrize("state", ["busy", "idle"])
def test_the_process_dies_with_its_worker(state: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, state],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    ) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        assert is_alive(pid)
        worker.kill()
        worker.wait()
        give_up_s = time.monotonic() + 30
        while is_alive(pid):
            assert time.monotonic() < give_up_s
            time.sleep(0.002)


# ---------------------------------------------------------------------- robots.txt


@on_a_loop
async def test_a_long_robots_txt_is_read_as_the_worker_would_read_it() -> None:
    lines = "".join(f"Disallow: /{number}\nAllow: /*{number}*a\n" for number in range(10_000))
    fetched = answer("User-agent: gossamer\nCrawl-delay: 3\n" + lines, "text/plain")
    broken = replace(fetched, truncated=Truncation.DISCONNECT)
    assert is_long_robots(fetched)
    async with PageProcess(SETTINGS, agent="Gossamer") as process:
        assert await process.read_robots(fetched) == parse_answer(fetched, "Gossamer")
        assert await process.read_robots(broken) == ParsedRobots(rules=None)
    async with PageProcess(PageSettings(parse_deadline_s=0.01), agent="Gossamer") as process:
        late = await process.read_robots(fetched)
        assert isinstance(late, ParseFailed)
        assert late.reason is Reason.PARSE_DEADLINE


# ---------------------------------------------------------------------- sitemaps


@on_a_loop
async def test_a_sitemap_is_read_with_its_archive_record() -> None:
    listed = (
        "<urlset><url><loc>/late</loc><priority>0.1</priority></url><url><loc>/a</loc></url><url><loc/></url></urlset>"
    )
    fetched = answer(listed, "application/xml", url="https://example.org/sitemap.xml")
    async with PageProcess(SETTINGS, agent="Gossamer") as process:
        found = await process.read_sitemap(fetched, archive=True)
        bare = await process.read_sitemap(answer(listed, headers=("X-Robots-Tag: noindex",)), archive=True)
        page = await process.read(answer("<title>A page</title>"), archive=False)
    assert isinstance(found, ParsedSitemap)
    assert (found.format, found.refused, found.cut) == ("urlset", 1, "")
    assert [*zip(found.urls, found.ranks, strict=True)] == [
        ("https://example.org/a", 0),
        ("https://example.org/late", 8),
    ]
    assert gzip.decompress(found.archive[found.response_offset :]).endswith(listed.encode() + b"\r\n\r\n")
    assert isinstance(bare, ParsedSitemap)
    assert bare.archive == b""
    assert isinstance(page, ParsedPage)


@on_a_loop
async def test_what_is_no_sitemap_or_takes_too_long_costs_only_itself() -> None:
    endless = answer("<urlset>" + "<url><loc>/%C3%A4</loc></url>" * 50_000, "text/xml")
    async with PageProcess(PageSettings(parse_deadline_s=0.01), agent="Gossamer") as process:
        refused = await process.read_sitemap(answer("<html>no", "text/html"), archive=False)
        late = await process.read_sitemap(endless, archive=False)
        after = await process.read_sitemap(answer("https://example.org/", "text/plain"), archive=False)
    assert refused == ParseFailed(reason=Reason.BAD_SITEMAP, detail="an HTML page")
    assert late == ParseFailed(reason=Reason.PARSE_DEADLINE, detail="took more than 0.1 s of processor time")
    assert isinstance(after, ParsedSitemap)


async def lose(pages: PageProcess) -> int:
    """Kill the process, wait for the next one, and return the process id of what started it."""
    lost = pages.pid
    assert lost is not None
    os.kill(lost, signal.SIGKILL)
    await until(lambda: pages.pid not in (None, lost))
    assert pages.pid is not None
    return int(psutil.Process(pages.pid).ppid())


@LINUX
@on_a_loop
async def test_after_the_first_loss_processes_are_forked_from_one_that_is_ready() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}  # of other tests
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        parent, losses = os.getpid(), 0
        while parent == os.getpid():  # the process to fork from takes as long to start as any other
            assert_is(await pages.read(page(losses), archive=True), losses)
            parent, losses = await lose(pages), losses + 1
        assert_is(await pages.read(page(losses), archive=True), losses)
        assert await lose(pages) == parent
        assert_is(await pages.read(page(1), archive=True), 1)
        os.kill(parent, signal.SIGKILL)  # takes the page process with it
        assert_is(await pages.read(page(2), archive=True), 2)
        readers = {child.pid for child in psutil.Process().children(recursive=True)} - before
    assert readers
    assert not [pid for pid in readers if psutil.pid_exists(pid)]


@LINUX
@on_a_loop
async def test_a_stopped_forker_is_done_without() -> None:
    async with PageProcess(SETTINGS, agent="gossamer") as pages:
        parent = os.getpid()
        while parent == os.getpid():
            assert_is(await pages.read(page(0), archive=True), 0)
            parent = await lose(pages)
        os.kill(parent, signal.SIGSTOP)
        assert await lose(pages) == os.getpid()
        assert_is(await pages.read(page(1), archive=True), 1)
