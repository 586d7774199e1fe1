"""Sends a message to a webhook when a crawl needs its operator: one for each cause and machine.

The webhook's URL is a secret: it comes from the environment or from a file that only its owner may read. It is never a
setting, and no message of ours repeats it.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import socket
import stat
import threading
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from gossamer import metrics
from gossamer.errors import GossamerError
from gossamer.supervisor.alarms import AlarmWatch, at_the_end, is_due

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from pathlib import Path

    from gossamer.supervisor.alarms import Alarm
    from gossamer.supervisor.progress import Ended, Progress

log = logging.getLogger(__name__)

VARIABLE: Final = "GOSSAMER_NOTIFY_URL"
SENT_FILE: Final = "notified.json"  # in the crawl's folder: when each cause was told last
TIMEOUT_S: Final = 10.0
TRIES: Final = 3
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def read_url(file: Path | None, environment: Mapping[str, str]) -> str | None:
    """Return the webhook's URL; None if none is given. Refuse a file that others may read, and what is no URL."""
    if url := environment.get(VARIABLE, "").strip():
        return _checked(url, VARIABLE)
    if file is None:
        return None
    try:
        with file.open(encoding="utf-8") as opened:
            if os.fstat(opened.fileno()).st_mode & _OTHERS:
                raise GossamerError(f"Others may read {file}, which holds a secret: `chmod 600 {file}`.")
            return _checked(opened.readline().strip(), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise GossamerError(f"{file} cannot be read ({error}): write the webhook's URL into it.") from None


def take_url(file: Path | None, environment: MutableMapping[str, str]) -> str | None:
    """Return the URL as `read_url` does, and remove it from the environment: no process started later inherits it."""
    url = read_url(file, environment)
    environment.pop(VARIABLE, None)
    return url


def _checked(url: str, place: str) -> str:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and url.isascii()
        if is_url and not any(char.isspace() for char in url):
            return url
    except ValueError:
        pass
    raise GossamerError(f"{place} holds no URL of a webhook: write it like https://hooks.example.org/services/...")


def send(url: str, message: Mapping[str, object]) -> None:
    """Post a message; raise OSError that says why it was not taken, without the URL."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, json.dumps(message).encode(), {"Content-Type": "application/json"})
        status = connection.getresponse().status
    except http.client.HTTPException as error:
        raise OSError(f"no answer in HTTP ({type(error).__name__})") from None
    finally:
        connection.close()
    if not 200 <= status < 300:
        raise OSError(f"it answered {status}")


def message(cause: str, detail: str, *, crawl: str) -> dict[str, object]:
    """Return the JSON of a message: `text` and `content` are what chat services show, the rest is for programs."""
    machine = socket.gethostname()
    text = f"Gossamer on {machine}, crawl {crawl}: {cause}. {detail[:1].upper()}{detail[1:]}."
    now_at = round(time.time(), 3)
    said = {"text": text, "content": text, "cause": cause, "detail": detail}
    return {**said, "crawl": crawl, "machine": machine, "time": now_at}


class Notifier:
    """Watches a crawl for its operator; does nothing without a URL."""

    def __init__(self, url: str | None, folder: Path) -> None:
        self._url = url
        self._crawl = str(folder.absolute())
        self._file = folder / SENT_FILE
        self._sent_at = _read_sent(self._file)
        self._watch = AlarmWatch()
        self._threads: list[threading.Thread] = []

    def look(self, progress: Progress) -> None:
        """Tell of the causes that hold now; called every second."""
        deaths = int(sum(cell.value for cell in metrics.WORKER_REPLACEMENTS_TOTAL.cells.values()))
        self._tell(self._watch.look(progress, deaths=deaths, now_s=time.monotonic()))

    def end(self, ended: Ended) -> None:
        """Tell why a crawl ended, if the operator should know, and wait until all messages are sent."""
        self._tell(at_the_end(ended))
        for thread in self._threads:
            thread.join(TRIES * (TIMEOUT_S + 1))

    def _tell(self, causes: Mapping[Alarm, str]) -> None:
        for alarm, detail in causes.items():
            if self._url is not None and is_due(self._sent_at, alarm, time.time()):
                self._sent_at[alarm.value] = time.time()
                self._write_sent()
                said = message(alarm.value, detail, crawl=self._crawl)
                thread = threading.Thread(target=_send_stubbornly, args=(self._url, said), daemon=True)
                thread.start()
                self._threads = [one for one in self._threads if one.is_alive()] + [thread]

    def _write_sent(self) -> None:
        from gossamer.store.files import replacing

        try:
            with replacing(self._file) as file:
                file.write(json.dumps(self._sent_at).encode())
        except OSError as error:  # a full disk is one of the causes: then a restart may tell it again
            log.debug("%s cannot be written (%s).", self._file, error)


def _read_sent(file: Path) -> dict[str, float]:
    try:
        found = json.loads(file.read_bytes())
        return {str(cause): float(at) for cause, at in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _send_stubbornly(url: str, said: Mapping[str, object]) -> None:
    for attempt in range(TRIES):
        try:
            send(url, said)
        except OSError as error:
            log.warning("The operator could not be notified of %s (%s).", said["cause"], error)
            time.sleep(attempt)
        else:
            log.info("The operator was notified: %s", said["text"])
            return
