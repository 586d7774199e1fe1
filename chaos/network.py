"""Outages of the network: all of it, or only the name server.

    python -m chaos network                           4 crawls of 60 sites x 30 pages, 3 outages each

The crawl and the simulated web run in their own network namespace, whose link goes down. No page is given up for that,
requests continue soon after the network is back, none of them too early, and the crawl ends with exactly the pages of
an undisturbed one.
"""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from chaos.campaign import Campaign, Run, Size
from chaos.crawling import TIMEOUT_S, crawl_of, instants, linger, wait_for
from chaos.judging import Loss, judge_all, loss
from chaos.namespaces import is_inside
from chaos.namespaces import run as do
from tests.end_to_end.crawls import said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.end_to_end.crawls import Crawl, Start

BACK_S = 35.0  # from the network's return to the next answer: probes come every half minute at the least
MANY = 40  # if this many sites fail within seconds, our own network is the cause
LINK, NAMES = "link down", "name server silent"
FLAGS = ("--set", "retry_wait=5", "--set", "dns_timeout=3")


class Relay:
    """Relays between a crawl and its name server, and may drop packets."""

    def __init__(self, target: str) -> None:
        host, port = target.split(":")
        self._target = (host, int(port))
        self._outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._outer.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._outer.getsockname()[1]}"
        self.loses = False
        self.lost = 0
        threading.Thread(target=self._relay, daemon=True).start()

    def _relay(self) -> None:
        while True:
            question, asker = self._outer.recvfrom(4096)
            if self.loses:
                self.lost += 1
                continue
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inner:
                inner.settimeout(2)
                try:
                    inner.sendto(question, self._target)
                    self._outer.sendto(inner.recv(4096), asker)
                except OSError:  # the name server or the network is down
                    continue


def lose(run: Run) -> None:
    """Crawl a web, losing the network on the way."""
    outages: list[str] = []
    losses: list[Loss] = []
    with crawl_of(run) as crawl, ExitStack() as starts:
        relay = Relay(crawl.server.dns)
        flags = (*FLAGS, "--nameserver", relay.address)
        start = starts.enter_context(crawl.start(*flags))
        for requests in instants(run, crawl, until=0.6):
            wait_for(crawl, start, requests)
            linger(run)
            kind = (LINK, NAMES)[(run.seed + len(outages)) % 2]
            if kind == NAMES:  # a crawl that has just started has no names in its cache
                start.signal(signal.SIGTERM)
                start.end()
                relay.loses, lost = True, relay.lost
                start = starts.enter_context(crawl.start(*flags))
                time.sleep(15 + run.dice.uniform(0, 15))  # the outage
                relay.loses = False
                run.check(relay.lost > lost, "the crawl did not ask the name server")
            else:
                with _link_down():
                    losses.append(loss(crawl))  # answers on their way
                    time.sleep(15 + run.dice.uniform(0, 15))  # the outage
            outages.append(f"{kind}, asked again after {_return(run, crawl, start):.1f} s")
        start.end(timeout_s=TIMEOUT_S)
        run.facts.append("; ".join(outages))
        if run.size.sites >= MANY:
            run.check("is this machine offline" in start.said, "the crawl did not report the outage")
        _look_for_given_up(run, crawl)
        judge_all(run, crawl, losses=losses)


@contextmanager
def _link_down() -> Iterator[None]:
    do("ip", "link", "set", "lo", "down")
    try:
        yield
    finally:
        do("ip", "link", "set", "lo", "up")


def _return(run: Run, crawl: Crawl, start: Start) -> float:
    """Return the time from the network's return to the next answer."""
    back_s = time.monotonic()
    wait_for(crawl, start, crawl.server.answered() + 1)
    took_s = time.monotonic() - back_s
    run.check(took_s < BACK_S, f"nothing was asked for {took_s:.1f} s after the network was back")
    return took_s


def _look_for_given_up(run: Run, crawl: Crawl) -> None:
    """Check that no page was given up because of the outage."""
    given_up = json.loads(said("status", "--json", "--data-dir", str(crawl.folder)))["given_up"]
    ours = {reason: urls for reason, urls in given_up.items() if reason.startswith(("dns", "connect", "timeout"))}
    run.check(not ours, f"given up: {ours}")


CAMPAIGN = Campaign(
    name="network", about=__doc__, full=Size(runs=4, faults=3, sites=60, pages=30),
    short=Size(runs=1, faults=1, sites=12, pages=20), run=lose, faults="outages",
)  # fmt: skip


def main(arguments: list[str]) -> None:
    """Run the campaign in its own network namespace."""
    if is_inside("network", arguments, "--net"):
        do("ip", "link", "set", "lo", "up")
        CAMPAIGN.main(arguments)
