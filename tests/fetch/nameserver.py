"""A name server that answers as a test specifies, and records the questions."""

from __future__ import annotations

import asyncio
import struct
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NO_SUCH_NAME, SERVER_FAILURE, REFUSED = 3, 2, 5
SILENCE = -1
_TYPES = {"A": 1, "CNAME": 5, "AAAA": 28}
_NAMES = {number: name for name, number in _TYPES.items()}


class Record(NamedTuple):
    """One record of an answer."""

    kind: str
    value: str
    ttl_s: int = 300
    name: str = ""  # if it differs from the name in the question


Reply = int | list[Record]  # a code, or records


def a(*addresses: str, ttl_s: int = 300) -> list[Record]:
    """Return address records."""
    return [Record("A" if ip_address(each).version == 4 else "AAAA", each, ttl_s) for each in addresses]


class NameServer(asyncio.DatagramProtocol):
    """Answers from a list of replies per question; the last reply is repeated."""

    def __init__(self, zone: dict[tuple[str, str], list[Reply]]) -> None:
        self._zone = {question: list(replies) for question, replies in zone.items()}
        self.asked: list[tuple[str, str]] = []
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the answers."""
        self._transport = transport
        self.address = "{}:{}".format(*transport.get_extra_info("sockname"))

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        """Answer a question."""
        labels, at = [], 12
        while size := data[at]:
            labels.append(data[at + 1 : at + 1 + size].decode())
            at += 1 + size
        question = (".".join(labels).lower(), _NAMES[int.from_bytes(data[at + 1 : at + 3], "big")])
        self.asked.append(question)
        replies = self._zone.get(question) or self._zone.get((question[0], "*"), [[]])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply == SILENCE:
            return
        records = reply if isinstance(reply, list) else []
        code = reply if isinstance(reply, int) else 0
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        self._transport.sendto(  # type: ignore[attr-defined]
            head + data[12 : at + 5] + b"".join(_encode(record, question[0]) for record in records), sender
        )


@asynccontextmanager
async def naming(zone: dict[tuple[str, str], list[Reply]]) -> AsyncIterator[NameServer]:
    """Run a name server."""
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(zone), local_addr=("127.0.0.1", 0)
    )
    try:
        yield server
    finally:
        transport.close()


def _encode(record: Record, asked: str) -> bytes:
    data = _encode_name(record.value) if record.kind == "CNAME" else ip_address(record.value).packed
    head = struct.pack(">HHIH", _TYPES[record.kind], 1, record.ttl_s, len(data))
    return _encode_name(record.name or asked) + head + data


def _encode_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
