"""How long whoever cannot reach the frontier waits."""

from __future__ import annotations

from gossamer.frontier.clock import backoff_s


def test_patience_grows_to_its_most_and_stays_there_however_long_it_takes() -> None:
    waits_s = [backoff_s(failures, first_s=0.5, most_s=4.0) for failures in (1, 2, 3, 4, 5, 2_000, 10**9)]
    assert waits_s == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0]
