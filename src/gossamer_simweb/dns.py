"""The name server of the simulated web: DNS messages in, DNS messages out. Pure.

It knows the hosts of the web and the planted names, and answers NXDOMAIN for every other name. It supports only what a
stub resolver needs: one question per message, A and AAAA, compression of the question's name only, no EDNS.
"""

from __future__ import annotations

import ipaddress
import struct
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gossamer_simweb.hostility.kind import Lookup
from gossamer_simweb.hostility.sites import INTERNAL_ADDRESSES, MANY_ADDRESSES

if TYPE_CHECKING:
    from gossamer_simweb.hostility.sites import HostileHost
    from gossamer_simweb.plan import WebPlan
    from gossamer_simweb.spec import PlantedName

A, AAAA = 1, 28
_NO_ERROR, _SERVER_FAILURE, _NO_SUCH_NAME, _NOT_IMPLEMENTED = 0, 2, 3, 4


class DnsQuestion(NamedTuple):
    """One question that a client asked the name server."""

    name: str
    record: int  # A, AAAA or another record type


class DnsResponder:
    """Answers questions about the names of a web, and counts the questions about planted names."""

    def __init__(self, web: WebPlan) -> None:
        self._web = web
        self._planted = {planted.name: planted for planted in web.spec.planted_names}
        self._asked: Counter[DnsQuestion] = Counter()

    def reply(self, message: bytes) -> tuple[DnsQuestion | None, bytes | None]:
        """Return the question and the reply to send; None for each that does not exist."""
        question = _parse_question(message)
        if question is None:
            return None, None
        name, record, end = question
        lookup = DnsQuestion(name, record)
        opcode = message[2] >> 3 & 15
        if opcode != 0:
            return lookup, _message(message, end, _NOT_IMPLEMENTED, ())
        planted = self._planted.get(name)
        if planted is not None:
            return lookup, self._planted_reply(message, end, lookup, planted)
        if (hostile := self._web.hostile.find(name)) is not None and hostile.lookup is not Lookup.ADDRESS:
            return lookup, self._hostile_reply(message, end, hostile, record)
        address = self._web.address(name)
        if address is None:
            return lookup, _message(message, end, _NO_SUCH_NAME, ())
        addresses = (address,) if record == A else ()
        return lookup, _message(message, end, _NO_ERROR, addresses, self._web.spec.dns_ttl_s)

    def _hostile_reply(self, message: bytes, end: int, host: HostileHost, record: int) -> bytes | None:
        ttl_s = self._web.spec.dns_ttl_s
        match host.lookup:
            case Lookup.SILENCE:
                return None
            case Lookup.FAILURE:
                return _message(message, end, _SERVER_FAILURE, ())
            case Lookup.GARBAGE:
                return message[:2] + b"\x84\x00" + bytes(range(4, 200))
            case Lookup.TRUNCATED:
                return message[:2] + b"\x86\x00\0\1\0\0\0\0\0\0" + message[12:end]
            case Lookup.STRANGER:
                other = message[:12] + b"\x05other\x04test\0\0\1\0\1"
                return _message(other, len(other), _NO_ERROR, ("127.0.0.1",), ttl_s)
            case Lookup.INTERNAL:
                return _message(message, end, _NO_ERROR, INTERNAL_ADDRESSES if record == A else (), ttl_s)
            case Lookup.MANY:
                prefix = (self._web.address(host.name) or "127.0.0.1").rpartition(".")[0]
                every = tuple(f"{prefix}.{last}" for last in range(1, MANY_ADDRESSES + 1))
                return _message(message, end, _NO_ERROR, every if record == A else (), ttl_s)
        return _message(message, end, _NO_ERROR, ())

    def _planted_reply(self, message: bytes, end: int, lookup: DnsQuestion, planted: PlantedName) -> bytes | None:
        if planted.failure:
            code = {"nxdomain": _NO_SUCH_NAME, "servfail": _SERVER_FAILURE}.get(planted.failure)
            return None if code is None else _message(message, end, code, ())
        self._asked[lookup] += 1
        addresses = planted.addresses
        if planted.later_addresses and self._asked[lookup] > 1:
            addresses = planted.later_addresses
        version = {A: 4, AAAA: 6}.get(lookup.record)
        fitting = tuple(text for text in addresses if ipaddress.ip_address(text).version == version)
        return _message(message, end, _NO_ERROR, fitting, planted.ttl_s)


def _parse_question(message: bytes) -> tuple[str, int, int] | None:
    """Return the name in lower case, the record type and the offset where the question ends."""
    if len(message) < 17 or message[2] & 0x80 or message[4:6] != b"\0\1":
        return None
    labels, at = [], 12
    while at < len(message) and (size := message[at]):
        if size > 63:
            return None
        labels.append(message[at + 1 : at + 1 + size].decode("latin-1"))
        at += 1 + size
    if at + 5 > len(message):
        return None
    return ".".join(labels).lower(), int.from_bytes(message[at + 1 : at + 3], "big"), at + 5


def _message(question: bytes, end: int, code: int, addresses: tuple[str, ...], ttl_s: int = 60) -> bytes:
    flags = 0x8400 | (question[2] & 1) << 8 | 0x80 | code  # an authoritative response; recursion as desired
    head = question[:2] + struct.pack(">HHHHH", flags, 1, len(addresses), 0 if addresses else 1, 0)
    records = [head, question[12:end]]
    for text in addresses:
        packed = ipaddress.ip_address(text).packed
        record = A if len(packed) == 4 else AAAA
        records.append(struct.pack(">HHHIH", 0xC00C, record, 1, ttl_s, len(packed)) + packed)
    if not addresses:  # an SOA record: how long a resolver may cache the negative answer
        soa = b"\x02ns\x04test\0\x04root\x04test\0" + struct.pack(">IIIII", 1, 60, 60, 60, ttl_s)
        records.append(b"\x04test\0" + struct.pack(">HHIH", 6, 1, ttl_s, len(soa)) + soa)
    return b"".join(records)
