"""Hostile name servers, and hostile TLS: handshakes that hang, and bad certificates. Pure."""

from __future__ import annotations

from gossamer_simweb.hostility.kind import (
    Certificate,
    Ending,
    HostileKind,
    Lookup,
    drip,
    ordinary_page,
)

_ALERT = b"\x15\x03\x03\x00\x02\x02\x50"  # internal_error
_HELLO = b"\x16\x03\x03\x40\x00"  # a record of 16 KB begins

NAME_KINDS = {
    "dns-silence": HostileKind(
        sentence="The name server never answers for its name.",
        page=ordinary_page,
        lookup=Lookup.SILENCE,
    ),
    "dns-failure": HostileKind(
        sentence="The name server answers that it failed.",
        page=ordinary_page,
        lookup=Lookup.FAILURE,
    ),
    "dns-many": HostileKind(
        sentence="Its name has 200 addresses.",
        page=ordinary_page,
        lookup=Lookup.MANY,
    ),
    "dns-internal": HostileKind(
        sentence="Its name leads to addresses of internal networks.",
        page=ordinary_page,
        lookup=Lookup.INTERNAL,
    ),
    "dns-nothing": HostileKind(
        sentence="Its name exists and has no address.",
        page=ordinary_page,
        lookup=Lookup.NOTHING,
    ),
    "dns-truncated": HostileKind(
        sentence="The name server's answers are truncated, and it does not listen on TCP.",
        page=ordinary_page,
        lookup=Lookup.TRUNCATED,
    ),
    "dns-garbage": HostileKind(
        sentence="The name server answers with random bytes.",
        page=ordinary_page,
        lookup=Lookup.GARBAGE,
    ),
    "dns-stranger": HostileKind(
        sentence="The name server answers another question than the one asked.",
        page=ordinary_page,
        lookup=Lookup.STRANGER,
    ),
}

TLS_KINDS = {
    "tls-hang": HostileKind(
        sentence="It accepts TLS connections and never answers the handshake.",
        page=ordinary_page,
        https=True,
        on_connect=lambda: iter(()),
        connect_ending=Ending.HOLD,
    ),
    "tls-drip": HostileKind(
        sentence="It sends its side of the TLS handshake one byte a second.",
        page=ordinary_page,
        https=True,
        on_connect=lambda: drip(_HELLO + bytes(2_000), 1.0),
    ),
    "tls-junk": HostileKind(
        sentence="It answers the TLS handshake with plain HTTP.",
        page=ordinary_page,
        https=True,
        on_connect=lambda: iter((b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",)),
        connect_ending=Ending.CLOSE,
    ),
    "tls-alert": HostileKind(
        sentence="It ends every TLS handshake with an alert.",
        page=ordinary_page,
        https=True,
        on_connect=lambda: iter((_ALERT,)),
        connect_ending=Ending.CLOSE,
    ),
    "tls-reset": HostileKind(
        sentence="It resets the connection in the TLS handshake.",
        page=ordinary_page,
        https=True,
        on_connect=lambda: iter((0.05,)),
        connect_ending=Ending.RESET,
    ),
    "certificate-expired": HostileKind(
        sentence="Its certificate has expired.",
        page=ordinary_page,
        https=True,
        certificate=Certificate(expired=True),
    ),
    "certificate-of-another": HostileKind(
        sentence="Its certificate is for another name.",
        page=ordinary_page,
        https=True,
        certificate=Certificate(other_name=True),
    ),
    "certificate-unknown": HostileKind(
        sentence="Its certificate comes from an authority that is unknown.",
        page=ordinary_page,
        https=True,
        certificate=Certificate(unknown_authority=True),
    ),
    "certificate-huge": HostileKind(
        sentence="Its certificate lists 2,000 names.",
        page=ordinary_page,
        https=True,
        certificate=Certificate(names=2_000),
    ),
}
