"""The guard: no other page, host or user reaches the console."""

import asyncio
import shutil
import signal
import ssl
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

import httpx
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
from tests.console.browsing import console
from tests.console.swings import swing_recording
from tests.system.running import environment

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


def test_a_login_that_is_not_finished_keeps_nobody_out() -> None:
    entrance = entrance_of(ServerOptions(), 8720, "correct horse")
    served = EntranceGuard(Starlette(), entrance)
    headers = [(b"host", HOST.encode()), (b"origin", OWN["origin"].encode())]
    scope = {"type": "http", "method": "POST", "path": "/login", "query_string": b"", "headers": headers}
    statuses: list[int] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def form() -> Any:
        return {"type": "http.request", "body": b"password=correct+horse", "more_body": False}

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    async def run() -> None:
        slow = asyncio.create_task(served(scope, never, send))
        await asyncio.sleep(0.01)
        await asyncio.wait_for(served(scope, form, send), 5.0)
        slow.cancel()

    asyncio.run(run())
    assert statuses[0] == 303


@pytest.mark.parametrize("other", ['prefs={"dark":1}', "a=b c", "name=Jörg"])
def test_cookies_of_other_programs_do_no_harm(other: str) -> None:
    client = guarded()
    own = f"linkwork-console-8720={client.token}"  # type: ignore[attr-defined]
    for cookies in (f"{other}; {own}", f"{own}; {other}"):
        assert client.get("/", headers={"cookie": cookies.encode()}).status_code == 200


@pytest.mark.parametrize(("port", "secure"), [(80, False), (443, True)])
def test_the_usual_port_may_be_left_out(port: int, secure: bool) -> None:
    options = ServerOptions(certificate=Path("c") if secure else None, key=Path("k") if secure else None)
    entrance = entrance_of(options, port, None)
    scheme = "https" if secure else "http"
    assert {"127.0.0.1", f"127.0.0.1:{port}"} <= entrance.hosts
    assert f"{scheme}://localhost" in entrance.origins
    assert "127.0.0.1" not in entrance_of(options, 8720, None).hosts


def test_beyond_loopback_a_console_needs_a_password_and_tls(tmp_path: Path) -> None:
    secret, pem = tmp_path / "password", tmp_path / "console.pem"
    secret.write_text("correct horse")
    secret.chmod(0o600)
    pem.write_text("")
    for options in (
        ServerOptions(host="0.0.0.0"),
        ServerOptions(host="::"),
        ServerOptions(host="robot.example", password_file=secret),
        ServerOptions(host="192.0.2.1", certificate=pem, key=pem),
    ):
        with pytest.raises(EndpointError, match="needs a password and TLS"):
            check(options)
    assert (
        check(ServerOptions(host="0.0.0.0", password_file=secret, certificate=pem, key=pem))
        == "correct horse"
    )
    assert check(ServerOptions(host="::1")) is None
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


@pytest.fixture
def certified(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 for this test, and its key."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl, which makes a certificate, is not installed")
    pem, key = tmp_path / "console.pem", tmp_path / "console.key"
    words = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {key} -out {pem}"
    more = ("-days", "1", "-subj", "/CN=console", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run([program, *words.split(), *more], check=True, capture_output=True)
    return pem, key


def test_a_console_over_tls_serves_only_who_knows_its_password(
    certified: tuple[Path, Path], tmp_path: Path
) -> None:
    recording = swing_recording(tmp_path / "swing.mcap")
    (tmp_path / "password").write_text("correct horse\n")
    (tmp_path / "password").chmod(0o600)
    pem, key = certified
    words = ("--password-file", str(tmp_path / "password"), "--certificate", str(pem), "--key", str(key))
    with console(str(recording), *words) as (_, address):
        own = address.split("/?")[0]
        assert own.startswith("https://127.0.0.1:")
        with httpx.Client(verify=ssl.create_default_context(cafile=pem), headers={"origin": own}) as client:
            assert client.get(own).status_code == 401
            assert client.get(f"{own}/console/console.css").status_code == 401
            assert client.get(own, headers={"host": "evil.example"}).status_code == 403
            form = {"password": "correct horse"}
            elsewhere = client.post(f"{own}/login", data=form, headers={"origin": "https://evil.example"})
            assert elsewhere.status_code == 403
            assert client.get(own).status_code == 401
            assert client.post(f"{own}/login", data=form).status_code == 303
            assert client.get(own).status_code == 200
            assert next(iter(client.cookies.jar)).secure


def test_a_request_that_never_ends_is_not_read_for_ever() -> None:
    body = asyncio.run(guard._short_body(_Endless()))  # type: ignore[arg-type]
    assert body == b""


class _Endless:
    async def stream(self) -> Any:
        while True:
            yield b"x" * 1000


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "words",
    [("up", "scara", "--console"), ("demo", "scara", "--console", "--lockstep")],
    ids=lambda it: it[0],
)
def test_the_console_starts_and_ends_with_the_machine(words: tuple[str, ...], tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "linkwork", *words],
        env=environment(tmp_path),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            said = next(line for line in process.stderr if line.startswith("console: "))
            address = said.split()[1]
            with httpx.Client(follow_redirects=True) as client:
                assert "linkwork" in client.get(address).text
            if words[0] == "up":
                process.send_signal(signal.SIGINT)
            process.stderr.read()
            process.wait()
            with pytest.raises(httpx.ConnectError):
                httpx.get(address)
        finally:
            process.kill()
