"""Settings come from flags before environment before file before defaults; wrong ones are refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.config import as_toml, gather
from gossamer.errors import GossamerError


class Scope(StrEnum):
    SITE = "site"
    WEB = "web"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    delay_s: float = field(default=70.0, metadata={"help": "Seconds between turns.", "minimum": 0})
    scope: Scope = field(default=Scope.SITE, metadata={"help": "How far to follow links. The web is large."})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_pages: int | None = field(default=None, metadata={"minimum": 1, "maximum": 10**12})
    max_body_bytes: int = 10_000_000
    max_duration_s: int | None = None
    log_level: Literal["info", "debug"] = "info"
    warc: bool = True
    data_dir: Path = Path("crawl-data")
    allow_network: tuple[str, ...] = ()
    retry_waits_s: tuple[float, ...] = field(default=(60.0, 3600.0), metadata={"minimum": 1})
    name: str = "Gossamer"

    def __post_init__(self) -> None:
        if self.name == "Googlebot":
            raise ValueError("--agent-name must be a name of your own")


SECTIONS: dict[str, type[Any]] = {"pace": Pace, "limits": Limits}


def toml(folder: Path, content: str) -> Path:
    path = folder / "crawl.toml"
    path.write_text(content)
    return path


def settle(file: Path | None = None, environment: dict[str, str] | None = None, **flags: object) -> dict[str, Any]:
    return gather(SECTIONS, file=file, environment=environment or {}, flags=flags)


def refusal(file: Path | None = None, environment: dict[str, str] | None = None, **flags: Any) -> str:
    with pytest.raises(GossamerError) as refused:
        settle(file, environment, **flags)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_without_any_word_the_defaults_hold() -> None:
    assert settle() == {"pace": Pace(), "limits": Limits()}


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    file = toml(tmp_path, "delay = 1\nmax_pages = 1\nscope = 'web'\n")
    settings = settle(file, {"GOSSAMER_DELAY": "2", "GOSSAMER_MAX_PAGES": "2"}, delay="3")
    assert settings["pace"] == Pace(delay_s=3.0, scope=Scope.WEB)
    assert settings["limits"] == Limits(max_pages=2)


def test_flags_that_were_not_given_and_empty_variables_say_nothing(tmp_path: Path) -> None:
    file = toml(tmp_path, "delay = 1\nallow_network = ['10.0.0.0/8']\n")
    settings = settle(file, {"GOSSAMER_DELAY": ""}, delay=None, allow_network=())
    assert settings["pace"].delay_s == 1
    assert settings["limits"].allow_network == ("10.0.0.0/8",)


def test_variables_that_are_no_settings_are_left_alone() -> None:
    environment = {"GOSSAMER_PYTHON": "python3", "GOSSAMER_TEST_POSTGRES": "x", "HOME": "/", "DELAY": "9"}
    assert settle(environment=environment)["pace"].delay_s == 70


def test_a_file_may_say_everything_in_its_own_types(tmp_path: Path) -> None:
    content = """
        delay = "1.5m"
        scope = "web"
        max_pages = 1_000
        max_body = "64 MiB"
        max_duration = "2h"
        log_level = "debug"
        warc = false
        data_dir = "~/crawl"
        allow_network = ["a", "b"]
        name = "Me"
    """
    settings = settle(toml(tmp_path, content))
    assert settings["pace"] == Pace(delay_s=90.0, scope=Scope.WEB)
    assert type(settings["pace"].scope) is Scope
    assert settings["limits"] == Limits(
        max_pages=1000,
        max_body_bytes=64 * 1024**2,
        max_duration_s=7200,
        log_level="debug",
        warc=False,
        data_dir=Path.home() / "crawl",
        allow_network=("a", "b"),
        name="Me",
    )


@pytest.mark.parametrize(
    ("given", "delay_s"),
    [
        ("70", 70),
        ("1.5", 1.5),
        (".5", 0.5),
        ("2m", 120),
        ("250ms", 0.25),
        (" 1 H ", 3600),
        ("1d", 86_400),
        (3, 3),
    ],
)
def test_durations_are_seconds_unless_they_say_otherwise(given: object, delay_s: float) -> None:
    assert settle(delay=given)["pace"].delay_s == delay_s


@pytest.mark.parametrize(
    ("given", "size"),
    [("12", 12), ("1kB", 1000), ("1KiB", 1024), ("1.5GB", 1_500_000_000), ("1 TiB", 1024**4), ("7b", 7)],
)
def test_sizes_are_bytes_unless_they_say_otherwise(given: str, size: int) -> None:
    assert settle(max_body=given)["limits"].max_body_bytes == size


@pytest.mark.parametrize(
    ("given", "expected"),
    [("yes", True), ("On", True), ("1", True), ("false", False), ("no", False), ("0", False), (False, False)],
)
def test_yes_and_no_have_several_words(given: object, expected: bool) -> None:
    assert settle(warc=given)["limits"].warc is expected


def test_a_list_in_the_environment_is_separated_by_commas() -> None:
    settings = settle(environment={"GOSSAMER_ALLOW_NETWORK": "10.0.0.0/8, ::1"})
    assert settings["limits"].allow_network == ("10.0.0.0/8", "::1")


def test_each_item_of_a_list_has_the_unit_and_the_bounds() -> None:
    assert settle(retry_waits="30, 2m,1h")["limits"].retry_waits_s == (30, 120, 3600)
    assert refusal(retry_waits=["1m", 0]) == "--retry-waits must be at least 1, not ['1m', 0]"


def test_an_unknown_key_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    file = toml(tmp_path, "# mine\ndealy = 1\n")
    assert refusal(file) == "dealy (crawl.toml, line 2) is not a setting; did you mean delay?"
    environment = {"GOSSAMER_MAXPAGES": "1"}
    assert refusal(environment=environment) == ("GOSSAMER_MAXPAGES is not a setting; did you mean GOSSAMER_MAX_PAGES?")
    assert refusal(log_levle="info") == "--log-levle is not a setting; did you mean --log-level?"
    assert refusal(zzz=1).startswith("--zzz is not a setting; did you mean --")


@pytest.mark.parametrize(
    ("key", "given", "sentence"),
    [
        ("delay", "soon", "--delay must be a duration such as 70, 1.5 or 2m, not 'soon'"),
        ("delay", "-1", "--delay must be at least 0, not '-1'"),
        ("delay", "1MB", "--delay must be a duration such as 70, 1.5 or 2m, not '1MB'"),
        ("delay", "1.2.3", "--delay must be a duration such as 70, 1.5 or 2m, not '1.2.3'"),
        ("delay", float("nan"), "--delay must be a duration such as 70, 1.5 or 2m, not nan"),
        ("delay", float("inf"), "--delay must be a duration such as 70, 1.5 or 2m, not inf"),
        ("max_pages", "2m", "--max-pages must be a whole number, not '2m'"),
        ("max_pages", "0", "--max-pages must be at least 1, not '0'"),
        ("max_pages", 10**13, "--max-pages must be at most 1000000000000, not 10000000000000"),
        ("max_pages", 1.5, "--max-pages must be a whole number, not 1.5"),
        ("max_pages", True, "--max-pages must be a whole number, not True"),
        ("max_body", "0.5B", "--max-body must be a size such as 500000, 64MB or 1GiB, not '0.5B'"),
        ("scope", "everything", "--scope must be one of site, web, not 'everything'"),
        ("log_level", "loud", "--log-level must be one of info, debug, not 'loud'"),
        ("warc", "maybe", "--warc must be true or false, not 'maybe'"),
        ("name", 5, "--name must be text in quotes, not 5"),
        ("data_dir", "caf\udce9", "--data-dir must be UTF-8 text that names a path, not 'caf\\udce9'"),
        ("allow_network", 10, "--allow-network must be a list, not 10"),
        ("allow_network", [10], "--allow-network must be text in quotes, not [10]"),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence(key: str, given: Any, sentence: str) -> None:
    assert refusal(**{key: given}) == sentence


def test_the_sentence_says_where_the_value_came_from(tmp_path: Path) -> None:
    file = toml(tmp_path, 'scope = "web"\n"delay" = "soon"\n')
    assert refusal(file).startswith("delay (crawl.toml, line 2) must be a duration")
    assert refusal(environment={"GOSSAMER_DELAY": "soon"}).startswith("GOSSAMER_DELAY must be a duration")


def test_a_wrong_value_is_refused_even_where_another_overrides_it(tmp_path: Path) -> None:
    assert "crawl.toml, line 1" in refusal(toml(tmp_path, "delay = 'soon'"), delay=1)


def test_a_missing_setting_that_has_no_default_is_asked_for() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Identity:
        email: str

    with pytest.raises(GossamerError, match=r"^--email is required; or set GOSSAMER_EMAIL, or email in crawl.toml$"):
        gather({"identity": Identity}, file=None, environment={}, flags={})


def test_what_a_section_refuses_itself_is_the_operators_mistake() -> None:
    assert refusal(name="Googlebot") == "--agent-name must be a name of your own"


def test_a_file_that_is_no_flat_toml_says_what_to_do(tmp_path: Path) -> None:
    assert refusal(tmp_path / "absent.toml").endswith("(No such file or directory); name a readable file")
    assert "line 2, column" in refusal(toml(tmp_path, "delay = 1\nscope =\n"))
    assert "has a section [pace]; write its settings without" in refusal(toml(tmp_path, "[pace]\ndelay = 1"))
    (tmp_path / "crawl.toml").write_bytes(b'name = "caf\xe9"')
    assert "is not valid TOML" in refusal(tmp_path / "crawl.toml")


def test_a_removed_setting_is_ignored_with_one_note_where_an_earlier_version_may_have_written_it(
    tmp_path: Path,
) -> None:
    file = toml(tmp_path, "delay = 1\nmax_head = 1\n")
    notes: list[str] = []
    environment = {"GOSSAMER_MIN_SPEED": "much", "GOSSAMER_SCOPE": "web"}
    settings = gather(SECTIONS, file=file, environment=environment, flags={}, note=notes.append)
    assert settings["pace"] == Pace(delay_s=1.0, scope=Scope.WEB)
    assert notes == ["Ignored settings that no longer exist: max_head (crawl.toml, line 2), GOSSAMER_MIN_SPEED."]
    gather(SECTIONS, file=None, environment={"GOSSAMER_SCOPE": "web"}, flags={"delay": 1}, note=notes.append)
    assert len(notes) == 1, "there is no note without a removed setting"


def test_a_removed_setting_as_a_flag_is_refused() -> None:
    assert refusal(max_head="1MB") == "--max-head is no longer a setting: it was removed, leave it out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traps:
    """A section with a setting that had another name before."""

    site_budget_per_referrer: int = 1


def test_the_former_name_of_a_setting_is_read_where_an_earlier_version_may_have_written_it(tmp_path: Path) -> None:
    sections = {"traps": Traps}
    file = toml(tmp_path, "site_budget_per_voice = 7\n")
    assert gather(sections, file=file, environment={}, flags={})["traps"].site_budget_per_referrer == 7
    environment = {"GOSSAMER_SITE_BUDGET_PER_VOICE": "8"}
    assert gather(sections, file=file, environment=environment, flags={})["traps"].site_budget_per_referrer == 8
    with pytest.raises(
        GossamerError, match=r"^--site-budget-per-voice has another name now: use --site-budget-per-ref"
    ):
        gather(sections, file=None, environment={}, flags={"site_budget_per_voice": 9})
    file = toml(tmp_path, 'site_budget_per_voice = "x"\n')
    with pytest.raises(GossamerError, match=r"^site_budget_per_voice \(crawl.toml, line 1\) must be a whole number"):
        gather(sections, file=file, environment={}, flags={})


def test_two_sections_may_not_share_a_key() -> None:
    with pytest.raises(AssertionError, match="delay is a setting of both one and two"):
        gather({"one": Pace, "two": Pace}, file=None, environment={}, flags={})


def test_what_is_written_explains_itself() -> None:
    assert as_toml({"pace": Pace()}).startswith(
        "# Seconds between turns.\ndelay = 70.0\n\n# How far to follow links. The web is large.\nscope = "
    )
    assert "# max_pages =\n" in as_toml({"limits": Limits()})


@given(
    pace=st.builds(
        Pace,
        delay_s=st.floats(0, 1e10),
        scope=st.sampled_from(Scope),
    ),
    limits=st.builds(
        Limits,
        max_pages=st.none() | st.integers(1, 10**12),
        max_body_bytes=st.integers(-(2**63), 2**63 - 1),
        max_duration_s=st.none() | st.integers(-(10**10), 10**10),
        log_level=st.sampled_from(["info", "debug"]),
        warc=st.booleans(),
        data_dir=st.lists(st.text(min_size=1).filter(lambda part: "~" not in part)).map(lambda parts: Path(*parts)),
        allow_network=st.lists(st.text()).map(tuple),
        retry_waits_s=st.lists(st.floats(1, 1e10)).map(tuple),
        name=st.text(),
    ),
)
@example(pace=Pace(delay_s=1e-7), limits=Limits(name='\x00\x7f"\\\r\n🕷', allow_network=("a,b", "", "]")))
def test_what_is_written_reads_back_equal(tmp_path_factory: pytest.TempPathFactory, pace: Pace, limits: Limits) -> None:
    file = tmp_path_factory.getbasetemp() / "written.toml"
    file.write_text(as_toml({"pace": pace, "limits": limits}), encoding="utf-8", newline="")
    assert settle(file) == {"pace": pace, "limits": limits}
