"""Signals and motor reports in states and commands: both forms, what is left out, what is wrong."""

from __future__ import annotations

from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.link import MOTOR_FAULT, CommandCodec, Measurements, StateCodec, StateHeader

STATES, COMMANDS = StateCodec(1, 2, inputs=2, outputs=1), CommandCodec(2, 1, 1)
HEAD = StateHeader(5, 1, 0.5, 2, 17, 0, 0)
numbers = st.floats(-1e15, 1e15)


def measured(inputs: tuple[float, ...] = (1.0, 6.5), outputs: tuple[float, ...] = (0.25,)) -> Measurements:
    found = Measurements(np.ones(1), np.zeros(1), np.zeros(2), np.zeros(0))
    found.inputs, found.outputs = np.array(inputs), np.array(outputs)
    return found


def content(**changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgpack.unpackb(STATES.pack(HEAD, measured()))
    return plain | changes


@given(st.tuples(numbers, numbers), st.tuples(numbers))
def test_signals_return_as_they_were_sent(inputs: tuple[float, ...], outputs: tuple[float, ...]) -> None:
    out, general = STATES.message(), STATES.message()
    packed = STATES.pack(HEAD, measured(inputs, outputs))
    STATES.unpack(packed, out)
    STATES.unpack(msgpack.packb(msgpack.unpackb(packed), use_single_float=False) + b"", general)
    for message in (out, general):
        assert (tuple(message.inputs), tuple(message.outputs)) == (inputs, outputs)
        assert not message.motors_told


def test_a_state_without_signals_leaves_them_as_they_were() -> None:
    out = STATES.message()
    STATES.unpack(STATES.pack(HEAD, measured()), out)
    bare = content(seq=2)
    del bare["inputs"], bare["outputs"]
    STATES.unpack(msgpack.packb(bare), out)
    assert (out.seq, out.inputs.tolist(), out.outputs.tolist()) == (2, [1.0, 6.5], [0.25])


def test_a_reader_without_signals_does_not_mind_them() -> None:
    codec = StateCodec(1, 2)
    codec.unpack(msgpack.packb(content()), out := codec.message())
    assert (out.seq, out.inputs.size) == (1, 0)
    commands = CommandCodec(2)
    commands.unpack(COMMANDS.pack(5, 1, 2, np.ones(2), -1, np.ones(1)), command := commands.message())
    assert (command.effort.tolist(), command.outputs_told) == ([1.0, 1.0], False)


def test_motor_reports_travel_where_they_are_asked_for() -> None:
    found = measured()
    found.motors = np.array([[17, 2], [0, 4], [2, 0]])
    out = STATES.message()
    STATES.unpack(STATES.pack(HEAD, found), out)
    assert not out.motors_told
    STATES.unpack(STATES.pack(HEAD, found, motors=True), out)
    assert (out.motors_told, out.motors[MOTOR_FAULT].tolist()) == (True, [0, 4])
    STATES.unpack(STATES.pack(HEAD, found), out)
    assert (out.motors_told, out.motors[MOTOR_FAULT].tolist()) == (False, [0, 4])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"inputs": [1.0]}, "inputs"), ({"inputs": [1.0, True]}, "inputs[1]"), ({"inputs": 1}, "inputs"),
        ({"inputs": [1.0, float("nan")]}, "inputs[1]"), ({"outputs": [1.0, 1.0]}, "outputs"),
        ({"outputs": ["on"]}, "outputs[0]"), ({"motor_fault": [0]}, "motor_fault"),
        ({"motor_fault": [0, -1]}, "motor_fault[1]"), ({"motor_status": [0, 1.5]}, "motor_status[1]"),
        ({"motor_mode": "brake"}, "motor_mode"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_name_and_nothing_is_taken(change: dict[str, Any], field: str) -> None:
    out = STATES.message()
    with pytest.raises(ProtocolError) as refused:
        STATES.unpack(msgpack.packb(content(**change)), out)
    assert refused.value.field == field
    assert (out.seq, out.inputs.tolist(), out.motors_told) == (0, [0.0, 0.0], False)


def test_commands_carry_outputs_and_may_leave_them_out() -> None:
    command = COMMANDS.message()
    for packed in (
        COMMANDS.pack(5, 1, 2, np.ones(2), -1, np.array([0.75])),
        COMMANDS.pack(5, 1, 2, np.ones(2), 1, np.array([0.75])),
    ):
        COMMANDS.unpack(packed, command)
        assert (command.outputs.tolist(), command.outputs_told) == ([0.75], True)
    COMMANDS.unpack(COMMANDS.pack(5, 1, 2, np.ones(2)), command)
    assert (command.outputs.tolist(), command.outputs_told) == ([0.75], False)
    for wrong in ([], [1.0, 1.0], [float("inf")], "on"):
        plain = {"type": "command", "session": 5, "seq": 1, "mode": 2, "effort": [0.0, 0.0], "outputs": wrong}
        with pytest.raises(ProtocolError, match="outputs"):
            COMMANDS.unpack(msgpack.packb(plain), command)
