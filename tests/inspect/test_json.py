"""What commands print with `--json` has exactly the fields and types that docs/reference/json.md documents."""

from __future__ import annotations

import json
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from gossamer.cli import run
from gossamer.inspect.as_json import ExplainJson, ShowJson, StatusJson
from gossamer.records import Retry
from tests.inspect.crawls import Crawl

if TYPE_CHECKING:
    from pathlib import Path


def mismatch(value: Any, hint: Any, at: str = "it") -> str:
    """Return where a value differs from its declared type; empty if it does not."""
    of, args = get_origin(hint), get_args(hint)
    if isinstance(hint, UnionType):
        return "" if value is None else mismatch(value, args[0], at)
    if is_typeddict(hint):
        fields = get_type_hints(hint)
        if not isinstance(value, dict) or list(value) != list(fields):
            return f"{at}: {value} has other fields than {list(fields)}"
        return next(filter(None, (mismatch(value[name], fields[name], f"{at}.{name}") for name in fields)), "")
    if of is list:
        inner = (mismatch(one, args[0], f"{at}[]") for one in value) if isinstance(value, list) else [f"{at}: no list"]
        return next(filter(None, inner), "")
    if of is dict and args[1] is not Any:
        return next(filter(None, (mismatch(one, args[1], f"{at}.*") for one in value.values())), "")
    types = {float: (int, float), int: (int,)}.get(hint, (dict if of is dict else hint,))
    fits = isinstance(value, types) and (hint is bool or not isinstance(value, bool))
    return "" if fits else f"{at}: {value!r} is no {hint}"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> Any:
    assert run(list(arguments)) == status
    return json.loads(capsys.readouterr().out)


def test_a_stored_a_queued_and_an_unknown_url_are_shown_with_the_documented_fields(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = printed(capsys, "show", "https://a.test/1", "--json", "--data-dir", str(folder))
    assert not mismatch(stored, ShowJson)
    assert stored["state"]["status"] == "done"
    assert stored["page"]["title"] == "Größe"
    assert stored["page"]["fetched_at"] == "2026-01-01T00:00:01.000000Z"
    assert len(stored["requests"][0]["url_hash"]) == 32
    assert stored["headers"][0] == "HTTP/1.1 200 OK"
    unknown = printed(capsys, "show", "https://z.test/", "--json", "--data-dir", str(folder), status=1)
    assert not mismatch(unknown, ShowJson)
    assert (unknown["known"], unknown["page"], unknown["links"]) == (False, None, None)


def test_a_queued_url_has_its_tries_and_its_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Crawl(tmp_path) as crawl:
        crawl.add("https://a.test/1")
        (claim,) = crawl.claim()
        crawl.complete(claim, [Retry(wait_s=7_500)])
        shown = printed(capsys, "show", "https://a.test/1", "--json", "--data-dir", str(tmp_path))
    assert not mismatch(shown, ShowJson)
    assert (shown["state"]["status"], shown["state"]["tries"]) == ("queued", 1)
    assert 7_000 < shown["state"]["wait_s"] <= 7_500
    assert shown["site"]["queued"] == 1


def test_rows_of_tables_are_written_as_a_query_writes_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "--json", "--data-dir", str(folder)]) == 0
    logged = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run(
        ["query", "select * from requests order by ended_at", "--format", "jsonl", "--data-dir", str(folder)]
    ) == 0  # fmt: skip
    queried = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert logged
    assert [row | {"via": ""} for row in logged] == [row | {"via": ""} for row in queried]


@pytest.mark.parametrize(("what", "cause"), [("a.test", "nothing to do"), ("https://a.test/1", "done")])
def test_an_explanation_has_the_documented_fields(
    folder: Path, capsys: pytest.CaptureFixture[str], what: str, cause: str
) -> None:
    (folder / "crawl.toml").write_text("delay = 70\n")
    explained = printed(capsys, "explain", what, "--json", "--data-dir", str(folder))
    assert not mismatch(explained, ExplainJson)
    assert (explained["cause"], explained["site"], explained["running"]) == (cause, "a.test", False)
    assert explained["url"] == (None if what == "a.test" else what)
    assert {"name": "pace", "text": "delay 70 s"} in explained["facts"]


def test_the_status_has_the_documented_fields(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not mismatch(printed(capsys, "status", "--json", "--data-dir", str(folder)), StatusJson)
