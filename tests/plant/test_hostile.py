"""A plant and a controller's link under frames of strangers: nothing ends, nothing is kept."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

from linkwork.machine import load
from linkwork.plant.device.events import Events
from linkwork.plant.device.plant_device import PlantDevice
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode, Pace, RefuseCode, Role
from linkwork.protocol.handshake import Refuse
from linkwork.protocol.sockets import DeviceClient
from tests.hostile import changed, nested, shapes, with_value
from tests.plant.faults.line import Line

FRAMES = 1500
KEPT = 60
"""Objects in cycles that other things may leave behind meanwhile; a cycle a frame would be thousands."""


class NoServer:
    """Takes what the plant sends, and keeps nothing."""

    endpoint = "ipc://nowhere"
    role = Role.SERVICE

    def send(self, _peer: bytes, _message: bytes) -> bool:
        return True


@pytest.fixture
def quiet_events() -> Iterator[Events]:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    yield Events(descriptor)
    os.close(descriptor)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """As in a daemon after `freeze_garbage`: what is in a cycle stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def hostile(seed: int) -> list[bytes]:
    deep = [with_value({"type": kind}, "q", nested(900)) for kind in ("state", "hello", "inject", "bye")]
    return [*shapes(), *deep, *changed(seed, FRAMES)]


def test_a_plant_keeps_nothing_of_what_it_cannot_read(quiet_events: Events, no_collection: None) -> None:
    machine = load("scara")
    server: Any = NoServer()
    device = PlantDevice(machine, Simulator(machine), server, quiet_events, tuple(Pace))
    frames = hostile(1)
    for number, frame in enumerate(frames[:200]):
        device.receive(number.to_bytes(5, "big"), frame)
    gc.collect()
    for number, frame in enumerate(frames):
        device.receive((number % 31).to_bytes(5, "big"), frame)
        quiet_events.flush()
    assert gc.collect() < KEPT, "exceptions that hold themselves are never freed while collection is off"
    assert device.seat.counts.unreadable > FRAMES // 2


def test_a_plant_with_faults_and_the_link_of_a_controller_keep_nothing(no_collection: None) -> None:
    line = Line(load("scara"))
    line.run(3)
    frames = hostile(2)
    gc.collect()
    for frame in frames:
        line.link.read_message(frame, line.inputs)
        line.device.receive(b"other", frame)
        line.queue.to_controller.clear()
        line.said.clear()
    assert gc.collect() < KEPT
    assert line.link.unusable == 0, "each is refused by a reader, not by a defect"


def test_a_plant_daemon_outlives_strangers_and_serves_its_owner(scara, start_plant, controller) -> None:
    plant = start_plant(scara(("plant:\n", "plant:\n  peer_timeout_s: 60\n")))
    owner = controller(plant)
    owner.connect(Pace.LOCKSTEP)
    owner.exchange(0, Mode.BRAKE)
    strangers = [DeviceClient(plant.endpoint) for _ in range(5)]
    for number, frame in enumerate(hostile(3)):
        stranger = strangers[number % len(strangers)]
        assert stranger.writable(20_000)
        stranger.send(frame)
        stranger.receive_latest()
    for parts in ([b"a", b"b"], [b"", b"", b""]):
        strangers[0].socket.send_multipart(parts)
    assert owner.exchange(1, Mode.BRAKE).seq == 2
    other = controller(plant, "bob@bench")
    other.hello(Pace.LOCKSTEP, interface="0" * 64, layout={"joints": [{"name": "n" * 200_000}]})
    said = other.answer()
    assert isinstance(said, Refuse)
    assert said.code is RefuseCode.INTERFACE
    assert owner.exchange(2, Mode.BRAKE).seq == 3
    for stranger in strangers:
        stranger.close()
    assert plant.end() == 0
    assert any(event["event"] == "dropped" for event in plant.events)
