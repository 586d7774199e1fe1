"""The conformance suite is worth what it catches: each bug planted here in a copy of the engine must turn it red."""

from __future__ import annotations

import pytest

from chaos.planted.bugs import ENGINE_BUGS
from chaos.planted.planting import try_out


@pytest.mark.parametrize("name", ENGINE_BUGS)
def test_the_suite_goes_red(name: str) -> None:
    assert try_out(ENGINE_BUGS[name]).startswith("tests/frontier"), "nobody noticed"
