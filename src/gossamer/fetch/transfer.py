"""One request over one connection: a libcurl handle, reused for many requests, and its callbacks.

libcurl removes chunking and unfolds folded header lines. Nothing else differs between the wire and the value.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import pycurl

from gossamer import metrics
from gossamer.fetch.bodies import Growth
from gossamer.fetch.failures import Ending, Stop, judge_ending
from gossamer.records import ROBOTS_KINDS, Failed, Fetched, Reason, RequestKind
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.fetch.addresses import AddressVerdict
    from gossamer.fetch.multi import Multi
    from gossamer.fetch.settings import FetchSettings
    from gossamer.fetch.slots import RequestGate, RequestPlace

SITEMAP_BYTES = 50 * 1024 * 1024  # the largest sitemap that the protocol allows
TDMREP_BYTES = 64 * 1024  # as many as its reader takes
ROBOTS_BYTES = 500 * 1024  # what RFC 9309 asks a crawler to read at least
ERROR_BODY_BYTES = 64 * 1024  # of a redirect or an error: its head holds what matters
MAX_HEAD_BYTES = 64 * 1024  # of an answer; libcurl itself fails at 300 KiB, with its own error
MIN_SPEED_BYTES = 100  # a second; a server that is slower for the entire window is too slow
MIN_SPEED_WINDOW_S = 20

_REFUSE: Final[int] = pycurl.SOCKET_BAD
_SEND: Final[int] = pycurl.PREREQFUNC_OK
_DO_NOT_SEND: Final[int] = pycurl.PREREQFUNC_ABORT
_PAUSE: Final[int] = pycurl.WRITEFUNC_PAUSE
_TIMER_S = 0.005  # libcurl counts in milliseconds
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_BLANK_LINES: Final = (b"\r\n", b"\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferContext:
    """What all transfers of a crawl share."""

    settings: FetchSettings
    headers: tuple[str, ...]  # all request headers except Host, which comes first
    judge: Callable[[str], AddressVerdict]
    authorities: Path | None  # None: certificates are not verified
    gate: RequestGate  # hears of every head and every piece of a body


class TransferRequest(NamedTuple):
    """What to request, and from which address."""

    url: str
    address: str  # of its host; no other is contacted
    kind: RequestKind
    for_links: bool  # read HTML even if its type is not accepted
    before_send: Callable[[], bool] | None
    place: RequestPlace


class Transfer:
    """A libcurl handle, and the state of the request that it makes."""

    def __init__(self, context: TransferContext) -> None:
        self._context = context
        self._accepted = frozenset(each.lower() for each in context.settings.accept_types)
        self._head_rest = "".join(f"{header}\r\n" for header in context.headers) + "\r\n"
        self._pinned = ""
        self._request: TransferRequest
        self._curl = pycurl.Curl()
        _configure(self._curl, context)
        self._curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        self._curl.setopt(pycurl.PREREQFUNCTION, self._send_or_halt)
        self._curl.setopt(pycurl.HEADERFUNCTION, self._take_header)
        self._curl.setopt(pycurl.WRITEFUNCTION, self._take_body)
        self.reset()

    def reset(self) -> None:
        """Forget the last request."""
        self._lines: list[bytes] = []
        self._head_bytes = 0
        self._status = 0  # of the final answer, once its head is complete
        self._chunks: list[bytes] = []
        self._max_body_bytes = 0
        self._links_only = False
        self._stop: Stop | None = None
        self._detail = ""  # what libcurl cannot know about the failure

    def close(self) -> None:
        """Free the handle. It must not be under way."""
        self._curl.close()

    async def perform(self, multi: Multi, request: TransferRequest) -> Fetched | Failed:
        """Make a request; cancelling it closes the connection at once."""
        self._request = request
        url, address = request.url, request.address
        authority, _, path = url.partition("://")[2].partition("/")
        target = f"/{path}"
        self._aim(url, target, address)
        request.place.transfer = self
        request.place.is_patient = request.kind is not RequestKind.SITEMAP
        self._multi = multi
        started_at, begun = time.time(), time.perf_counter()
        code, message = await multi.perform(self._curl)
        duration_s = time.perf_counter() - begun
        if request.place.is_paused:  # its time ended while we let it wait
            self._halt(Stop.CROWDED)
        verdict = judge_ending(self._ending(code, duration_s))
        if isinstance(verdict, Reason):
            return Failed(
                url=url,
                reason=verdict,
                detail=self._detail
                or message
                or f"ended with status {self._status} after a head of {count(self._head_bytes, 'byte')}",
                address=address,
                started_at=started_at,
                duration_s=duration_s,
            )
        return Fetched(
            url=url,
            status=self._status,
            head=b"".join(self._lines),
            body=b"".join(self._chunks),
            truncated=verdict,
            type_refused=self._stop is Stop.TYPE,
            links_only=self._links_only,
            address=address,
            request_head=f"GET {target} HTTP/1.1\r\nHost: {authority}\r\n{self._head_rest}".encode("ascii"),
            started_at=started_at,
            duration_s=duration_s,
        )

    def observe_times(self, answer: Fetched | Failed) -> None:
        """Measure how long a request took; of one that was answered, each step as well, as libcurl timed them."""
        metrics.REQUEST_SECONDS.observe(answer.duration_s)
        if isinstance(answer, Failed):
            return
        getinfo = self._curl.getinfo
        connected_us: int = getinfo(pycurl.CONNECT_TIME_T)
        metrics.CONNECT_SECONDS.observe(connected_us / 1e6)
        if answer.url.startswith("https:"):
            metrics.TLS_SECONDS.observe((getinfo(pycurl.APPCONNECT_TIME_T) - connected_us) / 1e6)
        metrics.FIRST_BYTE_SECONDS.observe(getinfo(pycurl.STARTTRANSFER_TIME_T) / 1e6)

    def _aim(self, url: str, target: str, address: str) -> None:
        self._curl.setopt(pycurl.URL, url)
        self._curl.setopt(pycurl.REQUEST_TARGET, target)  # libcurl would normalise dots and escapes of the URL
        if address != self._pinned:
            pin = f"[{address}]" if ":" in address else address
            self._curl.setopt(pycurl.CONNECT_TO, [f"::{pin}:"])
            self._pinned = address

    def _ending(self, code: int, duration_s: float) -> Ending:
        if not code and self._status:  # the common case
            return Ending(status=self._status)
        curl = self._curl
        https = self._request.url.startswith("https:")
        return Ending(
            code=code,
            os_errno=curl.getinfo(pycurl.OS_ERRNO),
            stop=self._stop,
            https=https,
            connected=curl.getinfo(pycurl.CONNECT_TIME_T) > 0,
            secured=not https or curl.getinfo(pycurl.APPCONNECT_TIME_T) > 0,
            out_of_time=duration_s > self._context.settings.total_timeout_s - _TIMER_S,
            status=self._status,
            body_bytes=self._request.place.body_bytes,
            keep_partial=self._request.kind is RequestKind.PAGE,
        )

    def _open_socket(self, _purpose: int, target: tuple[int, int, int, tuple[str, int]]) -> _Descriptor | int:
        """Open the socket for the address that libcurl is about to connect to, after judging the address once more."""
        family, kind, protocol, where = target
        verdict = self._context.judge(where[0])
        if verdict.reason is not None:
            self._halt(Stop.ADDRESS, f"{where[0]}: {verdict.reason.value}")
            return _REFUSE
        try:
            return _Descriptor(socket.SocketType(family, kind, protocol).detach())
        except OSError as error:  # no descriptor left, or no such address family
            self._detail = str(error)
            return _REFUSE

    def _send_or_halt(self, *_: object) -> int:
        """Ask the caller a last time whether to send; if not, end the transfer."""
        before_send = self._request.before_send
        if before_send is None or before_send():
            return _SEND
        self._halt(Stop.VETO)
        return _DO_NOT_SEND

    def _take_header(self, line: bytes) -> int | None:
        """Keep a line of the head. Any result but None ends the transfer."""
        if self._status:  # a trailer, after the body
            return None
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES:
            return self._halt(Stop.HEAD)
        self._lines.append(line)
        return self._end_head() if line in _BLANK_LINES else None

    def _end_head(self) -> int | None:
        status = int(self._lines[0].split(None, 2)[1][:3])  # libcurl has checked that it is a number
        if status < 200 and status != 101:  # an interim response
            self._lines.clear()
            return None
        self._status = status
        self._context.gate.hear(self._request.place)
        if not 200 <= status < 300:
            self._max_body_bytes = ERROR_BODY_BYTES
        elif self._request.kind in ROBOTS_KINDS:
            self._max_body_bytes = ROBOTS_BYTES
        elif self._request.kind is RequestKind.SITEMAP:
            self._max_body_bytes = SITEMAP_BYTES
        elif self._request.kind is RequestKind.TDMREP:
            self._max_body_bytes = TDMREP_BYTES
        else:
            self._max_body_bytes = self._context.settings.max_body_bytes
            type_ = content_type(self._lines)
            if not is_accepted(type_, self._accepted):
                if not (self._request.for_links and type_ in _HTML):
                    return self._halt(Stop.TYPE)
                self._links_only = True
        return None

    def _take_body(self, chunk: bytes) -> int | None:
        """Keep a piece of the body. Any result but None ends the transfer."""
        place = self._request.place
        room_bytes = self._max_body_bytes - place.body_bytes
        piece = chunk[:room_bytes]
        growth = self._context.gate.bodies.grow(place, len(piece))
        if growth is not Growth.TAKEN:
            return _PAUSE if growth is Growth.PAUSED else self._halt(Stop.CROWDED)
        self._chunks.append(piece)
        return self._halt(Stop.BODY) if len(chunk) > room_bytes else None

    def cut(self) -> None:
        """End the request: it has had no answer for long, and others need its slot."""
        self._halt(Stop.SILENT)
        self._multi.cut(self._curl)

    def resume(self) -> None:
        """Go on receiving the body. libcurl delivers what it holds at once, and fails if that ends the transfer."""
        try:
            self._curl.pause(pycurl.PAUSE_CONT)
        except pycurl.error:
            self._multi.cut(self._curl)

    def _halt(self, stop: Stop, detail: str = "") -> int:
        """Record why we end the transfer; the 0 tells libcurl to end it."""
        self._stop = stop
        self._detail = detail or stop.value
        return 0


class _Descriptor:
    """A socket's descriptor for libcurl, which duplicates it; ours closes with this object."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """Return the descriptor: pycurl calls this."""
        return self._descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)


def content_type(lines: list[bytes]) -> str:
    """Return the content type of a head, in lower case and without parameters; the last header counts."""
    for line in reversed(lines):
        if line[:13].lower() == b"content-type:":
            return line[13:].partition(b";")[0].strip().lower().decode("latin-1")
    return ""


def is_accepted(content_type: str, accepted: frozenset[str]) -> bool:
    """Return whether pages of this type are accepted. A page without a type is accepted."""
    return (
        not content_type
        or content_type in accepted
        or f"{content_type.partition('/')[0]}/*" in accepted
        or "*/*" in accepted
    )


def _configure(curl: pycurl.Curl, context: TransferContext) -> None:
    """Set what is the same for all requests."""
    settings = context.settings
    options: dict[int, object] = {
        pycurl.NOSIGNAL: 1,
        pycurl.HTTPHEADER: list(context.headers),
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.HTTP_CONTENT_DECODING: 0,  # archives keep the body as sent; the page process inflates it
        # Only this host over this connection, whatever the environment or an answer says.
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.FOLLOWLOCATION: 0,
        pycurl.PROXY: "",
        pycurl.NOPROXY: "*",
        pycurl.NETRC: pycurl.NETRC_IGNORED,
        pycurl.FRESH_CONNECT: 1,
        pycurl.FORBID_REUSE: 1,
        pycurl.SSL_SESSIONID_CACHE: 0,
        pycurl.DNS_CACHE_TIMEOUT: 0,  # addresses are pinned; libcurl would cache each of them
        pycurl.CONNECTTIMEOUT_MS: int(settings.connect_timeout_s * 1_000),
        pycurl.TIMEOUT_MS: int(settings.total_timeout_s * 1_000),
        pycurl.LOW_SPEED_LIMIT: MIN_SPEED_BYTES,
        pycurl.LOW_SPEED_TIME: MIN_SPEED_WINDOW_S,
        # The first curve is the cheapest, and the one that a key is sent for; the others are for servers without it.
        pycurl.SSL_EC_CURVES: "X25519:P-256:P-384",
    }
    if context.authorities is None:
        options |= {pycurl.SSL_VERIFYPEER: 0, pycurl.SSL_VERIFYHOST: 0}
    else:
        options[pycurl.CAINFO] = str(context.authorities)
    for option, value in options.items():
        curl.setopt(option, value)
