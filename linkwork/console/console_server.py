"""Serve the console: on loopback with a token, elsewhere only with a password and TLS."""

import ipaddress
import signal
import socket
import stat
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

import uvicorn
from fastapi import FastAPI, WebSocket
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, PlainTextResponse, Response
from nicegui import ui

from linkwork.console.entrance_guard import Entrance, EntranceGuard
from linkwork.console.server_options import ServerOptions
from linkwork.protocol.errors import EndpointError
from linkwork.regular_files import check_regular
from linkwork.timing.children import Lifeline

PORT: Final = 8720
_PAGE_FILES: Final = Path(__file__).parent / "page"
_SHORTEST_PASSWORD: Final = 8


class Served(Protocol):
    """A service behind pages: of a machine, or of recordings."""

    def start(self) -> None:
        """Start the threads; called in the event loop that serves the pages."""

    def close(self) -> None:
        """End the threads."""

    async def serve_link(self, socket: WebSocket) -> None:
        """Serve the connection of a page to its end."""

    def mesh(self, name: str) -> Path | None:
        """Return the file of a mesh of the machine, `NUMBER.suffix`; None where there is none."""

    def add_routes(self, app: FastAPI) -> None:
        """Add the addresses that only this service has."""


def check(options: ServerOptions) -> str | None:
    """Return the password. Raises EndpointError for an address that is not protected."""
    if (options.certificate is None) != (options.key is None):
        raise EndpointError("give --certificate and --key together")
    for path in (options.certificate, options.key):
        if path is not None and not path.is_file():
            raise EndpointError(f"{path}: no such file")
    missing = [
        word
        for word, given in (
            ("--password-file", options.password_file),
            ("--certificate and --key", options.key),
        )
        if given is None
    ]
    if missing and not _is_loopback(options.host):
        raise EndpointError(
            f"{options.host} can be reached from other computers: a console there needs a password and TLS; "
            f"add {' and '.join(missing)}, or leave --host out"
        )
    return None if options.password_file is None else _password(options.password_file)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _password(path: Path) -> str:
    try:
        check_regular(path)
        mode, password = path.stat().st_mode, path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EndpointError(f"{path}: the password cannot be read: {error}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise EndpointError(f"{path}: other users may read this file; run: chmod 600 {path}")
    if len(password) < _SHORTEST_PASSWORD:
        raise EndpointError(
            f"{path}: a password of {len(password)} characters; it needs at least {_SHORTEST_PASSWORD}"
        )
    return password


def listening(options: ServerOptions) -> socket.socket:
    """Return a bound socket. Raises EndpointError."""
    for port in (PORT, 0) if options.port is None else (options.port,):
        try:
            family = socket.getaddrinfo(options.host, port, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((options.host, port), family=family)
        except OSError as error:
            problem = error
    raise EndpointError(f"{options.host}, port {options.port or PORT}: {problem.strerror or problem}")


def entrance_of(options: ServerOptions, port: int, password: str | None) -> Entrance:
    """Return the conditions of entrance of a console that listens on this port."""
    loopback = ("127.0.0.1", "localhost", "[::1]") if _is_loopback(options.host) else ()
    literal = f"[{options.host}]" if ":" in options.host else options.host
    names = dict.fromkeys((*loopback, literal, *options.hosts))
    usual = port == (443 if options.secure else 80)  # browsers leave it out
    hosts = frozenset(f"{name}{end}".lower() for name in names for end in (f":{port}", *[""] * usual))
    return Entrance(hosts, port, options.secure, password)


def application(service: Served, page: Callable[[], None], entrance: Entrance) -> EntranceGuard:
    """Return the whole application behind its guard. page: builds a page."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()

    async def link(socket: WebSocket) -> None:
        await service.serve_link(socket)

    def mesh(name: str) -> Response:
        path = service.mesh(name)
        return PlainTextResponse("no such mesh", 404) if path is None else FileResponse(path)

    app = FastAPI(lifespan=life, openapi_url=None)
    app.websocket("/console/link")(link)
    app.get("/console/mesh/{name}")(mesh)
    app.get("/console/console.css")(_style)
    service.add_routes(app)
    ui.run_with(
        app,
        root=page,
        title="linkwork console",
        dark=None,
        tailwind=False,
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=15.0,
        gzip_middleware_factory=GZipMiddleware if entrance.secure else None,  # a loopback is faster without
    )
    return EntranceGuard(app, entrance)


def _style() -> FileResponse:
    return FileResponse(_PAGE_FILES / "console.css", headers={"cache-control": "no-cache"})


class _Announcing(uvicorn.Server):
    """Calls `ready` once the page can be opened."""

    ready: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()


def _end_with_parent(server: uvicorn.Server) -> None:
    Lifeline.from_stdin().wait()
    server.should_exit = True


def serve(
    service: Served, page: Callable[[], None], options: ServerOptions, ready: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` gets the address with the token.

    Raises EndpointError where the address is taken or not protected.
    """
    password = check(options)
    with listening(options) as bound:
        port = bound.getsockname()[1]
        entrance = entrance_of(options, port, password)
        config = uvicorn.Config(
            application(service, page, entrance),
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            ws="auto",
            ws_max_size=1 << 20,
            ws_ping_interval=5.0,
            ws_ping_timeout=5.0,
            timeout_graceful_shutdown=1,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
        )
        server = _Announcing(config)
        literal = f"[{options.host}]" if ":" in options.host else options.host
        url = f"http{'s' if options.secure else ''}://{literal}:{port}/?token={entrance.token}"
        server.ready = lambda: ready(url)
        if options.lifeline:
            threading.Thread(target=_end_with_parent, args=(server,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.run(sockets=[bound])
        signal.signal(signal.SIGINT, signal.default_int_handler)
