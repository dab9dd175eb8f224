"""A server of Foxglove's websocket beside a running machine: it follows the controller as a client does."""

import hmac
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import foxglove
from foxglove.websocket import Capability, MessageSchema, Service, ServiceRequest, ServiceSchema

from linkwork.client.connection import find_controller, telemetry_endpoint
from linkwork.client.request_client import RequestClient
from linkwork.client.robot import Robot
from linkwork.foxglove_live.live_channels import LiveChannels
from linkwork.foxglove_live.live_scene import LiveScene
from linkwork.machine.loading import drawable
from linkwork.machine.problems import MachineError
from linkwork.protocol.errors import EndpointError, NobodyThere, ProtocolError, RequestError
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.sockets import Subscriber
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, TWIN_TOPIC, read_telemetry

_WAIT_MS, _STATUS_S, _RETRY_S, _ANSWER_S = 200, 1.0, 0.5, 2.0
_UNUSED_S = 60.0
"""Time without a service call after which the lease is released, unless something moves."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LiveAddress:
    """The controller: a machine's name, or an endpoint with keys; without either the only one that runs."""

    name: str | None = None
    endpoint: str | None = None
    keys: ClientKeys | None = None

    @property
    def requests(self) -> str:
        """Endpoint of its requests. Raises NobodyThere, EndpointError."""
        return self.endpoint or find_controller(self.name).requests


class LiveService:
    """Serves one machine at a host and port (0: a free one) to any number of Foxglove clients.

    operate: offer the services that move the machine, to clients that know `token`. owner: name of the lease.
    """

    def __init__(self, address: LiveAddress, host: str, port: int, owner: str, *, operate: bool) -> None:
        """Start the server. Raises EndpointError where the address cannot be bound."""
        self._address = address
        self.token = secrets.token_urlsafe(12) if operate else ""
        self._operator = Operator(address, owner, self.token)
        context = foxglove.Context()
        self._channels = LiveChannels(context)
        try:
            self._server = foxglove.start_server(
                name=f"linkwork {address.name or ''}".strip(),
                host=host,
                port=port,
                capabilities=[Capability.Services] if operate else [],
                supported_encodings=["json"],
                services=self._operator.services if operate else [],
                context=context,
            )
        except (OSError, RuntimeError) as error:
            raise EndpointError(f"Foxglove cannot be served at {host}:{port}: {error}") from None
        self.url = f"ws://{host}:{self._server.port}"
        self._leaving, self._heard = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="foxglove", daemon=True)

    def start(self, wait_s: float = 5.0) -> None:
        """Follow the machine; wait so long for its first numbers, so that clients find all channels."""
        self._thread.start()
        self._heard.wait(wait_s)

    def close(self) -> None:
        """End the server; a lease that it holds is released."""
        self._leaving.set()
        self._thread.join(3.0)
        self._operator.release()
        self._server.stop()

    def _follow(self) -> None:
        while not self._leaving.is_set():
            try:
                endpoint = self._address.requests
                with RequestClient(endpoint, self._address.keys) as client:
                    self._follow_one(client, endpoint)
            except (NobodyThere, EndpointError, RequestError, ProtocolError, MachineError):
                pass
            except Exception:
                _log.exception("following the machine")
            self._leaving.wait(_RETRY_S)

    def _follow_one(self, client: RequestClient, endpoint: str) -> None:
        """Follow one controller until another one answers, or none."""
        described = client.request("describe", timeout_s=_ANSWER_S)
        status = client.request("status", timeout_s=_ANSWER_S)
        self._channels.show(LiveScene(drawable(described["file"]["text"])))
        stated = telemetry_endpoint(status["telemetry"], endpoint)
        due = time.monotonic()
        with Subscriber(stated, keys=self._address.keys) as subscriber:
            while not self._leaving.is_set():
                message = subscriber.receive(_WAIT_MS)
                if message is not None:
                    self._publish(*message)
                if time.monotonic() >= due:
                    now = client.request("status", timeout_s=_ANSWER_S)
                    if now["gateway_pid"] != status["gateway_pid"]:
                        return
                    self._channels.repeat()
                    self._operator.look(client)
                    due = time.monotonic() + _STATUS_S

    def _publish(self, topic: bytes, payload: bytes) -> None:
        try:
            content = read_telemetry(payload)
        except ProtocolError:
            return
        if topic in (TELEMETRY_TOPIC, TWIN_TOPIC):
            self._channels.sample("tick" if topic == TELEMETRY_TOPIC else "twin", content)
            self._heard.set()
        else:
            self._channels.event(topic.decode(errors="replace"), content)


class Operator:
    """The services by which Foxglove moves the machine, between `acquire` and `release` of its lease.

    A call's errors go back to the client as text.
    """

    def __init__(self, address: LiveAddress, owner: str, token: str) -> None:
        self._address, self._owner, self._token = address, owner, token
        self._robot: Robot | None = None
        self._lock, self._used_s = threading.Lock(), 0.0
        calls: dict[str, tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]] = {
            "acquire": (self._acquire, {"token": {"type": "string"}}),
            "release": (lambda _: self.release(), {}),
            "stop": (lambda _: self._stop(), {}),
            **{name: (self._simple(name), {}) for name in ("enable", "disable", "recover", "reset")},
            "move": (
                self._move,
                {"target": {"type": "object"}, "speed": {"type": "number"}},
            ),
        }
        self.services = [self._service(name, call, fields) for name, (call, fields) in calls.items()]

    def release(self) -> dict[str, Any]:
        """Release the lease, where it is held. A machine that moves stops on its path."""
        with self._lock:
            robot, self._robot = self._robot, None
        if robot is not None:
            robot.close()
        return {"lease": "released"}

    def look(self, client: RequestClient) -> None:
        """Release a lease that has not been used for a while, where nothing moves."""
        if self._robot is None or time.monotonic() - self._used_s < _UNUSED_S:
            return
        state = client.request("state", timeout_s=_ANSWER_S)
        if state["goal"] is None and state["stream"] is None:
            self.release()

    def _acquire(self, given: dict[str, Any]) -> dict[str, Any]:
        if not hmac.compare_digest(str(given.get("token", "")), self._token):
            raise PermissionError("the token is not the one that `linkwork foxglove` printed when it started")
        robot = Robot(
            endpoint=self._address.requests, owner=self._owner, keys=self._address.keys, on_wait=None
        ).connect()
        with self._lock:
            before, self._robot = self._robot, robot
        if before is not None:
            before.close()
        return {"lease": "held", "owner": self._owner}

    def _held(self) -> Robot:
        with self._lock:
            if self._robot is None:
                raise PermissionError("this client is read-only: call `acquire` with the token first")
            return self._robot

    def _simple(self, name: str) -> Callable[[dict[str, Any]], Any]:
        return lambda _: getattr(self._held(), name)()

    def _move(self, given: dict[str, Any]) -> dict[str, Any]:
        goal = self._held().move(given["target"], wait=False, speed=float(given.get("speed", 1.0)))
        return {"goal": goal.number}

    def _stop(self) -> Any:
        with RequestClient(self._address.requests, self._address.keys) as client:
            return client.request("stop", {"as": self._owner}, _ANSWER_S)

    def _service(self, name: str, call: Callable[[dict[str, Any]], Any], fields: dict[str, Any]) -> Service:
        def handle(request: ServiceRequest) -> bytes:
            given = json.loads(request.payload or b"{}")
            if not isinstance(given, dict):
                raise ValueError(f"{name} takes an object of {', '.join(fields) or 'nothing'}")
            self._used_s = time.monotonic()
            return json.dumps(call(given), default=str).encode()

        schema = {"type": "object", "properties": fields}
        request, response = (
            MessageSchema(
                encoding="json",
                schema=foxglove.Schema(
                    name=f"linkwork {name} {what}", encoding="jsonschema", data=json.dumps(content).encode()
                ),
            )
            for what, content in (("request", schema), ("response", {"type": "object"}))
        )
        return Service(
            name=name,
            schema=ServiceSchema(name=f"linkwork {name}", request=request, response=response),
            handler=handle,
        )
