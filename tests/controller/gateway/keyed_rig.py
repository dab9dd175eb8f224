"""A rig whose controller is also reached over TCP with keys, and one client for each role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork.client.request_client import RequestClient
from linkwork.protocol.codes import Role
from linkwork.protocol.keys import ClientKeys, allow, client_keys
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.sockets import generate_keys
from linkwork.timing.children import Child
from tests.controller.gateway.conftest import GatewayRig

_POINTS = [{"time_from_start_s": 1.0, "positions": [0.05, 0.05, 0.05, 0.05]}]
_TRAJECTORY = {"coordinates": ["shoulder", "elbow", "wrist", "lift"], "points": _POINTS}
EXAMPLES: dict[str, dict[str, Any]] = {
    "move": {"target": {"lift": 0.05}},
    "send": {"trajectory": _TRAJECTORY},
    "append": {"trajectory": _TRAJECTORY},
    "check": {"trajectory": _TRAJECTORY},
    "speed": {"fraction": 0.5},
    "jog": {"velocity": {"lift": 0.01}},
    "preload": {"effort": {"lift": 1.0}},
    "switch": {"constraint": "hook", "on": True},
    "law": {"name": "float"},
    "set_gain": {"bandwidth_rad_s": 20.0},
    "payload": {"point": "tool", "mass_kg": 0.1},
    "advance": {"ticks": 5},
    "set": {"signals": {"gripper": True}},
    "wait": {"condition": "lift < 1", "within_s": 0.1},
    "edges": {"signal": "part_present"},
    "stream": {"coordinates": ["lift"]},
    "set_points": {"goal": 1, "points": [[0.0, 0.05]]},
}
"""Parameters with which each method could take effect; methods that are not here need none."""
assert set(EXAMPLES) <= set(REQUESTS)


class KeyedRig(GatewayRig):
    """`keys` and `clients_by_name`: `observe`, `operate`, `service`, `other` (operate too) and `stranger`."""

    def __init__(self, folder: Path, pace: str) -> None:
        self.allowed = folder / "allowed"
        daemon, self.secret = generate_keys(folder / "own", "daemon")
        self.daemon_key = daemon
        self.keys: dict[str, ClientKeys] = {}
        self.public: dict[str, Path] = {}
        for name in (*(role.word for role in Role), "other", "stranger"):
            self.add(folder, name)
        for role in Role:
            allow(self.allowed, self.public[role.word], role)
        allow(self.allowed, self.public["other"], Role.OPERATE)
        super().__init__(folder, pace)
        self.endpoint, (_, self.telemetry) = self.ready["endpoint"], self.ready["telemetry"]

    def add(self, folder: Path, name: str) -> None:
        """Make a client's keys, which are not allowed yet."""
        public, secret = generate_keys(folder / name, name)
        self.public[name] = public
        self.keys[name] = client_keys(secret, self.daemon_key)

    def start_gateway(self, *arguments: str) -> Child:
        tcp = "tcp://127.0.0.1:*"
        keyed = ("--endpoint", tcp, "--telemetry", tcp, "--keys", str(self.secret))
        return super().start_gateway(*arguments, *keyed, "--allowed", str(self.allowed))

    def enter(self, name: str) -> RequestClient:
        """A new connection with the keys of this client."""
        client = RequestClient(self.endpoint, self.keys[name])
        self.clients.append(client)
        return client

    def standing(self) -> dict[str, Any]:
        """What a request could change, while time stands in lockstep."""
        state, status = self.ask("state"), self.ask("status")
        kept = ("state", "tick", "q", "mode", "law", "goal", "results", "fault", "pending", "closed")
        found = {name: state[name] for name in kept}
        lease = state["lease"]["owner"]
        return found | {"lease": lease, "loops": status["loops_started"], "faults": status["faults"]}
