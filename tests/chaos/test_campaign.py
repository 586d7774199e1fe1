"""What campaigns share: a run that fails is told with the command to repeat it; repeats need a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chaos.campaign import Campaign, Run, Size
from chaos.judging import STAMPED_LATE_S, Loss
from gossamer.urls import identify
from gossamer_simweb import LoggedRequest

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = Size(runs=2, faults=3, sites=4, pages=5)


def campaign(run: Callable[[Run], None]) -> Campaign:
    return Campaign(name="trial", about="A trial.", full=SIZE, short=SIZE, run=run, faults="faults")


def test_a_run_that_fails_is_told_with_the_command_to_repeat_it(capsys: pytest.CaptureFixture[str]) -> None:
    def fails_with_postgres(run: Run) -> None:
        run.facts.append(f"threw {run.dice.randrange(1000)}")
        run.check(run.engine == "sqlite", "not with this one")

    with pytest.raises(SystemExit):
        campaign(fails_with_postgres).main(["--seed", "7"])
    first = capsys.readouterr().out
    assert "trial 1/2 seed 7 sqlite: ok" in first
    assert "trial 2/2 seed 8 postgres: FAILED" in first
    assert "again: python -m chaos trial --runs 1 --seed 8 --engine postgres --faults 3 --sites 4 --pages 5" in first
    assert "trial: 1 of 2 runs as they should be, 6 faults, 4 sites x 5 pages" in first
    with pytest.raises(SystemExit):
        campaign(fails_with_postgres).main(["--runs", "1", "--seed", "8", "--engine", "postgres"])
    again = capsys.readouterr().out
    (threw,) = [part for part in again.split("; ") if part.startswith("threw")]
    assert threw in first, "the same seed throws the same dice"


def test_a_run_that_breaks_off_fails_and_the_next_one_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def breaks(run: Run) -> None:
        raise RuntimeError(f"no {run.seed}")

    with pytest.raises(SystemExit):
        campaign(breaks).main([])
    said = capsys.readouterr().out
    assert "RuntimeError: no 1" in said
    assert "RuntimeError: no 2" in said


def request(url: str, arrived: float, kind: str = "page") -> LoggedRequest:
    return LoggedRequest(arrived, arrived + 0.1, kind, "GET", "http", "a.test", "/", 200, 1, "", 0.0, False, "", url)


def test_only_what_the_frontier_did_not_know_can_be_lost() -> None:
    known, unknown = "http://a.test/known", "http://a.test/unknown"
    loss = Loss(at=10.0, looked=10.1, settled=frozenset({identify(known).url_hash}), hosts=frozenset({"http://a.test"}))
    assert not loss.may_have_lost(request(known, 9.9))
    assert loss.may_have_lost(request(unknown, 9.9))
    assert not loss.may_have_lost(request(unknown, 10.0 + 2 * STAMPED_LATE_S)), "it was not under way then"
    assert not loss.may_have_lost(request("http://a.test/robots.txt", 9.9, "robots"))
    assert loss.may_have_lost(request("http://b.test/robots.txt", 9.9, "robots"))
