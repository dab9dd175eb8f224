"""The guard: no other page, host or user reaches the console."""

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its deprecation of httpx is not this test's business
    from starlette.testclient import TestClient

from linkwork.console import entrance_guard as guard
from linkwork.console.console_server import ServerOptions, check, entrance_of, listening
from linkwork.console.entrance_guard import EntranceGuard
from linkwork.protocol.errors import EndpointError
from tests.command import linkwork

HOST = "127.0.0.1:8720"
LINK = f"ws://{HOST}/console/link"
OWN = {"origin": f"http://{HOST}"}


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text(await socket.receive_text())
    await socket.close()


def reached(*_: Any) -> PlainTextResponse:
    return PlainTextResponse("reached")


def guarded(password: str | None = None, **options: Any) -> TestClient:
    app = Starlette(
        routes=[
            Route("/", reached),
            Route("/console/stop", reached, methods=["POST"]),
            WebSocketRoute("/console/link", echo),
        ]
    )
    entrance = entrance_of(ServerOptions(**options), 8720, password)
    client = TestClient(EntranceGuard(app, entrance), base_url=f"http://{HOST}", follow_redirects=False)
    client.token = entrance.token  # type: ignore[attr-defined]
    return client


def signed_in() -> TestClient:
    client = guarded()
    assert client.get("/", params={"token": client.token}).status_code == 303  # type: ignore[attr-defined]
    return client


def test_the_token_is_exchanged_for_a_cookie_that_scripts_cannot_read() -> None:
    client = guarded()
    answer = client.get("/", params={"token": client.token})  # type: ignore[attr-defined]
    cookie = answer.headers["set-cookie"].lower()
    assert answer.headers["location"] == "/"
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/").text == "reached"


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_without_the_token_nothing_is_served(token: str) -> None:
    client = guarded()
    assert client.get("/", params={"token": token}).status_code == 401
    assert client.post("/console/stop", headers=OWN).status_code == 401
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(LINK, headers=OWN):
        pass


def test_a_host_name_that_was_rebound_to_this_computer_is_refused() -> None:
    client = signed_in()
    for host in ("evil.example:8720", "127.0.0.1:9999", "127.0.0.1", ""):
        assert client.get("/", headers={"host": host}).status_code == 403, host
    for host in ("localhost:8720", "[::1]:8720"):
        # another name is let in, and has no cookie yet
        assert client.get("/", headers={"host": host}).status_code in (200, 401), host


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1:8720", "http://127.0.0.1:9", "null"]
)
def test_other_pages_are_refused_even_with_the_cookie(origin: str) -> None:
    client = signed_in()
    assert client.post("/console/stop", headers={"origin": origin}).status_code == 403
    assert client.get("/", headers={"origin": origin}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(LINK, headers={"origin": origin}),
    ):
        pass


def test_requests_that_act_must_name_their_origin() -> None:
    client = signed_in()
    assert client.post("/console/stop").status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(LINK):
        pass
    assert client.post("/console/stop", headers=OWN).text == "reached"
    with client.websocket_connect(LINK, headers=OWN) as socket:
        socket.send_text("held")
        assert socket.receive_text() == "held"


def test_no_page_may_frame_the_console() -> None:
    for answer in (signed_in().get("/"), guarded().get("/")):
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_a_password_admits_and_a_wrong_one_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(guard.asyncio, "sleep", pause)
    client = guarded("correct horse")
    assert "password" in client.get("/").text
    assert client.post("/login", data={"password": "wrong"}, headers=OWN).status_code == 401
    assert pauses == [1.0]
    assert client.post("/login", data={"password": "correct horse"}, headers=OWN).status_code == 303
    assert client.get("/").text == "reached"


def test_beyond_loopback_a_console_needs_a_password_and_tls(tmp_path: Path) -> None:
    secret, pem = tmp_path / "password", tmp_path / "console.pem"
    secret.write_text("correct horse")
    secret.chmod(0o600)
    pem.write_text("")
    for options in (
        ServerOptions("0.0.0.0"),
        ServerOptions("::"),
        ServerOptions("robot.example", password_file=secret),
        ServerOptions("192.0.2.1", certificate=pem, key=pem),
    ):
        with pytest.raises(EndpointError, match="needs a password and TLS"):
            check(options)
    assert check(ServerOptions("0.0.0.0", password_file=secret, certificate=pem, key=pem)) == "correct horse"
    assert check(ServerOptions("::1")) is None
    secret.chmod(0o644)
    with pytest.raises(EndpointError, match="chmod 600"):
        check(ServerOptions(password_file=secret))


def test_the_command_refuses_an_open_address() -> None:
    ran = linkwork("console", "scara", "--host", "0.0.0.0")
    assert ran.returncode == 2
    assert "--password-file and --certificate and --key" in ran.stderr.replace("\n", " ").replace("  ", " ")


def test_it_listens_on_loopback_alone_and_takes_a_free_port() -> None:
    with listening(ServerOptions()) as first, listening(ServerOptions()) as second:
        assert {first.getsockname()[0], second.getsockname()[0]} == {"127.0.0.1"}
        assert first.getsockname()[1] != second.getsockname()[1]
        taken = first.getsockname()[1]
        with pytest.raises(EndpointError, match=str(taken)):
            listening(ServerOptions(port=taken))


def test_a_request_that_never_ends_is_not_read_for_ever() -> None:
    body = asyncio.run(guard._short_body(_Endless()))  # type: ignore[arg-type]
    assert body == b""


class _Endless:
    async def stream(self) -> Any:
        while True:
            yield b"x" * 1000
