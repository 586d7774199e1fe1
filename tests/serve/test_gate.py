"""Which requests the dashboard answers, by Host, Origin, token and role."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.serve.gate import AccessRules, RequestHead
from gossamer.serve.tokens import Keyring, Role, Token

OPERATOR = Token(name="op", role=Role.OPERATOR, secret="a" * 43)
VIEWER = Token(name="eye", role=Role.VIEWER, secret="b" * 43)
GATE = AccessRules(
    tokens=Keyring([OPERATOR, VIEWER]),
    cookie_name="gossamer_8642",
    origins={"crawl.example.org": "https://crawl.example.org"},
    open_paths=frozenset({"/login"}),
    orders=frozenset({"/order"}),
)
HOST = "127.0.0.1:8642"
OWN = {"origin": f"http://{HOST}"}
COOKIE = {"gossamer_8642": OPERATOR.cookie}
EYE = {"gossamer_8642": VIEWER.cookie}


def verdict(path: str = "/", method: str = "GET", cookies: Any = None, **headers: Any) -> int:
    """Return the status of a refusal, or 200."""
    named: dict[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
    ask = RequestHead(
        method=method, path=path, headers={"host": HOST} | named, cookies=COOKIE if cookies is None else cookies
    )
    refused = GATE.refuse(ask, GATE.find_token(ask))
    if refused:
        assert "\n" not in refused.sentence
    return refused.status if refused else 200


@pytest.mark.parametrize("host", ["127.0.0.1:8642", "localhost:8642", "LOCALHOST", "[::1]:9000", "crawl.example.org"])
def test_a_name_of_its_own_is_served(host: str) -> None:
    assert verdict(host=host) == 200


@pytest.mark.parametrize(
    "host",
    ["", "evil.test", "evil.test:8642", "127.0.0.1.evil.test", "127.0.0.1:8642.evil.test", "localhost.evil.test",
     "127.0.0.1:8642, evil.test", "crawl.example.org:444", "crawl.example.org.", "0.0.0.0:8642", "127.0.0.1:",
     "user@localhost"],
)  # fmt: skip
def test_a_name_that_somebody_else_could_point_here_is_not_served(host: str) -> None:
    assert verdict(host=host) == 421


def test_an_order_of_our_own_page_is_obeyed() -> None:
    assert verdict("/order", "POST", **OWN, sec_fetch_site="same-origin") == 200
    assert verdict("/order", "POST", host="crawl.example.org", origin="https://crawl.example.org") == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.test", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8642", "http://localhost:8642", "",
     "http://127.0.0.1:8642, https://evil.test"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_origin_reads_and_orders_nothing(origin: str, method: str) -> None:
    assert verdict("/order", method, origin=origin) == 403


def test_an_order_by_cookie_without_an_origin_is_refused() -> None:
    assert verdict("/order", "POST") == 403
    assert verdict("/login", "POST", cookies={}) == 403


def test_a_program_orders_with_the_header_that_no_page_can_send() -> None:
    assert verdict("/order", "POST", cookies={}, authorization=f"Bearer {OPERATOR.secret}") == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_lead_here_but_embeds_nothing(site: str) -> None:
    fetch = {"sec_fetch_site": site, "sec_fetch_mode": "no-cors", "sec_fetch_dest": "script"}
    frame = {"sec_fetch_site": site, "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}
    link = {"sec_fetch_site": site, "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert (verdict(**fetch), verdict(**frame), verdict(**link)) == (403, 403, 200)
    assert verdict("/order", "POST", **link) == 403


@pytest.mark.parametrize(
    "shown",
    [{"cookies": {}}, {"cookies": {"gossamer_8642": "x"}}, {"cookies": {"other": OPERATOR.cookie}},
     {"cookies": {"gossamer_8642": OPERATOR.secret}}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer"},
     {"authorization": f"Bearer {OPERATOR.cookie}"}, {"cookies": {}, "authorization": f"Basic {OPERATOR.secret}"}],
)  # fmt: skip
def test_no_token_or_a_wrong_one_opens_nothing_but_the_form(shown: dict[str, Any]) -> None:
    for path in ("/", "/events", "/order", "/nothing"):
        assert verdict(path, **shown) == 401
    assert verdict("/login", **shown) == 200


def test_a_viewer_reads_and_orders_nothing() -> None:
    assert verdict(cookies=EYE) == 200
    assert verdict("/order", cookies=EYE) == 403
    assert verdict("/order", "POST", cookies=EYE, **OWN) == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(method: str) -> None:
    assert verdict(method=method) == 405


def test_a_long_form_is_refused_before_it_is_read() -> None:
    assert verdict("/order", "POST", **OWN, content_length="16384") == 200
    assert verdict("/order", "POST", **OWN, content_length="16385") == 413
