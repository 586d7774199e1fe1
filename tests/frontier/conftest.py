"""Fixtures for all frontier tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.records import Scope
from tests.frontier.labs import DELAY_S, LABS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.frontier.labs import Lab


@pytest.fixture(params=sorted(LABS))
def new_lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """Return a function that makes a fresh lab, its crawl begun, as often as a test needs one."""
    labs: list[Lab] = []

    def make(
        *,
        delay_s: float = DELAY_S,
        page_limit: int | None = None,
        site_limit: int | None = None,
        scope: Scope = Scope.WEB,
        real_time: bool = False,
    ) -> Lab:
        folder = tmp_path / str(len(labs))
        folder.mkdir()
        lab = LABS[request.param](folder, real_time=real_time)
        labs.append(lab)
        lab.open().resume(delay_s=delay_s, page_limit=page_limit, site_limit=site_limit, scope=scope)
        return lab

    yield make
    for lab in labs:
        lab.close()


@pytest.fixture
def lab(new_lab: Callable[..., Lab]) -> Lab:
    """A fresh frontier with a delay of 70 s and no page limit."""
    return new_lab()
