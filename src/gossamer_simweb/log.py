"""The access log: one line per request, as the server saw it. Pure but for reading the file.

A line is written when a request is over. `arrived` is taken after the request was read and `ended` before the
last bytes of its response are handed to the kernel, both on the system's monotonic clock. A busy server thus
stamps arrivals late and ends early: gaps between requests may look longer than they were, never shorter, and
whoever keeps a delay is never accused of breaking it. Only when a client goes away before the end, `ended` is
the moment at which the server notices: on a busy machine that may be late, and the judge can be given slack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.urls import normalise

if TYPE_CHECKING:
    from pathlib import Path


class LoggedRequest(NamedTuple):
    """One request. A named tuple, because there are millions."""

    arrived: float  # seconds of CLOCK_MONOTONIC
    ended: float
    kind: str  # page | robots | trap | other: what is no request for a page of this web, such as a wrong host
    method: str
    scheme: str
    host: str  # as asked for, with the port
    target: str  # as asked for
    status: int  # 0: none was sent
    body_bytes: int  # handed to the kernel
    leads_to: str  # where the answer redirects, by whatever means; else empty
    wait_s: float  # Retry-After, or Crawl-delay of a robots.txt; else 0
    retryable: bool  # asking again is right
    agent: str  # User-Agent
    url: str = ""  # normalised


def format_line(request: LoggedRequest) -> str:
    """Return a request as a line of the log."""
    return (
        f"{request.arrived:.6f}\t{request.ended:.6f}\t{request.kind}\t{request.method}\t{request.scheme}\t"
        f"{request.host}\t{request.target}\t{request.status}\t{request.body_bytes}\t{request.leads_to}\t"
        f"{request.wait_s:g}\t{int(request.retryable)}\t{request.agent}\n"
    )


def parse_log(text: str) -> list[LoggedRequest]:
    """Return the requests of a log, in the order in which they ended; a torn last line is left out."""
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
