"""Write docs/reference from the code: commands, settings, tables, metrics, JSON. Run by `make reference`.

Each page is made from what the program itself goes by, so that it cannot say anything else; a test compares. Nothing
of this machine (cores, terminal, paths) gets into the pages.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

import click

from gossamer import metrics
from gossamer.cli import gossamer
from gossamer.config import as_given, declared, default_as_given, variable
from gossamer.crawl.settings import SECTIONS
from gossamer.inspect.as_json import OBJECTS
from gossamer.inspect.explain import Cause
from gossamer.inspect.views import sql_type, views
from gossamer.records.reasons import Reason
from gossamer.store.schemas import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.config import Setting

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE: Final = "<!-- Written by `make reference` from the code: do not edit. -->\n"


def pages() -> dict[str, str]:
    """Return every page of the reference by its file's name."""
    return {
        "cli.md": NOTE + "\n" + _cli(),
        "settings.md": NOTE + "\n" + _settings(),
        "tables.md": NOTE + "\n" + _tables(),
        "metrics.md": NOTE + "\n" + _metrics(),
        "json.md": NOTE + "\n" + _json(),
    }


def main() -> None:
    """Write all pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"docs/reference/{name}\n")


# Commands


def _cli() -> str:
    commands = list(walk(gossamer, None, "gossamer"))
    listed = "".join(
        f"- [`{context.command_path}`](#{_anchor(context.command_path)}): {context.command.get_short_help_str(200)}\n"
        for context in commands[1:]
    )
    return (
        "# Commands\n\n"
        "What each command's `--help` says. A mistake is answered in one sentence, with exit status 2.\n\n"
        f"{listed}\n" + "\n".join(map(_command, commands))
    )


def walk(command: click.Command, parent: click.Context | None, name: str) -> Iterator[click.Context]:
    """Yield the context of a command, and of all commands below it."""
    context = click.Context(command, parent=parent, info_name=name)
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None, below
            yield from walk(found, context, below)


def _command(context: click.Context) -> str:
    command = context.command
    parts = [
        f"## {context.command_path}",
        f"    Usage: {context.command_path} {' '.join(command.collect_usage_pieces(context))}",
    ]
    parts += map(_paragraph, inspect.cleandoc(command.help or "").split("\n\n"))
    options = [_option(option, context) for option in command.params if isinstance(option, click.Option)]
    if options:
        parts.append(_table(("option", "meaning"), options))
    return "\n\n".join(parts) + "\n"


def _paragraph(text: str) -> str:
    """Return a paragraph of a command's help: running text, or lines to be left as they are (behind `\\b`)."""
    if not text.startswith("\b"):
        return text
    title, _, lines = text.removeprefix("\b\n").partition("\n")
    return f"{title}\n\n" + textwrap.indent(textwrap.dedent(lines), "    ")


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    record = option.get_help_record(context)
    assert record is not None, f"{option.name} is hidden"
    names, meaning = record
    in_environment = f" Or as `{option.envvar}`." if isinstance(option.envvar, str) else ""
    return f"`{names}`", " ".join(meaning.split()) + in_environment


# Settings


def _settings() -> str:
    sections = "\n".join(_section(name) for name in SECTIONS)
    return f"""# Settings

A crawl takes the value of each setting from the first of these places that has one:

1. a flag of [`gossamer crawl`](cli.md#gossamer-crawl); for a setting without a flag of its own, `--set SETTING=VALUE`;
2. the environment;
3. `crawl.toml` in the crawl's folder, or the file that `--config` names, as `setting = value`, with text in quotes;
4. the default.

A duration is a number of seconds, or has a unit: `0.5`, `90s`, `2m`, `8h`, `3d`, `500ms`. A size is a number of
bytes, or has a unit: `64MB`, `1GiB`. A list is separated by commas; in the file it may be a TOML list. A crawl refuses
an unknown setting, and names the nearest one that exists. It also refuses a value that is out of bounds.

When a crawl starts, it writes all its settings to `crawl.toml`. The next start uses them unless it is given others.
A setting that an earlier version had is ignored in `crawl.toml` and in the environment, with a note; as a flag it is
refused.

{sections}"""


def _section(name: str) -> str:
    about = (SECTIONS[name].__doc__ or "").strip().partition("\n")[0]
    flags = _flags()
    rows = [
        (f"`{setting.key}`", _kind(setting), _default(setting), flags[setting.key], setting.field.metadata["help"])
        for setting in declared(SECTIONS).values()
        if setting.section == name
    ]
    return (
        f"## {name}\n\n{about}\n\n" + _table(("setting", "value", "default", "flag, variable", "meaning"), rows) + "\n"
    )


def _flags() -> dict[str, str]:
    """Return how each setting is given outside of the file."""
    command = gossamer.get_command(click.Context(gossamer), "crawl")
    assert command is not None
    own = {option.name: option.opts[-1] for option in command.params}
    own |= {"warc": "--no-warc", "trap_limits": "--no-trap-limits"}
    return {key: f"`{own.get(key, f'--set {key}=')}`, `{variable(key)}`" for key in declared(SECTIONS)}


def _kind(setting: Setting) -> str:
    of = setting.kind
    many = get_origin(of) is tuple
    if many:
        of = get_args(of)[0]
    if get_origin(of) is Literal or issubclass(of, StrEnum):
        one = ", ".join(f"`{value}`" for value in (get_args(of) or list(of)))
    else:
        numbers = {int: "whole number", float: "number", bool: "`true` or `false`", str: "text", Path: "file"}
        one = {"_s": "duration", "_bytes": "size"}.get(setting.unit, numbers[of])
    least, most = setting.field.metadata.get("minimum"), setting.field.metadata.get("maximum")
    bounds = [f"at least {as_given(least, setting.unit)}"] if least else []
    bounds += [f"at most {as_given(most, setting.unit)}"] if most else []
    return ", ".join([f"list: {one}" if many else one, *bounds])


def _default(setting: Setting) -> str:
    shown = default_as_given(setting)
    return f"`{shown}`" if shown else ""


# Tables


def _tables() -> str:
    described = "\n".join(
        f"## {table.name}\n\n{table.meaning[0].upper()}{table.meaning[1:]}.\n\n"
        + _table(
            ("column", "in SQL", "in Parquet", "meaning") if table.name in TABLES else ("column", "in SQL", "meaning"),
            [
                (
                    f"`{column.name}`",
                    sql_type(column),
                    *((str(column.type),) if table.name in TABLES else ()),
                    column.meaning,
                )
                for column in table.columns
            ],
        )
        + "\n"
        for table in views()
    )
    reasons = ", ".join(f"`{reason}`" for reason in Reason)
    return f"""# Tables

What [`gossamer query`](cli.md#gossamer-query) sees. All but `sites` and the last three lie in the crawl's folder
as Parquet, in folders of the same names ([what lies on disk](../data.md)). There, nothing is null: what is unknown is
empty or zero. `queue`, `frontier_sites` and `workers` are read from the frontier, in many short reads: rows that come
or go meanwhile may appear or not. If such a table has more than a million rows, a query must have `where site = '...'`
or `limit`; it is refused otherwise.

{described}
## Reasons

What `reason` may be in `requests`, and why a URL is given up: {reasons}.
"""


# Metrics


def _metrics() -> str:
    rows = [
        (
            f"`{metric.name}`",
            metric.kind,
            ", ".join(f"`{label}`" for label in metric.label_names),
            f"{metric.documentation}.",
            metric.question,
        )
        for metric in metrics.Metric.declared.values()
    ]
    return f"""# Metrics

`gossamer crawl --metrics 9464` serves these to Prometheus at `http://127.0.0.1:9464/metrics`: the whole crawl of a
machine, added up over its supervisor, its workers and their page processes. Counters and histograms begin at 0 when a
crawl starts, and none falls when a worker or a page process is replaced. [Operations](../operations.md) says how to
scrape them.

{_table(("name", "type", "labels", "meaning", "which question it answers"), rows)}
"""


# JSON


def _json() -> str:
    described = "\n".join(
        f"## {_object_name(one)}\n\n{inspect.getdoc(one)}\n\n"
        + _table(
            ("field", "type", "meaning"),
            [
                (f"`{name}`", _json_type(get_args(hint)[0]), get_args(hint)[1])
                for name, hint in get_type_hints(one, include_extras=True).items()
            ],
        )
        + "\n"
        for one in OBJECTS
    )
    causes = ", ".join(f"`{cause}`" for cause in Cause)
    return f"""# JSON

What commands print with `--json`, for other programs. These objects are stable: a later version may add fields, but
renames and removes none. A field that ends in `_s` is in seconds, in `_bytes` in bytes, in `_at` a time in Unix
seconds. A row of a table has the table's columns as [`gossamer query`](cli.md#gossamer-query) writes
them with `--format jsonl`: times in ISO 8601, hashes in hexadecimal; its `via` is a hash.

`gossamer log --json` prints one line per request: a row of [`requests`](tables.md#requests).

{described}
## Causes

What `cause` may be in `Explain`: {causes}.
"""


def _object_name(one: type) -> str:
    return one.__name__.removesuffix("Json")


def _json_type(hint: Any) -> str:
    """Return a JSON type in words; objects of this page as links."""
    of, args = get_origin(hint), get_args(hint)
    if isinstance(hint, UnionType):
        return f"{_json_type(args[0])} or null"
    if of is list:
        return f"list: {_json_type(args[0])}"
    if of is dict:
        return "object" if args[1] is Any else f"object: {_json_type(args[1])} by name"
    words = {int: "whole number", float: "number", bool: "`true` or `false`", str: "text"}
    return words.get(hint) or f"[{_object_name(hint)}](#{_anchor(_object_name(hint))})"


# Markdown


def _table(heads: tuple[str, ...], rows: list[Any]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


if __name__ == "__main__":
    main()
