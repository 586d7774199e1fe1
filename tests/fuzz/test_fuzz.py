"""Every reader of foreign bytes holds against its seeds and against small changes of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.mutating import changed
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds(name: str) -> None:
    target = TARGETS[name]
    assert target.seeds
    for seed in target.seeds:
        target.run(seed)

    @settings(max_examples=target.examples, suppress_health_check=list(HealthCheck))
    @given(changed(target.seeds))
    def hold(data: bytes) -> None:
        target.run(data)

    hold()
