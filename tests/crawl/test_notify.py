"""A crawl notifies its operator: once for each cause, at a webhook whose URL stays secret."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gossamer_simweb as simweb
from gossamer.cli import run
from gossamer.errors import GossamerError
from gossamer.records import CrawlState, Stats
from gossamer.supervisor import End, Ended, Progress
from gossamer.supervisor.alarms import AGAIN_S, DEATHS_S, LASTING_S, STALL_S, Alarm, AlarmWatch, at_the_end, is_due
from gossamer.supervisor.notify import Notifier, read_url
from tests.end_to_end.crawls import Crawl, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "s3cr3t-hook"


class Webhook:
    """A webhook on this machine that remembers what it was sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.status = 200
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.path == f"/{SECRET}?x=1"
                webhook.messages.append(json.loads(body))
                self.send_response(webhook.status)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/{SECRET}?x=1"


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    hook = Webhook()
    thread = threading.Thread(target=hook.server.serve_forever)
    thread.start()
    yield hook
    hook.server.shutdown()
    thread.join()
    hook.server.server_close()


def progress(
    *troubles: str, done: int = 5, queued: int = 7, wait_s: float | None = None, state: CrawlState = CrawlState.RUNNING
) -> Progress:
    known = done + queued
    stats = Stats(
        sites=1, sites_with_work=1, sites_in_hand=0, known=known, queued=queued, done=done, pages=3, wait_s=wait_s,
        state=state,
    )  # fmt: skip
    return Progress(
        elapsed_s=1, figures={}, pages_per_s=0, bytes_per_s=0, stats=stats, workers=1, alive=1, troubles=troubles
    )


def causes(watch: AlarmWatch, now: Progress, now_s: float, deaths: int = 0) -> set[Alarm]:
    return set(watch.look(now, deaths=deaths, now_s=now_s))


def test_a_nearly_full_disk_is_told_at_once_and_a_database_only_when_it_stays_away() -> None:
    watch = AlarmWatch()
    assert causes(watch, progress("disk nearly full: 1 MB free on /"), 0) == {Alarm.DISK_FULL}
    away = progress("cannot write: gone", "the frontier cannot be read: gone")
    assert causes(watch, away, 10) == set()
    assert causes(watch, progress(), 20) == set()
    assert causes(watch, away, 30) == set(), "it was back meanwhile"
    assert causes(watch, away, 30 + LASTING_S) == {Alarm.DATABASE_AWAY}, "and the disk is not blamed"


def test_a_disk_that_takes_no_reports_is_full() -> None:
    watch, full = AlarmWatch(), progress("cannot write: No space left on device")
    assert causes(watch, full, 0) == set()
    assert causes(watch, full, LASTING_S) == {Alarm.DISK_FULL}


def test_a_crawl_is_stalled_if_urls_are_due_and_none_is_settled() -> None:
    watch = AlarmWatch()
    assert causes(watch, progress(), 0) == set()
    assert causes(watch, progress(), STALL_S - 1) == set()
    assert causes(watch, progress(), STALL_S) == {Alarm.STALLED}
    assert causes(watch, progress(done=6), STALL_S + 1) == set()


IDLE = {
    "empty": progress(queued=0),
    "waits": progress(wait_s=50.0),
    "paused": progress(state=CrawlState.PAUSED),
}


@pytest.mark.parametrize("idle", IDLE.values(), ids=IDLE.keys())
def test_a_crawl_that_has_nothing_to_do_is_not_stalled(idle: Progress) -> None:
    watch = AlarmWatch()
    for now_s in (0.0, STALL_S, 2 * STALL_S):
        assert causes(watch, idle, now_s) == set()


def test_workers_that_die_again_and_again_are_told_and_a_single_death_is_not() -> None:
    watch = AlarmWatch()
    assert causes(watch, progress(), 0, deaths=2) == set()
    assert causes(watch, progress(), DEATHS_S + 1, deaths=3) == set(), "the first two are long ago"
    assert causes(watch, progress(), DEATHS_S + 2, deaths=5) == {Alarm.WORKERS_DIE}


def test_only_an_end_by_itself_or_by_dying_workers_is_told() -> None:
    told = {end: set(at_the_end(Ended(end=end, detail="They die.", progress=progress()))) for end in End}
    assert {end: alarms for end, alarms in told.items() if alarms} == {
        End.DRAINED: {Alarm.FINISHED},
        End.PAGE_LIMIT: {Alarm.FINISHED},
        End.DYING: {Alarm.WORKERS_DIE},
    }


def test_a_cause_is_not_told_again_within_an_hour() -> None:
    sent = {"stalled": 1_000.0}
    assert not is_due(sent, Alarm.STALLED, 1_000 + AGAIN_S - 1)
    assert is_due(sent, Alarm.STALLED, 1_000 + AGAIN_S)
    assert is_due(sent, Alarm.STALLED, 900), "the wall clock was set back"
    assert is_due(sent, Alarm.DISK_FULL, 1_001)


def test_each_cause_is_sent_once_also_after_a_restart(webhook: Webhook, tmp_path: Path) -> None:
    for _ in range(2):
        notifier = Notifier(webhook.url, tmp_path)
        for _ in range(3):
            notifier.look(progress("disk nearly full: 1 MB free on /"))
        notifier.end(Ended(end=End.STOPPED, progress=progress()))
    (message,) = webhook.messages
    assert message["cause"] == "disk full"
    assert message["text"] == message["content"]
    assert "Disk nearly full: 1 MB free on /." in message["text"]
    assert message["crawl"] == str(tmp_path)


def test_a_webhook_that_refuses_is_tried_again_and_its_url_is_not_logged(
    webhook: Webhook, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    webhook.status = 500
    with caplog.at_level(logging.DEBUG):
        notifier = Notifier(webhook.url, tmp_path)
        notifier.end(Ended(end=End.DRAINED, progress=progress()))
    assert len(webhook.messages) == 3
    assert "could not be notified of finished (it answered 500)" in caplog.text
    assert SECRET not in caplog.text


def test_the_url_comes_from_the_environment_or_from_a_file_that_only_its_owner_may_read(tmp_path: Path) -> None:
    file = tmp_path / "hook"
    file.write_text("https://hooks.test/x\n")
    file.chmod(0o640)
    with pytest.raises(GossamerError, match=f"`chmod 600 {file}`"):
        read_url(file, {})
    file.chmod(0o600)
    assert read_url(file, {}) == "https://hooks.test/x"
    assert read_url(file, {"GOSSAMER_NOTIFY_URL": "http://other.test/"}) == "http://other.test/"
    assert read_url(None, {}) is None
    for wrong in ("ftp://secret.test/", "secret", "http://", "http://a.test:99999/", "http://secret .test/"):
        with pytest.raises(GossamerError, match=r"^GOSSAMER_NOTIFY_URL holds no URL of a webhook") as refused:
            read_url(None, {"GOSSAMER_NOTIFY_URL": wrong})
        assert "secret" not in str(refused.value)
    with pytest.raises(GossamerError, match="cannot be read"):
        read_url(tmp_path / "none", {})


def test_a_test_message_can_be_sent(
    webhook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GOSSAMER_NOTIFY_URL", raising=False)
    arguments = ["notify", "--test", "--data-dir", str(tmp_path)]
    assert run(["notify"]) == 2
    assert run(arguments) == 2
    assert "There is no webhook: give its URL in GOSSAMER_NOTIFY_URL" in capsys.readouterr().err
    monkeypatch.setenv("GOSSAMER_NOTIFY_URL", webhook.url)
    assert run(arguments) == 0
    assert capsys.readouterr().out == "Sent.\n"
    assert webhook.messages[0]["cause"] == "test"
    webhook.status = 404
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert "The message was not taken (it answered 404)" in said
    assert SECRET not in said


def test_a_crawl_tells_that_its_workers_die_and_that_it_is_finished(webhook: Webhook, tmp_path: Path) -> None:
    with simweb.serve(simweb.plain_web(sites=4, pages=25)) as server:
        crawl = Crawl(
            server, tmp_path / "data", delay_s=0.2, workers=1, variables={"GOSSAMER_NOTIFY_URL": webhook.url}
        )  # fmt: skip
        with crawl.start() as start:
            for killed in range(3):
                wait_until(lambda: bool(start.workers()), "a worker")
                crawl.wait_for_requests(server.answered() + 2)
                (worker,) = start.workers()
                assert SECRET.encode() not in Path(f"/proc/{worker}/environ").read_bytes()
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda: crawl.log.count("another one replaces it") > killed, "a new worker")  # noqa: B023
            said = start.end()
    assert [message["cause"] for message in webhook.messages] == ["workers die", "finished"]
    assert "100 pages stored" in webhook.messages[-1]["text"]
    for text in (said, crawl.log, (crawl.folder / "crawl.toml").read_text()):
        assert SECRET not in text
