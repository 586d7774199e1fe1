"""`gossamer notify`: sends a test message to the webhook of a crawl."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from gossamer.crawl.folder import SETTINGS_FILE, read_settings
from gossamer.errors import GossamerError
from gossamer.supervisor.notify import VARIABLE, message, read_url, send

_DETAIL: Final = "this is what a message of a crawl looks like"


@click.command("notify")
@click.option("--test", "is_test", is_flag=True, help="Send a test message.")
@click.option(
    "--data-dir", "folder", type=click.Path(path_type=Path), default="crawl-data", show_default=True,
    envvar="GOSSAMER_DATA_DIR", help="The crawl's folder, whose settings may name a notify_file.",
)  # fmt: skip
def command(is_test: bool, folder: Path) -> None:
    """Send a test message to the webhook that a crawl notifies.

    A crawl sends one message per cause and machine: it is finished or stalled, its disk is full, its database is away,
    or its workers keep dying. The URL is a secret. It comes from GOSSAMER_NOTIFY_URL, or from the file that the setting
    notify_file names, which only its owner may read.

    \b
    Example:
      gossamer notify --test --data-dir crawl-data
    """
    if not is_test:
        raise GossamerError("A crawl sends messages by itself: add --test to send one now.")
    settings = read_settings(folder).watch if (folder / SETTINGS_FILE).is_file() else None
    url = read_url(settings.notify_file if settings else None, os.environ)
    if url is None:
        raise GossamerError(f"There is no webhook: give its URL in {VARIABLE}, or a file of mode 600 as notify_file.")
    try:
        send(url, message("test", _DETAIL, crawl=str(folder.absolute())))
    except OSError as error:
        raise GossamerError(f"The message was not taken ({error}): check the webhook's URL.") from None
    click.echo("Sent.")
