"""Translates the error codes of libcurl and c-ares into reasons of the crawl. Pure.

Every code of either library is in a table: with its reason, or among the codes that cannot occur because of how we use
the library. If such a code occurs all the same, or a code that only a newer library has, it is an internal error.
"""

from __future__ import annotations

import errno
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

import pycurl
from pycares import errno as ares

from gossamer.records import Reason, Truncation

if TYPE_CHECKING:
    from collections.abc import Mapping

CURL_REASONS: Final[Mapping[int, Reason]] = {
    pycurl.E_OK: Reason.CONNECTION_LOST,  # looked up only if the head is incomplete, which libcurl accepts
    pycurl.E_UNSUPPORTED_PROTOCOL: Reason.BAD_RESPONSE,  # HTTP/0.9, or an unknown version
    pycurl.E_FAILED_INIT: Reason.INTERNAL_ERROR,
    pycurl.E_URL_MALFORMAT: Reason.NO_SUCH_NAME,  # a host name that DNS allows but URLs do not
    pycurl.E_COULDNT_RESOLVE_HOST: Reason.CONNECT_FAILED,  # an address of a family that this machine lacks
    pycurl.E_COULDNT_CONNECT: Reason.CONNECT_FAILED,
    pycurl.E_FTP_WEIRD_SERVER_REPLY: Reason.BAD_RESPONSE,  # also used for HTTP: a malformed header
    pycurl.E_PARTIAL_FILE: Reason.CONNECTION_LOST,
    pycurl.E_WRITE_ERROR: Reason.INTERNAL_ERROR,  # when we stop a transfer, `Ending.stop` says why
    pycurl.E_OUT_OF_MEMORY: Reason.INTERNAL_ERROR,
    pycurl.E_OPERATION_TIMEDOUT: Reason.TIMEOUT,
    pycurl.E_SSL_CONNECT_ERROR: Reason.TLS_FAILED,
    pycurl.E_ABORTED_BY_CALLBACK: Reason.INTERNAL_ERROR,  # likewise
    pycurl.E_GOT_NOTHING: Reason.CONNECTION_LOST,
    pycurl.E_SEND_ERROR: Reason.CONNECTION_LOST,
    pycurl.E_RECV_ERROR: Reason.CONNECTION_LOST,
    pycurl.E_SSL_PEER_CERTIFICATE: Reason.TLS_FAILED,
    pycurl.E_BAD_CONTENT_ENCODING: Reason.BAD_RESPONSE,  # means a transfer encoding that we did not request
    pycurl.E_SSL_CACERT_BADFILE: Reason.INTERNAL_ERROR,  # the file was there at the start and is gone
    98: Reason.TLS_FAILED,  # SSL_CLIENTCERT: the server requires a client certificate
    100: Reason.HEADERS_TOO_LARGE,  # TOO_LARGE: a line that is too long, or too many lines
}

CURL_NEVER: Final[Mapping[str, frozenset[int]]] = {
    "belong to other protocols": frozenset(
        {9, 10, 11, 12, 13, 14, 15, 17, 19, 20, 21, 30, 31, 32, 37, 38, 39, 48, 49, 62, 64, 67, 68, 69, 70, 71, 72, 73}
        | {74, 78, 79, 84, 85, 86, 87, 88}
    ),
    "belong to HTTP/2 and HTTP/3": frozenset({16, 92, 95, 96}),
    "belong to proxies, which are switched off": frozenset({5, 97}),
    "belong to uploads and ranges, which we do not request": frozenset({25, 26, 33, 34, 36, 65}),
    "belong to options that we do not set": frozenset(
        {4, 22, 45, 47, 53, 54, 58, 59, 63, 66, 80, 82, 83, 89, 90, 91, 94, 101}
    ),
    "are obsolete, or used only inside libcurl": frozenset(
        {-1, 24, 29, 40, 41, 44, 46, 50, 51, 57, 75, 76, 81, 99_999}
    ),
    "would be misuse of the library": frozenset({43, 93, 99}),
}

ARES_REASONS: Final[Mapping[int, Reason]] = {
    ares.ARES_ENODATA: Reason.NO_SUCH_NAME,  # the name exists and has no address
    ares.ARES_EFORMERR: Reason.DNS_FAILED,
    ares.ARES_ESERVFAIL: Reason.DNS_FAILED,
    ares.ARES_ENOTFOUND: Reason.NO_SUCH_NAME,
    ares.ARES_ENOTIMP: Reason.DNS_FAILED,
    ares.ARES_EREFUSED: Reason.DNS_FAILED,
    ares.ARES_EBADQUERY: Reason.DNS_FAILED,
    ares.ARES_EBADNAME: Reason.NO_SUCH_NAME,  # a name that cannot be in DNS
    ares.ARES_EBADRESP: Reason.DNS_FAILED,
    ares.ARES_ECONNREFUSED: Reason.DNS_FAILED,
    ares.ARES_ETIMEOUT: Reason.DNS_FAILED,
    ares.ARES_EOF: Reason.DNS_FAILED,
    ares.ARES_ENOMEM: Reason.INTERNAL_ERROR,
    ares.ARES_EDESTRUCTION: Reason.CANCELLED,  # we closed the channel
    ares.ARES_ECANCELLED: Reason.CANCELLED,
    26: Reason.DNS_FAILED,  # ENOSERVER: none is configured
}

ARES_NEVER: Final[Mapping[str, frozenset[int]]] = {
    "is no failure": frozenset({ares.ARES_SUCCESS}),
    "belong to calls that we do not make": frozenset(
        {ares.ARES_EBADFAMILY, ares.ARES_EFILE, ares.ARES_EBADSTR, ares.ARES_EBADFLAGS, ares.ARES_ENONAME}
        | {ares.ARES_EBADHINTS, ares.ARES_ESERVICE}
    ),
    "belong to another operating system": frozenset(
        {ares.ARES_ENOTINITIALIZED, ares.ARES_ELOADIPHLPAPI, ares.ARES_EADDRGETNETWORKPARAMS}
    ),
}


class Stop(Enum):
    """Why we ended a transfer ourselves."""

    ADDRESS = "the socket would have led to a refused address"
    VETO = "vetoed before it was sent"
    HEAD = "response head larger than the limit"
    BODY = "body larger than the limit"
    CROWDED = "a large body while other bodies use all the memory for bodies"
    SILENT = "no answer yet when sites that answer needed its slot"
    TYPE = "content type not wanted"


_STOP_REASONS: Final = {
    Stop.ADDRESS: Reason.ADDRESS_REFUSED,
    Stop.VETO: Reason.CANCELLED,
    Stop.HEAD: Reason.HEADERS_TOO_LARGE,
    Stop.CROWDED: Reason.CUT_LARGE,
    Stop.SILENT: Reason.CUT_SILENT,
}
_STOP_TRUNCATIONS: Final = {Stop.BODY: Truncation.LENGTH, Stop.TYPE: None}

_CUTS: Final = {  # a page of which a part arrived before this is worth keeping
    Reason.TIMEOUT: Truncation.TIME,
    Reason.CONNECTION_LOST: Truncation.DISCONNECT,
}


class Ending(NamedTuple):
    """How a transfer ended, according to libcurl and our callbacks."""

    code: int = 0  # libcurl's
    os_errno: int = 0
    stop: Stop | None = None
    https: bool = False
    connected: bool = True
    secured: bool = True  # the TLS handshake is done, or there is no TLS
    out_of_time: bool = False  # the limit for the whole request has passed
    status: int = 0  # 0 while the head is incomplete
    body_bytes: int = 0
    keep_partial: bool = True  # a part of a page is useful; a part of a robots.txt is not


def judge_ending(ending: Ending) -> Reason | Truncation | None:
    """Return why there is no answer or why it is incomplete; None if it is complete, or cut by us on purpose."""
    if ending.stop is not None:
        return _STOP_REASONS.get(ending.stop) or _STOP_TRUNCATIONS[ending.stop]
    if not ending.code and ending.status:
        # The only 1xx that libcurl treats as final is 101, and we never offer to switch protocols.
        return None if ending.status >= 200 else Reason.BAD_RESPONSE
    reason = reason_of_curl(ending)
    if not ending.status:
        return reason
    if 200 <= ending.status < 300:
        worth_keeping = ending.keep_partial and ending.body_bytes
        return _CUTS.get(reason, reason) if worth_keeping else reason
    # The head of a redirect or an error holds all that matters.
    return Truncation.TIME if reason in (Reason.TIMEOUT, Reason.TOO_SLOW) else Truncation.DISCONNECT


def reason_of_curl(ending: Ending) -> Reason:
    """Translate libcurl's code; where one code has several meanings, timers and errno decide."""
    match ending.code:
        case pycurl.E_COULDNT_CONNECT if ending.os_errno == errno.ECONNREFUSED:
            return Reason.CONNECT_REFUSED
        case pycurl.E_COULDNT_CONNECT if ending.os_errno == errno.ETIMEDOUT:
            return Reason.CONNECT_TIMEOUT
        case pycurl.E_OPERATION_TIMEDOUT if not ending.connected:
            return Reason.CONNECT_TIMEOUT
        case pycurl.E_OPERATION_TIMEDOUT if not ending.secured:
            return Reason.TLS_FAILED
        case pycurl.E_OPERATION_TIMEDOUT if not ending.out_of_time:
            return Reason.TOO_SLOW
        case pycurl.E_RECV_ERROR if not ending.os_errno:  # the connection is open: the data is wrong
            return Reason.TLS_FAILED if ending.https and not ending.status else Reason.BAD_RESPONSE
    return CURL_REASONS.get(ending.code, Reason.INTERNAL_ERROR)


def reason_of_ares(code: int) -> Reason:
    """Translate c-ares' code."""
    return ARES_REASONS.get(code, Reason.INTERNAL_ERROR)
