"""Runs a crawl and measures the CPU time of its processes, and of the PostgreSQL server that holds its frontier."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from bench.postgres.building import server_cpu_s
from bench.process_tree import CpuMeter, Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAMPLE_S = 0.05
UNSEEN = Part("ended between two samples", "")  # what no sample saw: the rest of the total


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a crawl took."""

    cpu_s: float  # of all its processes, and of its PostgreSQL server
    wall_s: float
    parts_s: Mapping[Part, float]  # the same by process and thread: the sum is `cpu_s`


def measure(command: Sequence[str], environment: Mapping[str, str], *, server: str = "") -> Measured:
    """Run a crawl to its end. `server` is the address of its PostgreSQL server, which must run on this machine."""
    first = postmaster(server) if server else 0
    server_meter = CpuMeter(first) if first else None
    server_before_s = _sampled(server_meter)
    before_s, began_s = _total_s(first), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    meter = CpuMeter(process.pid)
    while process.poll() is None:
        meter.sample()
        server_after_s = _sampled(server_meter)
        time.sleep(SAMPLE_S)
    wall_s, cpu_s = time.monotonic() - began_s, _total_s(first) - before_s
    if process.returncode:
        raise SystemExit(f"the crawl failed with exit status {process.returncode}")
    parts_s = meter.parts_s()
    for part, now_s in server_after_s.items():
        parts_s[part] = now_s - server_before_s.get(part, 0.0)
    parts_s[UNSEEN] = cpu_s - sum(parts_s.values())
    return Measured(cpu_s=cpu_s, wall_s=wall_s, parts_s=parts_s)


def _sampled(meter: CpuMeter | None) -> dict[Part, float]:
    if meter is None:
        return {}
    meter.sample()
    return meter.parts_s()


def postmaster(server: str) -> int:
    """Return the id of the first process of a PostgreSQL server on this machine."""
    with psycopg.connect(server) as connection:
        row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
    assert row is not None
    return int(row[0].split()[0])


def _total_s(first: int) -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime + (server_cpu_s(first) if first else 0.0)
