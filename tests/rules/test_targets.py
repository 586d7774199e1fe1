"""Which hosts links lead to: names on the ports of the web, unless the operator or the page itself says otherwise."""

from __future__ import annotations

import pytest

from gossamer.records import Reason
from gossamer.rules.scope import BLOCKED_PORTS, ScopeSettings, TargetRules, is_blocked
from gossamer.urls import identify, normalise

PAGE = "https://a.test"


def refusal(
    target: str,
    *,
    by: str = PAGE,
    ip_hosts: bool = False,
    ports: tuple[int, ...] = (),
    seed_ports: tuple[int, ...] = (),
) -> Reason | None:
    url = normalise(target)
    assert isinstance(url, str)
    return TargetRules(ip_hosts, ports, seed_ports).refuse(identify(url).host, by=by)


@pytest.mark.parametrize(
    "written",
    [
        "http://93.184.215.14/",
        "http://93.184.215.14:80/x",
        "http://1572395790/",  # the same address in decimal
        "http://0x5db8d70e/",  # in hexadecimal
        "http://0135.0270.0327.016/",  # in octal
        "http://93.184.55054/",  # in three parts
        "http://93.184.215.14./",
        "http://\uff19\uff13.184.215.14/",  # in full-width digits
        "https://[2606:2800:21f::1]/",
        "https://[::ffff:93.184.215.14]/",
    ],
)
def test_links_to_addresses_are_refused_in_every_form(written: str) -> None:
    assert refusal(written) is Reason.IP_HOST
    assert refusal(written, ip_hosts=True) is None
    assert refusal(written, by=identify(str(normalise(written))).host) is None


def test_a_page_at_an_address_may_link_to_the_same_address_under_another_scheme_only() -> None:
    assert refusal("https://93.184.215.14/", by="http://93.184.215.14") is None
    assert refusal("https://93.184.215.15/", by="http://93.184.215.14") is Reason.IP_HOST


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 1, 65_535])
def test_links_to_other_ports_are_refused(port: int) -> None:
    assert refusal(f"http://b.test:{port}/") is Reason.PORT_REFUSED


@pytest.mark.parametrize("target", ["http://b.test/", "https://b.test/", "https://b.test:80/", "http://b.test:443/"])
def test_links_to_the_ports_of_the_web_are_followed(target: str) -> None:
    assert refusal(target) is None
    assert refusal(target, by="http://a.test:8080") is None


def test_a_port_is_followed_if_a_seed_has_it_or_the_operator_allows_it_whatever_the_port_of_the_page() -> None:
    for by in (PAGE, "http://a.test:8080", "http://a.test:8081"):
        assert refusal("http://b.test:8080/", by=by) is Reason.PORT_REFUSED
        assert refusal("http://b.test:8080/", by=by, seed_ports=(8080,)) is None
        assert refusal("http://b.test:8080/", by=by, ports=(8080,)) is None
    assert refusal("http://a.test:8080/2", by="http://a.test:8080") is None, "a host may link to itself"
    assert refusal("http://[::2]:8080/", by="http://[::1]:8080", seed_ports=(8080,)) is Reason.IP_HOST


def test_ports_that_browsers_block_are_never_contacted() -> None:
    for port in BLOCKED_PORTS:
        assert is_blocked(f"http://a.test:{port}")
        assert refusal(f"http://b.test:{port}/", by=f"http://a.test:{port}", ports=(port,)) is Reason.PORT_REFUSED
    assert not is_blocked("https://a.test")
    assert not is_blocked("https://[::1]:8443")


@pytest.mark.parametrize("port", [0, 65_536, 22, 6_000])
def test_a_port_that_cannot_be_allowed_is_a_mistake(port: int) -> None:
    with pytest.raises(ValueError, match=str(port)):
        ScopeSettings(allow_ports=(port,))
