"""Crawls real manuals, served by nginx on this machine, and compares the set of pages with that of `wget -r`.

    make real                               # downloads nginx and the manuals from Debian, once, into a cache
    make real ARGS="--sites git,sqlite"

By hand, not in CI: it needs Debian 12, apt-get, dpkg-deb, wget, and some minutes. nginx logs every request of both; a
page is a URL that was answered with 200 and HTML. A difference must have a name (`Difference`), or the run fails. Then
the installation guide is crawled with `--languages de`: every stored page must be German.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import urlopen

from turbohtml import parse

from gossamer.store.reading import last_pages
from gossamer.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CACHE: Final = Path.home() / ".cache" / "gossamer-real"
WGET: Final = "Wget-Real"
LOG: Final = (
    '{"port":"$server_port","uri":"$request_uri","status":$status,"type":"$sent_http_content_type",'
    '"agent":"$http_user_agent"}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manual:
    """A manual, as a site."""

    package: str  # of Debian 12
    root: str  # what is served, in the package
    start: str = "/"


MANUALS: Final = {
    "git": Manual(package="git-doc", root="usr/share/doc/git-doc"),
    "sqlite": Manual(package="sqlite3-doc", root="usr/share/doc/sqlite3"),
    "postgresql": Manual(package="postgresql-doc-15", root="usr/share/doc/postgresql-doc-15/html"),
    "python": Manual(package="python3.11-doc", root="usr/share/doc/python3.11/html"),
    "exim": Manual(package="exim4-doc-html", root="usr/share/doc/exim4-doc-html/spec_html"),
    "policy": Manual(package="debian-policy", root="usr/share/doc/debian-policy/policy.html"),
    "handbook": Manual(package="debian-handbook", root="usr/share/doc/debian-handbook/html", start="/en-US/index.html"),
}
GUIDE: Final = Manual(package="installation-guide-amd64", root="usr/share/doc/installation-guide-amd64")


class Difference(StrEnum):
    """Why only wget requested a page."""

    LINK_ELEMENT = "only a <link> element leads there, which readers do not see"
    NOFOLLOW = "every link there says nofollow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """nginx, which serves each manual on a port of its own."""

    log: Path
    ports: dict[str, int]

    def pages(self, name: str, *, by_wget: bool) -> set[str]:
        """Return the URLs of a manual that were answered with a page."""
        found = set()
        for line in self.log.read_text().splitlines():
            said = json.loads(line)
            is_page = said["status"] == 200 and said["type"].startswith("text/html")
            if is_page and said["port"] == str(self.ports[name]) and (said["agent"] == WGET) == by_wget:
                found.add(str(normalise(self.url(name, said["uri"]))))
        return found

    def url(self, name: str, path: str) -> str:
        """Return the URL of a path of a manual."""
        return f"http://127.0.0.1:{self.ports[name]}{path}"


def unpack(package: str, debs: Path) -> Path:
    """Return the folder of an unpacked Debian package, downloaded if it is not there yet."""
    folder = CACHE / package
    if folder.is_dir():
        return folder
    found = sorted(debs.glob(f"{package}_*.deb"))
    if not found:
        debs.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", package], cwd=debs, check=True)
        found = sorted(debs.glob(f"{package}_*.deb"))
    unpacked = folder.with_suffix(".new")
    subprocess.run(["dpkg-deb", "-x", found[-1], unpacked], check=True)
    unpacked.rename(folder)
    return folder


@contextmanager
def serve(manuals: dict[str, Manual], debs: Path, work: Path) -> Iterator[Served]:
    """Serve manuals with nginx, on free ports of this machine."""
    nginx = unpack("nginx", debs) / "usr/sbin/nginx"
    types = unpack("nginx-common", debs) / "etc/nginx/mime.types"
    served = Served(log=work / "access.log", ports={name: free_port() for name in manuals})
    servers = [
        f"server {{ listen 127.0.0.1:{served.ports[name]}; root {unpack(each.package, debs) / each.root}; }}"
        for name, each in manuals.items()
    ]
    places = " ".join(
        f"{kind}_temp_path {work / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (work / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {work / 'pid'}; error_log {work / 'error.log'};\n"
        + (f"user {pwd.getpwuid(0).pw_name};\n" if os.geteuid() == 0 else "")
        + f"events {{}}\nhttp {{ include {types}; {places} log_format json escape=json '{LOG}';\n"
        + f"access_log {served.log} json;\n"
        + "\n".join(servers)
        + "\n}\n"
    )
    command: list[str | Path] = [nginx, "-p", work, "-c", work / "nginx.conf", "-e", work / "error.log"]
    with subprocess.Popen(command) as process:
        try:
            wait_for(process, served.ports.values(), work / "error.log")
            yield served
        finally:
            process.terminate()


def free_port() -> int:
    """Return a port that is free now."""
    with closing(socket.create_server(("127.0.0.1", 0))) as one:
        return int(one.getsockname()[1])


def wait_for(process: subprocess.Popen[bytes], ports: Iterable[int], log: Path) -> None:
    """Wait until nginx accepts connections at all ports."""
    for port in ports:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                if process.poll() is not None:
                    sys.exit(f"nginx does not start: {log.read_text()}")
                time.sleep(0.05)


def crawl(folder: Path, seeds: list[str], *options: str) -> None:
    """Crawl with Gossamer, without a delay."""
    file = folder.with_suffix(".txt")
    file.write_text("\n".join(seeds))
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "gossamer",
        "crawl",
        file,
        "--email",
        "real@example.org",
        "--data-dir",
        folder,
    ]
    loopback = ["--delay", "0", "--allow-network", "127.0.0.1/32"]
    done = subprocess.run([*command, *loopback, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"The crawl of {seeds[0]} failed:\n{done.stdout}{done.stderr}")


def compare(served: Served, name: str, manual: Manual, work: Path) -> bool:
    """Crawl a manual with both, and print how their pages differ; return whether every difference has a name."""
    start = served.url(name, manual.start)
    wget: list[str | Path] = ["wget", "-q", "-r", "-l", "inf", "-U", WGET, "--delete-after", "-P", work / "wget", start]
    subprocess.run(wget, check=False)  # a broken link is an error to wget
    crawl(work / name, [start])
    theirs, ours = served.pages(name, by_wget=True), served.pages(name, by_wget=False)
    stored = {page.url for page in last_pages(work / name) if page.content_type.startswith("text/html")}
    named = explain(served, name, theirs - ours)
    print(f"{name:12} wget {len(theirs):5}, gossamer {len(ours):5} requested, {len(stored):5} stored", flush=True)
    for why, times in Counter(filter(None, named.values())).items():
        print(f"{'':12} {times} only by wget: {why}", flush=True)
    unexplained = [url for url in theirs - ours if not named[url]] + sorted(ours - theirs) + sorted(ours ^ stored)
    for url in unexplained:
        print(f"{'':12} NOT EXPLAINED {url}", flush=True)
    return not unexplained and bool(theirs)


def explain(served: Served, name: str, missing: set[str]) -> dict[str, Difference | None]:
    """Return why Gossamer did not request these pages, from all pages that wget read."""
    ways: dict[str, set[str]] = {url: set() for url in missing}
    for page in served.pages(name, by_wget=True) if missing else ():
        with urlopen(page) as answer:
            document = parse(answer.read().decode("utf-8", "replace"))
        for element in document.select("[href]"):
            target = normalise(element.attr("href") or "", page)
            if isinstance(target, str) and target in ways and target != page:
                is_nofollow = "nofollow" in (element.attr("rel") or "").lower().split()
                ways[target].add("nofollow" if is_nofollow else element.tag)
    reasons = {frozenset({"link"}): Difference.LINK_ELEMENT, frozenset({"nofollow"}): Difference.NOFOLLOW}
    return {url: reasons.get(frozenset(found)) for url, found in ways.items()}


def crawl_german(served: Served, debs: Path, work: Path) -> bool:
    """Crawl the installation guide in all its languages with `--languages de`; return whether it kept German alone."""
    root = unpack(GUIDE.package, debs) / GUIDE.root
    languages = sorted(folder.name for folder in root.iterdir() if (folder / "index.html").is_file())
    crawl(work / "guide", [served.url("guide", f"/{each}/index.html") for each in languages], "--languages", "de")
    wanted = {f"/de/{file.name}" for file in (root / "de").glob("*.html")}
    kept = {urlsplit(page.url).path for page in last_pages(work / "guide")}
    german = len(wanted & kept)
    print(f"guide        {len(languages)} languages: {len(kept)} pages stored, {german} of {len(wanted)} German ones")
    for path in sorted(kept - wanted):
        print(f"{'':12} NOT GERMAN {path}")
    for path in sorted(wanted - kept):
        print(f"{'':12} left out {path}")
    return bool(kept) and kept <= wanted


def main() -> None:
    """Compare the manuals that were asked for, then crawl the guide."""
    parser = argparse.ArgumentParser(prog="make real", description=__doc__)
    parser.add_argument("--sites", default=",".join(MANUALS), help="which manuals, by name")
    parser.add_argument("--debs", type=Path, default=CACHE / "debs", help="a folder of Debian packages")
    given = parser.parse_args()
    manuals = {name: MANUALS[name] for name in given.sites.split(",") if name}
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-real-") as place,
        serve({**manuals, "guide": GUIDE}, given.debs, Path(place)) as served,
    ):
        fine = [compare(served, name, manual, Path(place)) for name, manual in manuals.items()]
        fine.append(crawl_german(served, given.debs, Path(place)))
    sys.exit(0 if all(fine) else 1)


main()
