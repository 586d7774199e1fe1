"""What all tests share: how Hypothesis searches, that Ctrl-C works, and what a run says of PostgreSQL and of skips."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.frontier.postgres_programs import MissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The same examples every time, so that a red test is red because of the change; `explore` looks for new ones:
# HYPOTHESIS_PROFILE=explore make test
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Tests that run in the background may have Ctrl-C ignored, and every process that we start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Skip a test whose fixtures need a PostgreSQL that this machine cannot have."""
    with _skipping_without_postgres():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip a test that itself needs a PostgreSQL that this machine cannot have."""
    with _skipping_without_postgres():
        yield


@contextmanager
def _skipping_without_postgres() -> Iterator[None]:
    try:
        yield
    except MissingError as error:
        if "GOSSAMER_TEST_POSTGRES_VERSIONS" in os.environ:  # the developer wants exactly these
            raise
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around all others, so that nothing but pytest's last line follows
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Say at the very end which versions of PostgreSQL the tests of the frontier had, and what was skipped and why."""
    yield
    if any("tests/frontier/" in report.nodeid for report in terminalreporter.stats.get("passed", ())):
        from tests.frontier.postgres_server import summary

        terminalreporter.write_line(f"The frontier was tested on SQLite and {summary()}")
    skipped = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
