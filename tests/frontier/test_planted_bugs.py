"""The conformance suite is worth what it catches: a bug planted in a copy of the engine must turn it red.

Every third is planted with every build, which keeps that short; `python -m chaos planted` plants all of them.
"""

from __future__ import annotations

import pytest

from chaos.planted.bugs import ENGINE_BUGS
from chaos.planted.planting import try_out


@pytest.mark.parametrize("name", list(ENGINE_BUGS)[::3])
def test_the_suite_goes_red(name: str) -> None:
    assert try_out(ENGINE_BUGS[name]).startswith("tests/frontier"), "no test noticed"
