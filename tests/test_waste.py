"""Networks are judged by what their sites waste, and ordinary networks are not judged at all."""

from __future__ import annotations

import pytest

from gossamer.waste import LEAST_WASTE, MAX_NETWORKS, MEMORY, NetworkLedger, network_of


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.255", True),
        ("192.0.2.1", "192.0.3.1", False),
        ("2001:db8:1::1", "2001:db8:1:ffff::2", True),
        ("2001:db8:1::1", "2001:db8:2::1", False),
        ("2001:db8::1", "2001:db8:0:1::", True),
        ("fe80::1%eth0", "fe80::2", True),
    ],
)
def test_a_network_is_the_first_24_or_48_bits(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) is same


def test_a_network_that_wastes_most_requests_is_wasteful_until_its_sites_answer() -> None:
    ledger = NetworkLedger()
    for _ in range(LEAST_WASTE):
        assert not ledger.is_wasteful("192.0.2.7")
        ledger.note_waste("192.0.2.1")
    assert ledger.is_wasteful("192.0.2.7")
    assert not ledger.is_wasteful("192.0.3.7")
    assert ledger.wasteful == 1
    for _ in range(LEAST_WASTE):
        ledger.note_answer("192.0.2.9")
    assert not ledger.is_wasteful("192.0.2.7")


@pytest.mark.parametrize(("silent", "costly", "is_wasteful"), [(10, 0, False), (0, 3, False), (10, 3, True)])
def test_silence_and_costly_pages_of_a_network_count_together(silent: int, costly: int, *, is_wasteful: bool) -> None:
    ledger = NetworkLedger()
    for _ in range(silent):
        ledger.note_waste("192.0.2.1")
    for _ in range(costly):
        ledger.note_answer("192.0.2.2")  # robots.txt
        ledger.note_answer("192.0.2.2")  # the page
        ledger.note_costly("192.0.2.2")
    assert ledger.is_wasteful("192.0.2.7") is is_wasteful


def test_a_provider_with_some_dead_sites_is_not_wasteful() -> None:
    ledger = NetworkLedger()
    for _ in range(1_000):
        ledger.note_waste("192.0.2.1")
        for _ in range(3):
            ledger.note_answer("192.0.2.2")
    assert not ledger.is_wasteful("192.0.2.3")


def test_the_recent_requests_decide() -> None:
    ledger = NetworkLedger()
    ledger.note_waste("192.0.2.1")
    for _ in range(20 * MEMORY):
        ledger.note_answer("192.0.2.1")
    for _ in range(2 * MEMORY):
        ledger.note_waste("192.0.2.1")
    assert ledger.is_wasteful("192.0.2.1")


def test_the_ledger_has_a_bound() -> None:
    ledger = NetworkLedger()
    for number in range(MAX_NETWORKS + 500):
        ledger.note_waste(f"10.{number >> 8}.{number & 255}.1")
    assert len(ledger.networks) == MAX_NETWORKS
