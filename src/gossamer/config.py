"""Gathers settings from defaults, `crawl.toml`, the environment and flags; a later source wins.

A group of settings is a frozen dataclass beside the code that it governs. Each field is a setting. Its type says which
values are valid; its metadata has a description (`help`) and bounds (`minimum`, `maximum`); `__post_init__` refuses
other wrong values with a ValueError. The unit at the end of a field's name is not part of the setting's name: the field
`delay_s` is the setting `delay`, given as `--delay`, as `GOSSAMER_DELAY`, or in the file as `delay = 70` or
`delay = "2m"`.

A description is one to three sentences. It says what the setting does and, for a setting without a flag of its own,
when an operator would change it. A value that no operator would change is a constant, not a setting.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import textwrap
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Settings of earlier versions that are constants now. Each crawl.toml of such a version names all of them.
REMOVED: Final = frozenset({"max_head", "min_speed", "min_speed_window", "outage_patience"})
# Settings that had another name in an earlier version, and their names now.
RENAMED: Final = {
    "same_content_patience": "same_content_pages",
    "set_aside": "suspension",
    "set_aside_failures": "suspension_failures",
    "site_budget_per_voice": "site_budget_per_referrer",
}

_PREFIX = "GOSSAMER_"
_NOT_SETTINGS = re.compile("GOSSAMER_(PYTHON|LAUNCHER|PROGRAM|NOTIFY_URL|TEST_.*)")  # for the launcher, say, or secret

_UNITS = {
    "_s": {"": 1, "ms": Decimal("0.001"), "s": 1, "m": 60, "h": 3_600, "d": 86_400},
    "_bytes": {"": 1, "b": 1}
    | {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", 1)}
    | {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", 1)},
}
_EXPECTED = {"_s": "a duration such as 70, 1.5 or 2m", "_bytes": "a size such as 500000, 64MB or 1GiB"}
_LARGEST = {"_s": 10**10, "_bytes": 2**63 - 1, "": 2**63 - 1}  # without `maximum`: what a database can hold
_SHOWN_UNITS = {  # largest first
    "_s": {"d": 86_400, "h": 3_600, "m": 60, "s": 1},
    "_bytes": {"GB": 10**9, "MB": 10**6, "KB": 10**3, "MiB": 2**20, "KiB": 2**10},
}
_COMMENT_COLUMNS = 100
_QUANTITY = re.compile(r"\s*([+-]?[0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*")
_WORDS = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One field of one section, and its name as a setting."""

    key: str
    section: str
    field: dataclasses.Field[Any]
    kind: Any  # its type, without the `| None`
    unit: str  # "_s", "_bytes" or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Values as they were given, and how to name one of them in a message."""

    given: Mapping[str, object]
    spell: Callable[[str], str]
    place: Callable[[str], str] = lambda _key: ""
    may_be_old: bool = True  # written for an earlier version, perhaps: removed settings are ignored, old names read

    def name(self, key: str) -> str:
        """Return a setting as it was given, and where."""
        return f"{self.spell(key)}{self.place(key)}"


def gather(
    sections: Mapping[str, type[Any]],
    *,
    file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    spell: Callable[[str], str] | None = None,
    note: Callable[[str], object] = lambda _line: None,
) -> dict[str, Any]:
    """Return an instance of each section. A flag that is None or () was not given.

    `spell` writes a setting as the caller's user gives it; without `spell`, it is written as a command line option.
    `note` gets one line that names the removed settings that were ignored, if there are any. Every value is checked,
    even if another one overrides it; the message says where a wrong value came from.
    """
    known = declared(sections)
    values: dict[str, object] = {}
    ignored: list[str] = []
    for source in (_from_file(file), _from_environment(environment), _from_flags(flags, spell or _flag)):
        for given, value in source.given.items():
            key = RENAMED.get(given, given) if source.may_be_old else given
            if key in known:
                values[key] = _check(known[key], value, source.name(given))
            elif key in REMOVED and source.may_be_old:
                ignored.append(source.name(key))
            else:
                raise GossamerError(_unknown(key, known, source))
    if ignored:
        note(f"Ignored settings that no longer exist: {', '.join(ignored)}.")
    return {name: _build(section, name, known, values) for name, section in sections.items()}


def declared(sections: Mapping[str, type[Any]]) -> dict[str, Setting]:
    """Return the settings of all sections by key. No two may share a key."""
    known: dict[str, Setting] = {}
    for name, section in sections.items():
        hints = get_type_hints(section)
        for field in dataclasses.fields(section):
            unit = next((unit for unit in _UNITS if field.name.endswith(unit)), "")
            key = field.name.removesuffix(unit)
            kind = hints[field.name]
            if get_origin(kind) in (Union, UnionType):
                (kind,) = (option for option in get_args(kind) if option is not NoneType)
                assert field.default is None, f"{key} may be None, so None must be its default"
            assert key not in known, f"{key} is a setting of both {known[key].section} and {name}"
            known[key] = Setting(key=key, section=name, field=field, kind=kind, unit=unit)
    return known


def parse_duration(text: str) -> float:
    """Return the seconds of a text such as `70` or `2m`; raise ValueError with the expected form."""
    seconds = float(_as_number(float, "_s", text))
    if seconds < 0:
        raise ValueError(_EXPECTED["_s"])
    return seconds


def as_toml(settings: Mapping[str, Any]) -> str:
    """Return settings as the text of a `crawl.toml`. `gather` reads it back to equal settings."""
    lines: list[str] = []
    for setting in declared({name: type(section) for name, section in settings.items()}).values():
        value = getattr(settings[setting.section], setting.field.name)
        lines += [f"# {line}" for line in textwrap.wrap(setting.field.metadata.get("help", ""), _COMMENT_COLUMNS)]
        # TOML has no null: a setting without a value is a comment.
        lines += [f"# {setting.key} =" if value is None else f"{setting.key} = {_toml(value)}", ""]
    return "\n".join(lines)


def default_as_given(setting: Setting) -> str:
    """Return a setting's default as an operator would write it; an empty text if there is none."""
    value = setting.field.default
    if value is None or value in ("", ()):
        return ""
    if isinstance(value, tuple):
        return ",".join(as_given(item, setting.unit) for item in value)
    return str(value).lower() if isinstance(value, bool) else as_given(value, setting.unit)


def as_given(value: Any, unit: str) -> str:
    """Return one value with the largest unit that makes it a whole number: 90s, 2m, 64KiB."""
    for name, factor in _SHOWN_UNITS.get(unit, {}).items():
        if value and value % factor == 0:
            return f"{value // factor:.0f}{name}"
    return f"{value:g}s" if unit == "_s" else str(value)


def variable(key: str) -> str:
    """Return the name of a setting in the environment."""
    return _PREFIX + key.upper()


def _from_flags(flags: Mapping[str, object], spell: Callable[[str], str]) -> _Source:
    given = {key: value for key, value in flags.items() if value is not None and value != ()}
    return _Source(given=given, spell=spell, may_be_old=False)


def _from_environment(environment: Mapping[str, str]) -> _Source:
    given = {
        name.removeprefix(_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(_PREFIX) and value and not _NOT_SETTINGS.fullmatch(name)
    }
    return _Source(given=given, spell=variable)


def _from_file(file: Path | None) -> _Source:
    if file is None:
        return _Source(given={}, spell=str)
    try:
        text = file.read_text(encoding="utf-8")
        given = tomllib.loads(text)
    except OSError as error:
        raise GossamerError(f"{file} cannot be read ({error.strerror}); name a readable file") from None
    except ValueError as error:  # not UTF-8, or not TOML
        raise GossamerError(f"{file} is not valid TOML ({error}); write one `setting = value` per line") from None
    for key, value in given.items():
        if isinstance(value, dict):
            raise GossamerError(f"{file} has a section [{key}]; write its settings without sections")

    def place(key: str) -> str:
        start = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
        line = next((n for n, line in enumerate(text.split("\n"), 1) if start.match(line)), "unknown")
        return f" ({file.name}, line {line})"

    return _Source(given=given, spell=str, place=place)


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _unknown(key: str, known: Mapping[str, Setting], source: _Source) -> str:
    if key in REMOVED:
        return f"{source.name(key)} is no longer a setting: it was removed, leave it out"
    if RENAMED.get(key) in known:
        return f"{source.name(key)} has another name now: use {source.spell(RENAMED[key])}"
    nearest = get_close_matches(key, known, n=1, cutoff=0)[0]
    return f"{source.name(key)} is not a setting; did you mean {source.spell(nearest)}?"


def _check(setting: Setting, value: object, name: str) -> Any:
    try:
        return _convert(setting, value)
    except ValueError as expected:
        raise GossamerError(f"{name} must be {expected}, not {value!r}") from None


def _build(section: type[Any], name: str, known: Mapping[str, Setting], values: Mapping[str, object]) -> Any:
    arguments = {}
    for setting in known.values():
        if setting.section == name and setting.key in values:
            arguments[setting.field.name] = values[setting.key]
        elif setting.section == name and _is_required(setting.field):
            key = setting.key
            raise GossamerError(f"{_flag(key)} is required; or set {variable(key)}, or {key} in crawl.toml")
    try:
        return section(**arguments)
    except ValueError as error:
        raise GossamerError(str(error)) from None


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _convert(setting: Setting, value: object) -> Any:
    """Return the value in the type of its field, or raise ValueError with the expected form."""
    converted = _as_kind(setting.kind, setting.unit, value)
    minimum = setting.field.metadata.get("minimum")
    maximum = setting.field.metadata.get("maximum", _LARGEST[setting.unit])
    for number in converted if isinstance(converted, tuple) else (converted,):
        if minimum is not None and number < minimum:
            raise ValueError(f"at least {minimum}")
        if isinstance(number, int | float) and number > maximum:
            raise ValueError(f"at most {maximum}")
    return converted


def _as_kind(kind: Any, unit: str, value: object) -> Any:
    if get_origin(kind) is tuple:
        if isinstance(value, str):
            value = [item.strip() for item in value.split(",") if item.strip()]
        if not isinstance(value, list | tuple):
            raise ValueError("a list")
        return tuple(_as_kind(get_args(kind)[0], unit, item) for item in value)
    if get_origin(kind) is Literal or issubclass(kind, StrEnum):
        options: list[Any] = list(get_args(kind) or kind)
        if value not in options:
            raise ValueError("one of " + ", ".join(options))
        return options[options.index(value)]
    if kind is bool:
        found = value if isinstance(value, bool) else _WORDS.get(str(value).lower())
        if found is None:
            raise ValueError("true or false")
        return found
    if kind in (int, float):
        return _as_number(kind, unit, value)
    return _as_text(kind, value)


def _as_number(kind: type[int | float], unit: str, value: object) -> int | float:
    wrong = ValueError(_EXPECTED.get(unit, "a whole number" if kind is int else "a number"))
    number: int | float | Decimal
    if isinstance(value, str):
        quantity = _QUANTITY.fullmatch(value)
        factor = _UNITS.get(unit, {"": 1}).get(quantity[2].lower()) if quantity else None
        if quantity is None or factor is None:
            raise wrong
        number = Decimal(quantity[1]) * factor
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    else:
        raise wrong
    try:
        converted = kind(number)
    except (OverflowError, ValueError):  # infinity or NaN
        raise wrong from None
    if not (math.isfinite(converted) if kind is float else converted == number):
        raise wrong
    return converted


def _as_text(kind: type[str | Path], value: object) -> str | Path:
    assert kind in (str, Path), f"no setting can be a {kind}"
    if not isinstance(value, str | kind):
        raise ValueError("text in quotes")
    try:
        str(value).encode()
        return kind(value) if kind is str else Path(value).expanduser()
    except (UnicodeEncodeError, RuntimeError):  # bytes in another encoding; `~` with an unknown user
        raise ValueError("UTF-8 text that names a path" if kind is Path else "UTF-8 text") from None


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case tuple():
            return f"[{', '.join(map(_toml, value))}]"
        case _:  # a JSON string is a TOML string, except for one character
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
