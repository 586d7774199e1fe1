"""The documentation agrees with the code: options, names and defaults in running text are those of the code.

`test_reference.py` checks blocks of commands; this checks what stands in backticks within sentences and tables. The
changelog is left out: it is history.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gossamer
from gossamer import metrics
from gossamer.cli import gossamer as cli
from gossamer.config import declared, gather, variable
from gossamer.crawl.settings import SECTIONS
from gossamer.errors import GossamerError
from gossamer.frontier import Frontier
from gossamer.inspect import cc_index
from gossamer.inspect.as_json import OBJECTS
from gossamer.inspect.views import views
from gossamer.records import RequestKind
from gossamer.records.reasons import Reason
from gossamer.rules.traps import Trap
from gossamer.store import reading
from tools.reference import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])

# Names that are neither ours nor wrong.
EXCEPTIONS = {
    "max_body_bytes": "a field that shows how units are written",
    **dict.fromkeys(
        (
            "idle_in_transaction_session_timeout",
            "log_statement_stats",
            "max_connections",
            "plan_cache_mode",
            "force_generic_plan",
            "statement_timeout",
            "pg_dump",
            "session_preload_libraries",
        ),
        "PostgreSQL's",
    ),
    **dict.fromkeys(("allowed_paths", "json_execute_serialized_sql"), "DuckDB's"),
    **dict.fromkeys(("start_urls", "allowed_domains", "custom_settings"), "Scrapy's"),
    **dict.fromkeys(("published_time", "updated_time"), "of Open Graph"),
    "main_text": "turbohtml's",
    **dict.fromkeys(("left_out", "lease_over"), "names in the log"),
    "pages_fts": "the full-text index of a SQLite export",
    "foreign_host": "a label of `gossamer_sitemap_entries_total`",
    "robots_b64": "a key of the JSON that `check robots` reads",
}

SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
SNAKE_CASE = re.compile(r"(?<![\w./-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w/-])")

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
UNITS = {
    "ms": "ms", "s": "s", "second": "s", "seconds": "s", "min": "m", "minute": "m", "minutes": "m", "h": "h",
    "hour": "h", "hours": "h", "day": "d", "days": "d", "bytes": "b",
    **{f"{letter}{unit}": f"{letter}{unit}" for letter in "kKMGT" for unit in ("B", "iB")},
}  # fmt: skip
QUANTITY = rf"(?P<number>\d+(?:,\d{{3}})*(?:\.\d+)?|{'|'.join(WORDS)})(?: ?(?P<unit>{'|'.join(UNITS)}))?(?![\w-])"
# `max_path_chars` 1000; `log_size` (10 MB); (`--delay`, 70 s); | `--delay` | 70 s |
BEHIND = re.compile(rf"`(?P<name>(?:--)?[a-z][a-z_-]*)`(?:\]\([^)]*\))?(?: \(|, | \| | = |: | ){QUANTITY}")
# 60 s of silence (`worker_silence`); six hours (`suspension_failures`, `suspension`)
BEFORE = re.compile(rf"{QUANTITY}(?: [\w'-]+){{0,4}} \((?P<names>[^()]*`[^()]*)\)")
CHOSEN = re.compile(r"`(?P<name>--[a-z-]+) (?P<value>[\w.]+)` \(default\)")


def prose(text: str) -> str:
    """Return a page as one line, without its blocks of code."""
    text = re.sub(r"(?ms)^```\w.*?^```", "", text)
    return " ".join(line for line in text.splitlines() if not line.startswith("    "))


@cache
def commands() -> dict[str, set[str]]:
    """Return the options of every command, by its path without `gossamer`."""
    return {
        context.command_path.removeprefix("gossamer").strip(): {"--help"}
        | {name for option in context.command.params for name in (*option.opts, *option.secondary_opts)}
        for context in walk(cli, None, "gossamer")
    }


@cache
def names() -> set[str]:
    """Return every name that documentation may use without being on the list of exceptions."""
    described = [metric.name for metric in metrics.Metric.declared.values()]
    in_sql = " ".join(path.read_text() for path in SOURCE.rglob("*.sql"))
    return {
        *declared(SECTIONS),
        *map(str, Reason),
        *map(str, RequestKind),
        *map(str, Trap),
        *described,
        *(name for table in views() for name in (table.name, *(column.name for column in table.columns))),
        *cc_index.SCHEMA.names,
        *(name for public in gossamer.__all__ for name in dir(getattr(gossamer, public))),
        *inspect.signature(gossamer.Crawl).parameters,
        *(path.stem for path in SOURCE.rglob("*") if "__pycache__" not in path.parts),
        *SNAKE_CASE.findall(in_sql),
        *dir(Frontier),
        *dir(reading),
        *(field for one in OBJECTS for field in one.__annotations__),
    }


LAUNCHER_OPTIONS = ("--with", "--dev")


def wrong_options(text: str) -> Iterator[str]:
    """Yield the options in backticks that the named command, or if none is named no command at all, has."""
    own = commands()
    others = {
        tool: "".join(path.read_text() for path in (ROOT / tool).rglob("*.py"))
        for tool in ("bench", "chaos", "compare")
    }
    for span in SPAN.findall(prose(text)):
        tool = re.match(r"python -m (bench|chaos|compare) ", span)
        path = max((path for path in own if f"{span} ".startswith(f"{path} ")), key=len, default="")
        for option in OPTION.findall(span):
            if tool:
                is_there = f'"{option}"' in others[tool[1]]
            elif option in LAUNCHER_OPTIONS:
                is_there = span.startswith("./gossamer ")
            else:
                is_there = option in own[path] or (not path and any(option in options for options in own.values()))
            if not is_there:
                yield span


def wrong_names(text: str) -> Iterator[str]:
    """Yield the snake_case words in backticks that the code does not have, and variables that are no setting's."""
    known = names()
    variables = {variable(key) for key in declared(SECTIONS)} | {
        "GOSSAMER_DATA_DIR",
        "GOSSAMER_CONFIG",
        "GOSSAMER_NOTIFY_URL",
    }
    launcher = (ROOT / "gossamer").read_text()
    tests = " ".join(path.read_text() for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
    for span in SPAN.findall(prose(text)):
        for word in SNAKE_CASE.findall(span):
            if word not in known and word not in EXCEPTIONS and f"def {word}(" not in tests:
                yield word
        for word in re.findall(r"\bGOSSAMER_[A-Z_]*[A-Z]", span):
            of_tests = word.startswith("GOSSAMER_TEST_") and word in tests
            if word not in variables and word not in launcher and not of_tests:
                yield word


def wrong_paths(text: str) -> Iterator[str]:
    """Yield the files of the repository in backticks that are not there."""
    for span in SPAN.findall(prose(text)):
        for path in re.findall(r"(?<![\w/])(?:src|tests|tools|bench|chaos|compare|deploy|docs)/[\w/@.-]*\w", span):
            if not (ROOT / path).exists():
                yield path


def wrong_defaults(text: str) -> Iterator[str]:
    """Yield the quantities and choices beside settings that are not their defaults."""
    text = prose(text)
    for found in BEHIND.finditer(text):
        if is_default(found["name"], quantity(found)) is False:
            yield found[0]
    for found in BEFORE.finditer(text):
        beside = [is_default(name, quantity(found)) for name in SPAN.findall(found["names"])]
        if False in beside and True not in beside:
            yield found[0]
    for found in CHOSEN.finditer(text):
        if is_default(found["name"], found["value"]) is not True:
            yield found[0]


def quantity(found: re.Match[str]) -> str:
    """Return a number and its unit as a setting would be given."""
    number = found["number"]
    number = str(WORDS.index(number) + 1) if number in WORDS else number.replace(",", "")
    return number + UNITS.get(found["unit"] or "", "")


def is_default(name: str, value: str) -> bool | None:
    """Return whether this is a setting's default; None if it is no setting, or its default is no single value."""
    setting = declared(SECTIONS).get(name.removeprefix("--").replace("-", "_"))
    if setting is None or setting.kind is bool or isinstance(setting.field.default, tuple):
        return None
    if setting.field.default in (None, ""):
        return None
    try:
        given: dict[str, Any] = gather(SECTIONS, file=None, environment={}, flags={setting.key: value})
    except GossamerError:
        return False
    return bool(getattr(given[setting.section], setting.field.name) == setting.field.default)


PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@PAGE
def test_every_option_in_a_sentence_is_an_option(page: Path) -> None:
    assert list(wrong_options(page.read_text())) == []


@PAGE
def test_every_name_in_a_sentence_is_a_name_in_the_code(page: Path) -> None:
    assert list(wrong_names(page.read_text())) == []


@PAGE
def test_every_file_in_a_sentence_is_there(page: Path) -> None:
    assert list(wrong_paths(page.read_text())) == []


@PAGE
def test_every_default_beside_a_setting_is_its_default(page: Path) -> None:
    assert list(wrong_defaults(page.read_text())) == []


def test_the_defaults_in_the_help_are_the_defaults() -> None:
    shown = {
        option.name: found[1]
        for context in walk(cli, None, "gossamer")
        if context.command_path == "gossamer crawl"
        for option in context.command.params
        if (found := re.search(r"\[default: ([\w.]+)\]", getattr(option, "help", None) or ""))
    }
    assert len(shown) >= 8
    assert {name: value for name, value in shown.items() if is_default(name or "", value) is False} == {}


def test_every_exception_is_needed() -> None:
    used = {
        word for page in PAGES for span in SPAN.findall(prose(page.read_text())) for word in SNAKE_CASE.findall(span)
    }
    assert {word for word in EXCEPTIONS if word not in used or word in names()} == set()


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("Give `--dealy 1`.", ["--dealy 1"]),
        ("`show --html` and `show --purge`", ["show --purge"]),
        ("`--scope host\\|site\\|web`, `--set\ninclude=`", []),
        ("`python -m bench frontier --urls 1` or `--urls 1`", ["--urls 1"]),
    ],
)
def test_a_wrong_option_would_be_found(text: str, mistakes: list[str]) -> None:
    assert list(wrong_options(text)) == mistakes


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("given up (`parse_crash`, `parse_deadline`)", ["parse_crash"]),
        ("`should_visit(url)`, `gossamer_paused_seconds_total`, `duplicate_of = ''`", []),
        ("`GOSSAMER_DELAY=1`, `GOSSAMER_DEALY`, `GOSSAMER_...`", ["GOSSAMER_DEALY"]),
        ("```python\nno_such = 1\n```\n\n    no_such\n", []),
    ],
)
def test_a_wrong_name_would_be_found(text: str, mistakes: list[str]) -> None:
    assert list(wrong_names(text)) == mistakes


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("after 30 s of silence (`worker_silence`)", ["30 s of silence (`worker_silence`)"]),
        ("after 60 s or a minute of silence (`worker_silence`)", []),
        ("it reaches `log_size` (11 MB) or `log_age` (7 days)", ["`log_size` (11 MB"]),
        ("six hours (`suspension_failures`, `suspension`)", []),
        ("five hours (`suspension_failures`, `suspension`)", ["five hours (`suspension_failures`, `suspension`)"]),
        ("| `--delay` | 60 s, not 0 |", ["`--delay` | 60 s"]),
        ("| `site_budget` 100,000 |", []),
        ("`--scope host` (default)", ["`--scope host` (default)"]),
        ("one hour of rest (`max_depth`)", []),
    ],
)
def test_a_wrong_default_would_be_found(text: str, mistakes: list[str]) -> None:
    assert list(wrong_defaults(text)) == mistakes
