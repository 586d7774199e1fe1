"""One S3 server for all tests of a process, with a prefix for each."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.bucket.s3_server import BUCKET, S3Server, serving_s3
from tools.environments import MissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def running_s3() -> Iterator[S3Server]:
    """A running S3 server; without one, the test is skipped."""
    try:
        with serving_s3() as server:
            yield server
    except MissingError as error:
        pytest.skip(f"no S3 server: {error}")


@pytest.fixture
def s3(running_s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """The server without faults, and an environment that leads to it."""
    for name, value in running_s3.environment.items():
        monkeypatch.setenv(name, value)
    running_s3.asked.clear()
    yield running_s3
    running_s3.fault = lambda _method, _path: None


@pytest.fixture
def store(s3: S3Server) -> str:
    """A new prefix in the bucket."""
    return f"s3://{BUCKET}/crawl-{next(_NUMBERS)}"
