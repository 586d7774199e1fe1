"""The pages of the dashboard and where they are. Every path is listed: none is made out of what a client sends."""

from __future__ import annotations

import logging
import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from gossamer.errors import GossamerError
from gossamer.serve import archived, layout
from gossamer.serve.back import Back, BusyError
from gossamer.serve.door import POLICY_HEADER, Door, token_of
from gossamer.serve.gate import LOGIN, AccessRules
from gossamer.serve.live import Live
from gossamer.serve.markup import address, trusted
from gossamer.serve.overview import SPANS_S, live_values, overview
from gossamer.serve.reading_pages import SORTS, site_page, sites_page, url_form, url_page
from gossamer.serve.tokens import Keyring, Role
from gossamer.wording import plain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gossamer.serve.markup import Piece
    from gossamer.serve.tokens import Token

log = logging.getLogger(__name__)

COOKIE_S: Final = 30 * 86_400
ORDERS: Final = {
    "pause": "Pause the crawl? Its workers finish running requests and begin nothing more, on all machines.",
    "resume": "Let the crawl continue, on all machines?",
    "stop": "Stop the crawl on this machine? Running requests are finished. Only the command line starts it again.",
    "exclude": "Exclude this from the crawl? None of its URLs is requested until it is readmitted.",
    "readmit": "Readmit this? Its queued URLs are requested again.",
}
_STATIC: Final = {"serve.css": "text/css", "live.js": "text/javascript", "login.js": "text/javascript",
                  "plots.js": "text/javascript",
                  "icon.svg": "image/svg+xml"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeTerms:
    """What the dashboard serves, and how it may be reached."""

    folders: Sequence[Path]
    scratch: Path
    tokens: Sequence[Token]
    cookie_name: str
    origins: Mapping[str, str]  # by Host, besides those of the loopback


class Dashboard:
    """The pages of one crawl."""

    def __init__(self, terms: ServeTerms) -> None:
        self._terms = terms
        self._keyring = Keyring(terms.tokens)
        self._live = Live(terms.folders)
        self._back = Back(terms.folders, terms.scratch)
        self._gate = AccessRules(
            tokens=self._keyring,
            cookie_name=terms.cookie_name,
            origins=terms.origins,
            open_paths=frozenset({LOGIN, *_static_files()}),
            orders=frozenset({"/order"}),
        )

    def application(self) -> Door:
        """Return the ASGI application."""
        routes = [
            Route("/", self._overview),
            Route("/events", self._events),
            Route("/history", self._history),
            Route("/sites", self._sites),
            Route("/site", self._site),
            Route("/url", self._url),
            Route("/archived", self._archived),
            Route("/report", self._report),
            Route("/order", self._confirm, methods=["GET"]),
            Route("/order", self._order, methods=["POST"]),
            Route(LOGIN, self._login_form, methods=["GET"]),
            Route(LOGIN, self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            *(Route(path, _serve_file(*file)) for path, file in _static_files().items()),
        ]
        pages = Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={
                GossamerError: self._say_mistake,
                HTTPException: _say_http,
                404: _say_http,
                405: _say_http,
                500: _say_bug,
            },
        )
        pages.router.redirect_slashes = False
        return Door(pages, self._gate)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._live.close()
            await self._back.end()

    # ------------------------------------------------------------------ who

    async def _login_form(self, _: Request) -> Response:
        return HTMLResponse(layout.login())

    async def _login(self, request: Request) -> Response:
        token = self._keyring.by_secret((await _form(request)).get("token", "").strip())
        if token is None:
            return HTMLResponse(layout.login("This token is not known."), 401)
        answer = RedirectResponse("/", 303)
        origin = self._gate.origin_of(request.headers.get("host", "").lower()) or ""
        answer.set_cookie(
            self._terms.cookie_name, token.cookie, max_age=COOKIE_S, httponly=True, samesite="strict",
            secure=origin.startswith("https:"),
        )  # fmt: skip
        return answer

    async def _logout(self, _: Request) -> Response:
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(self._terms.cookie_name, httponly=True, samesite="strict")
        return answer

    # ------------------------------------------------------------------ what

    async def _overview(self, request: Request) -> Response:
        status = await self._live.status()
        content = overview(
            live_values(status, time.time()),
            may_order=_may_order(request),
            is_paused=status.stats.is_paused,
            is_running=status.running is not None,
        )
        return self._page(request, "Overview", content, scripts=("live.js", "plots.js"))

    async def _events(self, _: Request) -> ASGIApp:
        return self._stream

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._live.is_full:
            refused = PlainTextResponse("Too many tabs are open: close some, or reload this page by hand.\n", 503)
            await refused(scope, receive, send)
            return
        with self._live.streaming() as events:
            await StreamingResponse(events, media_type="text/event-stream")(scope, receive, send)

    async def _history(self, request: Request) -> Response:
        span = request.query_params.get("span", "")
        return JSONResponse(await self._back.ask("history", span=span if span in SPANS_S else "1 hour"))

    async def _sites(self, request: Request) -> Response:
        asked = request.query_params
        search, sort = asked.get("q", ""), asked.get("sort", "")
        sort = sort if sort in SORTS else next(iter(SORTS))
        number = int(asked["page"]) if re.fullmatch("[0-9]{1,6}", asked.get("page", "")) else 0
        found = await self._back.ask("sites", search=search, sort=sort, descending=SORTS[sort][1], number=number)
        may_order = _may_order(request)
        content = sites_page(found, search=search, sort=sort, number=number, may_order=may_order)
        return self._page(request, "Sites", content)

    async def _site(self, request: Request) -> Response:
        found = await self._back.ask("site", name=request.query_params.get("name", ""))
        return self._page(request, found["site"], site_page(found, may_order=_may_order(request)))

    async def _url(self, request: Request) -> Response:
        url = request.query_params.get("url", "").strip()
        if not url:
            return self._page(request, "URL", url_form())
        if "/" not in url:
            return RedirectResponse(address("/site", name=url), 303)
        found = await self._back.ask("url", url=url)
        return self._page(request, found["url"], url_page(found))

    async def _archived(self, request: Request) -> Response:
        found = await self._back.ask("archived", url=request.query_params.get("url", ""))
        headers = {POLICY_HEADER: archived.POLICY}
        body = found["body"].encode("utf-8", "replace").decode()
        if not found["is_html"]:
            return PlainTextResponse(body, headers=headers)
        return HTMLResponse(archived.disarm(body), headers=headers)

    async def _report(self, request: Request) -> Response:
        return self._page(request, "Report", trusted(await self._back.ask("report")), has_main=True)

    async def _confirm(self, request: Request) -> Response:
        what, entry = request.query_params.get("what", ""), request.query_params.get("entry", "")
        question = _question(what, entry)
        return self._page(request, f"Confirm: {what}", layout.confirm(question, what, entry))

    async def _order(self, request: Request) -> Response:
        form = await _form(request)
        what, entry = form.get("what", ""), form.get("entry", "")
        _question(what, entry)
        name = token_of(request.scope).name
        try:
            said = await self._back.ask("order", order=what, entry=entry)
        except GossamerError as error:
            log.warning("The token %s ordered %s %s in vain: %s", name, what, plain(entry), plain(str(error)))
            raise
        log.warning("The token %s ordered: %s %s", name, what, plain(entry))
        return self._page(request, "Done", layout.lines(said))

    async def _say_mistake(self, request: Request, error: Exception) -> Response:
        status = 503 if isinstance(error, BusyError) else 409
        return self._page(request, "This cannot be done", layout.lines(str(error)), status=status)

    def _page(
        self, request: Request, title: str, content: Piece, *, scripts: Sequence[str] = (), status: int = 200,
        has_main: bool = False,
    ) -> Response:  # fmt: skip
        crawl = ", ".join(folder.name or str(folder) for folder in self._terms.folders)
        token, path = token_of(request.scope), request.url.path
        whole = layout.page(title, content, token=token, path=path, crawl=crawl, scripts=scripts, has_main=has_main)
        return HTMLResponse(whole, status)


def _may_order(request: Request) -> bool:
    return token_of(request.scope).role is Role.OPERATOR


def _question(what: str, entry: str) -> str:
    """Return what an order means; refuse one that is not known, or lacks its entry."""
    if what not in ORDERS or (what in ("exclude", "readmit")) != bool(entry):
        raise HTTPException(400, "There is no such order.")
    return f"{ORDERS[what]} {entry}".rstrip()


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form, the first of each name."""
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return {name: values[0] for name, values in parse_qs(body, max_num_fields=20).items()}
    except ValueError:
        raise HTTPException(400, "This form has too many fields.") from None


# ---------------------------------------------------------------------- files and refusals


def _static_files() -> dict[str, tuple[bytes, str]]:
    """Return all files by their paths: content and type."""
    own = files(__package__) / "static"
    found = {f"/static/{name}": ((own / name).read_bytes(), kind) for name, kind in _STATIC.items()}
    # Not as a resource of its package: importing that would load DuckDB into this process.
    base = Path(__file__).parents[1] / "inspect" / "report" / "style.css"
    return {**found, "/static/base.css": (base.read_bytes(), "text/css")}


def _serve_file(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_: Request) -> Response:
        return Response(content, media_type=kind)

    return serve


async def _say_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "There is no such page.", 405: "This page is not asked for like that."}.get(error.status_code)
    return PlainTextResponse(f"{said or error.detail}\n", error.status_code)


async def _say_bug(_: Request, error: Exception) -> Response:
    log.error("A page could not be made.", exc_info=error)
    return PlainTextResponse("This page could not be made: the server's log says why.\n", 500)
