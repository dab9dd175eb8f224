"""Made-up tick records, and rigs of real daemons, for the gateway's tests."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork.client.request_client import RequestClient
from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.machine import shipped_path
from linkwork.protocol.endpoints import MachineEndpoints
from linkwork.protocol.errors import RequestError
from linkwork.protocol.request_messages import Notification
from linkwork.timing.children import Child
from tests.waiting import PATIENCE_S, wait_for

LAYOUT = RecordLayout(
    ["shoulder", "Fore arm"],
    ["shoulder", "Fore arm", "x"],
    ["shoulder"],
    ["shoulder", "Fore arm"],
    rows=["tip.x", "tip.y"],
)


class MakeRecords(Protocol):
    def __call__(self, count: int, first: int = 0, **fields: float) -> NDArray[np.float64]: ...


def make_records(count: int, first: int = 0, **fields: float) -> NDArray[np.float64]:
    """`count` records (n, words) numbered from `first`, one a millisecond, with every number in them
    different.
    """
    words = np.random.default_rng(7).normal(size=(first + count, LAYOUT.words))[first:].copy()
    table = words.view(LAYOUT.dtype)[:, 0]
    for name in LAYOUT.dtype.names or ():
        if table.dtype[name] == np.int64:
            table[name] = 0
    table["tick"] = table["device_tick"] = np.arange(first, first + count)
    table["time_s"] = table["tick"] * 1e-3
    table["received_ns"] = table["tick"] * 1_000_000
    table["sent_ns"] = table["received_ns"] + 150_000
    table["real_time_ns"] = 1_700_000_000_000_000_000 + table["received_ns"]
    table["connected"] = 1
    table["fault_tick"] = table["fault_index"] = table["goal_coordinate"] = -1
    for name, value in fields.items():
        table[name] = value
    return words


@pytest.fixture
def layout() -> RecordLayout:
    return LAYOUT


@pytest.fixture
def records() -> MakeRecords:
    return make_records


@pytest.fixture
def real_time() -> LogSource:
    return LogSource(LAYOUT, True, "name: test\n", {"machine": "test", "config": "0" * 64})


@pytest.fixture
def lockstep() -> LogSource:
    return LogSource(LAYOUT, False, "name: test\n", {"machine": "test", "config": "0" * 64})


class GatewayRig:
    """A plant and a controller as processes of their own, in a runtime folder of their own.

    The machine is the SCARA with limits on lost states so wide that a busy computer raises no fault. A
    `comment` ends its file.
    """

    def __init__(self, folder: Path, pace: str, comment: str = "") -> None:
        self.folder, self.pace = folder, pace
        self.seat = MachineEndpoints(folder / "scara")
        self.config = folder / "scara.yaml"
        text = shipped_path("scara").read_text()
        text = text.replace(
            "command_timeout_periods: 20", "command_timeout_periods: 3000\n  peer_timeout_s: 2"
        )
        lease_s = 20.0 if pace == "lockstep" else 4.0  # a planner that a busy computer starves takes seconds
        text += f"  loss_limit: 5000\n  loss_ratio_per_s: 1.0\n  lease_s: {lease_s}\n  orphan_timeout_s: 20\n"
        self.config.write_text(text + comment)
        self.log = folder / "log"
        self.children: list[Child] = []
        self.clients: list[RequestClient] = []
        self.plant = self.start_plant()
        self.gateway = self.start_gateway()
        self.client = self.connect()

    def start(self, *arguments: str, room: str) -> tuple[Child, Any]:
        """Starts a daemon; returns it and an iterator over what it says."""
        env = {"LINKWORK_RUNTIME_DIR": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state")}
        command = [
            sys.executable,
            "-m",
            f"linkwork.{room}",
            str(self.config),
            *arguments,
            "--json",
            "--lifeline",
        ]
        child = Child.start([*command, "--realtime", "ignore"], env=env, stdout=subprocess.PIPE)
        self.children.append(child)
        assert child.stdout is not None
        said = (json.loads(line) for line in map(bytes.decode, child.stdout) if line.startswith("{"))
        return child, said

    def start_plant(self) -> Child:
        child, said = self.start(room="plant")
        next(event for event in said if event["event"] == "ready")
        return child

    def start_gateway(self, *arguments: str) -> Child:
        child, said = self.start("--pace", self.pace, "--log", str(self.log), *arguments, room="controller")
        self.said = said
        self.ready = next(event for event in said if event["event"] == "ready")
        return child

    def connect(self) -> RequestClient:
        client = RequestClient(self.seat.requests)
        self.clients.append(client)
        return client

    def ask(self, method: str, client: RequestClient | None = None, **params: Any) -> Any:
        answer = (client or self.client).request(method, {"as": "me@test", **params}, timeout_s=PATIENCE_S)
        if method in ("move", "send"):
            self.goal: int = answer["goal"]
        return answer

    def refused(self, method: str, client: RequestClient | None = None, **params: Any) -> RequestError:
        with pytest.raises(RequestError) as caught:
            self.ask(method, client, **params)
        return caught.value

    def connected(self) -> None:
        wait_for(lambda: self.ask("status")["device"]["connected"], "the plant")

    def enabled(self) -> None:
        """Whatever came before: enabled, at rest, nobody's lease but mine."""
        self.connected()
        self.ask("acquire", force=True)
        state = self.ask("state")["state"]
        if state in ("fault", "estop"):
            self.ask("recover" if state == "fault" else "reset")
        wait_for(lambda: self.ask("state")["state"] != "stopping", "rest")
        self.ask("enable")

    def events(self, until: str, client: RequestClient | None = None) -> list[Notification]:
        """The notifications up to one of this name, keeping the lease alive meanwhile."""
        found: list[Notification] = []
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            event = (client or self.client).next_notification(0.2)
            self.ask("state", client)
            found += [] if event is None else [event]
            if event is not None and event.method == until:
                return found
        raise AssertionError(f"no {until} came, only {[event.method for event in found]}")

    def result(self, client: RequestClient | None = None) -> dict[str, Any]:
        """How the goal that was asked for last ended."""
        while True:
            result = self.events("goal.result", client)[-1].params
            if result["goal"] == self.goal:
                return result

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for child in reversed(self.children):
            child.stop(10.0)
            child.close()


@pytest.fixture(scope="module")
def rigs() -> Iterator[Callable[[str], GatewayRig]]:
    """Makes rigs by pace, one of each for all tests of a module."""
    made: dict[str, GatewayRig] = {}
    folders: list[Path] = []

    def make(pace: str) -> GatewayRig:
        if pace not in made:
            folders.append(Path(tempfile.mkdtemp(prefix="lw-")))
            made[pace] = GatewayRig(folders[-1], pace)
        return made[pace]

    yield make
    for rig in made.values():
        rig.close()
    for folder in folders:
        shutil.rmtree(folder)


@pytest.fixture
def rig() -> Iterator[Callable[..., GatewayRig]]:
    """Makes rigs that one test has for itself and may damage."""
    made: list[GatewayRig] = []

    def make(pace: str, comment: str = "") -> GatewayRig:
        made.append(GatewayRig(Path(tempfile.mkdtemp(prefix="lw-")), pace, comment))
        return made[-1]

    yield make
    for one in made:
        one.close()
        shutil.rmtree(one.folder)
