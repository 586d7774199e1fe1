"""Answers of servers, good and bad, and their results."""

from __future__ import annotations

import gzip
import resource
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.fetch import transfer
from gossamer.fetch.transfer import ERROR_BODY_BYTES, MAX_HEAD_BYTES, ROBOTS_BYTES
from gossamer.records import Failed, Fetched, Reason, RequestKind, Truncation
from tests.fetch.servers import OK, PAGE, Peer, fetcher, serving

if TYPE_CHECKING:
    from tests.fetch.servers import Behaviour

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ENOUGH_S = 2.0  # for what is sent at once, also on a busy machine


async def get(behaviour: bytes | Behaviour, kind: RequestKind = RequestKind.PAGE, **settings: Any) -> Fetched | Failed:
    """Fetch one page of a server that behaves like this."""
    async with serving(behaviour) as server, fetcher(**settings) as web:
        return await web.fetch(server.url(), kind=kind)


async def get_answer(behaviour: bytes | Behaviour, kind: RequestKind = RequestKind.PAGE, **settings: Any) -> Fetched:
    """Fetch one page; it must succeed."""
    outcome = await get(behaviour, kind, **settings)
    assert isinstance(outcome, Fetched), outcome
    return outcome


async def get_failure(behaviour: bytes | Behaviour, kind: RequestKind = RequestKind.PAGE, **settings: Any) -> Failed:
    """Fetch one page; it must fail."""
    outcome = await get(behaviour, kind, **settings)
    assert isinstance(outcome, Failed), outcome
    assert "\n" not in outcome.detail
    assert outcome.detail
    return outcome


# Heads and bodies as they come


async def test_headers_are_kept_to_the_byte_and_bodies_stay_encoded() -> None:
    body = gzip.compress(b"hello" * 100)
    head = b"HTTP/1.1 200 Very  OK\r\ncontent-TYPE:text/html \r\nX-Odd: \xe4\xff\t; a\r\nX-Odd:\r\n"
    head += b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    answer = await get_answer(head + body)
    assert answer.head == head
    assert answer.body == body


async def test_line_ends_without_carriage_return_are_kept_too() -> None:
    answer = await get_answer(b"HTTP/1.0 200 OK\nA: b\n\nbody")
    assert (answer.head, answer.body) == (b"HTTP/1.0 200 OK\nA: b\n\n", b"body")


async def test_a_folded_header_line_comes_unfolded() -> None:
    answer = await get_answer(b"HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nContent-Length: 0\r\n\r\n")
    assert answer.head == b"HTTP/1.1 200 OK\r\nX: a b\r\nContent-Length: 0\r\n\r\n"


async def test_only_the_final_head_is_kept_when_others_precede_it() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
    answer = await get_answer(early + PAGE)
    assert (answer.status, answer.head + answer.body) == (200, PAGE)


async def test_chunking_is_undone_and_trailers_are_left_out() -> None:
    answer = await get_answer(CHUNKED + b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nX-Trailer: 1\r\n\r\n")
    assert (answer.head, answer.body, answer.truncated) == (CHUNKED, b"hello", None)


async def test_a_body_without_length_ends_with_the_connection() -> None:
    answer = await get_answer(OK + b"\r\nhello")
    assert (answer.body, answer.truncated) == (b"hello", None)


async def test_bytes_beyond_the_announced_length_are_not_part_of_the_body() -> None:
    answer = await get_answer(PAGE + b" and more")
    assert (answer.body, answer.truncated) == (b"hello", None)


@pytest.mark.parametrize("status", [204, 304])
async def test_answers_that_have_no_body_are_answers(status: int) -> None:
    answer = await get_answer(b"HTTP/1.1 %d No\r\nContent-Length: 5\r\n\r\n" % status)
    assert (answer.status, answer.body, answer.truncated) == (status, b"", None)


# Caps


async def test_an_endless_body_is_cut_at_the_cap_and_marked() -> None:
    async def pour(peer: Peer) -> None:
        await peer.send(OK + b"\r\n")
        await peer.send_forever(b"0123456789" * 1_000)

    answer = await get_answer(pour, max_body_bytes=123_456)
    assert answer.truncated is Truncation.LENGTH
    assert answer.body == (b"0123456789" * 12_346)[:123_456]


@pytest.mark.parametrize(("size_bytes", "truncated"), [(1_000, None), (1_001, Truncation.LENGTH)])
async def test_a_body_of_just_the_cap_is_whole(size_bytes: int, truncated: Truncation | None) -> None:
    body = bytes(1_001)[:size_bytes]
    answer = await get_answer(OK + b"Content-Length: %d\r\n\r\n" % size_bytes + body, max_body_bytes=1_000)
    assert (answer.body, answer.truncated) == (body[:1_000], truncated)


async def test_robots_and_errors_have_caps_of_their_own() -> None:
    body = bytes(ROBOTS_BYTES + 1)
    robots = await get_answer(OK + b"\r\n" + body, RequestKind.ROBOTS)
    assert (len(robots.body), robots.truncated) == (ROBOTS_BYTES, Truncation.LENGTH)
    sitemap = await get_answer(OK + b"\r\n" + body, RequestKind.SITEMAP, max_body_bytes=1_000)
    assert (len(sitemap.body), sitemap.truncated) == (len(body), None), "the limit is that of pages"
    error = await get_answer(b"HTTP/1.1 404 No\r\n\r\n" + body)
    assert (len(error.body), error.truncated) == (ERROR_BODY_BYTES, Truncation.LENGTH)


async def endless_head(peer: Peer) -> None:
    await peer.send(OK)
    await peer.send_forever(b"X-More: and more\r\n" * 50)


async def endless_line(peer: Peer) -> None:
    await peer.send(OK + b"X-More: ")
    await peer.send_forever(b"and more" * 100)


async def endless_status_line(peer: Peer) -> None:
    await peer.send_forever(b"HTTP/1.1 200 " + b"OK" * 100)


async def endless_beginnings(peer: Peer) -> None:
    await peer.send_forever(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 50)


@pytest.mark.parametrize("behaviour", [endless_head, endless_line, endless_status_line, endless_beginnings])
async def test_an_endless_head_is_refused(behaviour: Behaviour) -> None:
    assert (await get_failure(behaviour)).reason is Reason.HEADERS_TOO_LARGE


async def test_a_head_of_the_largest_size_is_taken_and_a_larger_one_is_refused() -> None:
    head = OK + b"".join(b"X-%d: %s\r\n" % (n, b"y" * 1_000) for n in range(60))
    largest = head + b"X-Last: %s\r\n\r\n" % (b"y" * (MAX_HEAD_BYTES - len(head) - len(b"X-Last: \r\n\r\n")))
    assert (await get_answer(largest)).head == largest
    assert (await get_failure(largest.replace(b"X-Last: ", b"X-Last: y"))).reason is Reason.HEADERS_TOO_LARGE


# Types


@pytest.mark.parametrize("header", [b"image/png", b"application/pdf; x=text/html", b"text/htmlx", b"TEXT/CSS"])
async def test_a_type_that_is_not_accepted_is_cut_off_behind_the_head(header: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n\r\n" % header

    async def wait(peer: Peer) -> None:
        await peer.send(head)
        await peer.wait_until_gone()

    answer = await get_answer(wait, total_timeout_s=20)
    assert (answer.status, answer.head, answer.body, answer.type_refused) == (200, head, b"", True)
    assert answer.truncated is None


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Type: Text/HTML;charset=utf-8\r\n",
        b"content-type:application/xhtml+xml\r\n",
        b"Content-Type: text/plain ; a=b\r\n",
        b"Content-Type:\r\n",
        b"",
        b"Content-Type: image/png\r\nContent-Type: text/html\r\n",
    ],
)
async def test_a_type_that_is_wanted_or_unknown_is_taken(headers: bytes) -> None:
    answer = await get_answer(b"HTTP/1.1 200 OK\r\n" + headers + b"Content-Length: 2\r\n\r\nok")
    assert (answer.body, answer.type_refused) == (b"ok", False)


@pytest.mark.parametrize("type_", [b"text/html; charset=utf-8", b"application/xhtml+xml"])
async def test_html_that_is_not_accepted_is_taken_only_for_its_links(type_: bytes) -> None:
    page = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: 2\r\n\r\nok" % type_
    async with serving(page) as server, fetcher(accept_types=("application/pdf",)) as web:
        taken, refused = [await web.fetch(server.url(), for_links=for_links) for for_links in (True, False)]
    assert isinstance(taken, Fetched)
    assert (taken.body, taken.links_only, taken.type_refused) == (b"ok", True, False)
    assert isinstance(refused, Fetched)
    assert (refused.body, refused.links_only, refused.type_refused) == (b"", False, True)


async def test_what_is_accepted_or_has_no_links_is_not_taken_for_its_links() -> None:
    answers = {}
    for type_ in ("text/css", "text/html"):
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {type_}\r\nContent-Length: 2\r\n\r\nok".encode()
        async with serving(head) as server, fetcher() as web:
            answer = await web.fetch(server.url(), for_links=True)
            assert isinstance(answer, Fetched)
            answers[type_] = answer
    assert (answers["text/css"].links_only, answers["text/css"].type_refused) == (False, True)
    assert (answers["text/html"].links_only, answers["text/html"].type_refused) == (False, False)


async def test_types_do_not_matter_for_robots_errors_and_redirects() -> None:
    headers = b"Content-Type: image/png\r\nContent-Length: 2\r\n\r\nok"
    assert (await get_answer(b"HTTP/1.1 200 OK\r\n" + headers, RequestKind.ROBOTS)).body == b"ok"
    assert (await get_answer(b"HTTP/1.1 200 OK\r\n" + headers, RequestKind.SITEMAP)).body == b"ok"
    assert (await get_answer(b"HTTP/1.1 404 No\r\n" + headers)).body == b"ok"
    assert (await get_answer(b"HTTP/1.1 302 There\r\n" + headers)).body == b"ok"


@pytest.mark.parametrize(
    ("accept_types", "refused"),
    [(("Image/PNG",), False), (("image/*",), False), (("*/*",), False), (("image",), True), (("audio/*",), True)],
)
async def test_the_operator_says_which_types_are_wanted(accept_types: tuple[str, ...], refused: bool) -> None:
    png = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\nok"
    assert (await get_answer(png, accept_types=accept_types)).type_refused is refused


# Broken answers


async def send_part_and_reset(peer: Peer) -> None:
    await peer.send(OK + b"Content-Length: 100\r\n\r\nhel")
    peer.reset()


@pytest.mark.parametrize(
    "behaviour",
    [
        OK + b"Content-Length: 100\r\n\r\nhel",
        CHUNKED + b"3\r\nhel\r\n",
        CHUNKED + b"5\r\nhel",
    ],
)
async def test_half_a_page_is_kept_and_marked(behaviour: bytes) -> None:
    answer = await get_answer(behaviour)
    assert (answer.body, answer.truncated) == (b"hel", Truncation.DISCONNECT)


@pytest.mark.parametrize("kind", [RequestKind.ROBOTS, RequestKind.SITEMAP])
async def test_half_a_robots_txt_is_worse_than_none(kind: RequestKind) -> None:
    failure = await get_failure(OK + b"Content-Length: 100\r\n\r\nhel", kind)
    assert failure.reason is Reason.CONNECTION_LOST


async def test_a_redirect_or_error_says_it_all_in_its_head_whatever_happens_to_its_body() -> None:
    answer = await get_answer(b"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\n", RequestKind.ROBOTS)
    assert (answer.status, answer.truncated) == (404, Truncation.DISCONNECT)
    answer = await get_answer(b"HTTP/1.1 301 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\nXX")
    assert (answer.status, answer.body, answer.truncated) == (301, b"he", Truncation.DISCONNECT)


async def hang_up(_: Peer) -> None:
    return


async def reset(peer: Peer) -> None:
    peer.reset()


async def reset_within_the_body(peer: Peer) -> None:
    await peer.send(OK + b"Content-Length: 100\r\n\r\n")
    peer.reset()


@pytest.mark.parametrize(
    ("behaviour", "detail"),
    [
        (hang_up, "Empty reply"),
        (reset, "reset"),
        (reset_within_the_body, "reset"),
        (b"HTTP/1.1 20", "Empty reply"),
        (OK, "head of 42 bytes"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "Empty reply"),
        (OK + b"Content-Length: 100\r\n\r\n", "100 bytes missing"),
        (CHUNKED, "outstanding"),
    ],
)
async def test_a_connection_that_ends_without_a_page_is_lost(behaviour: bytes | Behaviour, detail: str) -> None:
    failure = await get_failure(behaviour)
    assert failure.reason is Reason.CONNECTION_LOST
    assert detail in failure.detail


@pytest.mark.parametrize(
    "answer",
    [
        b"hello, I do not speak HTTP\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 100,
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 000 OK\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 20\r\n\r\n",
        b"HTTP/7 200 OK\r\n\r\nhello",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\nhello",
        OK + b"no colon here\r\n\r\nhello",
        OK + b"X: a\0b\r\n\r\nhello",
        OK + b"Content-Length: -5\r\n\r\nhello",
        OK + b"Content-Length: five\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        OK + b"Transfer-Encoding: rot13\r\n\r\nhello",
        CHUNKED + b"XX\r\nhello",
        CHUNKED + b"3\r\nhel\r\nXX\r\n",
        CHUNKED + b"3\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"fffffffffffffffffffff\r\nhello",
    ],
)
async def test_what_is_not_http_is_a_bad_response(answer: bytes) -> None:
    assert (await get_failure(answer)).reason is Reason.BAD_RESPONSE


# Time


async def silence(peer: Peer) -> None:
    await peer.wait_until_gone()


async def head_then_silence(peer: Peer) -> None:
    await peer.send(OK + b"Content-Length: 100\r\n\r\n")
    await peer.wait_until_gone()


async def part_then_silence(peer: Peer) -> None:
    await peer.send(OK + b"Content-Length: 100\r\n\r\nhel")
    await peer.wait_until_gone()


async def drip(peer: Peer) -> None:
    await peer.send(OK + b"\r\n")
    await peer.send_forever(b"x", gap_s=0.05)


async def dripping_redirect(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 301 There\r\nLocation: /b\r\n\r\n")
    await peer.send_forever(b"x", gap_s=0.05)


@pytest.mark.parametrize("behaviour", [silence, head_then_silence])
async def test_a_server_that_says_nothing_for_too_long_has_timed_out(behaviour: Behaviour) -> None:
    failure = await get_failure(behaviour, total_timeout_s=0.2)
    assert failure.reason is Reason.TIMEOUT
    assert 0.19 < failure.duration_s < 20


async def test_what_came_of_a_page_before_time_was_up_is_kept_and_marked() -> None:
    answer = await get_answer(part_then_silence, total_timeout_s=ENOUGH_S)
    assert (answer.body, answer.truncated) == (b"hel", Truncation.TIME)


async def test_half_a_robots_txt_in_time_is_none() -> None:
    assert (await get_failure(part_then_silence, RequestKind.ROBOTS, total_timeout_s=0.2)).reason is Reason.TIMEOUT


async def test_a_drip_is_too_slow_even_though_something_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "MIN_SPEED_BYTES", 1_000)
    monkeypatch.setattr(transfer, "MIN_SPEED_WINDOW_S", 1)
    failure = await get_failure(drip, total_timeout_s=20)
    assert failure.reason is Reason.TOO_SLOW
    assert failure.duration_s < 10


async def test_a_redirect_that_drips_is_a_redirect() -> None:
    answer = await get_answer(dripping_redirect, total_timeout_s=ENOUGH_S)
    assert (answer.status, answer.truncated) == (301, Truncation.TIME)


# All of that, one after the other


async def test_a_handle_carries_nothing_over_from_one_request_to_the_next() -> None:
    behaviours: list[bytes | Behaviour] = [
        b"HTTP/1.1 404 No\r\nContent-Length: 100\r\n\r\nhel",
        b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nhello",
        b"hello, I do not speak HTTP",
        CHUNKED + b"XX",
        OK + b"\r\n" + bytes(50_000),
        endless_head,
        part_then_silence,
        send_part_and_reset,
        hang_up,
    ]
    async with serving(PAGE) as server, fetcher(in_flight=1, total_timeout_s=ENOUGH_S, max_body_bytes=10_000) as web:
        for behaviour in behaviours:
            async with serving(behaviour) as hostile:
                await web.fetch(hostile.url(), before_send=lambda: True)
            answer = await web.fetch(server.url())
            assert isinstance(answer, Fetched)
            assert answer.head + answer.body == PAGE
            assert (answer.truncated, answer.type_refused) == (None, False)


async def test_an_error_of_the_system_is_not_taken_for_that_of_the_next_request() -> None:
    async with fetcher(in_flight=1) as web:
        async with serving(reset) as server:
            first = await web.fetch(server.url())
        async with serving(CHUNKED + b"XX") as server:
            second = await web.fetch(server.url())
    assert isinstance(first, Failed)
    assert isinstance(second, Failed)
    assert (first.reason, second.reason) == (Reason.CONNECTION_LOST, Reason.BAD_RESPONSE)


async def test_running_out_of_descriptors_is_a_failure_not_an_exception() -> None:
    async with serving(PAGE) as server, fetcher() as web:
        assert isinstance(await web.fetch(server.url()), Fetched)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            outcome = await web.fetch(server.url())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert isinstance(outcome, Failed)
        assert outcome.reason is Reason.CONNECT_FAILED
        assert "Too many open files" in outcome.detail
        assert isinstance(await web.fetch(server.url()), Fetched)
