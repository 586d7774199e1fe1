"""The server of the simulated web on real sockets: HTTP, hostile pages, TLS, names, start and end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer_simweb import Behaviour, PlantedPage, WebServer, WebSpec, plain_web, serve
from gossamer_simweb.plan import PageKind
from tests.simweb.conftest import connect, get, read_all, talk
from tests.simweb.naive import parse_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer_simweb import LoggedRequest


def url_of(server: WebServer, kind: PageKind) -> str:
    """Return the first URL of a kind."""
    pages = (page for number in range(server.web.spec.sites) for page in server.web.site(number).numbered)
    return next(page.url for page in pages if page.kind is kind)


def front(server: WebServer) -> str:
    return server.web.page_url(0, 0)


def last_request(server: WebServer, url: str) -> LoggedRequest:
    return [request for request in server.log() if request.url == url][-1]


def test_a_page_is_sent_as_planned_and_logged(server: WebServer) -> None:
    url = server.web.page_url(1, 1)
    before = time.monotonic()
    response = parse_response(talk(server, url, get(url, "User-Agent: test/1", "Accept-Encoding: gzip")))
    after = time.monotonic()
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/")
    logged = last_request(server, url)
    assert before <= logged.arrived <= logged.ended <= after
    assert (logged.kind, logged.method, logged.status, logged.agent) == ("page", "GET", 200, "test/1")
    assert logged.body_bytes == len(response.body)
    assert f"{logged.scheme}://{logged.host}{logged.target}" == url


def test_the_coding_depends_on_the_url_and_on_what_the_client_accepts(server: WebServer) -> None:
    coded: dict[str, set[str]] = {}
    for accepts in ("", "gzip", "gzip, br, zstd", "*", "br;q=0, gzip"):
        for number in range(1, 15):
            url = server.web.page_url(2, number)
            headers = [f"Accept-Encoding: {accepts}"] if accepts else []
            response = parse_response(talk(server, url, get(url, *headers)))
            coded.setdefault(accepts, set()).add(response.headers.get("content-encoding", ""))
    assert coded == {
        "": {""},
        "gzip": {"", "gzip"},
        "gzip, br, zstd": {"", "gzip", "br", "zstd"},
        "*": {"", "gzip", "br", "zstd"},
        "br;q=0, gzip": {"", "gzip"},
    }


def test_a_connection_serves_many_requests_until_told_to_close(server: WebServer) -> None:
    url = front(server)
    one = parse_response(talk(server, url, get(url))).body
    with connect(server, url) as connection:
        for _ in range(3):
            connection.sendall(get(url, "Connection: keep-alive"))
            data = b""
            while not data.endswith(one[-100:]):
                data += connection.recv(65_536)
            assert data.partition(b"\r\n\r\n")[2] == one
        connection.sendall(get(url))
        assert parse_response(read_all(connection)).headers["connection"] == "close"


def test_pipelined_requests_are_answered_in_order_even_when_the_first_is_slow() -> None:
    pages = (
        PlantedPage(host="a.test", path="/slow", body=b"first", delay_s=0.2),
        *(PlantedPage(host="a.test", path=f"/{number}", body=b"%d" % number) for number in range(2_000)),
    )
    with serve(plain_web(sites=1, pages=1, planted=pages)) as server:
        base = server.web.origin("a.test")
        requests = [get(f"{base}/slow", "Connection: keep-alive")]
        requests += [get(f"{base}/{number}", "Connection: keep-alive") for number in range(2_000)]
        with connect(server, base + "/") as connection:
            connection.sendall(b"".join(requests) + get(f"{base}/0"))
            bodies = [part.partition(b"\r\n\r\n")[2] for part in read_all(connection).split(b"HTTP/1.1 ")[1:]]
    assert bodies == [b"first", *(b"%d" % number for number in range(2_000)), b"0"]


def test_a_request_may_arrive_in_pieces(server: WebServer) -> None:
    url = front(server)
    with connect(server, url) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in get(url):
            connection.sendall(bytes((byte,)))
        assert parse_response(read_all(connection)).status == 200


def test_head_says_what_get_would_say_and_sends_no_body(server: WebServer) -> None:
    url = front(server)
    got = talk(server, url, get(url))
    headed = talk(server, url, get(url, method="HEAD"))
    assert headed == got.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    assert (last_request(server, url).method, last_request(server, url).body_bytes) == ("HEAD", 0)


def test_http_1_0_gets_no_chunks_and_a_closed_connection() -> None:
    with serve(plain_web(sites=1, pages=2, chunked=1.0)) as server:
        url = front(server)
        assert b"Transfer-Encoding: chunked" in talk(server, url, get(url))
        answer = talk(server, url, get(url, "Accept: */*", version="HTTP/1.0").replace(b"Connection: close\r\n", b""))
        assert b"Transfer-Encoding" not in answer
        assert b"Connection: close" not in answer
        assert parse_response(talk(server, url, get(url))).body == parse_response(answer).body


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET nothing HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\n", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000, 431),
    ],
)
def test_what_is_not_http_is_refused_and_the_connection_closed(
    server: WebServer, request_bytes: bytes, status: int
) -> None:
    assert talk(server, front(server), request_bytes).startswith(b"HTTP/1.1 %d " % status)
    assert server.log()[-1].kind == "other"


def test_other_methods_are_refused(server: WebServer) -> None:
    url = front(server)
    answer = talk(server, url, get(url, "Content-Length: 3", "Connection: keep-alive", method="POST") + b"abc")
    assert answer.startswith(b"HTTP/1.1 405 ")


def test_a_host_at_a_wrong_address_is_misdirected(server: WebServer) -> None:
    url = front(server)
    for wrong in (server.web.page_url(1, 0), url.replace("http://", "http://x."), url.replace(f":{server.port}", ":1")):
        assert talk(server, url, get(wrong)).startswith(b"HTTP/1.1 421 ")
        assert server.log()[-1].kind == "other"


def test_spellings_of_one_url_are_one_page(server: WebServer) -> None:
    url = next(u for u in server.web.site(0).by_url if "%C3%A9" in u and "/go/" not in u)
    path = url.partition(f":{server.port}")[2]
    odd = get(url).replace(path.encode(), path.lower().replace("e", "%65").encode(), 1)
    assert parse_response(talk(server, url, odd)).body == parse_response(talk(server, url, get(url))).body
    assert server.log()[-1].url == server.log()[-2].url == url


def test_pages_that_fail_at_first_succeed_afterwards(server: WebServer) -> None:
    for kind, status in ((PageKind.FLAKY, 503), (PageKind.BUSY, 429)):
        url = url_of(server, kind)
        first, second, third = (parse_response(talk(server, url, get(url))) for _ in range(3))
        assert (first.status, second.status, third.status) == (status, 200, 200)
        assert first.headers.get("retry-after") == ("1" if kind is PageKind.BUSY else None)
        logged = [request for request in server.log() if request.url == url]
        assert [request.retryable for request in logged] == [True, False, False]
        assert logged[0].wait_s == (1.0 if kind is PageKind.BUSY else 0.0)


def test_broken_and_missing_pages_never_recover(server: WebServer) -> None:
    for kind, status in ((PageKind.BROKEN, 500), (PageKind.MISSING, 404)):
        url = url_of(server, kind)
        assert [parse_response(talk(server, url, get(url))).status for _ in range(3)] == [status] * 3


def test_a_slow_page_takes_its_time(server: WebServer) -> None:
    url = url_of(server, PageKind.SLOW)
    started = time.monotonic()
    assert parse_response(talk(server, url, get(url))).status == 200
    assert time.monotonic() - started >= 0.05


def test_robots_txt_says_what_the_plan_says_and_its_crawl_delay_is_logged(server: WebServer) -> None:
    hosts = [name for number in range(10) for name in (server.web.hosts(number).main, *server.web.hosts(number).subs)]
    for name in hosts:
        robots = server.web.robots(name)
        url = server.web.origin(name) + ("/policy/robots.txt" if robots.moved else "/robots.txt")
        response = parse_response(talk(server, url, get(url)))
        assert response.status == robots.status
        logged = last_request(server, url)
        assert logged.kind == "robots"
        if robots.status == 200:
            assert response.body == robots.text()
            assert logged.wait_s == (robots.crawl_delay_s or 0.0)


@pytest.fixture(scope="module")
def hostile() -> Iterator[WebServer]:
    """A web with one host for each hostile behaviour, over http and https."""
    pages = tuple(
        PlantedPage(
            host=host_of(behaviour),
            body=b"0123456789" if behaviour is not Behaviour.RAW else b"HTTP/1.1 299 Odd\r\n\r\nabc",
            behaviour=behaviour,
            delay_s=0.01,
        )
        for behaviour in Behaviour
    )
    big = PlantedPage(host="big.test", body=bytes(20_000_000))
    with serve(plain_web(sites=1, pages=1, planted=(*pages, big), tls=True)) as running:
        yield running


def host_of(behaviour: Behaviour) -> str:
    return f"{behaviour.name.lower().replace('_', '-')}.test"


def url_on(server: WebServer, behaviour: Behaviour) -> str:
    return server.web.origin(host_of(behaviour), "http") + "/"


@pytest.mark.parametrize(
    ("behaviour", "sent", "promised"),
    [
        (Behaviour.SHORT, b"0123456789", 21),
        (Behaviour.LONG, b"01234567890123456789", 10),
        (Behaviour.DRIP, b"0123456789", 10),
        (Behaviour.NORMAL, b"0123456789", 10),
    ],
)
def test_planted_pages_lie_about_their_length_or_drip(
    hostile: WebServer, behaviour: Behaviour, sent: bytes, promised: int
) -> None:
    url = url_on(hostile, behaviour)
    started = time.monotonic()
    head, _, body = talk(hostile, url, get(url)).partition(b"\r\n\r\n")
    assert body == sent
    assert f"Content-Length: {promised}".encode() in head
    if behaviour is Behaviour.DRIP:
        assert time.monotonic() - started >= 0.09
    assert last_request(hostile, url).body_bytes == len(sent)
    assert last_request(hostile, url).retryable is behaviour.retryable


@pytest.mark.parametrize("behaviour", [Behaviour.HANG, Behaviour.STALL])
def test_planted_pages_that_never_end_are_logged_when_the_client_gives_up(
    hostile: WebServer, behaviour: Behaviour
) -> None:
    url = url_on(hostile, behaviour)
    with connect(hostile, url) as connection:
        connection.sendall(get(url))
        if behaviour is Behaviour.STALL:
            data = b""
            while not data.endswith(b"\r\n\r\n01234"):
                data += connection.recv(1_000)
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        assert url not in [request.url for request in hostile.log()]
        given_up_at = time.monotonic()
    while url not in [request.url for request in hostile.log()]:
        assert time.monotonic() < given_up_at + 30
    logged = last_request(hostile, url)
    assert logged.ended >= given_up_at
    assert logged.status == (0 if behaviour is Behaviour.HANG else 200)
    assert logged.body_bytes == (0 if behaviour is Behaviour.HANG else 5)


@pytest.mark.parametrize("behaviour", [Behaviour.CLOSE, Behaviour.RESET])
def test_planted_pages_cut_the_connection(hostile: WebServer, behaviour: Behaviour) -> None:
    url = url_on(hostile, behaviour)
    with connect(hostile, url) as connection:
        connection.sendall(get(url))
        if behaviour is Behaviour.RESET:
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
        else:
            assert connection.recv(1) == b""
    assert (last_request(hostile, url).status, last_request(hostile, url).retryable) == (0, True)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("behaviour", [Behaviour.INFINITE, Behaviour.ENDLESS_HEAD])
def test_endless_responses_never_run_ahead_of_their_reader(hostile: WebServer, behaviour: Behaviour, tls: bool) -> None:
    url = url_on(hostile, behaviour)
    plain = socket.create_connection(("127.0.0.1", hostile.tls_port if tls else hostile.port), timeout=5)
    context = ssl.create_default_context(cafile=hostile.ca_file)
    with context.wrap_socket(plain, server_hostname=host_of(behaviour)) if tls else plain as connection:
        connection.sendall(get(url if not tls else hostile.web.origin(host_of(behaviour)) + "/"))
        size = 0
        while size < 20_000_000:
            piece = connection.recv(1_000_000)
            assert piece
            size += len(piece)
        cpu_s = hostile.cpu_s()
        time.sleep(0.3)  # no client reads: the server must not continue
        assert hostile.cpu_s() - cpu_s < 0.1
    if sys.platform == "linux":
        assert int(Path(f"/proc/{hostile.pid}/statm").read_text().split()[1]) * 4_096 < 200_000_000


@pytest.mark.parametrize("tls", [False, True])
def test_a_response_ends_when_its_last_bytes_go_out_and_not_when_it_was_made(hostile: WebServer, tls: bool) -> None:
    url = hostile.web.origin("big.test", "https" if tls else "http") + "/"
    plain = socket.create_connection(("127.0.0.1", hostile.tls_port if tls else hostile.port), timeout=5)
    context = ssl.create_default_context(cafile=hostile.ca_file)
    with context.wrap_socket(plain, server_hostname="big.test") if tls else plain as connection:
        connection.sendall(get(url))
        first = connection.recv(1)
        begun = time.monotonic()
        response = parse_response(first + read_all(connection))
        read = time.monotonic()
    assert len(response.body) == 20_000_000
    assert begun <= last_request(hostile, url).ended <= read
    assert last_request(hostile, url).body_bytes == 20_000_000


def test_a_response_that_the_client_does_not_read_to_the_end_is_logged_with_the_bytes_sent(hostile: WebServer) -> None:
    url = hostile.web.origin("big.test", "http") + "/"
    before = hostile.answered()
    with connect(hostile, url) as connection:
        connection.sendall(get(url))
        assert connection.recv(1) == b"H"
        assert hostile.answered() == before
    while hostile.answered() == before:
        pass
    assert 0 < last_request(hostile, url).body_bytes < 20_000_000


def test_a_raw_page_is_sent_as_it_is(hostile: WebServer) -> None:
    url = url_on(hostile, Behaviour.RAW)
    assert talk(hostile, url, get(url)) == b"HTTP/1.1 299 Odd\r\n\r\nabc"


def test_planted_texts_contain_the_servers_ports() -> None:
    page = PlantedPage(host="a.test", body=b'<a href="http://b.test:{port}/">b</a>', links=("http://b.test:{port}/",),
                   headers=(("Location", "https://b.test:{tls_port}/"),))  # fmt: skip
    with serve(plain_web(sites=1, pages=1, tls=True, planted=(page,))) as server:
        answer = talk(server, f"http://a.test:{server.port}/", get(f"http://a.test:{server.port}/")).decode()
        assert f"http://b.test:{server.port}/" in answer
        assert f"Location: https://b.test:{server.tls_port}/" in answer


def test_a_site_has_a_certificate_for_all_its_names_from_the_webs_own_authority() -> None:
    with serve(WebSpec(sites=5, pages=5, tls=True, subdomains=1.0)) as server:
        context = ssl.create_default_context(cafile=server.ca_file)
        for number in range(5):
            hosts = server.web.hosts(number)
            for name in filter(None, (hosts.main, hosts.alias, *hosts.subs)):
                plain = socket.create_connection((server.web.address(name), server.tls_port), timeout=5)
                with context.wrap_socket(plain, server_hostname=name) as connection:
                    connection.sendall(get(f"https://{name}:{server.tls_port}/robots.txt"))
                    assert parse_response(read_all(connection)).status in (200, 301, 404)


def test_plain_http_redirects_to_the_same_page_on_https() -> None:
    with serve(WebSpec(sites=2, pages=5, tls=True, www=1.0)) as server:
        secure = server.web.page_url(0, 1)
        plain = secure.replace("https://", "http://").replace(f":{server.tls_port}", f":{server.port}")
        response = parse_response(talk(server, plain, get(plain)))
        assert (response.status, response.headers["location"]) == (301, secure)
        assert last_request(server, plain).leads_to == secure


def test_the_log_and_the_lookups_stay_readable_after_the_end() -> None:
    with serve(plain_web(sites=1, pages=1)) as server:
        talk(server, front(server), get(front(server)))
        folder = server.folder
        assert folder.exists()
    assert [request.url for request in server.log()] == [front(server)]
    assert server.lookups() == []
    assert not folder.exists()
    assert not server.alive()


def test_files_stay_in_a_folder_that_was_given(tmp_path: Path) -> None:
    with serve(plain_web(sites=1, pages=1, tls=True), folder=tmp_path):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"access.log", "dns.log", "ca.pem"}


def test_a_request_under_way_at_the_end_is_in_the_log() -> None:
    page = PlantedPage(host="trap.test", behaviour=Behaviour.HANG)
    with serve(plain_web(sites=1, pages=1, planted=(page,))) as server:
        url = server.web.origin("trap.test") + "/"
        connection = connect(server, url)
        connection.sendall(get(url))
        with connect(server, url) as second:  # its response proves that the first request has arrived
            second.sendall(get(url + "x"))
            read_all(second)
    connection.close()
    assert {request.url for request in server.log()} == {url, url + "x"}


SERVE_AND_WAIT = """
import sys, time
from gossamer_simweb import plain_web, serve
with serve(plain_web(sites=1, pages=1)) as server:
    print(server.pid, server.port, server.folder, flush=True)
    time.sleep(60)
"""


def test_the_server_dies_with_the_process_that_started_it_and_leaves_nothing_behind() -> None:
    parent = subprocess.Popen([sys.executable, "-c", SERVE_AND_WAIT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, port, folder = parent.stdout.readline().split()
    socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    until = time.monotonic() + 30
    while Path(folder).exists() or _runs(int(pid)):
        assert time.monotonic() < until
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)), timeout=5)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_port_in_use_is_an_error_and_leaves_nothing_behind() -> None:
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"), serve(plain_web(sites=1), port=taken.getsockname()[1]):
            pass


def test_a_network_that_is_not_this_machine_is_an_error() -> None:
    with pytest.raises(OSError, match="assign"), serve(plain_web(sites=1), network=192):
        pass


def test_the_server_cannot_be_reached_by_an_outside_address(server: WebServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; shows which address the system would use
        except OSError:
            pytest.skip("this machine has no address but loopback")
        outside = probe.getsockname()[0]
    if outside.startswith("127."):
        pytest.skip("this machine has no address but loopback")
    before = server.answered()
    assert _ask(outside, server.port, get(front(server))) == b""
    assert server.answered() == before


def _ask(address: str, port: int, request: bytes) -> bytes:
    """Return what a server sends; nothing if it refuses the connection."""
    try:
        with socket.create_connection((address, port), timeout=2) as connection:
            connection.sendall(request)
            return connection.recv(1_000)
    except OSError:
        return b""


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_understands_it(server: WebServer) -> None:
    url = front(server)
    name = server.web.hosts(0).main
    resolve = f"{name}:{server.port}:{server.web.address(name)}"
    shown = subprocess.run(["curl", "-sS", "--compressed", "--resolve", resolve, url], capture_output=True, check=True)
    assert b"</html>" in shown.stdout
