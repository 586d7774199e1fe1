"""Judges a machine and a database for a crawl: what was found, what to do, and what to type. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from gossamer.commands import DEFAULT_FOLDER, to_type
from gossamer.fetch.limits import in_flight_limit
from gossamer.frontier.sqlite.database import NETWORK_FILE_SYSTEMS
from gossamer.wording import count, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.inspect.machine import Disk, Memory, Names, WallClock

PAGE_BYTES: Final = 30_000  # of archives and tables, for a page of average size
WORKER_BYTES: Final = 300_000_000  # a busy worker and its page process, rounded up
SLOW_SYNC_S: Final = 0.05
SLOW_LOOKUP_S: Final = 1.0
SLOW_ROUND_TRIP_S: Final = 0.02
CLOCK_GAP_S: Final = 5.0
CONNECTIONS_PER_WORKER: Final = 1
CONNECTIONS_SPARE: Final = 10  # supervisors, operators' commands, the server's own reserve
OLDEST_POSTGRES: Final = 150_000
MADE_AT: Final = 1_767_225_600.0  # 2026: a correct clock is later than this
LITTLE_SPACE_BYTES: Final = 10_000_000_000
FEW_SERVERS: Final = 50  # at once: with fewer, a crawl is very slow


class Grade(StrEnum):
    """How fit something is for a crawl."""

    GOOD = "good"
    POOR = "poor"  # a crawl runs, but slower or less safely than it could
    BAD = "bad"  # a crawl would not run, or could lose data


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    topic: str
    grade: Grade
    found: str
    advice: str = ""
    command: str = ""  # exactly what to type


def _finding(topic: str, found: str, grade: Grade, *, advice: str, command: str) -> Finding:
    """Return a finding; advice and command are left out if the grade is good."""
    if grade is Grade.GOOD:
        return Finding(topic=topic, grade=grade, found=found)
    return Finding(topic=topic, grade=grade, found=found, advice=advice, command=command)


_AS_SERVICE: Final = "systemd-run --user --pty --same-dir --property=LimitNOFILE=65536"


def _crawl_with(*words: object) -> str:
    return to_type("crawl", "seeds.txt", "--email", "you@example.org", *words)


def _poor_if(is_poor: bool) -> Grade:
    return Grade.POOR if is_poor else Grade.GOOD


def judge_open_files(soft: int, hard: int, *, in_flight: int, has_user_manager: bool) -> Finding:
    """Judge the limit of open files: a worker raises the soft limit to the hard limit itself.

    Only root may raise the hard limit of a shell. But where systemd runs services of a user, it gives them another one.
    """
    possible = in_flight_limit(in_flight, hard) if hard > 0 else in_flight
    found = f"{soft:,} allowed, at most {'any number' if hard < 0 else f'{hard:,}'}"
    if possible >= in_flight:
        return Finding(topic="open files", grade=Grade.GOOD, found=found)
    return Finding(
        topic="open files",
        grade=Grade.BAD if possible < FEW_SERVERS else Grade.POOR,
        found=f"{found}: a worker could make {count(possible, 'request')} at once, not {in_flight:,}",
        advice=(
            "start the crawl like this, which needs no root (in a service: LimitNOFILE=65536)"
            if has_user_manager
            else "allow more before the crawl starts, as root (in a service: LimitNOFILE=65536)"
        ),
        command=f"{_AS_SERVICE} {_crawl_with()}" if has_user_manager else "ulimit -Hn 65536",
    )


def judge_disk(disk: Disk, *, min_free_bytes: int, sqlite: bool) -> Iterator[Finding]:
    """Judge the disk that the files go to."""
    where = f"{disk.folder}" + (f" ({disk.file_system})" if disk.file_system else "")
    if disk.sync_s is None:
        yield _unwritable(disk, where)
        return
    is_shared = disk.file_system in NETWORK_FILE_SYSTEMS
    yield _finding(
        "file system",
        f"{where}, " + ("a network file system" if is_shared else "local"),
        Grade.BAD if is_shared and sqlite else _poor_if(is_shared),
        advice="keep the crawl on a disk of this machine",
        command=_crawl_with("--data-dir", "/a/local/folder"),
    )
    pages = max(0, disk.free_bytes - min_free_bytes) // PAGE_BYTES
    yield _finding(
        "disk space",
        f"{size(disk.free_bytes)} free, enough for about {count(pages, 'page')}",
        Grade.BAD if disk.free_bytes <= min_free_bytes else _poor_if(disk.free_bytes < LITTLE_SPACE_BYTES),
        advice=f"a crawl pauses below {size(min_free_bytes)}: make room, or use a larger disk",
        command=f"du -xsh {disk.folder}/* | sort -h",
    )
    yield _finding(
        "sync speed",
        f"{disk.sync_s * 1000:.1f} ms to keep 4 KB",
        _poor_if(disk.sync_s > SLOW_SYNC_S),
        advice="every batch waits for this, twice a second: use an SSD",
        command=_crawl_with("--data-dir", "/on/an/ssd"),
    )


def _unwritable(disk: Disk, where: str) -> Finding:
    """Return how to get a writable folder; only the crawl's own folder gets another owner."""
    wanted = shlex.quote(str(disk.wanted))
    if not disk.is_folder:
        found, advice = f"{where} is a file", "name a folder with --data-dir"
        command = _crawl_with("--data-dir", "/a/local/folder")
    elif disk.holds_crawl:
        found, advice = f"{where} cannot be written to", "let the user who crawls own it"
        command = f'sudo chown -R "$USER" {wanted}'
    elif disk.folder == disk.wanted:
        found, advice = (
            f"{where} cannot be written to",
            "make a folder of your own in it, and name that with --data-dir",
        )
        command = f'sudo install -d -o "$USER" {shlex.quote(str(disk.wanted / DEFAULT_FOLDER))}'
    else:
        found = f"{disk.wanted} does not exist, and {where} cannot be written to"
        advice = "make the crawl's own folder, or name another with --data-dir"
        command = f'sudo install -d -o "$USER" {wanted}'
    return Finding(topic="disk", grade=Grade.BAD, found=found, advice=advice, command=command)


def judge_memory(memory: Memory | None, *, workers: int) -> Finding:
    """Judge whether the workers fit."""
    if memory is None:
        return Finding(topic="memory", grade=Grade.GOOD, found="the system does not tell")
    free = min(memory.available_bytes, memory.limit_bytes or memory.available_bytes)
    limited = f", limited to {size(memory.limit_bytes)}" if memory.limit_bytes else ""
    found = f"{size(memory.available_bytes)} of {size(memory.total_bytes)} free{limited}"
    fitting = max(1, free // WORKER_BYTES)
    return _finding(
        "memory",
        f"{found}; {size(workers * WORKER_BYTES)} at most for {count(workers, 'worker')}",
        _poor_if(workers > fitting),
        advice="start fewer workers",
        command=_crawl_with("--workers", fitting),
    )


def judge_clock(clock: WallClock) -> Finding:
    """Judge the wall clock: waits never depend on it, but dates in archives and the expiry of robots.txt do."""
    if clock.now_at < MADE_AT:
        return Finding(
            topic="clock",
            grade=Grade.BAD,
            found="the clock is years behind",
            advice="set it, or certificates and dates in archives are wrong",
            command="sudo timedatectl set-ntp true",
        )
    if clock.synchronised is False:
        return Finding(
            topic="clock",
            grade=Grade.POOR,
            found="the clock is not synchronised",
            advice="dates in archives may be wrong; waits are right, they use another clock",
            command="sudo timedatectl set-ntp true",
        )
    told = "synchronised" if clock.synchronised else "plausible; the system does not tell whether it is synchronised"
    return Finding(topic="clock", grade=Grade.GOOD, found=told)


def judge_names(names: Names, nameserver: str | None) -> Finding:
    """Judge the lookup of names."""
    whom = nameserver or "the system's name server"
    if names.failure:
        return Finding(
            topic="DNS",
            grade=Grade.BAD,
            found=f"{whom} has no address of {names.name} ({names.failure})",
            advice="check the network, or name a server that answers",
            command=_crawl_with("--nameserver", "9.9.9.9"),
        )
    return _finding(
        "DNS",
        f"{whom} answered in {names.took_s * 1000:.0f} ms",
        _poor_if(names.took_s > SLOW_LOOKUP_S),
        advice="run a caching name server on this machine",
        command=f"sudo apt install unbound && {_crawl_with('--nameserver', '127.0.0.1')}",
    )


class RecommendedSetting(NamedTuple):
    """What a setting of PostgreSQL should be."""

    value: str
    grade: Grade  # if it is not
    why: str


SWITCHES: Final[Mapping[str, RecommendedSetting]] = {
    "fsync": RecommendedSetting("on", Grade.BAD, "a power cut would tear the frontier"),
    "full_page_writes": RecommendedSetting("on", Grade.BAD, "a power cut would tear the frontier"),
    "autovacuum": RecommendedSetting("on", Grade.BAD, "claims become slower and slower without it"),
}
SIZES: Final[Mapping[str, tuple[int, str]]] = {
    "shared_buffers": (1 << 30, "the ready list and the heads of queues should fit into memory"),
    "max_wal_size": (4 << 30, "otherwise checkpoints are too frequent"),
}


def judge_switches(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Judge the settings of PostgreSQL that matter for safety, and the sizes that matter for speed."""
    for name, wanted in SWITCHES.items():
        yield _finding(
            name,
            settings.get(name, "not told"),
            Grade.GOOD if settings.get(name) == wanted.value else wanted.grade,
            advice=wanted.why,
            command=f'psql -c "ALTER SYSTEM SET {name} = {wanted.value}" -c "SELECT pg_reload_conf()"',
        )
    for name, (least, why) in SIZES.items():
        there = int(settings.get(name, "0"))
        after = "; then restart the server" if name == "shared_buffers" else ""
        yield _finding(
            name,
            size(there),
            _poor_if(there < least),
            advice=f"{why}: at least {size(least)}{after}",
            command=f"psql -c \"ALTER SYSTEM SET {name} = '{least >> 20}MB'\"",
        )


def judge_unreachable(sentence: str) -> Finding:
    """Judge a database that could not be reached."""
    return Finding(
        topic="PostgreSQL",
        grade=Grade.BAD,
        found=sentence,
        advice="check that the server runs and accepts this machine; the password comes from PGPASSFILE or PGPASSWORD",
        command="psql postgresql://user@host/database -c 'SELECT 1'",
    )


def judge_server(
    *,
    place: str,
    version: int,
    standby: bool,
    connections: int,
    max_connections: int,
    round_trip_s: float,
    ahead_s: float,
    workers: int,
) -> Iterator[Finding]:
    """Judge a PostgreSQL server; `judge_switches` judges its settings."""
    yield _judge_version(place, version, standby=standby)
    yield _judge_connections(connections, max_connections, workers)
    yield _finding(
        "round trip",
        f"{round_trip_s * 1000:.1f} ms",
        _poor_if(round_trip_s > SLOW_ROUND_TRIP_S),
        advice="a batch takes about ten of them: move the database closer to the workers",
        command=f"ping -c 5 {place.rpartition(' on ')[2]}",
    )
    yield _finding(
        "clocks",
        f"the server's is {abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} ours",
        _poor_if(abs(ahead_s) > CLOCK_GAP_S),
        advice="waits are safe; dates in the output will not match",
        command="sudo timedatectl set-ntp true",
    )


def _judge_version(place: str, version: int, *, standby: bool) -> Finding:
    is_old = version < OLDEST_POSTGRES
    return _finding(
        "PostgreSQL",
        f"{place}, version {version // 10_000}.{version % 10_000}" + (", a standby" if standby else ""),
        Grade.BAD if standby or is_old else Grade.GOOD,
        advice="a crawl has to write: name the primary server"
        if standby
        else "version 15 is the oldest that is tested",
        command=_crawl_with("--frontier", "postgresql://user@primary/database")
        if standby
        else "sudo apt install postgresql-15",
    )


def _judge_connections(connections: int, max_connections: int, workers: int) -> Finding:
    needed = workers * CONNECTIONS_PER_WORKER + CONNECTIONS_SPARE
    return _finding(
        "connections",
        f"{connections} of {max_connections} in use; about {needed} needed here, for {count(workers, 'worker')}",
        Grade.GOOD if max_connections - connections >= needed else Grade.BAD,
        advice="allow more, then restart the server",
        command=f'psql -c "ALTER SYSTEM SET max_connections = {connections + 2 * needed}"',
    )
