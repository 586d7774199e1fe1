"""What all tests share: how Hypothesis searches, that Ctrl-C works, and a word on which PostgreSQL was there."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

# The same examples every time, so that a red test is red because of the change; `explore` looks for new ones:
# HYPOTHESIS_PROFILE=explore make test
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Whoever runs the tests in the background may have Ctrl-C ignored, and every process we start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which versions of PostgreSQL the tests of the frontier had."""
    if any("tests/frontier/" in report.nodeid for report in terminalreporter.stats.get("passed", ())):
        from tests.frontier.postgres_server import summary

        terminalreporter.write_line(f"The frontier was tested on SQLite and {summary()}")
