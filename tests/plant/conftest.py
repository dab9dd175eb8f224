"""A real plant daemon in a process of its own, and a bare controller to talk to it."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.machine import Machine, load, shipped_path
from linkwork.protocol.codes import Mode, Pace
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import Bye, Hello, Refuse, Welcome, new_session, read_handshake
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.link import CommandCodec, StateCodec, StateMessage
from linkwork.protocol.sockets import DeviceClient

PATIENCE_S = 60.0

SLIDER = """
name: slider
about: One mass on a horizontal slide.
gravity_m_s2: [0, 0, -9.81]
bodies:
  cart: {mass_kg: 2, inertia_kg_m2: {xx: 1, yy: 1, zz: 1}}
joints:
  slide: {type: prismatic, parent: world, child: cart, axis: AXIS}
motors:
  slide: {max_force_N: 50, max_speed_m_s: 5, brake_force_N: 30, damping_N_s_m: 8}
sensors:
  slide: {velocity: true}
initial: {slide_m: 0.25}
plant: {period_s: 0.001, on_timeout: brake}
"""


class PlantProcess:
    """A plant daemon: its process and the events it has printed."""

    def __init__(self, config: Path, runtime: Path, arguments: Sequence[str] = (), **options: Any) -> None:
        self.machine = load(config)
        self.endpoint = f"ipc://{runtime / self.machine.name / 'plant.ipc'}"
        self.events: list[dict[str, Any]] = []
        self._rest = b""
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "linkwork.plant",
                str(config),
                "--json",
                "--realtime",
                "ignore",
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LINKWORK_RUNTIME_DIR": str(runtime)},
            **{"stdin": subprocess.DEVNULL, **options},
        )

    def wait_for(self, event: str, count: int = 1) -> dict[str, Any]:
        """The n-th event of this kind, waiting for it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = [one for one in self.events if one["event"] == event]
            if len(found) >= count:
                return found[count - 1]
            self._read(deadline, event)

    def _read(self, deadline: float, wanted: str) -> None:
        out = self.process.stdout
        assert out is not None
        ready, _, _ = select.select([out], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(out.fileno(), 65536) if ready else b""
        if not data:
            assert self.process.stderr is not None
            text = self.process.stderr.read().decode() if self.process.poll() is not None else ""
            raise AssertionError(f"no event {wanted!r}; there were {self.events}; stderr: {text}")
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.events += [json.loads(line) for line in lines]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal, collects the remaining events, returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        self.events += [json.loads(line) for line in (self._rest + out).split(b"\n") if line]
        self._rest = b""
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


class Controller:
    """A controller without a law: it says what the test tells it to say."""

    def __init__(self, machine: Machine, endpoint: str, owner: str, keys: ClientKeys | None) -> None:
        self.machine, self.owner = machine, owner
        self.client = DeviceClient(endpoint, keys)
        self.session = new_session()
        switches = len(machine.switchable)
        self.states = StateCodec(len(machine.sensors), len(machine.motors), switches=switches)
        self.commands = CommandCodec(len(machine.motors), switches)
        self.welcome: Welcome | None = None
        self.last = b""
        """The newest message received, as it came."""

    def hello(self, pace: Pace, **changes: Any) -> None:
        fields: dict[str, Any] = {
            "session": self.session,
            "owner": self.owner,
            "interface": self.machine.interface_hash,
            "model": self.machine.model_hash,
            "pace": pace,
            "period_s": self.machine.plant.period_s,
            "layout": self.machine.interface(),
        }
        assert self.client.writable(int(1e3 * PATIENCE_S)), "nobody listens"
        assert self.client.send(Hello(**{**fields, **changes}).pack())

    def receive(self, timeout_s: float = PATIENCE_S) -> bytes | None:
        message = self.client.receive(int(1e3 * timeout_s))
        if message is not None:
            self.last = message
        return message

    def answer(self) -> Welcome | Refuse | Bye:
        """The next message of the handshake; states are passed over."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            message = self.receive()
            assert message is not None, "no answer"
            try:
                said = read_handshake(message)
            except ProtocolError:
                continue
            assert isinstance(said, (Welcome, Refuse, Bye))
            return said
        raise AssertionError("no answer")

    def connect(self, pace: Pace) -> StateMessage:
        """Handshake, and the state that follows the welcome."""
        self.hello(pace)
        said = self.answer()
        assert isinstance(said, Welcome), said
        self.welcome = said
        return self.state()

    def state(self, timeout_s: float = PATIENCE_S) -> StateMessage:
        """The next state."""
        message = self.receive(timeout_s)
        assert message is not None, "no state"
        state = self.states.message()
        self.states.unpack(message, state)
        return state

    def silence(self, timeout_s: float) -> bool:
        """Whether nothing comes for so long."""
        return self.receive(timeout_s) is None

    def command(
        self,
        seq: int,
        mode: Mode = Mode.BRAKE,
        effort: Sequence[float] = (),
        session: int = 0,
        closed: int = -1,
    ) -> bytes:
        given = np.zeros(len(self.machine.motors))
        given[: len(effort)] = effort
        message = self.commands.pack(session or self.session, seq, mode, given, closed)
        assert self.client.send(message)
        return message

    def exchange(
        self, seq: int, mode: Mode = Mode.BRAKE, effort: Sequence[float] = (), closed: int = -1
    ) -> StateMessage:
        """One command and its answer, in lockstep."""
        self.command(seq, mode, effort, closed=closed)
        return self.state()

    def bye(self) -> None:
        assert self.client.send(Bye(session=self.session, text="enough").pack())

    def close(self) -> None:
        self.client.close(flush_ms=100)


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A short folder for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="lwp"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def scara(tmp_path: Path) -> Callable[..., Path]:
    """Writes the SCARA's file with pieces of its text replaced."""

    def write(*changes: tuple[str, str]) -> Path:
        text = shipped_path("scara").read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "scara.yaml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def slider(tmp_path: Path) -> Callable[..., Machine]:
    """Loads the slider, along x or any other axis, with pieces of its text replaced."""

    def make(*changes: tuple[str, str], axis: str = "[1, 0, 0]") -> Machine:
        text = SLIDER.replace("AXIS", axis)
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "slider.yaml"
        path.write_text(text)
        return load(path)

    return make


@pytest.fixture
def start_plant(runtime: Path) -> Iterator[Callable[..., PlantProcess]]:
    """Starts daemons; each has ended after the test."""
    started: list[PlantProcess] = []

    def start(config: Path, *arguments: str, ready: bool = True, **options: Any) -> PlantProcess:
        plant = PlantProcess(config, runtime, arguments, **options)
        started.append(plant)
        if ready:
            plant.wait_for("ready")
        return plant

    yield start
    for plant in started:
        plant.close()


@pytest.fixture
def controller() -> Iterator[Callable[..., Controller]]:
    """Makes controllers; each is closed after the test."""
    made: list[Controller] = []

    def make(plant: PlantProcess, owner: str = "tester@here", keys: ClientKeys | None = None) -> Controller:
        made.append(Controller(plant.machine, plant.endpoint, owner, keys))
        return made[-1]

    yield make
    for one in made:
        one.close()
