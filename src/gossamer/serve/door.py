"""The door: every request passes the checks here before a page is made, and every answer gets its headers here."""

from __future__ import annotations

import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse

from gossamer.serve.gate import LOGIN, TOO_LONG, Denial, RequestHead
from gossamer.serve.layout import POLICY
from gossamer.serve.limits import MAX_BODY_BYTES, Rates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gossamer.serve.gate import AccessRules

TOKEN: Final = "gossamer.token"  # where a request has its token, for pages  # noqa: S105
POLICY_HEADER: Final = "content-security-policy"
_TOO_MANY: Final = Denial(status=429, sentence="Too many requests: try again in a few seconds.")
HEADERS: Final = {
    POLICY_HEADER: POLICY,
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",  # not less: without it a form has no Origin
    "x-content-type-options": "nosniff",
    "x-dns-prefetch-control": "off",
    "x-frame-options": "SAMEORIGIN",
}


class Door:
    """Answers a request that passes the checks with the application, and refuses all others in one line."""

    def __init__(self, application: ASGIApp, gate: AccessRules) -> None:
        self._application = application
        self._gate = gate
        self._rates = Rates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        ask = _ask(scope)
        token = self._gate.find_token(ask)
        answer = self._application
        refused = self._gate.refuse(ask, token)
        if not self._rates.admit(token.name if token else "", time.monotonic()):
            refused = _TOO_MANY
        if refused:
            answer = _response(refused, ask)
        scope[TOKEN] = token
        guarded = _with_headers(send)
        await answer(scope, _bounded(receive), guarded)


def _ask(scope: Scope) -> RequestHead:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        headers[key] = f"{headers[key]}, {value.decode('latin-1')}" if key in headers else value.decode("latin-1")
    target = len(scope["raw_path"]) + len(scope["query_string"])
    return RequestHead(
        method=scope["method"],
        path=scope["path"],
        headers=headers,
        cookies=_cookies(headers),
        head_bytes=target + sum(len(name) + len(value) for name, value in scope["headers"]),
    )


def _cookies(headers: Mapping[str, str]) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _response(refused: Denial, ask: RequestHead) -> ASGIApp:
    if refused.shows_login and ask.is_navigation:
        return RedirectResponse(LOGIN, 303)
    return PlainTextResponse(f"{refused.sentence}\n", refused.status)


def _bounded(receive: Receive) -> Receive:
    """Return a `receive` that refuses a body that is longer than a form may be, and was not announced."""
    received = 0

    async def count() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY_BYTES:
            raise HTTPException(TOO_LONG.status, TOO_LONG.sentence)
        return message

    return count


def _with_headers(send: Send) -> Send:
    """Return a `send` that adds the headers that an answer does not have itself."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
            there = {name.lower() for name, _ in given}
            given += [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
            message = {**message, "headers": given}
        await send(message)

    return add


def token_of(scope: Mapping[str, Any]) -> Any:
    """Return the token of a request that passed."""
    return scope[TOKEN]
