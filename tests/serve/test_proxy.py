"""The dashboard behind nginx with TLS, as the documentation says."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import textwrap
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme

from tests.end_to_end.crawls import wait_until
from tests.ports import free_port
from tests.serve.dashboards import Answer, dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.serve.dashboards import ServedCrawl

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "dashboard.md"
NAME = "crawl.example.org"

pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx")


@contextmanager
def nginx(folder: Path, port: int, behind: ServedCrawl) -> Iterator[ssl.SSLContext]:
    """Run nginx with the server of the guide, at another port; yield what trusts its certificate."""
    authority = trustme.CA()
    certificate = authority.issue_cert(NAME)
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    found = re.search(r"With nginx:\n\n((?:    .*\n)+)", GUIDE.read_text())
    assert found
    server = textwrap.dedent(found[1]).replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    server = server.replace("http://127.0.0.1:8642", behind.url)
    server = re.sub(r"/etc/ssl/\S+\.pem", str(folder / "cert.pem"), server)
    server = re.sub(r"/etc/ssl/\S+\.key", str(folder / "key.pem"), server)
    user = "user root;" if os.geteuid() == 0 else ""  # else its workers may not use this folder
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n{server} }}\n"
    )
    assert NGINX is not None
    with subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")]) as process:
        try:
            context = ssl.create_default_context()
            authority.configure_trust(context)
            wait_until(lambda: (folder / "pid").exists(), "nginx to start")
            yield context
        finally:
            process.terminate()


class Client:
    """Speaks to the dashboard through the proxy, as a browser that knows its name."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self._port, self._trust = port, trust

    def ask(self, path: str, headers: Mapping[str, str], *, body: str | None = None) -> Answer:
        """Send a request, and return the answer; of a stream, how it begins."""
        with socket.create_connection(("127.0.0.1", self._port), timeout=60) as plain:
            connection = http.client.HTTPConnection(NAME, timeout=60)
            connection.sock = self._trust.wrap_socket(plain, server_hostname=NAME)
            connection.request("POST" if body else "GET", path, body=body, headers={"Host": NAME, **headers})
            answer = connection.getresponse()
            said = {name.lower(): value for name, value in answer.getheaders()}
            is_stream = said.get("content-type", "").startswith("text/event-stream")
            read = answer.read(200) if is_stream else answer.read()
            connection.close()
            return Answer(status=answer.status, headers=said, body=read.decode())


def test_the_proxy_of_the_guide_serves_pages_streams_and_orders(crawled: Path, tmp_path: Path) -> None:
    port, public = free_port(), f"https://{NAME}"
    tokens = tmp_path / "keys" / "tokens"
    with (
        dashboard(crawled, tokens, "--public-url", public, port=free_port()) as served,
        nginx(tmp_path, port, served) as trust,
    ):
        client = Client(port, trust)
        login = client.ask("/login", {"Origin": public}, body=f"token={served.tokens['operator']}")
        cookie, *rest = login.headers["set-cookie"].split("; ")
        assert "Secure" in rest
        assert "<h1>Overview</h1>" in client.ask("/", {"Cookie": cookie}).body
        assert "data: {" in client.ask("/events", {"Cookie": cookie}).body
        ours = {"Cookie": cookie, "Origin": public}
        assert "is not paused" in client.ask("/order", ours, body="what=resume").body
        assert client.ask("/order", ours | {"Origin": f"http://{NAME}"}, body="what=resume").status == 403
        assert client.ask("/", {"Cookie": cookie, "Host": "evil.test"}).status == 421
