"""Runs `gossamer crawl` against a simulated web, in a session of its own, so that all of it can be killed."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer.store.checking import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from gossamer_simweb import Verdict, WebServer

TIMEOUT_S = 120.0  # enough for a busy machine
EMAIL = "tests@example.org"


class Crawl:
    """A crawl of a simulated web, in a folder, over as many starts as it takes."""

    def __init__(
        self,
        server: WebServer,
        folder: Path,
        *more_seeds: str,
        delay_s: float,
        workers: int = 2,
        frontier: str = "",  # a database's address; else a file in the folder
        variables: Mapping[str, str] | None = None,  # of the environment
        wrapper: Sequence[str] = (),  # a command that runs the command
        address_delay_s: float | None = None,
    ) -> None:
        self._variables = variables
        self._wrapper = wrapper
        self.server = server
        self.folder = folder
        self.frontier = frontier
        self.delay_s = delay_s
        self._workers = workers
        self._starts = 0
        self.seeds = [*server.seeds(), *more_seeds]
        seeds_file = folder.parent / f"{folder.name}-seeds.txt"
        seeds_file.write_text("".join(f"{seed}\n" for seed in self.seeds))
        both_ports = f"{server.port},{server.tls_port}"  # pages of one link to the other, and seeds may all be on one
        trust = ["--ca-file", str(server.ca_file), "--allow-ports", both_ports] if server.ca_file else []
        self._arguments = [
            *("crawl", str(seeds_file), "--data-dir", str(folder), "--email", EMAIL),
            *("--delay", str(delay_s), "--nameserver", server.dns, "--allow-network", server.network, *trust),
            *("--workers", str(workers), "--set", "retry_wait=0.1", "--set", "progress_every=1"),
            *("--set", "dns_timeout=20"),  # a name server that a busy machine holds up is waited for
            *(("--frontier", frontier) if frontier else ()),
            *(("--set", f"address_delay={address_delay_s}") if address_delay_s is not None else ()),
        ]

    def command(self) -> list[str]:
        """What a person would type to start it."""
        return [sys.executable, "-m", "gossamer", *self._arguments]

    def start(self, *flags: str) -> Start:
        """Start it, or start it again."""
        self._starts += 1
        return Start([*self._arguments, *flags], self._variables, self._wrapper)

    def finish(self, *flags: str) -> str:
        """Start it and let it run to its end; return what it printed."""
        with self.start(*flags) as start:
            return start.end()

    def judge(
        self,
        *,
        allowed_repeats: int = 0,
        kills: Sequence[float] = (),
        trap_bounds: Mapping[str, int] | None = None,
        tdmrep: bool = False,
        **terms: str | bool,
    ) -> Verdict:
        """Judge the crawl by the server's log."""
        expected = simweb.expected(self.server.web, self.seeds, token="Gossamer", **terms)  # type: ignore[arg-type]
        return simweb.judge(
            self.server.log(),
            delay_s=self.delay_s,
            expected=expected,
            allowed_repeats=allowed_repeats,
            workers=self._workers * max(1, self._starts),
            kills=kills,
            trap_bounds=trap_bounds or {},
            tdmrep=tdmrep,
        )

    def wait_for_requests(self, count: int) -> None:
        """Wait until the server has answered this many requests."""
        wait_until(lambda: self.server.answered() >= count, f"{count} requests")

    def is_under_way(self, start: Start, count: int) -> bool:
        """Wait until the server has answered this many requests; return False if the crawl is over before that."""
        wait_until(lambda: start.status is not None or self.server.answered() >= count, f"{count} requests")
        assert not start.status, start.said
        return start.status is None

    @property
    def log(self) -> str:
        """What the crawl's processes logged."""
        return (self.folder / "logs" / "gossamer.log").read_text()


class Start:
    """One start of a crawl; what is left of it when the block ends is killed."""

    def __init__(
        self,
        arguments: list[str],
        variables: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
        program: Sequence[str] = ("-m", "gossamer"),
    ) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the block ends
        self._process = subprocess.Popen(
            [*wrapper, sys.executable, *program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**environment(), **(variables or {})},
            start_new_session=True,
        )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill_group()
        self._output.close()

    @property
    def said(self) -> str:
        """What it has printed so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode()

    @property
    def status(self) -> int | None:
        """Its exit status, once it has ended."""
        return self._process.poll()

    def end(self, *, status: int = 0, timeout_s: float = TIMEOUT_S) -> str:
        """Wait until it has ended by itself, with this exit status; return what it printed."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=timeout_s)
        assert self._process.returncode == status, self.said
        return self.said

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the supervisor alone."""
        self._process.send_signal(number)

    def interrupt(self) -> None:
        """Do what a terminal does at Ctrl-C: every process of the group gets the signal."""
        os.killpg(self.pid, signal.SIGINT)

    def kill_group(self) -> None:
        """Kill all of its processes at once."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self._process.wait()

    def workers(self) -> list[int]:
        """The worker processes that are there now."""
        return children(self.pid, "gossamer.crawl.worker_process")

    def page_processes(self) -> list[int]:
        """The page processes that are there now."""
        return [page for worker in self.workers() for page in children(worker, "gossamer.page_process")]


def said(*arguments: str, status: int = 0) -> str:
    """Run a command here, which is quicker than in a process of its own, and return all that it says."""
    output = io.BytesIO()
    stream = io.TextIOWrapper(output, encoding="utf-8", newline="", write_through=True)
    with redirect_stdout(stream), redirect_stderr(stream):
        ended = run(list(arguments))
    text = output.getvalue().decode()
    assert ended == status, text
    return text


def assert_nothing_lost(crawl: Crawl, *, kills: Sequence[float]) -> None:
    """Every kill may repeat what was in flight or not yet reported: half a second of a few turns per site."""
    verdict = crawl.judge(allowed_repeats=len(kills) * len(crawl.seeds) * 3, kills=kills)
    assert verdict.ok, verdict.summary()
    assert check(crawl.folder).problems == []
    print(f"\n{len(kills)} kills, {verdict.repeats} of {verdict.requests} requests repeated")


def children(parent: int, module: str) -> list[int]:
    """The processes that a process has started with `-m module`."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            ancestor = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has gone meanwhile
            continue
        if ancestor == parent and module.encode() in command:
            found.append(int(status.parent.name))
    return sorted(found)


def is_running(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def is_asked(server: WebServer, host: str) -> bool:
    """Whether a host of a web is being asked for something: the server logs that only when it is over."""
    address = int.from_bytes(socket.inet_aton(server.web.address(host) or ""), sys.byteorder)
    theirs, established = f"{address:08X}:{server.port:04X}", "01"
    connections = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return any(connection[2:4] == [theirs, established] for connection in connections)


def wait_until(happened: Callable[[], bool], what: str, *, timeout_s: float = TIMEOUT_S) -> None:
    """Look again and again until something has happened."""
    give_up_s = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < give_up_s, f"waited in vain for {what}"
        time.sleep(0.01)


def environment() -> dict[str, str]:
    """Our own environment, with our modules and without settings."""
    path = os.pathsep.join(filter(None, sys.path))
    own = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return own | {"PYTHONPATH": path}
