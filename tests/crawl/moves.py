"""A crawl with something of everything, what a frontier tells of it, and a move that is killed somewhere."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.crawl.engines import open_frontier
from gossamer.crawl.folder import gather_settings, read_settings, write_settings
from gossamer.crawl.moving import move
from gossamer.crawl.own_frontier import Own, note_own
from gossamer.records import Barred, Done, GivenUp, HostState, Reason, Retry, Scope
from tests.frontier.samples import claim, complete, link, links

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from types import FrameType

    from gossamer.crawl.moving import MoveResult
    from gossamer.frontier import Frontier
    from gossamer.records import Outcome

SITES = ("ordered.test", "owned.test", "excluded.test", "spent.test", "waiting.test", "settled.test")
TERMS = {"delay_s": 30.0, "page_limit": 1_000, "site_limit": 2, "scope": Scope.WEB}
_URLS = [
    link(f"{site}/{number}", depth, rank=rank, seeded=number == 0, via=b"v" * 16 if number % 2 else None)
    for site in SITES
    for number, (rank, depth) in enumerate([(0, 0), (2, 1), (1, 3), (1, 2), (1, 2), (0, 5), (2, 1), (0, 1)])
]
_OUTCOMES: dict[str, Outcome] = {
    "spent.test": Done(),
    "waiting.test": Retry(wait_s=4_000),
    "settled.test": GivenUp(reason=Reason.HTTP_ERROR),
}


class Silence:
    """A move without a progress display."""

    def say(self, line: str) -> None:
        pass

    def show(self, done: str, urls: int, of_urls: int) -> None:
        pass


def make(folder: Path, frontier: str = "") -> Path:
    """Begin a crawl, work a little, and die with a site in hand."""
    folder.mkdir()
    settings = gather_settings(None, environment={}, flags={"email": "you@example.org", "frontier": frontier})
    write_settings(folder, settings)
    with open_frontier(folder, settings.frontier) as opened:
        note_own(folder, Own(frontier=frontier, crawl_name="crawl", identity=opened.identity))
        opened.resume(**TERMS)  # type: ignore[arg-type]
        opened.mark_seeds_loaded("digest")
        opened.join("test")
        opened.heartbeat({"requests": 3})
        opened.add(_URLS)
        opened.exclude(["excluded.test", "https://ordered.test/private/"])
        opened.exclude(["readmitted.test"])
        opened.readmit(["readmitted.test"])
        robots = HostState(
            host="https://waiting.test", rules="{}", expires_at=2e9, failures=3, failing_since=1.5e9, blocked_s=5_000
        )
        for one in claim(opened):
            if one.site in _OUTCOMES:
                hosts = [robots] if one.site == "waiting.test" else ()
                complete(opened, one, _OUTCOMES[one.site], hosts=hosts, wait_s=600, own_delay_s=90)
            elif one.site == "ordered.test":
                complete(opened, one, Barred(reason=Reason.EXCLUDED), links=links("new.test", 3), wait_s=600)
            else:
                assert one.site == "owned.test"
    return folder


def facts(frontier: Frontier) -> dict[str, Any]:
    """Return all that a frontier tells, but for waits, and for what a new start makes of the dead."""
    hosts = {site: frontier.find_hosts(site) for site in (*SITES, "new.test")}
    states = {site: frontier.find_site(site) for site in (*SITES, "new.test")}
    urls = {url.url: frontier.find_url(url.site, url.url_hash) for url in (*_URLS, *links("new.test", 3))}
    return {
        "identity": frontier.identity,
        "stats": replace(frontier.stats(), wait_s=None, sites_in_hand=0, pages_left=None),
        "sites": {name: state and replace(state, wait_s=None, owner=None) for name, state in states.items()},
        "hosts": {name: [replace(host, blocked_s=0.0) for host in some] for name, some in hosts.items()},
        "urls": {url: state and replace(state, wait_s=None) for url, state in urls.items()},
        "queued": {site: sorted(frontier.queued(site)) for site in SITES},
        "barred": sorted((barred.url, reason) for barred, reason in frontier.barred()),
        "exclusions": (frontier.exclusions(), frontier.readmissions()),
        "seeds": (frontier.seeds_loaded("digest"), frontier.seeds_loaded("other")),
        "workers": [(worker.worker, worker.label, dict(worker.figures)) for worker in frontier.workers()],
        "problems": frontier.audit(),
    }


def waits(frontier: Frontier) -> dict[str, float]:
    """Return what has to be waited for."""
    found: dict[str, float] = {}
    for site in (*SITES, "new.test"):
        state = frontier.find_site(site)
        assert state is not None
        found[site] = state.wait_s or 0.0
        found |= {host.host: host.blocked_s for host in frontier.find_hosts(site)}
    for url in _URLS:
        known = frontier.find_url(url.site, url.url_hash)
        assert known is not None
        found[url.url] = known.wait_s or 0.0
    return found


def order(frontier: Frontier) -> list[str]:
    """Return the URLs of a site as they are claimed one after the other; it was excluded, and never asked."""
    frontier.readmit(["excluded.test"])
    frontier.resume(delay_s=0, scope=Scope.WEB)  # nor does a limit hold
    frontier.join("reader")
    found: list[str] = []
    for _ in range(20):
        for one in claim(frontier):
            if one.site == "excluded.test":
                found += [url.url for url in one.urls]
            complete(frontier, one, wait_s=0)
    return found


def open_own(folder: Path) -> Frontier:
    """Open the frontier that a folder's settings name."""
    return open_frontier(folder, read_settings(folder).frontier, begin=False)


def run_move(folder: Path, to: str, *, delete_old: bool = False) -> MoveResult:
    """Move in this process."""
    return move(folder, to, None, Silence(), delete_old=delete_old)


def fatal_step(dice: random.Random) -> int:
    """Return after how many steps a move is to be killed: the first ones as likely as the many later ones."""
    return int(10 ** dice.uniform(1.0, 3.6))


def killed_move(folder: Path, to: str, step: int) -> bool:
    """Move in a process that is killed after this many steps; return whether it was killed before its end."""
    return _is_killed(lambda: move_until(folder, to, step))


def move_until(folder: Path, to: str, step: int) -> None:
    """Move in this process, and kill it after this many calls of functions about moving or files."""
    passed = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal passed
        if event in ("call", "c_call") and "/gossamer/" in frame.f_code.co_filename:
            passed += "moving" in frame.f_code.co_filename or "files.py" in frame.f_code.co_filename
            if passed >= step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    run_move(folder, to)


def kill_while_copying(folder: Path, to: str) -> None:
    """Move in a process that is killed as soon as some rows are copied."""

    class Killer(Silence):
        def show(self, done: str, urls: int, of_urls: int) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

    assert _is_killed(lambda: move(folder, to, None, Killer(), delete_old=False))


def _is_killed(act: Callable[[], object]) -> bool:
    """Call a function in a new process; return whether that was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child never touches the parent's threads
        child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    move_until(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
