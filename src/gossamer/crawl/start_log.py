"""What the log says about a start: versions, this machine, and settings that differ from the defaults."""

from __future__ import annotations

import logging
import os
import platform
from typing import TYPE_CHECKING

import pycurl

from gossamer import __version__
from gossamer.config import as_given, declared
from gossamer.crawl.settings import SECTIONS
from gossamer.inspect import machine
from gossamer.store.disk import free_space
from gossamer.urls import NORMALISER_VERSION, SUFFIX_LIST_VERSION
from gossamer.wording import count, size

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.crawl.settings import Settings

log = logging.getLogger(__name__)


def log_start(folder: Path, settings: Settings, workers: int) -> None:
    """Log what a reader of the log has to know about this start."""
    log.info(
        "Gossamer %s begins with Python %s, %s; normaliser %s, public suffix list %s.",
        __version__, platform.python_version(), pycurl.version, NORMALISER_VERSION, SUFFIX_LIST_VERSION,
    )  # fmt: skip
    log.info("%s", _machine(folder, workers))
    changed = changed_settings(settings)
    log.info("Settings that differ from the defaults: %s.", "; ".join(changed) if changed else "none")


def changed_settings(settings: Settings) -> list[str]:
    """Return the settings that differ from their defaults, as `key = value`."""
    defaults = {name: section() for name, section in SECTIONS.items()}
    found = []
    for key, setting in declared(SECTIONS).items():
        value = getattr(getattr(settings, setting.section), setting.field.name)
        if value != getattr(defaults[setting.section], setting.field.name):
            found.append(f"{key} = {_shown(value, setting.unit)}")
    return found


def _shown(value: object, unit: str) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "none" if value is None else as_given(value, unit)


def _machine(folder: Path, workers: int) -> str:
    memory = machine.memory()
    soft, hard = machine.open_files()
    files = f"{soft} descriptors of at most {'any number' if hard < 0 else hard}"
    free = free_space(folder)
    return (
        f"Machine: {platform.system()} {platform.release()}, {count(os.cpu_count() or 1, 'processor')}"
        + (f", {size(memory.available_bytes)} of {size(memory.total_bytes)} memory free" if memory else "")
        + f", {size(free)} free on the disk, {files}; {count(workers, 'worker process', 'worker processes')}, "
        f"pid {os.getpid()}."
    )
