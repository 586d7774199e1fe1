"""Checks from the crawl log that no address got more requests than promised, whatever the names and the workers.

The promise, for requests to all sites but the operator's own: a worker leaves `address_delay` between two requests to
an address, and in any ten seconds the workers of all machines together send at most ten seconds / `address_delay`
requests to it, and one for each worker. Times are those of the machines' wall clocks. A difference between two of them
changes no count: each worker keeps its own share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from gossamer.errors import GossamerError
from gossamer.fetch.addresses import parse_network
from gossamer.inspect.views import quoted
from gossamer.store.notes import damaged_note, decode_line, encode_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

FILE: Final = "address_delays.tsv"  # a line for each change: Unix seconds, the delay, 1 if it applies to own networks
WINDOW_S: Final = 10.0
SLACK_S: Final = 0.005  # between the moment at which a request is let through, and its start in the log


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressDelay:
    """The delay of every address, from a moment on."""

    since_at: float  # Unix seconds
    delay_s: float
    for_all: bool  # also for loopback and the operator's own networks


def read_address_delays(folder: Path) -> list[AddressDelay]:
    """Return the delays of addresses that a crawl had, oldest first; `damaged_address_delays` names damaged lines."""
    return [found for _, found in _lines(folder) if found is not None]


def damaged_address_delays(folder: Path) -> list[int]:
    """Return the numbers of the lines that have changed on the disk."""
    return [number for number, found in _lines(folder) if found is None]


def address_delay_line(delay: AddressDelay) -> str:
    """Return a line of the file."""
    return encode_line(f"{delay.since_at:.3f}\t{delay.delay_s!r}\t{int(delay.for_all)}")


def _lines(folder: Path) -> Iterator[tuple[int, AddressDelay | None]]:
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise damaged_note(path, error) from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line:
            yield number, _parse(line)


def _parse(line: str) -> AddressDelay | None:
    try:
        since, delay, for_all = map(float, (decode_line(line) or "").split("\t"))
    except ValueError:
        return None
    is_valid = math.isfinite(since) and math.isfinite(delay) and delay >= 0
    return AddressDelay(since_at=since, delay_s=delay, for_all=for_all == 1) if is_valid else None


def crowded_sql(folders: Iterable[Path], settings: dict[str, Any], ask: Callable[[str], list[dict[str, Any]]]) -> str:
    """Return SQL for the table `crowded`, the requests that break the promise; empty if there is nothing to check."""
    delays = sorted((each for folder in folders for each in read_address_delays(folder)), key=lambda one: one.since_at)
    if not any(each.delay_s for each in delays):
        return ""
    own = _own_addresses(ask, settings)
    return _CROWDED.format(
        delay=_value_at(delays, lambda each: repr(each.delay_s)),
        for_all=_value_at(delays, lambda each: str(each.for_all).lower()),
        own=", ".join(map(quoted, own)) or "''",
        window_us=int(WINDOW_S * 1e6),
        window_s=WINDOW_S,
        slack_s=SLACK_S,
    )


def _own_addresses(ask: Callable[[str], list[dict[str, Any]]], settings: dict[str, Any]) -> list[str]:
    """Return the addresses in the log that lie in the operator's own networks."""
    networks = []
    for text in settings.get("allow_network", ()):
        try:
            networks.append(parse_network(str(text)))
        except GossamerError:
            continue
    if not networks:
        return []
    addresses = [row["address"] for row in ask("select distinct address from requests where address <> ''")]
    return [each for each in addresses if any(ip_address(each) in network for network in networks)]


def _value_at(delays: list[AddressDelay], text: Callable[[AddressDelay], str]) -> str:
    """Return SQL for a value at the time of a request; before the first one that was recorded, that one."""
    cases = " ".join(
        f"when began_us < {round(following.since_at * 1e6)} then {text(each)}" for each, following in pairwise(delays)
    )
    return f"(case {cases} else {text(delays[-1])} end)" if cases else text(delays[-1])


# A delay that was changed within a window is judged by the shortest one in it.
_CROWDED: Final = """
addressed as (
    select site, url, address, worker, epoch_us(started_at) as began_us, {delay}::double as address_delay_s
    from requests where address <> '' and coalesce(parallel, 0) = 0
),
paced as (
    select * from addressed where address_delay_s > 0 and ({for_all} or address not in ({own}))
),
windows as (
    select *, count(*) over recent as asked, count(distinct worker) over recent as workers,
        min(address_delay_s) over recent as least_delay_s,
        (began_us - lag(began_us) over (partition by address, worker order by began_us)) / 1e6 as address_gap_s,
        least(address_delay_s, lag(address_delay_s) over (partition by address, worker order by began_us))
            as needed_s
    from paced
    window recent as (partition by address order by began_us range between {window_us} preceding and current row)
),
crowded as (
    select site, url, began_us, address, asked, workers, address_gap_s as gap_s, needed_s,
        {window_s} / least_delay_s + workers as allowed,
        case when asked > {window_s} / least_delay_s + workers then 'crowded' else 'hurried' end as what
    from windows
    where asked > {window_s} / least_delay_s + workers or address_gap_s + {slack_s} < needed_s
)
"""
