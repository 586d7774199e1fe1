"""What a real dashboard refuses, each in one line; it answers the operator all the while."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from gossamer.serve.limits import MAX_CONNECTIONS, MAX_STREAMS
from tests.end_to_end.crawls import wait_until

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from tests.serve.dashboards import Answer, ServedCrawl

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def assert_refused(answer: Answer, status: int) -> None:
    assert answer.status == status, answer
    assert answer.body.splitlines(keepends=True) == [answer.body], answer.body
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "crawl" not in answer.body


def assert_served(served: ServedCrawl) -> None:
    assert "<h1>Overview</h1>" in served.ask("/", as_="operator").body


def test_without_a_token_nothing_is_shown(served: ServedCrawl) -> None:
    for path in ("/", "/events", "/order?what=pause", "/no-such-page"):
        assert_refused(served.ask(path), 401)


def test_a_wrong_token_opens_nothing(served: ServedCrawl) -> None:
    assert_refused(served.ask("/", headers={"Authorization": "Bearer " + "x" * 43}), 401)
    assert_refused(served.ask("/", headers={"Cookie": f"gossamer_{served.port}=" + "0" * 64}), 401)
    login = served.ask("/login", method="POST", body="token=guess", headers={"Origin": served.url})
    assert login.status == 401
    assert "set-cookie" not in login.headers


def test_a_browser_without_a_token_is_sent_to_the_form(served: ServedCrawl) -> None:
    opened = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}
    answer = served.ask("/", headers=opened)
    assert (answer.status, answer.headers["location"]) == (303, "/login")
    assert 'action="/login"' in served.ask("/login", headers=opened).body


def test_the_form_gives_a_cookie_that_scripts_and_other_sites_cannot_use(served: ServedCrawl) -> None:
    body = f"token={served.tokens['viewer']}"
    answer = served.ask("/login", method="POST", body=body, headers={"Origin": served.url})
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie, *rest = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(rest)
    assert served.tokens["viewer"] not in cookie
    assert "viewer (viewer)" in served.ask("/", headers={"Cookie": cookie}).body
    out = served.ask("/logout", method="POST", headers={"Cookie": cookie, "Origin": served.url})
    assert "Max-Age=0" in out.headers["set-cookie"]


def test_a_rebound_name_is_refused(served: ServedCrawl) -> None:
    for host in ("evil.test", f"evil.test:{served.port}"):
        assert_refused(served.ask("/", as_="operator", headers={"Host": host}), 421)


def test_a_foreign_origin_is_refused(served: ServedCrawl) -> None:
    for origin in ("https://evil.test", "null", "http://127.0.0.1:1"):
        refused = served.ask("/order", as_="operator", method="POST", body="what=pause", headers={"Origin": origin})
        assert_refused(refused, 403)


def test_a_viewer_may_not_order(served: ServedCrawl) -> None:
    assert_refused(served.ask("/order", as_="viewer", method="POST", body="what=pause"), 403)
    assert_refused(served.ask("/order?what=pause", as_="viewer"), 403)
    assert "Pause" not in served.ask("/", as_="viewer").body


def test_an_order_that_is_none_is_refused(served: ServedCrawl) -> None:
    for body in ("", "what=", "what=delete", "what=exclude", "what=pause&entry=a.test", "&" * 50 + "a=1&" * 50):
        assert_refused(served.ask("/order", as_="operator", method="POST", body=body), 400)


def test_a_body_of_10_mb_is_refused_whether_or_not_its_length_is_announced(served: ServedCrawl) -> None:
    for name in ("", "viewer", "operator"):
        status = 413 if name == "operator" else 403
        answer = served.ask("/order", as_=name, method="POST", body="x" * 10_000_000)
        assert_refused(answer, status)
    with served.connect() as client:
        head = f"POST /order HTTP/1.1\r\nHost: {served.host}\r\nAuthorization: Bearer {served.tokens['operator']}\r\n"
        client.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert_served(served)


def test_a_long_head_is_refused(served: ServedCrawl) -> None:
    assert_refused(served.ask("/?" + "x" * 20_000, as_="operator"), 431)
    assert_refused(served.ask("/", as_="operator", headers={"X-Long": "x" * 20_000}), 431)
    with served.connect() as client, suppress(ConnectionError):
        client.sendall(b"GET /" + b"x" * 1_000_000)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer.endswith(b"\r\n\r\nInvalid HTTP request received.")


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/static/../tokens.py", "/static/..%2ftokens.py", "/static/%2e%2e/tokens.py", "//etc/passwd",
     "/static/", "/static", "/static/live.js/", "/static/live.js%00", "/STATIC/live.js", "/.git/config", "/order/",
     "/%", "/%ff", "/login/../order", "/events/..", "/static/..\\tokens.py", "*", "http://evil.test/"],
)  # fmt: skip
def test_a_path_that_is_not_listed_leads_nowhere(served: ServedCrawl, path: str) -> None:
    with served.connect() as client:
        token = served.tokens["operator"]
        head = (
            f"GET {path} HTTP/1.1\r\nHost: {served.host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        )
        client.sendall(head.encode())
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404 "), answer
    assert answer.endswith(b"\r\n\r\nThere is no such page.\n")


def test_a_thousand_streams_are_refused_but_for_a_few(served: ServedCrawl) -> None:
    def status(client: socket.socket) -> bytes:
        head = f"GET /events HTTP/1.1\r\nHost: {served.host}\r\nAuthorization: Bearer {served.tokens['viewer']}\r\n\r\n"
        try:
            client.sendall(head.encode())
            return client.recv(4096).split(b" ")[1]
        except ConnectionError:  # it was refused before it had asked
            return b"503"

    with ExitStack() as stack:
        clients = [stack.enter_context(served.connect()) for _ in range(1_000)]
        with ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(status, clients))
        assert 0 < statuses.count(b"200") <= MAX_STREAMS
        assert set(statuses) <= {b"200", b"503", b"429"}
    wait_until(lambda: served.ask("/", as_="operator").status == 200, "streams to be closed")


def test_more_connections_than_allowed_are_told_so(served: ServedCrawl) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(served.connect()) for _ in range(MAX_CONNECTIONS + 20)]
        last = b"".join(iter(lambda: clients[-1].recv(4096), b""))
        assert last.startswith(b"HTTP/1.1 503 ")
        assert last.endswith(b"Too many connections: try again in a few seconds.\n")
    wait_until(lambda: served.ask("/", as_="operator").status == 200, "connections to be closed")


def test_a_client_that_never_finishes_its_request_is_left(served: ServedCrawl) -> None:
    with served.connect() as silent, served.connect() as slow:
        slow.sendall(f"POST /order HTTP/1.1\r\nHost: {served.host}\r\nContent-Length: 100\r\n\r\nwhat=".encode())
        for client in (silent, slow):
            try:
                while client.recv(4096):
                    pass
            except ConnectionResetError:
                pass
    assert_served(served)


def test_a_client_that_asks_too_often_is_told_so(served: ServedCrawl) -> None:
    statuses = [served.ask("/no-such-page", as_="viewer") for _ in range(300)]
    assert_refused(next(answer for answer in statuses if answer.status == 429), 429)
    assert_served(served)  # another token has a bucket of its own


def test_a_websocket_is_not_opened(served: ServedCrawl) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    assert served.ask("/events-socket", as_="operator", headers=upgrade).status == 404


def test_orders_are_carried_out_and_logged_with_the_token(served: ServedCrawl, crawled: Path) -> None:
    confirm = served.ask("/order?what=exclude&entry=a.test", as_="operator").body
    assert 'name="entry" value="a.test"' in confirm
    done = served.ask("/order", as_="operator", method="POST", body="what=exclude&entry=a.test").body
    assert "Excluded: a.test; no crawl is running." in done
    done = served.ask("/order", as_="operator", method="POST", body="what=readmit&entry=a.test").body
    assert "Readmitted: a.test" in done
    failed = served.ask("/order", as_="operator", method="POST", body="what=stop")
    assert failed.status == 409
    assert "No crawl is running in" in failed.body
    log = (crawled / "logs" / "gossamer.log").read_text()
    assert "The token operator ordered: exclude a.test" in log
    assert "The token operator ordered stop  in vain: No crawl is running in" in log
