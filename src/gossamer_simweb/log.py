"""The access log: one line per request, as the server saw it. Pure, except that it reads the file.

The server writes a line when a request is over. It takes `arrived` after it has read the request, and `ended` before it
hands the last bytes of the response to the kernel, both from the system's monotonic clock. A busy server therefore
records late arrivals and early ends. Gaps between requests may look longer than they were, but never shorter, so the
judge never blames a crawler that keeps its delay. There is one exception: if the client disconnects early, `ended` is
when the server notices. On a busy machine that may be late; give the judge some slack there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.urls import normalise

if TYPE_CHECKING:
    from pathlib import Path


class LoggedRequest(NamedTuple):
    """One request of the access log. A named tuple, because logs have millions."""

    arrived: float  # seconds of CLOCK_MONOTONIC
    ended: float
    kind: str  # page | robots | tdmrep | trap | other (not a page of this web, such as a wrong host)
    method: str
    scheme: str
    host: str  # as sent, with the port
    target: str  # as sent
    status: int  # 0: the server sent none
    body_bytes: int  # handed to the kernel
    leads_to: str  # the target of a redirect, by status or by HTML; else empty
    wait_s: float  # Retry-After, or Crawl-delay of a robots.txt; else 0
    retryable: bool  # the crawler may request it again
    agent: str  # User-Agent
    url: str = ""  # normalised


def format_line(request: LoggedRequest) -> str:
    """Format a request as a line of the log."""
    return (
        f"{request.arrived:.6f}\t{request.ended:.6f}\t{request.kind}\t{request.method}\t{request.scheme}\t"
        f"{request.host}\t{request.target}\t{request.status}\t{request.body_bytes}\t{request.leads_to}\t"
        f"{request.wait_s:g}\t{int(request.retryable)}\t{request.agent}\n"
    )


def parse_log(text: str) -> list[LoggedRequest]:
    """Return the requests of a log in the order in which they ended, without an incomplete last line."""
    lines = text.split("\n")
    return [_parse_line(line) for line in lines[:-1]]


def read_log(path: Path) -> list[LoggedRequest]:
    """Return the requests of a log file."""
    return parse_log(path.read_bytes().decode("latin-1"))


def _parse_line(line: str) -> LoggedRequest:
    arrived, ended, kind, method, scheme, host, target, status, size, leads_to, wait_s, retryable, agent = line.split(
        "\t"
    )
    url = normalise(f"{scheme}://{host}{target}" if target.startswith("/") else target)
    return LoggedRequest(
        float(arrived), float(ended), kind, method, scheme, host, target, int(status), int(size), leads_to,
        float(wait_s), retryable == "1", agent, url if isinstance(url, str) else f"{scheme}://{host}{target}",
    )  # fmt: skip
