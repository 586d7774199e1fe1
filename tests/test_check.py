"""`gossamer check`: one JSON line out for every line in, whatever comes in."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.check import command
from gossamer.errors import GossamerError

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
GOSSAMER = [sys.executable, "-m", "gossamer"]


def check(*arguments: str, questions: list[Any] | None = None) -> list[dict[str, Any]]:
    text = "".join(json.dumps(question) + "\n" for question in questions or ())
    result = CliRunner().invoke(command, list(arguments), input=text)
    assert result.exception is None
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            {"url": "HTTP://WWW.Example.co.uk:80/a/../b#top"},
            {"url": "http://www.example.co.uk/b", "site": "example.co.uk", "host": "http://www.example.co.uk"},
        ),
        (
            {"url": "../c?d", "base": "https://example.org:8443/a/b/"},
            {
                "url": "https://example.org:8443/a/c?d",
                "site": "example.org",
                "host": "https://example.org:8443",
            },
        ),
        ({"url": "mailto:a@b", "base": None}, {"url": None, "site": None, "host": None, "reason": "scheme"}),
        ({"url": "x", "base": "nonsense"}, {"url": None, "site": None, "host": None, "reason": "syntax"}),
        ({"url": "http://a@h/"}, {"url": None, "site": None, "host": None, "reason": "credentials"}),
        ({"url": "http://h/\ud800"}, {"url": None, "site": None, "host": None, "reason": "syntax"}),
    ],
)
def test_a_url_is_normalised_and_named(question: dict[str, Any], answer: dict[str, Any]) -> None:
    assert check("url", questions=[question]) == [answer]


ROBOTS = "User-agent: *\nDisallow: /a\nCrawl-delay: 9999"


@pytest.mark.parametrize(
    ("robots", "path", "answer"),
    [
        ({"robots": ROBOTS}, "/a", {"allowed": False, "delay": 3600.0, "rule": "Disallow: /a"}),
        ({"robots": ROBOTS}, "/b", {"allowed": True, "delay": 3600.0, "rule": None}),
        ({"robots": ""}, "/a", {"allowed": True, "delay": None, "rule": None}),
        (
            {"robots_b64": base64.b64encode(b"\xff\xfe" + ROBOTS.encode("utf-16-le")).decode()},
            "/a",
            {"allowed": False, "delay": 3600.0, "rule": "Disallow: /a"},
        ),
        ({"robots": "User-agent: *\nDisallow: /\ud800"}, "/b", {"allowed": True, "delay": None, "rule": None}),
    ],
)
def test_a_url_is_judged_by_robots_txt(robots: dict[str, str], path: str, answer: dict[str, Any]) -> None:
    question = {**robots, "agent": "Gossamer/1.0", "url": f"https://example.org{path}"}
    assert check("robots", questions=[question]) == [answer]


def test_an_address_is_judged() -> None:
    questions = [{"address": address} for address in ("8.8.8.8", "10.1.2.3", "::ffff:127.0.0.1", "localhost")]
    reasons = ["private", "loopback", "syntax"]
    refused = [{"allowed": False, "reason": reason} for reason in reasons]
    assert check("address", questions=questions) == [{"allowed": True}, *refused]
    assert check("address", "--allow-network", "10.0.0.0/8", "10.1.2.3", "127.0.0.1") == [
        {"allowed": True},
        {"allowed": False, "reason": "loopback"},
    ]


def test_arguments_are_answered_like_lines() -> None:
    assert [answer["url"] for answer in check("url", "http://a", "nonsense", "http://b/c")] == [
        "http://a/",
        None,
        "http://b/c",
    ]


@pytest.mark.parametrize(
    ("subcommand", "line", "error"),
    [
        ("url", b"", "not JSON"),
        ("url", b"nonsense", "not JSON"),
        ("url", b"\xff", "not UTF-8"),
        ("url", b'{"url": "\xe9"}', "not UTF-8"),
        ("url", b"[" * 100_000, "not JSON"),
        ("url", b"9" * 10_000, "not JSON"),
        ("url", b"NaN", "not a JSON object"),
        ("url", b"[]", "not a JSON object"),
        ("url", b"{}", "url is missing"),
        ("url", b'{"url": 1}', "url is not a string"),
        ("url", b'{"url": "x", "base": []}', "base is not a string"),
        ("robots", b'{"url": "http://h/", "agent": "a"}', "robots is missing"),
        ("robots", b'{"robots": "", "url": "http://h/"}', "agent is missing"),
        ("robots", b'{"robots": "", "agent": "a"}', "url is missing"),
        ("robots", b'{"robots": "", "agent": "a", "url": "/a"}', "url: not a valid URL"),
        ("robots", b'{"robots": "", "agent": "a", "url": "ftp://h/"}', "url: neither http nor https"),
        ("robots", b'{"robots_b64": "?", "agent": "a", "url": "http://h/"}', "robots_b64 is not Base64"),
        ("robots", b'{"robots_b64": "\\u00e9", "agent": "a", "url": "http://h/"}', "robots_b64 is not Base64"),
        ("address", b"{}", "address is missing"),
    ],
)
def test_a_malformed_line_is_answered_with_its_error_and_the_rest_goes_on(
    subcommand: str, line: bytes, error: str
) -> None:
    result = CliRunner().invoke(command, [subcommand], input=line + b"\n{}\n")
    first, second = result.stdout.splitlines()
    assert json.loads(first) == {"error": error}
    assert "error" in json.loads(second)
    assert isinstance(result.exception, GossamerError)
    assert str(result.exception) == "2 of 2 lines could not be understood."


@given(st.sampled_from(["url", "robots", "address"]), st.lists(st.binary(max_size=30).filter(lambda x: b"\n" not in x)))
def test_there_is_one_line_out_for_every_line_in(subcommand: str, lines: list[bytes]) -> None:
    result = CliRunner().invoke(command, [subcommand], input=b"".join(line + b"\n" for line in lines))
    assert result.stdout.count("\n") == len(lines)
    assert result.exception is None or isinstance(result.exception, GossamerError)


def test_the_last_line_needs_no_end() -> None:
    assert CliRunner().invoke(command, ["address"], input=b'{"address": "8.8.8.8"}').stdout == '{"allowed": true}\n'


def test_every_command_has_help_with_an_example() -> None:
    for arguments in ([], ["url"], ["robots"], ["address"]):
        result = CliRunner().invoke(command, [*arguments, "--help"])
        assert result.exit_code == 0
        assert "Example:\n" in result.stdout
    assert set(command.commands) == {"url", "robots", "address"}
    assert isinstance(command, click.Group)


def test_each_answer_comes_before_the_next_question() -> None:
    with subprocess.Popen(
        [*GOSSAMER, "check", "address"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for address, allowed in (("8.8.8.8", True), ("10.0.0.1", False)):
            process.stdin.write(json.dumps({"address": address}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["allowed"] is allowed
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_a_malformed_line_ends_in_one_sentence_and_status_2() -> None:
    result = subprocess.run(
        [*GOSSAMER, "check", "url"],
        input=b'{"url": "http://a"}\n\xff\n',
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert result.returncode == 2
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr == b"gossamer: 1 of 2 lines could not be understood.\n"


def test_a_mistaken_network_is_one_sentence_and_status_2() -> None:
    result = subprocess.run(
        [*GOSSAMER, "check", "address", "--allow-network", "intranet", "10.0.0.1"],
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, b"")
    assert result.stderr.decode().count("\n") == 1
    assert "'intranet' is not a network" in result.stderr.decode()


def test_html_is_read_as_in_a_crawl_and_its_parser_is_loaded_only_then() -> None:
    page = base64.b64encode(b"<title>A</title><a href=/b>B</a>").decode()
    (answer,) = check("html", questions=[{"html_b64": page, "url": "https://example.org/"}])
    assert (answer["charset"], answer["title"], answer["links"]) == ("utf-8", "A", ["https://example.org/b"])
    script = "import sys; from gossamer.cli import run; run(['check', 'url', 'a:b']); print('turbohtml' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("subcommand", ["url", "robots", "address", "html"])
def test_without_any_question_a_sentence_says_what_to_do(subcommand: str) -> None:
    result = CliRunner().invoke(command, [subcommand], input=b"")
    assert isinstance(result.exception, GossamerError)
    assert str(result.exception).startswith("There is no question: write JSON lines to standard input;")
