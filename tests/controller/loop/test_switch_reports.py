"""What a plant says of its constraints, byte for byte, and what the controller asks of it."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import pytest

from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.machine import load
from linkwork.protocol.codes import Pace
from linkwork.protocol.handshake import Hello, Welcome
from linkwork.protocol.link import CommandCodec, Measurements, StateCodec, StateHeader

SLOT_ARM = load("slot_arm")


class Sent:
    """Keeps what is sent."""

    endpoint = "ipc:///nowhere"

    def __init__(self) -> None:
        self.messages: list[bytes] = []

    def send(self, message: bytes) -> None:
        self.messages.append(message)

    def forget_connection(self) -> None:
        """There is none."""


class Plant:
    """The other end of the link, as bytes."""

    def __init__(self) -> None:
        self.sent, self.inputs = Sent(), Inputs.sized(2, 2)
        self.link = DeviceLink(self.sent, SLOT_ARM, Pace.LOCKSTEP, "me")  # type: ignore[arg-type]
        self.link.hello()
        hello = Hello.model_validate(msgpack.unpackb(self.sent.messages[-1]))
        self.session, self._seq = hello.session, -1
        welcome = Welcome(
            session=self.session, name="slot_arm", interface=SLOT_ARM.interface_hash, model="", tick=0,
            pace=Pace.LOCKSTEP, period_s=0.001, command_timeout_periods=20, layout=SLOT_ARM.interface(),
            watchdog=None,
        )  # fmt: skip
        assert not self.link.read_message(welcome.pack(), self.inputs)
        assert self.link.connected

    def say(self, closed: int, switched: list[dict[str, Any]] | None = None, switches: int = 2) -> bool:
        self._seq += 1
        numbers = np.zeros(2)
        codec = StateCodec(2, 2, switches=switches)
        head = StateHeader(self.session, self._seq, 0.001 * self._seq, 0, 1, 0, -1, closed)
        state = codec.pack(head, Measurements(numbers, numbers, numbers, np.zeros(0)), switched=switched)
        return self.link.read_message(state, self.inputs)


def test_a_report_becomes_numbers_and_outlives_the_next_state_until_the_tick_takes_it() -> None:
    plant = Plant()
    inputs = plant.inputs
    assert plant.say(0b00)
    assert (inputs.closed, inputs.switched) == (0, 0)
    told = {"name": "carriage", "on": True, "energy_loss_J": 0.5, "impulse": [3.0, 4.0], "residual": 1e-4}
    assert plant.say(0b10, [told])
    assert plant.say(0b10)
    assert (inputs.closed, inputs.switched, inputs.switch_figures) == (0b10, 2, (0.5, 5.0, 1e-4))
    assert plant.say(0b10, [{"name": "slot", "on": False, "refused": "it is open", "residual": 0.25}])
    assert (inputs.switched, inputs.switch_figures) == (-1, (0.0, 0.0, 0.25))


@pytest.mark.parametrize(
    "report",
    [
        {"name": "slott", "on": True},
        {"name": "carriage", "on": True, "energy_loss_J": "much", "impulse": 7, "residual": None},
        {"name": "carriage", "on": True, "energy_loss_J": float("nan"), "impulse": [None, [1.0]]},
    ],
)
def test_a_report_of_any_shape_is_taken_for_what_it_says(report: dict[str, Any]) -> None:
    plant = Plant()
    assert plant.say(0b10, [report])
    assert plant.link.unusable == 0
    assert (plant.inputs.closed, plant.inputs.switch_figures) == (0b10, (0.0, 0.0, 0.0))
    assert plant.inputs.switched == (2 if report["name"] == "carriage" else 0)


def test_a_state_that_does_not_say_what_holds_is_named() -> None:
    plant = Plant()
    assert not plant.say(-1, switches=0)
    assert plant.link.text == "the plant's state cannot be used: the state has no field `closed`"


def test_a_command_asks_for_a_set_only_while_one_is_wanted() -> None:
    plant, outputs = Plant(), Outputs.sized(2)
    assert plant.say(0b00)
    found = []
    codec = CommandCodec(2, 2)
    message = codec.message()
    for outputs.closed in (-1, 0b01):
        plant.link.prepare(outputs)
        plant.link.send()
        codec.unpack(plant.sent.messages[-1], message)
        found.append(message.closed)
    assert found == [-1, 0b01]
