"""Decides which requests are answered: by Host, Origin, token, role, rate and size. Pure.

The checks and what each prevents:

- Host: a page of another name that a resolver points at this address (DNS rebinding) reads nothing.
- Origin and Sec-Fetch-Site: no page of another server, be it on another port of this machine, sends a request that
  counts.
- Token: no request is answered without one, except the form that asks for it.
- Role: a viewer's token orders nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gossamer.serve.limits import MAX_BODY_BYTES, MAX_HEAD_BYTES
from gossamer.serve.tokens import Role
from gossamer.wording import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.serve.tokens import Keyring, Token

LOGIN: Final = "/login"
METHODS: Final = frozenset({"GET", "HEAD", "POST"})
# Names that a resolver cannot point elsewhere. Any port: a tunnel may lead from another one to ours.
_LOOPBACK: Final = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Why a request is not answered, in one line."""

    status: int
    sentence: str
    shows_login: bool = False  # a browser is sent to the form


TOO_LONG: Final = Denial(status=413, sentence=f"A form has at most {count(MAX_BODY_BYTES, 'byte')}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHead:
    """What the checks see of a request."""

    method: str
    path: str
    headers: Mapping[str, str]  # lower-case names
    cookies: Mapping[str, str]
    head_bytes: int = 0

    @property
    def host(self) -> str:
        """The Host that the client named."""
        return self.headers.get("host", "").lower()

    @property
    def is_navigation(self) -> bool:
        """Whether a person opens the page in a tab, with a link or the address bar."""
        return self.method == "GET" and self.headers.get("sec-fetch-mode") == "navigate" and (
            self.headers.get("sec-fetch-dest") == "document"
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """Where the dashboard may be opened, by which tokens, and what they may do."""

    tokens: Keyring
    cookie_name: str
    origins: Mapping[str, str] = field(default_factory=dict)  # by Host: besides those of this machine's loopback
    open_paths: frozenset[str] = frozenset()  # that need no token: the form and what it looks like
    orders: frozenset[str] = frozenset()  # paths that need an operator's token

    def origin_of(self, host: str) -> str | None:
        """Return the origin of pages that are opened under a Host; None if this is not one of its names."""
        return f"http://{host}" if _LOOPBACK.fullmatch(host) else self.origins.get(host)

    def find_token(self, ask: RequestHead) -> Token | None:
        """Return the token that a request shows, in a header or as a cookie."""
        kind, _, secret = ask.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.tokens.by_secret(secret.strip())
        return self.tokens.by_cookie(ask.cookies.get(self.cookie_name, ""))

    def refuse(self, ask: RequestHead, token: Token | None) -> Denial | None:
        """Return why a request is not answered; None if it is."""
        return self._refuse_origin(ask) or self._refuse_token(ask, token) or _refuse_size(ask)

    def _refuse_origin(self, ask: RequestHead) -> Denial | None:
        origin = self.origin_of(ask.host)
        if origin is None:
            return Denial(
                status=421,
                sentence="This Host is not served here: open the address that the dashboard's command printed.",
            )
        if ask.method not in METHODS:
            return Denial(status=405, sentence="Only GET, HEAD and POST are answered.")
        if ask.headers.get("origin", origin) != origin:
            return Denial(status=403, sentence="A page of another origin may not send requests here.")
        if ask.headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not ask.is_navigation:
            return Denial(status=403, sentence="A page of another site may not use anything from here.")
        return None

    def _refuse_token(self, ask: RequestHead, token: Token | None) -> Denial | None:
        by_browser = ask.method == "POST" and "authorization" not in ask.headers
        if by_browser and "origin" not in ask.headers:
            return Denial(status=403, sentence="An order without an Origin is not obeyed: use a browser or a header.")
        if ask.path in self.open_paths:
            return None
        if token is None:
            shown = "authorization" in ask.headers or self.cookie_name in ask.cookies
            what = "This token is not known" if shown else "A token is needed"
            return Denial(
                status=401, sentence=f"{what}: open {LOGIN} with one, or send it as a bearer.", shows_login=True
            )
        if ask.path in self.orders and token.role is not Role.OPERATOR:
            return Denial(
                status=403, sentence=f"The token {token.name} only reads: an order needs an operator's token."
            )
        return None


def _refuse_size(ask: RequestHead) -> Denial | None:
    if ask.head_bytes > MAX_HEAD_BYTES:
        return Denial(status=431, sentence=f"The head of a request has at most {count(MAX_HEAD_BYTES, 'byte')}.")
    return TOO_LONG if body_bytes(ask.headers) > MAX_BODY_BYTES else None


def body_bytes(headers: Mapping[str, str]) -> int:
    """Return how long a request says that its body is; without a number it is as if it were empty."""
    said = headers.get("content-length", "0")
    return int(said) if said.isascii() and said.isdigit() else 0
