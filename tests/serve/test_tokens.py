"""Tokens are made for the operator and for viewers, and kept where no other user can read them."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import GossamerError
from gossamer.serve.tokens import Keyring, Role, Token, default_file, read_or_make

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "private" / "tokens"


def write(file: Path, *lines: str) -> Path:
    file.parent.mkdir(mode=0o700)
    file.touch(0o600)
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_the_first_start_makes_a_token_for_each_role_and_the_next_reads_them(file: Path) -> None:
    made = read_or_make(file)
    assert [(token.name, token.role) for token in made] == [("operator", "operator"), ("viewer", "viewer")]
    assert all(len(token.secret) >= 43 for token in made)
    assert len({token.secret for token in made}) == 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert read_or_make(file) == made


def test_tokens_are_kept_in_the_users_own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_file() == tmp_path / "gossamer" / "serve-tokens"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_file() == tmp_path / ".config" / "gossamer" / "serve-tokens"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_open_is_refused(file: Path, mode: int) -> None:
    read_or_make(file)
    file.chmod(mode)
    with pytest.raises(GossamerError, match=r"^Others may read the tokens in .*: run `chmod 600 "):
        read_or_make(file)


def test_a_folder_that_others_may_open_gets_no_token(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(GossamerError, match=r"^Others may open the folder .*: run `chmod 700 "):
        read_or_make(tmp_path / "tokens")
    assert not (tmp_path / "tokens").exists()


def test_a_link_in_place_of_the_file_is_refused(file: Path, tmp_path: Path) -> None:
    read_or_make(tmp_path / "others" / "tokens")
    file.parent.mkdir(mode=0o700)
    file.symlink_to(tmp_path / "others" / "tokens")
    with pytest.raises(GossamerError, match="must be a file of the user who serves"):
        read_or_make(file)


def test_an_operator_may_add_names(file: Path) -> None:
    write(file, "# ours", "", f"alice operator {SECRET}", f"screen viewer {SECRET}2")
    assert read_or_make(file) == [
        Token(name="alice", role=Role.OPERATOR, secret=SECRET),
        Token(name="screen", role=Role.VIEWER, secret=f"{SECRET}2"),
    ]


@pytest.mark.parametrize(
    "line",
    ["alice", f"alice root {SECRET}", "alice operator short", f"a b operator {SECRET}", f"operator operator {SECRET}",
     f"<b> viewer {SECRET}", f"alice operator {SECRET}é"],
)  # fmt: skip
def test_a_line_that_is_no_token_is_refused_by_its_number(file: Path, line: str) -> None:
    write(file, f"operator operator {SECRET}", line)
    with pytest.raises(GossamerError, match=r"^Line 2 of .* is no token: "):
        read_or_make(file)


def test_a_file_without_tokens_is_refused(file: Path) -> None:
    with pytest.raises(GossamerError, match=r"^There is no token in "):
        read_or_make(write(file, "# nothing"))


def test_only_the_right_secret_or_cookie_finds_a_token() -> None:
    token = Token(name="alice", role=Role.OPERATOR, secret=SECRET)
    other = Token(name="bob", role=Role.VIEWER, secret=f"{SECRET}2")
    ring = Keyring([token, other])
    assert ring.by_secret(SECRET) is token
    assert ring.by_cookie(other.cookie) is other
    for wrong in ("", SECRET[:-1], f"{SECRET} ", SECRET.upper(), token.cookie, "\udcff", "é" * 43):
        assert ring.by_secret(wrong) is None
    for wrong in ("", SECRET, token.cookie[:-1], token.cookie.upper()):
        assert ring.by_cookie(wrong) is None


def test_a_cookie_does_not_tell_the_secret() -> None:
    token = Token(name="alice", role=Role.OPERATOR, secret=SECRET)
    assert SECRET not in token.cookie
    assert len(token.cookie) == 64
