"""How tests of fetching run: coroutines, on the event loop that a crawl uses."""

from __future__ import annotations

import asyncio
import inspect

import pytest
import uvloop

LIMIT_S = 60  # of one test; a signal alone does not get through to a loop that waits


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    uvloop.run(asyncio.wait_for(pyfuncitem.obj(**arguments), LIMIT_S))
    return True
