"""Refuse every request that does not come from the console's own page: host, origin, token, password.

The token stands in the address that the console prints; the page's first request exchanges it for a cookie.
The check of the host defeats DNS rebinding, that of the origin requests of other web pages (RFC 6455, section
10.2: a browser does not keep pages from opening sockets to other hosts).
"""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_READING = ("GET", "HEAD")
_PAUSE_S = 1.0
"""After a wrong password; further passwords wait for it too."""
_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
        "style-src 'self' 'unsafe-inline'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>linkwork console</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<body style="font: 1.1rem system-ui; max-width: 36rem; margin: 4rem auto; padding: 0 1rem">
<h1>linkwork console</h1><p>{text}</p>{form}</body></html>"""
_FORM = """<form method="post" action="/login"><label>Password <input type="password" name="password"
autocomplete="current-password" autofocus></label> <button>Sign in</button></form>"""


@dataclass(frozen=True)
class Entrance:
    """Conditions under which a request is let in.

    hosts: values of the header `Host`, lower case; secure: whether the page is served with TLS; password:
    None where the token alone admits.
    """

    hosts: frozenset[str]
    port: int
    secure: bool = False
    password: str | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers send cookies to all ports of a host."""
        return f"linkwork-console-{self.port}"

    @property
    def origins(self) -> frozenset[str]:
        """Values of the header `Origin`."""
        return frozenset(f"http{'s' if self.secure else ''}://{host}" for host in self.hosts)


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())


class EntranceGuard:
    """ASGI middleware in front of everything that the console serves."""

    def __init__(self, app: ASGIApp, entrance: Entrance) -> None:
        self.app, self._entrance = app, entrance
        self._guesses = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._foreign(scope, headers)
        if refusal is None and self._signed_in(headers):
            await self.app(scope, receive, self._sealed(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            answer = _page(refusal, 403) if refusal else await self._let_in(Request(scope, receive))
            await answer(scope, receive, self._sealed(send))

    def _foreign(self, scope: Scope, headers: Mapping[str, str]) -> str | None:
        """Return why a request is not from the console's own page; None where it may be."""
        entrance, origin = self._entrance, headers.get("origin")
        if headers.get("host", "").lower() not in entrance.hosts:
            return "This console is not served under this address."
        asks = scope["type"] == "http" and scope["method"] in _READING
        if origin is None:
            return None if asks else "Requests must name their origin."
        if origin.lower() not in entrance.origins:
            return "Requests of other web pages are refused."
        return None

    def _signed_in(self, headers: Mapping[str, str]) -> bool:
        found = cookie_parser(headers.get("cookie", "")).get(self._entrance.cookie)
        return found is not None and _same(found, self._entrance.token)

    async def _let_in(self, request: Request) -> Response:
        """Answer a request without the cookie: exchange a token or a password for it."""
        entrance = self._entrance
        if request.method == "GET" and _same(request.query_params.get("token", ""), entrance.token):
            return self._admitted()
        if entrance.password is None:
            return _page("Open the address with the token that <code>linkwork console</code> printed.", 401)
        if request.method != "POST" or request.url.path != "/login":
            return _page("This console asks for its password.", 401, _FORM)
        given = parse_qs((await _short_body(request)).decode("utf-8", "replace"))
        async with self._guesses:
            if _same(given.get("password", [""])[0], entrance.password):
                return self._admitted()
            await asyncio.sleep(_PAUSE_S)
        return _page("This password is wrong.", 401, _FORM)

    def _admitted(self) -> Response:
        entrance = self._entrance
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            entrance.cookie,
            entrance.token,
            path="/",
            httponly=True,
            samesite="strict",
            secure=entrance.secure,
        )
        return answer

    @staticmethod
    def _sealed(send: Send) -> Send:
        """Add headers that forbid frames around the page and requests to other hosts."""

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        return sealed


async def _short_body(request: Request) -> bytes:
    """Return the first bytes of a form."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > 4096:
            return b""
    return body


def _page(text: str, status: int, form: str = "") -> Response:
    shown = text if form or "<code>" in text else escape(text)
    return HTMLResponse(_PAGE.format(text=shown, form=form), status, {"cache-control": "no-store"})
