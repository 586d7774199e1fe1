"""The tokens that open the dashboard: a file that only its user may read, one token per line."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Iterable

OTHERS: Final = 0o077  # the rights of the group and of all
LEAST_CHARACTERS: Final = 32  # of a token: what `secrets` makes has 43
_LINE: Final = re.compile(r"(?P<name>[A-Za-z0-9._@-]{1,40}) (?P<role>operator|viewer) (?P<secret>[A-Za-z0-9_-]+)")
_HEADER: Final = """\
# Tokens of the Gossamer dashboard: a name, a role (operator: everything; viewer: only reads), the token.
# The name is logged with what it orders. Delete a line to revoke it, then restart the dashboard.
"""


class Role(StrEnum):
    """What a token allows."""

    OPERATOR = "operator"
    VIEWER = "viewer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A key to the dashboard."""

    name: str
    role: Role
    secret: str

    @property
    def cookie(self) -> str:
        """What a browser keeps in place of the token: it proves the token and does not tell it."""
        return hmac.digest(self.secret.encode(), b"cookie of the dashboard", "sha256").hex()


class Keyring:
    """Finds the token that a request shows. How long that takes says nothing about the tokens."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._tokens = tuple(tokens)

    def by_secret(self, shown: str) -> Token | None:
        """Return the token with this secret."""
        return self._find(shown, [token.secret for token in self._tokens])

    def by_cookie(self, shown: str) -> Token | None:
        """Return the token that this cookie proves."""
        return self._find(shown, [token.cookie for token in self._tokens])

    def _find(self, shown: str, right: list[str]) -> Token | None:
        found = None
        digest = _digest(shown)
        for token, secret in zip(self._tokens, right, strict=True):  # all of them, whichever fits
            if hmac.compare_digest(digest, _digest(secret)):
                found = token
        return found


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def default_file() -> Path:
    """Return where tokens are kept unless the operator names a file: in the user's own settings."""
    settings = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(settings) / "gossamer" / "serve-tokens"


def read_or_make(file: Path) -> list[Token]:
    """Return the tokens of a file; if there is none, make it with one token for each role.

    Refuses a file, or a folder, that others may read: a token is a key to the crawl.
    """
    if not file.exists():
        _make(file)
    _check_private(file)
    return _parse(file)


def _make(file: Path) -> None:
    made = [Token(name=role.value, role=role, secret=secrets.token_urlsafe(32)) for role in Role]
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_open_folder(file.parent)  # before there is a secret in it
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise GossamerError(
            f"The tokens cannot be written to {file} ({error.strerror}): name another file with --tokens."
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as lines:
        lines.write(_HEADER + "".join(f"{token.name} {token.role} {token.secret}\n" for token in made))


def _check_private(file: Path) -> None:
    about = file.lstat()
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
        raise GossamerError(f"{file} must be a file of the user who serves: name another one with --tokens.")
    if about.st_mode & OTHERS:
        raise GossamerError(f"Others may read the tokens in {file}: run `chmod 600 {file}`, and replace the tokens.")
    _refuse_open_folder(file.parent)


def _refuse_open_folder(folder: Path) -> None:
    if folder.stat().st_mode & OTHERS:
        raise GossamerError(
            f"Others may open the folder {folder}, which is for tokens: run `chmod 700 {folder}`, or name a file "
            "in another folder with --tokens."
        )


def _parse(file: Path) -> list[Token]:
    tokens: dict[str, Token] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None or len(found["secret"]) < LEAST_CHARACTERS or found["name"] in tokens:
            raise GossamerError(
                f"Line {number} of {file} is no token: write a new name, operator or viewer, and at least "
                f"{LEAST_CHARACTERS} letters and digits."
            )
        tokens[found["name"]] = Token(name=found["name"], role=Role(found["role"]), secret=found["secret"])
    if not tokens:
        raise GossamerError(f"There is no token in {file}: delete the file, and the next start makes new ones.")
    return list(tokens.values())
