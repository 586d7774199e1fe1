"""Serves the metrics of this machine's crawl to Prometheus: its text format, or OpenMetrics if a client wants that."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric as Family

from gossamer.errors import GossamerError
from gossamer.metrics.kinds import Histogram, Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from ipaddress import IPv4Address, IPv6Address

    from gossamer.metrics.samples import Key, Samples, Value

PATH: Final = "/metrics"
CLIENT_S: Final = 10.0  # a client that is silent for this long is left
MAX_CLIENTS: Final = 8  # at once


def families(samples: Samples) -> list[Family]:
    """Return samples as the Prometheus client knows them, in the order in which metrics are declared."""
    found: dict[str, Family] = {}
    for key in sorted(samples):
        metric = Metric.declared[key[0]]
        family = found.get(metric.name)
        if family is None:
            family = found[metric.name] = Family(metric.name.removesuffix("_total"), _help(metric), metric.kind)
        _add(family, metric, key, samples[key])
    return [found[name] for name in Metric.declared if name in found]


def _help(metric: Metric) -> str:
    return f"{metric.documentation}. {metric.question}"


def _add(family: Family, metric: Metric, key: Key, value: Value) -> None:
    labels = dict(zip(metric.label_names, key[1:], strict=True))
    if not isinstance(value, list):
        family.add_sample(metric.name, labels, value)
        return
    assert isinstance(metric, Histogram)
    so_far = 0.0
    for bound, times in zip((*map(str, metric.buckets), "+Inf"), value[1:], strict=True):
        so_far += times
        family.add_sample(f"{metric.name}_bucket", {**labels, "le": bound}, so_far)
    family.add_sample(f"{metric.name}_sum", labels, value[0])
    family.add_sample(f"{metric.name}_count", labels, so_far)


class _Collector(CollectorRegistry):
    """The samples of one moment, as the encoders of the Prometheus client want them."""

    def __init__(self, samples: Samples) -> None:
        super().__init__()
        self._samples = samples

    def collect(self) -> Iterator[Family]:
        return iter(families(self._samples))


def render(samples: Samples, accept: str = "") -> tuple[bytes, str]:
    """Return samples as text, and its content type: OpenMetrics if the client accepts it."""
    encode, content_type = choose_encoder(accept)
    return encode(_Collector(samples)), content_type


@contextmanager
def serve(host: IPv4Address | IPv6Address, port: int, samples: Callable[[], Samples]) -> Iterator[int]:
    """Answer GET /metrics in threads of their own, inside the block; yield the port.

    `samples` is called from other threads.
    """
    try:
        server = _Server(host, port, samples)
    except OSError as error:
        raise GossamerError(
            f"Metrics cannot be served at {host}, port {port} ({error.strerror}): give --metrics another port."
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Answers few clients at once: the supervisor has better things to do."""

    def __init__(self, host: IPv4Address | IPv6Address, port: int, samples: Callable[[], Samples]) -> None:
        if host.version == 6:
            self.address_family = AF_INET6
        self.samples = samples
        self._places = threading.BoundedSemaphore(MAX_CLIENTS)
        super().__init__((str(host), port), _Handler)

    def process_request(self, request: object, client_address: object) -> None:
        """Answer a client in a thread, or hang up if too many are there."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)  # type: ignore[arg-type]
        else:
            self.shutdown_request(request)  # type: ignore[arg-type]

    def process_request_thread(self, request: object, client_address: object) -> None:
        """Answer a client, and make its place free."""
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._places.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one client."""

    timeout = CLIENT_S
    server: _Server

    def do_GET(self) -> None:
        """Answer with the metrics."""
        if self.path.partition("?")[0] != PATH:
            self.send_error(404, explain=f"The metrics are at {PATH}.")
            return
        body, content_type = render(self.server.samples(), self.headers.get("Accept", ""))
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the library uses
        """Log nothing: a scrape is no surprise."""
